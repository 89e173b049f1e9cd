// Tasks that wait, on a scheduler that is moved by hand, beside plain models of what they wait for. What a
// task gets, and whether it goes on or waits, must be what the models say.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "reference.hpp"
#include "support/manual_scheduler.hpp"
#include "task/header.hpp"

#include <rota/join_handle.hpp>
#include <rota/outcome.hpp>

namespace fuzz {

/// One of the things for which a task waits at once.
struct stake {
  reference* at = nullptr;
  number how = 0;
};

/// How a task waits.
struct plan {
  static constexpr number never = ~number{0};

  std::array<stake, 2> stakes{};
  number limit = never;    // ms: a wait with a limit
  number nap = never;      // ms: a select with a sleep for its last case
  bool is_tired = false;   // its operations are used up: it gives up its turn first
  bool hesitates = false;  // it makes the wait, and lets others run before it awaits it
  bool in_order = false;   // of a select
};

class scene {
 public:
  using time_point = rota::base::time_point;
  static constexpr unsigned most = 8;

  scene() { trace_.clear(); }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;
  ~scene() = default;

  /// A task's place in the scene. Destroyed last in its frame.
  class seat {
   public:
    seat(scene& in, player who) : in_(&in), who_(who) {}
    seat(seat&& other) noexcept : in_(std::exchange(other.in_, nullptr)), who_(other.who_) {}
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;
    ~seat() {
      if (in_ != nullptr) in_->leave(who_);
    }

    [[nodiscard]] const plan& how() const { return in_->guests_[who_].how; }
    [[nodiscard]] std::chrono::milliseconds limit() const { return ms(how().limit); }
    [[nodiscard]] std::chrono::milliseconds nap() const { return ms(how().nap); }
    /// The wait is made; is about to be awaited, and may yield first; has ended, by case `which`; was late.
    void made() const { in_->make(in_->guests_[who_]); }
    void begin(bool may_yield = true) const { in_->begin(in_->guests_[who_], may_yield); }
    void end(std::size_t which, number got) const { in_->end(in_->guests_[who_], which, got); }
    void end_late() const { in_->end_late(in_->guests_[who_], late); }
    /// After its wait the task does something that is not checked; then it is done.
    void act() const { in_->guests_[who_].is = state::acts; }
    void act_no_more() const { in_->guests_[who_].is = state::over; }

    [[nodiscard]] scene& in() const { return *in_; }
    [[nodiscard]] player who() const { return who_; }

   private:
    static std::chrono::milliseconds ms(number n) { return std::chrono::milliseconds(n); }
    scene* in_;
    player who_;
  };

  /// Queues the task of `make(seat)`. Does nothing if all places are taken.
  template <class Make>
  void start(const plan& how, Make make) {
    guest* const free = free_place();
    if (free == nullptr) return;
    *free = guest{};
    free->who = static_cast<player>(free - guests_.data());
    free->how = how;
    free->is = state::spawned;
    for (const stake& each : how.stakes) {
      if (each.at != nullptr) each.at->starts(free->who, each.how);
    }
    auto work = make(seat(*this, free->who));
    free->handle = scheduler_.spawn(std::move(work));
    free->id = free->handle->id().value;
  }
  [[nodiscard]] bool has_room() { return free_place() != nullptr; }

  void cancel(unsigned who) {
    guest& g = guests_[who % most];
    if (g.is == state::idle || !g.handle.has_value()) return;
    check(g.handle->cancel(), "a task that has not ended can be cancelled");
    // A task that is late already goes on to its end.
    if (!(g.is == state::leaves && !g.cancelled)) g.cancelled = true;
  }
  void detach(unsigned who) { guests_[who % most].handle.reset(); }
  void cancel_all() {
    for (unsigned i = 0; i < most; ++i) cancel(i);
  }

  /// Runs the i-th of the runnable tasks; all; the newest first.
  bool run(std::size_t i);
  void run_all();
  void run_all_newest_first();
  void advance(number milliseconds) { scheduler_.advance(std::chrono::milliseconds(milliseconds)); }

  /// No task can run. Checks that exactly those tasks wait that should.
  void check_quiet() const;
  [[nodiscard]] bool is_quiet() const { return scheduler_.queued() == 0; }
  [[nodiscard]] bool is_empty() const;
  /// Returns true if a task may still come to this one, or holds something of it.
  [[nodiscard]] bool is_staked(const reference& at) const;
  /// Returns true if a task does something other than wait.
  [[nodiscard]] bool acts() const;
  void end();

  /// The state of all tasks, below 256: for note_state().
  [[nodiscard]] number state_of_all() const;

  void check(bool good, const char* what) const;
  /// For the report of a failure.
  void note(const char* what, number a, number b) { trace_.push_back({what, a, b}); }

 private:
  enum class state : unsigned char {
    idle,     // no task is here
    spawned,  // it has not come to wait
    tired,    // it waits as soon as its turn comes again
    there,    // what it waits for is there, and it must go on at once
    waits,
    leaves,  // cancelled or late, and it has to wait for something all the same
    acts,
    over,  // it has what it waited for
  };
  struct guest {
    player who = nobody;
    plan how;
    std::optional<rota::join_handle<void>> handle;
    std::uint64_t id = 0;
    state is = state::idle;
    bool cancelled = false;
    bool has_let_go = false;  // see `leaves`: and now it has that
    players must = 0;         // when it was asked, a bit for each case, the nap included: it has that
    players may = 0;
    time_point due = rota::base::never;
    time_point nap_ends = rota::base::never;
  };
  static constexpr std::size_t nap_case = 2;

  [[nodiscard]] time_point now() const { return scheduler_.time; }
  [[nodiscard]] static time_point after(time_point now, number ms) {
    return ms == plan::never ? rota::base::never : now + std::chrono::milliseconds(ms);
  }
  guest* free_place() {
    for (guest& each : guests_) {
      if (each.is == state::idle) return &each;
    }
    return nullptr;
  }
  guest* owner_of(std::uint64_t id) {
    for (guest& each : guests_) {
      if (each.is != state::idle && each.id == id) return &each;
    }
    return nullptr;
  }
  template <class F>
  static void for_stakes(const guest& g, F f) {
    for (std::size_t i = 0; i < g.how.stakes.size(); ++i) {
      if (g.how.stakes[i].at != nullptr) f(g.how.stakes[i], i);
    }
  }
  [[nodiscard]] players awake() const;
  void ask(guest& g);
  void before(guest& g);
  void after(guest& g, state was);
  void settle(guest& g) const;
  void give_up(guest& g);

  void make(guest& g) {
    for_stakes(g, [&](const stake& s, std::size_t) { s.at->prepares(g.who); });
  }
  void begin(guest& g, bool may_yield);
  void arrive(guest& g);
  void end(guest& g, std::size_t which, number got);
  void end_late(guest& g, number got);
  void leave(player who);

  struct step {
    const char* what;
    number a;
    number b;
  };
  mutable rota::test::manual_scheduler scheduler_;
  std::array<guest, most> guests_;
  number in_vain_ = 0;
  static inline std::vector<step> trace_;  // of this scene, which is the only one; it keeps its memory
};

}  // namespace fuzz

#include "scene_rules.hpp"
