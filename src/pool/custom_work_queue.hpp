// The adapter from a user-defined queue to the pool's work_queue.
#pragma once

#include "pool/work_queue.hpp"

#include <rota/pool/custom_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rota::pool::detail {

/// Access to the part of a queued_work that only the pool reads and writes.
struct work_mark {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  [[nodiscard]] static queued_work put(queued_work on, std::uint32_t mark) noexcept {
    on.mark_ = mark;
    return on;
  }
  [[nodiscard]] static std::uint32_t of(const queued_work& work) noexcept { return work.mark_; }
};

/// The user's queue holds names (queued_work). The table `places_` maps each name to its job. A name that
/// comes out is looked up and never followed as a pointer. A name that comes out twice, or late, finds a free
/// place or another id, and is detected.
///
///   place    free                 in                         removed
///   means    no name refers to it the job is in the queue    the job is gone, its name is still in the queue
///   becomes  in: set()            free: its name came out    free: its name came out, and is passed over
///                                 removed: remove(), the job
///                                 was taken over, or it is
///                                 unknown whether the queue
///                                 kept it
///
/// `kept_` holds the jobs that the user's queue refused, and those that it no longer gives out. It is served
/// first.
///
/// Places are freed when the user's queue says that it is empty, also if their names never came out.
///
/// Invariants:  C1  get() and steal() return null only if size() is 0.  C2  Each job that was put in comes
///              out once, or is removed.
///              C3  in_user_ is the number of places that are not free; live_ is the number of places in
///                  state `in`.
class custom_work_queue final : public work_queue {
 public:
  /// `kind` is not empty. Throws what the constructor of the user's queue throws, and std::bad_alloc.
  explicit custom_work_queue(const custom_queue& kind) : user_(kind.make()) {}
  ~custom_work_queue() override;

  void set(queue_item& item) noexcept override;
  [[nodiscard]] queue_item* get(base::time_point now) noexcept override;
  [[nodiscard]] queue_item* steal(base::time_point now) noexcept override;
  [[nodiscard]] queue_item* discard() noexcept override;
  void remove(queue_item& item) noexcept override;
  [[nodiscard]] std::size_t size() const noexcept override { return live_ + kept_.size(); }

  /// For reports: how many jobs were taken over so far because the user's queue did not take them, or did not
  /// give them out.
  [[nodiscard]] std::uint64_t taken_over() const noexcept { return taken_over_; }
  /// For tests: how many names the user's queue may hold, including names of removed jobs.
  [[nodiscard]] std::size_t names() const noexcept { return in_user_; }

 private:
  enum class state : std::uint8_t { free, in, removed };
  struct place {
    queue_item* item = nullptr;
    std::uint64_t id = 0;
    std::uint32_t next_free = work_mark::none;
    state is = state::free;
  };
  using exit = std::optional<queued_work> (user_queue::*)();

  [[nodiscard]] std::uint32_t take_place(queue_item& item) noexcept;
  void free_place(std::uint32_t mark) noexcept;
  void free_all() noexcept;
  [[nodiscard]] bool hand_in(queue_item& item) noexcept;
  void keep(queue_item& item) noexcept;
  [[nodiscard]] queue_item* take(exit by) noexcept;
  [[nodiscard]] std::optional<queued_work> ask(exit by) noexcept;
  [[nodiscard]] queue_item* look_up(const queued_work& work) noexcept;
  void take_over() noexcept;
  [[nodiscard]] std::optional<std::size_t> size_it_says() const noexcept;

  const std::unique_ptr<user_queue> user_;
  std::vector<place> places_;
  std::uint32_t first_free_ = work_mark::none;
  std::size_t in_user_ = 0;
  std::size_t live_ = 0;
  std::uint64_t taken_over_ = 0;
  priority_queue kept_{queue_order::fifo};
};

}  // namespace rota::pool::detail
