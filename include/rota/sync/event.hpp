// A flag that is set or not, and that tasks and threads wait for.
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

/// The state at the beginning.
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
//   wait    passes if the flag is set; an automatic event clears it in the same compare-exchange. Otherwise,
//           under the list's lock: a compare-exchange that has seen the flag clear sets `waiting`, and the
//           caller joins the list.
//   set     a compare-exchange sets the flag while there is no waiter. It also writes if the flag is set
//           already: the thread that passes must see what was done before. Otherwise, under the list's lock:
//           a manual event is set, and all waiters are granted; of an automatic one the first in line is
//           granted, and the flag stays clear.
//   reset   the flag is cleared. A wait that was granted before has passed.
//
//   E1  Under the lock, the list has waiters exactly while `waiting` is set. Only the lock's holder changes
//       that bit; while it is set, only the lock's holder changes the flag.
//   E2  An automatic event: each set() lets one wait pass, or sets the flag. A wait that was granted and is
//       given up counts as a set().

/// A flag to wait for.
///
///   rota::sync::event ready;                                       // manual: a gate, open or closed
///   rota::sync::event next(rota::sync::event_reset::automatic);    // a turnstile: one passes for each set()
///   ready.set();
///   co_await ready.wait();                                         // in a task
///   ready.blocking_wait();                                         // in a thread, or a work of a pool
///
/// Threads       Any.
/// Ownership     Destroying an event that has waiters ends the program with a sentence. A wait that has
///               passed may destroy it.
/// Ordering      What was done before set() happens before the return of the waits that it lets pass, also if
///               the event was set already. An automatic event: first come, first served.
/// Failure       None, except for the timed forms. A cancelled wait takes nothing: of an automatic event the
///               next in line passes instead, or the event is set again.
/// Cost          A wait for a manual event that is set: one load. set() and reset() without waiters, and a
///               wait for an automatic event that is set: one read-modify-write. No allocation. A wait: one
///               wake, and the list's lock twice.
/// Example       examples/event.cpp
class ROTA_API event : public core::plain_waits<event> {
 public:
  explicit event(event_reset how = event_reset::manual, event_state now = event_state::unset) noexcept
      : word_(now == event_state::set ? flag : 0), is_automatic_(how == event_reset::automatic) {}
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { list_.end("a sync::event was destroyed while a task or a thread waits for it"); }

  void set() noexcept {
    // relaxed: a guess; the exchange decides.
    std::uint32_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & waiting) != 0) [[unlikely]]
        return is_automatic_ ? wake_one() : wake_all();
      // release: pairs with the acquire of the thread that passes. failure: relaxed: again a guess.
    } while (!word_.compare_exchange_weak(seen, flag, base::order::release, base::order::relaxed));
  }
  /// Clears the flag. Waiters go on waiting.
  void reset() noexcept {
    // relaxed: it publishes nothing; the next wait waits.
    word_.fetch_and(~flag, base::order::relaxed);
  }
  /// A guess, unless no other thread uses the event.
  [[nodiscard]] bool is_set() const noexcept {
    // acquire: pairs with the release in set().
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
  /// Clears the flag of an automatic event. Returns false if it was not set.
  bool take() noexcept {
    std::uint32_t seen = flag;
    // acquire: pairs with the release in set(). failure: relaxed: a wait that has not passed reads nothing.
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
