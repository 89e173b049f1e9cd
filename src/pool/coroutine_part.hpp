// What a work has that is a coroutine: a scheduler of its own, whose one thread at a time the pool provides.
#pragma once

#include "base/mutex.hpp"
#include "pool/work.hpp"
#include "task/header.hpp"

#include <cstdint>

namespace rota::pool::detail {

// PROTOCOL: segments
//   lock_ guards what follows. The work is in a queue of the pool (queued_), or a thread runs its tasks (running_), or neither: then
//   the travelling reference is this part's, and whoever makes a task runnable puts the work into a queue. A thread that finds no
//   runnable task says so under the lock under which it looked. paused_: what would be queued is not, until go_on().
//   A task of this scheduler owns a reference to the work as long as its memory is there.
class coroutine_part final : public core::scheduler {
 public:
  explicit coroutine_part(work_core& work) noexcept : core::scheduler{&ops_table}, work_(work) {}
  coroutine_part(const coroutine_part&) = delete;
  coroutine_part& operator=(const coroutine_part&) = delete;
  ~coroutine_part();

  /// By the thread that submits, before the work can begin: each attempt has the task locals of the task that runs here.
  void inherit_locals() noexcept;
  enum class [[nodiscard]] on_segment : std::uint8_t { waits, ended };

  /// The thread that the pool gave: begins the tasks with this one.
  void begin(task<void> root) noexcept;
  /// The thread that the pool gave: runs what can run.
  on_segment run() noexcept;
  /// After `ended`: was the root cancelled? Its memory goes.
  [[nodiscard]] bool take_end() noexcept;
  [[nodiscard]] bool has_begun() noexcept;
  /// It has begun, and not ended.
  [[nodiscard]] bool has_tasks() noexcept {
    const base::lock_guard guard(lock_);
    return root_ != nullptr;
  }

  /// Any thread that has a reference to the work.
  void stop() noexcept;
  void go_on() noexcept;

 private:
  static const core::scheduler_ops ops_table;
  static coroutine_part& of(core::scheduler& s) noexcept { return static_cast<coroutine_part&>(s); }

  void push(core::header& task) noexcept;
  [[nodiscard]] core::header* take_first() noexcept;

  work_core& work_;  // whoever calls here owns a reference
  base::mutex lock_;
  core::header* first_ = nullptr;
  core::header* last_ = nullptr;
  core::header* root_ = nullptr;  // its handle is this part's
  bool queued_ = true;            // the submitted work is
  bool running_ = false;
  bool paused_ = false;
  bool root_cancelled_ = false;
  std::uint32_t alive_ = 0;
  core::local_node* locals_ = nullptr;  // of the task that has submitted the work; a reference
};

void end_coroutine(coroutine_part* part) noexcept;

}  // namespace rota::pool::detail
