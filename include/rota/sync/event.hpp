// Something that is set or not, and that tasks and threads wait for.
#pragma once

#include <cstdint>

#include <rota/detail/plain_waits.hpp>
#include <rota/time.hpp>

namespace rota::sync {

/// What a wait does to the event that let it pass.
enum class event_reset : unsigned char {
  manual,     // nothing: it stays set until reset(), and all waits pass
  automatic,  // resets it: each set() lets one wait pass
};

/// How it begins.
enum class event_state : unsigned char { unset, set };

[[nodiscard]] constexpr const char* to_string(event_state state) noexcept {
  switch (state) {
    case event_state::unset: return "unset";
    case event_state::set: return "set";
  }
  return "unknown";
}

// PROTOCOL: event
//   word_    bit 0: set · bit 1: waiting. Never both.
//
//   wait    passes if it is set; an automatic one takes the bit away by the same compare-exchange. Else, under the lock of the list:
//           `waiting` is set by a compare-exchange that has seen it not set, and the caller joins the list.
//   set     the bit is set by compare-exchange while nobody waits; again if it is set: what was done before must be seen by whoever
//           passes. Else, under the lock of the list: manual: it is set, and all who wait now are granted; automatic: the first in line
//           is granted, and it stays as it is.
//   reset   the bit goes. Who was granted before is through.
//
//   E1  Under the lock, somebody is in the list exactly while `waiting` is set. Only the lock's holder changes that bit, and with it the
//       other one.
//   E2  An automatic event: each set() lets one wait pass, or sets the bit. A wait that was granted and is given up is a set().

/// A flag to wait for.
///
///   rota::sync::event ready;                                       // manual: a gate, open or closed
///   rota::sync::event next(rota::sync::event_reset::automatic);    // a turnstile: one passes for each set()
///   ready.set();
///   co_await ready.wait();                                         // in a task
///   ready.blocking_wait();                                         // in a thread, or a work of a pool
///
/// Threads       Any.
/// Ownership     Destroying an event for which somebody waits ends the program with a sentence; whoever was let pass may destroy it.
/// Ordering      What was done before set() happens before the return of the waits that it lets pass, also if it was set already. An
///               automatic one: first come, first served.
/// Failure       Never, but for the timed forms. A cancelled wait takes nothing: of an automatic event the next in line passes instead,
///               or it is set again.
/// Cost          A wait for a manual event that is set: one load. set() and reset() without waiters, and a wait for an automatic event
///               that is set: one read-modify-write. No allocation. A wait: one wake, and the list's lock twice.
/// Example       examples/event.cpp
class ROTA_API event : public core::plain_waits<event> {
 public:
  explicit event(event_reset how = event_reset::manual, event_state now = event_state::unset) noexcept
      : word_(now == event_state::set ? flag : 0), is_automatic_(how == event_reset::automatic) {}
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { list_.end("a sync::event was destroyed while somebody waits for it"); }

  void set() noexcept {
    // relaxed. A guess; the exchange decides.
    std::uint32_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & waiting) != 0) [[unlikely]]
        return is_automatic_ ? wake_one() : wake_all();
      // release. Pairs with the acquire of who passes. failure: relaxed. Again a guess.
    } while (!word_.compare_exchange_weak(seen, flag, base::order::release, base::order::relaxed));
  }
  /// Whoever waits goes on waiting.
  void reset() noexcept {
    // relaxed. It says nothing but that the next wait waits.
    word_.fetch_and(~flag, base::order::relaxed);
  }
  /// A guess, unless nothing moves.
  [[nodiscard]] bool is_set() const noexcept {
    // acquire. Pairs with set().
    return (word_.load(base::order::acquire) & flag) != 0;
  }

 private:
  friend class core::plain_waits<event>;

  static constexpr std::uint32_t flag = 1;
  static constexpr std::uint32_t waiting = 2;
  static const core::wait_rules manual_rules;
  static const core::wait_rules automatic_rules;

  static constexpr std::uint64_t since() noexcept { return 0; }
  [[nodiscard]] core::wait_target target() noexcept {
    return {&list_, this, is_automatic_ ? &automatic_rules : &manual_rules};
  }
  bool try_now(core::wait_node& /*me*/) noexcept { return is_automatic_ ? take() : is_set(); }
  /// An automatic one.
  bool take() noexcept {
    std::uint32_t seen = flag;
    // acquire. Pairs with set(). failure: relaxed. Nothing is read that was not passed.
    return word_.compare_exchange_strong(seen, 0, base::order::acquire, base::order::relaxed);
  }
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  void leave(const core::wait_section& section) noexcept;
  void wake_one() noexcept;
  void wake_all() noexcept;

  base::atomic<std::uint32_t> word_;
  bool is_automatic_;
  core::wait_list list_;
};

}  // namespace rota::sync
