// The clock, the thread locals, the randomness and the fatal errors of the model.
#include "base/chance.hpp"
#include "base/clock.hpp"
#include "base/last_words.hpp"
#include "base/random.hpp"
#include "base/tls_slot.hpp"
#include "testing/machine.hpp"

#include <cstdio>

namespace rota::base {

using testing::detail::active;

// Outside of executions time stands still.
time_point now() noexcept { return active == nullptr ? time_point{} : active->now(); }

thread_locals& this_thread_locals() noexcept {
  thread_local thread_locals outside;
  return active == nullptr ? outside : active->locals();
}

bool chance() noexcept { return active != nullptr && active->chance(); }

std::uint64_t entropy() noexcept { return 0x726F'7461; }

void say_before_abort(void (* /*say*/)() noexcept) noexcept {}

void fatal(const char* what, std::uint64_t value, const char* file, unsigned line) noexcept {
  std::string text = std::string("fatal: ") + what + ": " + std::to_string(value) + " at " + file + ':' +
                     std::to_string(line);
  if (active != nullptr) active->fail(std::move(text));
  testing::detail::abort_outside(text.c_str());
}

}  // namespace rota::base
