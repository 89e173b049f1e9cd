#include "task/outside_polls.hpp"

#include "base/thread.hpp"
#include "base/tls_slot.hpp"

#include <new>
#include <utility>

namespace rota::core {

namespace {

/// Asks the kernel once for each thread. A child of fork() has the locals of its parent's thread, and another
/// id.
std::uint64_t id_of_this_thread() noexcept {
  base::thread_locals& here = base::this_thread_locals();
  const std::uint64_t process = base::this_process_id();
  if (std::exchange(here.kernel_id_in, process) != process) here.kernel_id = base::this_thread_id();
  return here.kernel_id;
}

outside_poll* run_of_this_thread() noexcept {
  return static_cast<outside_poll*>(base::this_thread_locals().outside_run);
}

}  // namespace

bool outside_poll::claim() noexcept {
  // relaxed: a guess; the compare-exchange decides.
  std::uint64_t seen = word_.load(base::order::relaxed);
  if ((seen & taken) != 0) return false;
  // seq_cst: see R3. acquire: the thread before has written its 0, see R2. failure: relaxed: another slot is
  // tried.
  return word_.compare_exchange_strong(
      seen, after(seen, taken | running), base::order::seq_cst, base::order::relaxed);
}

/// Writes what reports read. Called after the slot was claimed.
void outside_poll::tell(std::uint64_t task_id, const char* call) noexcept {
  // relaxed, both stores: only for reports.
  thread_id_.store(id_of_this_thread(), base::order::relaxed);
  call_.store(call, base::order::relaxed);
  // release: pairs with the acquire in task_of_poll(): see R2.
  task_id_.store(task_id, base::order::release);
}

void outside_poll::resume() noexcept {
  if (--rests_ != 0) return;
  // relaxed: only this thread writes the word while the slot is `resting`.
  const std::uint64_t seen = word_.load(base::order::relaxed);
  // seq_cst: see R3: before the watcher's word is read.
  word_.exchange(after(seen, taken | running), base::order::seq_cst);
  list_.wake_watcher();
}

/// Ends a poll that was reported. The list outlives this step: the thread is still inside of a call to the
/// runtime.
void outside_poll::end_reported_poll(std::uint64_t next) noexcept {
  // seq_cst: see R5: before the watcher's word is read. release: pairs with stamp() and claim(), see R2.
  word_.exchange(next, base::order::seq_cst);
  list_.wake_watcher();
}

void outside_poll::leave() noexcept {
  ROTA_ASSERT(rests_ == 0);
  // relaxed: written before the step below.
  task_id_.store(0, base::order::relaxed);
  end_poll(0);
}

outside_polls::~outside_polls() {
  // relaxed: no other thread uses the list any more.
  for (outside_poll* at = newest_.load(base::order::relaxed); at != &first_;)
    delete std::exchange(at, at->older_.get());
}

outside_poll* outside_polls::claim(std::uint64_t task_id, const char* call) noexcept {
  outside_poll* mine = nullptr;
  // acquire: pairs with the release in add(): the slot is built.
  for (outside_poll* at = newest_.load(base::order::acquire); mine == nullptr && at != nullptr;
       at = at->older_.get()) {
    if (at->claim()) mine = at;
  }
  if (mine == nullptr) mine = add();
  if (mine == nullptr) return nullptr;  // NOT IN A MODEL: no memory
  mine->tell(task_id, call);
  wake_watcher();
  return mine;
}

/// Adds a slot and returns it. It is claimed already.
outside_poll* outside_polls::add() noexcept {
  auto* const made = new (std::nothrow) outside_poll(*this);
  if (made == nullptr) return nullptr;  // NOT IN A MODEL: no memory
  // relaxed: no other thread has it yet.
  made->word_.store(outside_poll::after(0, outside_poll::taken | outside_poll::running),
                    base::order::relaxed);
  // acquire: pairs with the compare-exchange below in other threads: the slot that is read here is built.
  outside_poll* seen = newest_.load(base::order::acquire);
  do {
    made->older_.set(seen);
    made->number_.set(seen->number_.get() + 1);
    // seq_cst: see R3: before the watcher's word is read. release: the slot is built. failure: acquire: same
    // reason as the load above.
  } while (!newest_.compare_exchange_weak(seen, made, base::order::seq_cst, base::order::acquire));
  return made;
}

bool outside_polls::any_runs() const noexcept {
  // seq_cst: see R3: a slot that is added later is claimed after the watcher's word was written.
  for (const outside_poll* at = newest_.load(base::order::seq_cst); at != nullptr; at = at->older_.get()) {
    // seq_cst: see R3: after the watcher's word was written.
    if (outside_poll::is_to_watch(at->word_.load(base::order::seq_cst))) return true;
  }
  return false;
}

outside_run::outside_run(outside_polls* polls, std::uint64_t task_id, const char* call) noexcept
    : mine_(polls == nullptr ? nullptr : polls->claim(task_id, call)),
      outer_(std::exchange(base::this_thread_locals().outside_run, mine_)) {}

outside_run::~outside_run() {
  base::this_thread_locals().outside_run = outer_;
  if (mine_ != nullptr) mine_->leave();
}

void rest_outside_run() noexcept {
  if (outside_poll* const mine = run_of_this_thread()) mine->rest();
}

void resume_outside_run() noexcept {
  if (outside_poll* const mine = run_of_this_thread()) mine->resume();
}

}  // namespace rota::core
