// Threads that come and go: how many there are, which of them sleep, and who is woken for new work.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace rota::pool::detail {

class crew;

/// A thread that is being started: a variable of the starter. Under the crew's lock.
struct pending_start {
  bool is_lost = false;  // its thread was given up meanwhile: the seat is no longer the crew's
};

/// What a thread of a crew is to its client. Owned by the crew, and by its thread once that is lost.
struct alignas(base::cache_line) seat {
  crew* of = nullptr;
  unsigned index = 0;
  base::atomic<void*> job{nullptr};  // the client's: what runs here, or is about to; written by its thread
  void* own = nullptr;               // the client's
  int nice = 0;                      // the client's: what its thread is set to

  // The crew's, under its lock.
  base::thread thread;               // set when the start has returned
  pending_start* pending = nullptr;  // until then
  base::atomic<std::uint32_t> signal{0};
  base::patience waits;   // its thread's
  seat* above = nullptr;  // in the list of idle ones
  seat* below = nullptr;
  bool idle = false;
  void* given =
      nullptr;  // a job that is its alone: by who takes it out of the list of idle ones, or starts it; then its thread's
  bool ended = false;  // it will not touch the crew again: join it
  bool has_looked_at_end = false;
  unsigned regions = 0;
  base::atomic<bool> lost{false};  // its thread is nobody's
};

// PROTOCOL: crew
//   mutex_ guards every plain member, and the fields of seats that say so. word_ says in one word what a submitter must know:
//
//   63   62    61       48 47         24 23       0
//   +----+----+-----------+-------------+----------+
//   |over|grow|     0     |  searching  |   idle   |
//   +----+----+-----------+-------------+----------+
//
//   idle       threads in the list of idle ones             under mutex_
//   searching  threads that look for work, and will look once more, at everything, before they sleep; a woken or a new one from
//              the moment when it was chosen                +: under mutex_, or by a thread that has run out of work
//   grow       there may be more threads                    under mutex_
//   over       there are more than there may be             under mutex_
//
//   Publish: the work is in its queue, under the queue's lock, before word_ is read. Nobody searches, and somebody sleeps or there
//   may be more threads: one is woken, or started.
//   Sleep: announced by a read-modify-write of word_ (idle up, searching down), then every queue is looked into, each under its
//   lock. Who published before that look is found; who publishes after it takes the queue's lock later, so the announcement is
//   in what it reads. Leaving is the same with `grow` instead of `idle`, and who leaves has left the list before.
//   Who finds work while it searches no longer does, and then looks whether there is more: for work that was published while it
//   searched nobody was woken.
//
//   C1  min <= threads once so many were had, unless the system gives none; threads <= goal + extra, where `goal` is max or, by
//       set_goal(), a number between min and max. `extra`: one for each long work and
//       each blocking region.
//   C2  A thread that leaves is no longer counted when the lock is given back under which it decided so: of several that time out
//       together no more leave than may.
//   C3  A thread that cannot be started is counted back before anybody is told. Who published meanwhile has left his work to it:
//       one of those that sleep is woken for that. So nothing waits for a clock while a thread is there.
//   C4  A job that is handed over is in no queue: it is written, under mutex_, into the seat of a thread that sleeps there and then, or
//       into that of a new one, before it starts. Neither looks into a queue before it has run that, nor leaves; and neither is
//       counted as searching, so nobody leaves other work to it; what was left to one that has announced its sleep, and has yet to
//       look, is seen by that look, and then somebody else is called for it. Refused: the job was in nobody's hands.
//       Each work in the queues keeps a thread: a sleeper is given the job only if there are more sleepers than works, and a new thread
//       only if there are more that sleep or may be started. The owner of the job may be about to wait for such a work, and would take
//       its thread from it.
//   C5  What was published before stop() is found: each thread looks at everything once more after it has seen the end under mutex_.
//   C6  A thread is started without the lock. pending_ counts it in the section that counts it in threads_, and until the starter has written
//       the handle under mutex_, or there will be no thread. Its seat is in seats_, and its `pending` is set, before the system is asked.
//       Until the handle is written the thread may run, be given up, or end:
//         given up  part() cannot detach it. It sets pending_start::is_lost, and the starter detaches it, without a look at the
//                   seat, which its thread may have freed.
//         ended     reap() leaves the seat alone. A later reap() joins the thread.
//         stop()    waits for pending_ == 0. The starter raises left_ after it has counted itself out.

/// What a crew works for.
class crew_client {
 public:
  crew_client() = default;
  crew_client(const crew_client&) = delete;
  crew_client& operator=(const crew_client&) = delete;

  /// Takes work for this thread; null: found none. A look that may miss some.
  [[nodiscard]] virtual void* take(seat& here) noexcept = 0;
  /// Runs it. Given up: see lose().
  enum class [[nodiscard]] on_run : std::uint8_t { done, given_up };
  virtual on_run run(seat& here, void* job) noexcept = 0;
  /// Is there any? Every queue is looked into under its lock.
  [[nodiscard]] virtual bool has_work() noexcept = 0;
  /// Under the crew's lock: how much of it no thread has taken. Of a client that hands nothing over: not asked.
  [[nodiscard]] virtual std::size_t waiting() noexcept { return 0; }
  /// On the thread: it begins, or is about to end.
  virtual void begins(seat& here) noexcept = 0;
  virtual void ends(seat& here) noexcept = 0;
  /// Under the crew's lock: the thread that sits here is about to be given up.
  virtual void loses(seat& /*here*/) noexcept {}
  /// On a thread that was given up, as its last act.
  virtual void gone(void* job) noexcept = 0;
  /// A thread could not be started: try again later, by grow(), or by attract() if only work that waits needs one.
  virtual void missing() noexcept = 0;
  /// The crew stops, and its lock is held: is the thread that sits here inside of something that may never end? Then it is lost, and
  /// nobody waits for it; its run() must say given_up. Decided against the end of that run(), in one order for both.
  [[nodiscard]] virtual bool leaves_behind(seat& /*here*/) noexcept { return false; }

 protected:
  ~crew_client() = default;
};

class crew {
 public:
  struct limits {
    unsigned min;
    unsigned max;
    base::nanoseconds keep_alive;
  };
  /// What its threads are like.
  struct habits {
    bool spins = true;        // they look again for a while before they sleep
    bool has_regions = true;  // what runs on them finds its seat by here(), and says there that it blocks
  };
  struct counts {
    unsigned threads = 0;
    unsigned idle = 0;
    unsigned goal = 0;
    unsigned extra = 0;
    unsigned regions = 0;
    unsigned lost = 0;
    unsigned pending = 0;  // of `threads`: their start has not returned
    std::uint64_t started = 0;
    std::uint64_t retired = 0;
    std::uint64_t failures = 0;
  };

  crew(crew_client& client, const char* name, limits how) noexcept : crew(client, name, how, habits{}) {}
  crew(crew_client& client, const char* name, limits how, habits like) noexcept;
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew();

  /// Returns false in a forked child of the process that has its threads.
  [[nodiscard]] bool is_own_process() const noexcept { return base::is_this_process(process_); }
  /// Starts `min` threads, as far as the system gives them.
  void fill() noexcept;
  /// After work was published: sees to it that somebody comes.
  void attract() noexcept {
    // acquire. Pairs with the read-modify-writes of those that announce; see the protocol.
    const std::uint64_t seen = word_.load(base::order::acquire);
    if ((seen & searching_mask) != 0 || (seen & (idle_mask | may_grow)) == 0) return;
    attract_slowly();
  }
  /// Gives `job`, which is in no queue, to a thread that does nothing else before: one that sleeps, else a new one. False: there is
  /// none beside one for each work that waits, and the job is still the caller's.
  [[nodiscard]] bool hand_over(void* job) noexcept;
  /// How many works find a thread that has none: those that sleep, look for work, or may yet be started. Right while nothing moves.
  [[nodiscard]] unsigned room() const noexcept {
    // relaxed. A guess, if threads come and go meanwhile.
    const std::uint64_t seen = word_.load(base::order::relaxed);
    return static_cast<unsigned>((seen & idle_mask) + (seen & searching_mask) / one_searching) +
           growth_.load(base::order::relaxed);
  }
  /// Would a thread come for a work that is published now? A guess.
  [[nodiscard]] bool has_room() const noexcept {
    // acquire. As in attract().
    return (word_.load(base::order::acquire) & (idle_mask | may_grow)) != 0;
  }
  [[nodiscard]] unsigned about_how_many() const noexcept {
    // relaxed. A guess.
    return about_.load(base::order::relaxed);
  }
  /// A thread was missing: tries again, and then for the others up to `min`. False: it still is.
  bool grow() noexcept;

  void resize(unsigned min, unsigned max) noexcept;
  /// How many threads there may be within the bounds: fewer than `max`.
  void set_goal(unsigned goal) noexcept;
  /// One thread more may be there, or no longer.
  void add_extra() noexcept;
  void remove_extra() noexcept;
  /// The thread that sits here may block, until it says otherwise.
  void enter_region(seat& here) noexcept;
  void leave_region(seat& here) noexcept;
  /// Gives up the thread that runs `job`, if `give_up(job)` says, under the lock, that it has not come to its end; its run() will say
  /// so, and then it ends without the crew. Refused: it has, or `most` are lost. No thread here runs it, as its one job.
  enum class [[nodiscard]] on_lose : std::uint8_t { lost, refused, no_thread };
  on_lose lose(void* job, unsigned most, bool (*give_up)(void* job) noexcept) noexcept;
  /// Of the thread that sits here, which is about to do what nobody waits for: if the crew stops already it is lost, as one that stop()
  /// leaves behind; its run() will say given_up.
  void leave_at_end(seat& here) noexcept;

  /// Was the thread that sits here given up? Asked by itself.
  [[nodiscard]] bool is_lost(seat& here) noexcept {
    // Under the lock of whoever does that.
    const base::lock_guard guard(mutex_);
    // relaxed. The lock orders it.
    return here.lost.load(base::order::relaxed);
  }
  /// Has the calling thread, whose seat this is, to leave before it takes more work?
  [[nodiscard]] bool is_over() const noexcept {
    // relaxed. Decided under the lock.
    return (word_.load(base::order::relaxed) & over) != 0;
  }

  /// No thread is started any more, and each ends when it finds no work. Blocks until all have, but the lost ones: those that the
  /// client leaves behind are such from here on.
  void stop() noexcept;
  [[nodiscard]] counts count() noexcept;
  [[nodiscard]] limits bounds() noexcept;

  /// The seat of this thread, if it is one of any crew's that has regions.
  [[nodiscard]] static seat* here() noexcept { return static_cast<seat*>(base::this_thread_locals().seat); }

 private:
  static constexpr std::uint64_t one_idle = 1;
  static constexpr std::uint64_t idle_mask = 0xFF'FFFFU;
  static constexpr std::uint64_t one_searching = 1U << 24U;
  static constexpr std::uint64_t searching_mask = idle_mask << 24U;
  static constexpr std::uint64_t may_grow = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t over = std::uint64_t{1} << 63U;

  enum class [[nodiscard]] on_sleep : std::uint8_t { look_again, leave };
  enum class [[nodiscard]] on_call : std::uint8_t { nothing, wake, start };
  enum class [[nodiscard]] on_start : std::uint8_t { started, failed, over };
  enum class up_to : std::uint8_t { floor, cap };

  static void thread_main(void* seat_address) noexcept;
  void serve(seat& here) noexcept;
  [[nodiscard]] void* next(seat& here, bool& searching) noexcept;
  [[nodiscard]] void* search(seat& here) noexcept;
  void found() noexcept;
  on_sleep sleep(seat& here) noexcept;
  on_sleep depart(seat& here) noexcept;
  void uncount() noexcept;
  void note_left() noexcept;
  void note_start_over() noexcept;
  void rouse(seat& here) noexcept;
  void part(std::unique_ptr<seat>& place) noexcept;
  void forget(seat& here, void* job) noexcept;
  [[nodiscard]] bool retire(seat& here) noexcept;
  void attract_slowly() noexcept;
  on_call call(seat*& whom) noexcept;
  void carry_out(on_call duty, seat* whom) noexcept;
  void wake_idle(unsigned count) noexcept;
  void remind_idle() noexcept;
  [[nodiscard]] bool count_in(up_to limit) noexcept;
  void count_extra(int by) noexcept;
  on_start start_thread(void* given = nullptr) noexcept;
  [[nodiscard]] bool take_place(std::unique_ptr<seat>& made, pending_start& pending) noexcept;
  on_start launch(seat& made, pending_start& pending, void* given) noexcept;
  void count_start() noexcept;
  void uncount_start(void* given) noexcept;
  void reap() noexcept;
  void push_idle(seat& here) noexcept;
  void drop_idle(seat& here) noexcept;
  [[nodiscard]] std::size_t idle_count() const noexcept;
  void update() noexcept;
  [[nodiscard]] unsigned within_bounds() const noexcept { return std::max(min_, std::min(max_, goal_)); }
  [[nodiscard]] unsigned cap() const noexcept { return within_bounds() + extra_; }

  crew_client& client_;
  const std::uint64_t process_ = base::this_process_id();
  const char* const name_;
  const base::nanoseconds keep_alive_;
  const unsigned spins_;
  const bool has_regions_;

  alignas(base::cache_line) base::atomic<std::uint64_t> word_{0};
  base::atomic<unsigned> about_{0};   // threads_, for those without the lock
  base::atomic<unsigned> growth_{0};  // how many more there may be
  alignas(base::cache_line) base::mutex mutex_;
  unsigned min_;
  unsigned max_;
  unsigned goal_ = ~0U;
  unsigned extra_ = 0;
  unsigned regions_ = 0;
  unsigned threads_ = 0;
  std::uint64_t bits_ = 0;  // `grow` and `over` as they are in word_
  unsigned lost_ = 0;
  unsigned pending_ = 0;  // threads that are counted, and whose start has not returned
  bool stopping_ = false;
  seat* idle_ = nullptr;  // the one that fell asleep last
  std::uint64_t started_ = 0;
  std::uint64_t retired_ = 0;
  std::uint64_t failures_ = 0;
  base::atomic<std::uint32_t> left_{0};       // since stop() began: how many have left, or have been started
  std::vector<std::unique_ptr<seat>> seats_;  // by index
};

}  // namespace rota::pool::detail
