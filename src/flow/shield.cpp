#include <rota/cancel.hpp>

#include "task/header.hpp"

namespace rota {

shield_guard::shield_guard(std::chrono::nanoseconds limit) : timed_region(kind::shield) {
  core::header* const me = core::current_task();
  if (me == nullptr) throw error(errc::no_runtime);
  core::enroll_once(*me);
  if (!core::raise_shield(*me)) throw shield_overflow();
  enter(*me, nullptr, detail::saturating_deadline(timing::now_for(*me), limit));
}

shield_guard::shield_guard(shield_guard&& other) noexcept : timed_region(kind::shield) {
  if (other.is_linked()) take_over(other);
}

shield_guard& shield_guard::operator=(shield_guard&& other) noexcept {
  if (this == &other) return *this;
  lower();
  if (other.is_linked()) take_over(other);
  return *this;
}

void shield_guard::lower() noexcept {
  if (!is_linked()) return;
  core::header& owner = core::header_of(task());
  if (core::current_task() != &owner) ROTA_FATAL("a shield ended outside of its task", owner.id);
  leave();
  static_cast<void>(owner.word.shield_down());
}

}  // namespace rota
