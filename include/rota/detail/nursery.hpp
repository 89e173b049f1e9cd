// The children of a scope: the part that knows no types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <utility>

#include <rota/detail/activation.hpp>
#include <rota/detail/promise.hpp>
#include <rota/detail/spawn_on.hpp>

namespace rota::core {

class brood;
struct header;

/// Holds a brood. Only src/flow knows what lies in room_.
class ROTA_API nursery {
 public:
  nursery(const nursery&) = delete;
  nursery& operator=(const nursery&) = delete;

  /// Starts a child. Any thread. A nursery that takes no more children returns a task that was cancelled at
  /// once and never runs. Throws `errc::no_runtime` after it has destroyed the frame.
  header& launch(promise_base& root, const result_vtable& type, std::source_location site);
  /// Requests cancellation of all children, and takes no more.
  void cancel(cancel_reason reason) noexcept;
  /// Returns the number of children that have not ended.
  [[nodiscard]] std::size_t size() const noexcept;

 protected:
  // Makes a nursery without a task: a child belongs to the runtime of the task that spawns it.
  nursery() noexcept;
  // Makes a nursery of the task that runs.
  explicit nursery(promise_base& frame) noexcept;
  ~nursery();

  /// Returns true if a child was ever spawned.
  [[nodiscard]] bool was_used() noexcept;
  [[nodiscard]] brood& children() noexcept {
    demand_alive();
    return *reinterpret_cast<brood*>(room_);
  }
  [[nodiscard]] const brood& children() const noexcept {
    demand_alive();
    return *reinterpret_cast<const brood*>(room_);
  }

 private:
  static constexpr std::size_t room = 176;
  static constexpr std::uint64_t alive = 0x5C07'E0F7'A5C5'0001;

  /// Ends the program with a message if a nursery is used after its end. It misses the use if the memory was
  /// freed to the system, or holds another nursery meanwhile. The program must keep a reference to a scope
  /// valid; this check finds most that are not.
  void demand_alive() const noexcept {
    if (mark_ != alive) [[unlikely]]
      was_used_after_its_end();
  }
  [[noreturn, gnu::cold]] static void was_used_after_its_end() noexcept;

  std::uint64_t mark_ = alive;  // written only by the constructor and the destructor
  alignas(8) std::byte room_[room];
};

/// The region of a scope in its task. When the task unwinds through it, it cancels the children, and keeps
/// everything of the scope alive until they have ended. When a child has failed, the body is given up.
class ROTA_API scope_region final : public region {
 public:
  scope_region(brood& children, promise_base& frame) noexcept;
  ~scope_region() = default;

  [[nodiscard]] bool passed() noexcept override;
  void announce_unwind() noexcept override;
  void on_unwind(cancel_reason reason) noexcept override;
  [[nodiscard]] bool may_unwind() noexcept override;

  void leave_body() noexcept { in_body_ = false; }

 private:
  brood* children_;
  bool in_body_ = true;
};

/// Waits until no child is left and the brood is closed.
class ROTA_API brood_leaf : public leaf {
 public:
  explicit brood_leaf(brood& children) noexcept : children_(&children) {}

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  void announce_cancel() noexcept final;
  [[nodiscard]] bool cancel_ended() noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "children"; }
  static void await_resume() noexcept {}

 protected:
  bool start() override;
  [[nodiscard]] brood& children() noexcept { return *children_; }

 private:
  brood* children_;
};

}  // namespace rota::core
