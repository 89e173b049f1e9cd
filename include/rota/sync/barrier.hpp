// A number of participants that wait for each other, again and again.
#pragma once

#include <cstdint>
#include <expected>

#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/time.hpp>

namespace rota::sync {

// PROTOCOL: barrier
//   word_    63                    32 31          16 15         0
//          +------------------------+--------------+------------+
//          |       generation       | participants |  arrived   |
//          +------------------------+--------------+------------+
//
//   arrive   under the list's lock, by compare-exchange: one more has arrived, and the caller joins the list.
//            If it is the last: the next generation begins, `arrived` is 0, and all waiters are granted. A
//            single participant needs no lock for that.
//   drop     the same with one participant fewer. That may complete the generation; then the waiter that has
//            waited longest is the leader.
//   split    arrive() is an arrival without a node. wait() joins the list if its generation has not passed. A
//            wait() that gives up changes nothing.
//   leave    If the generation is still the one in which the caller arrived (`wanted` of its node): one fewer
//            has arrived. Otherwise it has passed.
//
//   B1  Under the lock: the nodes in the list, except those of a generation that has passed, are those that
//       have arrived and wait.
//   B2  arrived < participants, or both are 0.
//   B3  A passage cannot be handed on to another waiter. A waiter that was granted it, and gives up in that
//       moment, has passed (`kind` of its node). So a limit calls has_passed(). An arrival is no case of a
//       select, because a select does not ask a case that loses. A wait() may be a case: what it loses can be
//       had again, except for being the leader.

/// All participants arrive, then all go on. The last to arrive is the leader of that generation.
///
///   rota::sync::barrier step(3);
///   const auto at = co_await step.arrive_and_wait();   // in a task
///   const auto at = step.blocking_arrive_and_wait();   // in a thread, or a work of a pool
///   if (at.is_leader) ...
///
///   const auto mine = step.arrive();                   // or in two steps: does not wait
///   prepare_the_next();
///   const auto at = co_await step.wait(mine);          // a case of a select, too: the arrival stays
///
/// Threads       Any. It counts arrivals; it does not know which task or thread arrives. There is no try form
///               of arrive_and_wait(), because an arrival must wait. Use arrive() and try_wait().
/// Ownership     Destroying a barrier that has waiters ends the program with a sentence.
/// Ordering      What any participant did before it arrived, or dropped out, happens before the return of
///               each that it lets pass.
/// Failure       A cancelled wait takes the arrival back, and so does a limit that passes: the others go on
///               waiting for it, and it may arrive again. If the last participant arrives in that moment, the
///               arrival counts: a wait with a limit, or under a timeout of its own, reports that it has
///               passed. So arrive_and_wait() is no case of a select: a case that loses could not report
///               that. A wait() that ends early leaves its arrival, and may be repeated. If it loses in a
///               select, or is cancelled, in the moment in which a drop makes it the leader, that generation
///               has no leader. The constructor throws `std::invalid_argument` unless the participants are
///               1..max_participants. Arriving, or dropping out, after all have dropped out ends the program
///               with a sentence.
/// Cost          An arrival: the list's lock once, and one wake. A single participant: one read-modify-write.
///               No allocation.
/// Example       examples/barrier.cpp
class ROTA_API barrier {
 public:
  class arrival_leaf;
  using count = std::uint32_t;

  /// The result of a wait that has passed.
  struct passage {
    std::uint32_t generation;  // the number of generations that had passed before; it wraps at 2^32
    bool
        is_leader;  // the last that arrived; if that dropped out, the one that had waited longest, if any did
  };

  /// The receipt of an arrival: its generation, and whether it was the last.
  class arrival {
   public:
    [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
    /// Returns true if it was the last: all pass.
    [[nodiscard]] bool is_leader() const noexcept { return is_leader_; }

   private:
    friend class barrier;
    arrival(std::uint32_t generation, bool is_leader) noexcept
        : generation_(generation), is_leader_(is_leader) {}

    std::uint32_t generation_;
    bool is_leader_;
  };
  class passing_leaf;

  static constexpr count max_participants = 65535;

  explicit barrier(count participants);
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  ~barrier() { list_.end("a sync::barrier was destroyed while a task or a thread waits for it"); }

  /// Returns an awaitable that yields a passage. It arrives when it is awaited.
  arrival_leaf arrive_and_wait() noexcept;
  /// The same with a limit. They yield a passage, or timed_out.
  template <core::span_of_time Span>
  core::limited<arrival_leaf> arrive_and_wait_for(Span span) noexcept;
  template <class Duration>
  core::limited<arrival_leaf> arrive_and_wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept;

  /// Block the thread, as mutex::blocking_lock. A force stop takes the arrival back.
  passage blocking_arrive_and_wait();
  template <core::span_of_time Span>
  std::expected<passage, timed_out> blocking_arrive_and_wait_for(Span span) {
    core::wait_node me;
    return result_of(core::block_for(target(), me, detail::saturating_span(span)), me);
  }
  template <class Duration>
  std::expected<passage, timed_out> blocking_arrive_and_wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    return result_of(core::block_until(target(), me, detail::saturating_deadline(time)), me);
  }

  /// Arrives, and does not wait. The arrival cannot be taken back. The caller may wait() for the others, or
  /// not.
  [[nodiscard]] arrival arrive() noexcept;
  /// Returns an awaitable that yields a passage when all of that generation have arrived. A case of a select.
  passing_leaf wait(const arrival& from) noexcept;
  /// Returns true if all of that generation have arrived. What they did before is seen then.
  [[nodiscard]] bool try_wait(const arrival& from) noexcept;
  /// The same with a limit. They yield a passage, or timed_out; the arrival stays.
  template <core::span_of_time Span>
  core::limited<passing_leaf> wait_for(const arrival& from, Span span) noexcept;
  template <class Duration>
  core::limited<passing_leaf> wait_until(
      const arrival& from, std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept;
  /// Block the thread, as mutex::blocking_lock.
  passage blocking_wait(const arrival& from);
  template <core::span_of_time Span>
  std::expected<passage, timed_out> blocking_wait_for(const arrival& from, Span span) {
    core::wait_node me;
    begin(me, from);
    return result_of(core::block_for(to_pass(), me, detail::saturating_span(span)), me);
  }
  template <class Duration>
  std::expected<passage, timed_out> blocking_wait_until(
      const arrival& from, std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    begin(me, from);
    return result_of(core::block_until(to_pass(), me, detail::saturating_deadline(time)), me);
  }

  /// Removes one participant from this generation and all that follow. Does not wait; the others may pass.
  void arrive_and_drop() noexcept;

  /// Guesses, unless no other thread uses the barrier.
  [[nodiscard]] count participants() const noexcept { return now().participants; }
  [[nodiscard]] count arrived() const noexcept { return now().arrived; }

 private:
  struct state {
    std::uint32_t generation;
    count participants;
    count arrived;
  };
  // `kind` of a node
  static constexpr unsigned char leads = 1;
  static constexpr unsigned char passed = 2;
  static const core::wait_rules rules;
  static const core::wait_rules passing_rules;

  static state unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32U),
            static_cast<count>(word >> 16U & max_participants),
            static_cast<count>(word & max_participants)};
  }
  static std::uint64_t pack(state s) noexcept {
    return std::uint64_t{s.generation} << 32U | std::uint64_t{s.participants} << 16U | s.arrived;
  }
  [[nodiscard]] state now() const noexcept {
    // relaxed: a guess.
    return unpack(word_.load(base::order::relaxed));
  }
  static passage passage_of(const core::wait_node& node) noexcept {
    return {static_cast<std::uint32_t>(node.wanted), (node.kind & leads) != 0};
  }
  static std::expected<passage, timed_out> result_of(core::wait_end how, const core::wait_node& me) {
    if (how == core::wait_end::timed_out && (me.kind & passed) == 0) return std::unexpected(timed_out{});
    return passage_of(me);
  }
  static void begin(core::wait_node& me, const arrival& from) noexcept {
    me.wanted = from.generation_;
    me.kind = from.is_leader_ ? leads : 0;
  }
  bool pass_alone(core::wait_node& me) noexcept;
  arrival count_in() noexcept;
  /// Called under the lock.
  [[nodiscard]] bool has_passed(std::uint64_t generation) const noexcept {
    return now().generation != static_cast<std::uint32_t>(generation);
  }
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  void leave(core::wait_node& me) noexcept;
  [[nodiscard]] core::wait_target target() noexcept { return {&list_, this, &rules}; }
  [[nodiscard]] core::wait_target to_pass() noexcept { return {&list_, this, &passing_rules}; }

  base::atomic<std::uint64_t> word_;
  core::wait_list list_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API barrier::arrival_leaf final : public core::wait_leaf {
 public:
  /// No case of a select: see B3.
  static constexpr bool may_lose = false;

  explicit arrival_leaf(barrier& at) noexcept : wait_leaf(at.target()) {}
  [[nodiscard]] passage await_resume() noexcept {
    node().kind &= static_cast<unsigned char>(~passed);
    return passage_of(node());
  }
  /// Returns true if it has passed. Called by the code that limits the wait: see B3.
  [[nodiscard]] bool has_passed() noexcept { return (node().kind & passed) != 0; }

 private:
  /// Clears the result of an earlier await.
  bool start() override {
    node().kind = 0;
    return wait_leaf::start();
  }
};

class ROTA_DETAIL_AWAIT_IT ROTA_API barrier::passing_leaf final : public core::wait_leaf {
 public:
  passing_leaf(barrier& at, const arrival& from) noexcept : wait_leaf(at.to_pass()) { begin(node(), from); }
  [[nodiscard]] passage await_resume() noexcept { return passage_of(node()); }
};

inline barrier::arrival_leaf barrier::arrive_and_wait() noexcept { return arrival_leaf(*this); }
inline barrier::passing_leaf barrier::wait(const arrival& from) noexcept { return {*this, from}; }

template <core::span_of_time Span>
core::limited<barrier::arrival_leaf> barrier::arrive_and_wait_for(Span span) noexcept {
  return core::limited<arrival_leaf>(detail::saturating_span(span), *this);
}
template <class Duration>
core::limited<barrier::arrival_leaf> barrier::arrive_and_wait_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::limited<arrival_leaf>(detail::saturating_deadline(time), *this);
}
template <core::span_of_time Span>
core::limited<barrier::passing_leaf> barrier::wait_for(const arrival& from, Span span) noexcept {
  return core::limited<passing_leaf>(detail::saturating_span(span), *this, from);
}
template <class Duration>
core::limited<barrier::passing_leaf> barrier::wait_until(
    const arrival& from, std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::limited<passing_leaf>(detail::saturating_deadline(time), *this, from);
}

}  // namespace rota::sync
