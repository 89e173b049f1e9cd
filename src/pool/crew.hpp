// A set of threads that grows and shrinks: how many threads there are, which of them sleep, and which one is
// woken for a new job.
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

/// A thread that is being started: a local variable of the starter. Guarded by the crew's lock.
struct pending_start {
  bool is_lost = false;  // its thread was given up during the start: the crew no longer owns the seat
};

/// The slot of one thread, as the client sees it. Owned by the crew; once the thread is lost, owned by the
/// thread.
struct alignas(base::cache_line) seat {
  crew* of = nullptr;
  unsigned index = 0;
  base::atomic<void*> job{nullptr};  // the client's: the job that runs here, or is about to; written by this
                                     // thread
  void* own = nullptr;               // the client's
  int nice = 0;                      // the client's: the nice value that the thread has

  // The crew's, guarded by its lock.
  base::thread thread;               // set when the start has returned
  pending_start* pending = nullptr;  // set until then
  base::atomic<std::uint32_t> signal{0};
  base::patience waits;   // used by its thread only
  seat* above = nullptr;  // in the idle list
  seat* below = nullptr;
  bool idle = false;
  // A job for this thread alone. Written by the thread that takes the seat out of the idle list, or that
  // starts the thread. Then read by the seat's thread.
  void* given = nullptr;
  bool ended = false;  // the thread does not touch the crew again: join it
  bool has_looked_at_end = false;
  unsigned regions = 0;
  base::atomic<bool> lost{false};  // the thread was given up
};

// PROTOCOL: crew
//   mutex_ guards every plain member, and the fields of seats that say so. word_ holds what a submitter must
//   know:
//
//   63   62    61       48 47         24 23       0
//   +----+----+-----------+-------------+----------+
//   |over|grow|     0     |  searching  |   idle   |
//   +----+----+-----------+-------------+----------+
//
//   idle       number of threads in the idle list                     changes under mutex_
//   searching  number of threads that search for jobs. Each of them scans all queues once more before it
//              sleeps. A woken or new thread counts from the moment when it was chosen. Rises under mutex_,
//              or by a thread that has run out of jobs
//   grow       another thread may be started                          changes under mutex_
//   over       there are more threads than there may be               changes under mutex_
//
//   Publish: the producer puts the job into a queue, under the queue's lock, and then reads word_. If no
//   thread searches, and one sleeps or may be started, the producer wakes or starts one.
//   Sleep: a thread announces its sleep by a read-modify-write of word_ (idle up, searching down). Then it
//   scans all queues, each under its lock. The scan finds each job that was published before it. A producer
//   that publishes after the scan takes the queue's lock later, so it reads the announcement in word_.
//   Leave: the same with `grow` instead of `idle`. The thread is not in the idle list any more.
//   Find: a thread that finds a job while it searches stops searching (searching down). Then it checks for
//   more jobs, since no thread was woken for a job that was published while it searched.
//
//   C1  threads >= min once `min` threads have been started, unless the system refuses a thread. threads <=
//       goal + extra, except while a surplus leaves (`over`). `goal` is max or, after set_goal(), a number
//       between min and max. `extra` counts one for each long job and each blocking region.
//   C2  A thread that leaves is counted out in the critical section in which it decides to leave. So if
//       several time out together, no more leave than may.
//   C3  A thread that cannot be started is counted out before missing() is called. A producer that published
//       meanwhile has left its job to that thread. The starter wakes a sleeping thread instead, so no job
//       waits for a clock while there is a thread.
//   C4  A hand-off bypasses the queues. The caller writes the job under mutex_ into the seat of a sleeping
//       thread, or into the seat of a new thread before that starts. The thread runs this job before it polls
//       a queue, and does not leave before. It does not count as searching, so no producer leaves a job to
//       it. If it has already announced its sleep, its final scan may find a job that was left to it. Then it
//       wakes another thread for that job. If the hand-off fails, the caller keeps ownership of the job.
//       Each job in the queues reserves a thread. A sleeping thread receives the handed-over job only if more
//       threads sleep than jobs wait. A new one does only if more threads sleep or may be started than jobs
//       wait. Reason: the owner of the handed-over job may be about to wait for a queued job, and must not
//       take that job's thread.
//   C5  A job that was published before stop() is found: each thread scans all queues once more after it has
//       seen stopping_ under mutex_.
//   C6  A thread is started without the lock. The critical section that counts it in threads_ also counts it
//       in pending_. It is pending until the starter has written the handle under mutex_, or the start has
//       failed. Its seat is in seats_, and its `pending` is set, before the starter calls the system. Until
//       the handle is written the thread may run, be given up, or end:
//         given up  part() cannot detach it. It sets pending_start::is_lost, and the starter detaches it. The
//                   starter does not touch the seat, which its thread may have freed.
//         ended     reap() leaves the seat alone. A later reap() joins the thread.
//         stop()    waits for pending_ == 0. The starter raises left_ after it has counted itself out.

/// The owner of a crew: it provides the jobs that the threads run.
class crew_client {
 public:
  crew_client() = default;
  crew_client(const crew_client&) = delete;
  crew_client& operator=(const crew_client&) = delete;

  /// Takes a job for this thread. Returns null if it found none. The scan may miss a job.
  [[nodiscard]] virtual void* take(seat& here) noexcept = 0;
  /// Runs the job. Returns given_up if the job was given up: see lose().
  enum class [[nodiscard]] on_run : std::uint8_t { done, given_up };
  virtual on_run run(seat& here, void* job) noexcept = 0;
  /// Returns true if a queue holds a job. Checks every queue under its lock.
  [[nodiscard]] virtual bool has_work() noexcept = 0;
  /// Returns the number of jobs that no thread has taken. Called under the crew's lock. Not called if the
  /// client hands nothing over.
  [[nodiscard]] virtual std::size_t waiting() noexcept { return 0; }
  /// Called on the thread: when it begins, and when it is about to end.
  virtual void begins(seat& here) noexcept = 0;
  virtual void ends(seat& here) noexcept = 0;
  /// Called under the crew's lock: the thread of this seat is about to be given up.
  virtual void loses(seat& /*here*/) noexcept {}
  /// Called on a thread that was given up, as its last action.
  virtual void gone(void* job) noexcept = 0;
  /// Called if a thread could not be started. The client tries again later, by grow(), or by attract() if
  /// only a waiting job needs a thread.
  virtual void missing() noexcept = 0;
  /// Returns true if the thread of this seat is inside a call that may never end. Called under the crew's
  /// lock while the crew stops. Then the thread is lost: stop() does not wait for it, and its run() must
  /// return given_up. This decision and the end of that run() have one order.
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
  /// Properties of the threads.
  struct habits {
    bool spins = true;        // they search again for a while before they sleep
    bool has_regions = true;  // a job finds its seat by here(), and declares there that it blocks
  };
  struct counts {
    unsigned threads = 0;
    unsigned idle = 0;
    unsigned goal = 0;
    unsigned extra = 0;
    unsigned regions = 0;
    unsigned lost = 0;
    unsigned pending = 0;  // of `threads`, those that are still being started
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
  /// Ensures that a thread scans the queues. Called after a job was published.
  void attract() noexcept {
    // acquire: pairs with the read-modify-writes by which threads announce their sleep; see the protocol.
    const std::uint64_t seen = word_.load(base::order::acquire);
    if ((seen & searching_mask) != 0 || (seen & (idle_mask | may_grow)) == 0) return;
    attract_slowly();
  }
  /// Hands `job`, which is in no queue, to a thread that runs it next: a sleeping one, else a new one.
  /// Returns false if there is none beyond one for each waiting job. Then the caller keeps the job.
  [[nodiscard]] bool hand_over(void* job) noexcept;
  /// Returns how many jobs would find a free thread: one that sleeps, that searches, or that may be started.
  /// Exact only while no thread comes or goes.
  [[nodiscard]] unsigned room() const noexcept {
    // relaxed: a guess, if threads come and go meanwhile.
    const std::uint64_t seen = word_.load(base::order::relaxed);
    return static_cast<unsigned>((seen & idle_mask) + (seen & searching_mask) / one_searching) +
           growth_.load(base::order::relaxed);
  }
  /// Returns true if a thread would come for a job that is published now. A guess.
  [[nodiscard]] bool has_room() const noexcept {
    // acquire: same reason as in attract().
    return (word_.load(base::order::acquire) & (idle_mask | may_grow)) != 0;
  }
  [[nodiscard]] unsigned about_how_many() const noexcept {
    // relaxed: a guess.
    return about_.load(base::order::relaxed);
  }
  /// Starts a thread that was missing, and then threads up to `min`. Returns false if the system still
  /// refuses one.
  bool grow() noexcept;

  void resize(unsigned min, unsigned max) noexcept;
  /// Sets how many threads there may be within the bounds: fewer than `max`.
  void set_goal(unsigned goal) noexcept;
  /// Raises, or lowers, the limit of threads by one.
  void add_extra() noexcept;
  void remove_extra() noexcept;
  /// The thread of this seat may block between enter_region() and leave_region().
  void enter_region(seat& here) noexcept;
  void leave_region(seat& here) noexcept;
  /// Gives up the thread that runs `job`, if `give_up(job)` returns true. That is called under the lock, and
  /// returns false if the job has ended. The run() of a lost thread returns given_up, and then the thread
  /// ends without the crew. Returns refused if the job has ended or `most` threads are lost already. Returns
  /// no_thread if no thread here runs it as its current job.
  enum class [[nodiscard]] on_lose : std::uint8_t { lost, refused, no_thread };
  on_lose lose(void* job, unsigned most, bool (*give_up)(void* job) noexcept) noexcept;
  /// Called by the thread of this seat before it does what no thread waits for. If the crew already stops,
  /// the thread is lost, as one that stop() leaves behind. Then its run() returns given_up.
  void leave_at_end(seat& here) noexcept;

  /// Returns true if the calling thread was given up. `here` is its seat.
  [[nodiscard]] bool is_lost(seat& here) noexcept {
    // The lock of the thread that gives it up.
    const base::lock_guard guard(mutex_);
    // relaxed: the lock orders it.
    return here.lost.load(base::order::relaxed);
  }
  /// Returns true if the calling thread must leave before it takes another job.
  [[nodiscard]] bool is_over() const noexcept {
    // relaxed: a hint; retire() decides under the lock.
    return (word_.load(base::order::relaxed) & over) != 0;
  }

  /// Stops the crew: no thread is started any more, and each ends when it finds no job. Blocks until all
  /// threads have ended, except the lost ones. A thread that the client leaves behind is lost from here on.
  void stop() noexcept;
  [[nodiscard]] counts count() noexcept;
  [[nodiscard]] limits bounds() noexcept;

  /// Returns the seat of the calling thread, or null if it is no thread of a crew that has regions.
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
  base::atomic<unsigned> about_{0};   // threads_, for readers without the lock
  base::atomic<unsigned> growth_{0};  // how many more threads may be started
  alignas(base::cache_line) base::mutex mutex_;
  unsigned min_;
  unsigned max_;
  unsigned goal_ = ~0U;
  unsigned extra_ = 0;
  unsigned regions_ = 0;
  unsigned threads_ = 0;
  std::uint64_t bits_ = 0;  // `grow` and `over`, as they are in word_
  unsigned lost_ = 0;
  unsigned pending_ = 0;  // counted threads that are still being started
  bool stopping_ = false;
  seat* idle_ = nullptr;  // the head of the idle list: the thread that fell asleep last
  std::uint64_t started_ = 0;
  std::uint64_t retired_ = 0;
  std::uint64_t failures_ = 0;
  base::atomic<std::uint32_t> left_{0};       // how many threads have left, or have been started, since
                                              // stop() began
  std::vector<std::unique_ptr<seat>> seats_;  // by index
};

}  // namespace rota::pool::detail
