// The children of a when_*: the part that knows no types.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/family.hpp>
#include <rota/detail/promise.hpp>
#include <rota/leaf.hpp>

namespace rota::core {

struct scheduler;

/// What decides how a when_* ends.
enum class group_rule : unsigned char {
  all,          // the first failure
  settled,      // nothing: all end as they like
  any,          // the first end
  any_success,  // the first value
};

// PROTOCOL: the children of a when_*
//
//   field       who touches it
//   members_    written by the awaiting task before the first child is scheduled; the tasks are its own until the end
//   decider_    the child that decided, by compare-exchange from null; or the awaiting task, if that was cancelled first
//   failed_     the first child that failed, by compare-exchange from null
//   remaining_  children that have not reported their end
//   waker_      set before the first child is scheduled; taken by the child that reports last
//   done_       set by that child when it has taken the waker: then nobody but the awaiting task touches anything here
//
// Who decides asks the others to stop before it reports its own end, so members_ is there. remaining_ goes down by acq_rel,
// so the last one has seen what all the others did; its release of done_ hands that to the awaiting task. The waker holds a
// reference: the awaiting task may be gone when it is woken.

/// Starts its members as tasks of their own, and waits until all have ended, whatever decides.
class ROTA_API group_leaf : public leaf, public family {
 public:
  struct member {
    promise_base* frame = nullptr;  // until it is started
    header* task = nullptr;         // from then on
    const result_vtable* type = nullptr;
  };

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "when"; }

  void ended(header& child, const ending& how, bool unseen) noexcept final;
  void dropped(header& child, const ending& how) noexcept final;
  [[nodiscard]] header* parent() const noexcept final { return parent_; }

 protected:
  explicit group_leaf(group_rule rule) noexcept : rule_(rule) {}
  ~group_leaf() = default;

  void set_members(member* first, std::size_t count) noexcept {
    members_ = first;
    count_ = count;
  }
  /// For the destructor of whoever has the members: gives up their tasks, or the frames of those that never started.
  void let_go() noexcept;
  bool start() override;

  /// After the end. Which member decided, as a position.
  [[nodiscard]] std::size_t decider() const noexcept;
  /// Throws what the deciding failure threw, if a failure decides.
  void rethrow_failure();

 private:
  [[nodiscard]] bool decides(const ending& how) const noexcept;
  void cancel_others(const header* but, cancel_reason reason) noexcept;

  member* members_ = nullptr;
  std::size_t count_ = 0;
  header* parent_ = nullptr;
  scheduler* by_ = nullptr;
  waker waker_;
  base::atomic<header*> decider_;
  base::atomic<header*> failed_;
  base::atomic<std::uint64_t> remaining_;
  base::atomic<bool> done_;
  header* rethrown_ = nullptr;
  group_rule rule_;
};

/// Of a range without elements nothing can be the first.
[[noreturn]] ROTA_API void throw_nothing_to_wait_for();

}  // namespace rota::core
