// Threads of the model are fibres; the handle of a thread is the number of its fibre.
#include "base/thread.hpp"

#include "testing/machine.hpp"

namespace rota::base {

using testing::detail::abort_outside;
using testing::detail::active;

std::expected<thread, std::error_code> thread::start(const char* name,
                                                     entry_function entry,
                                                     void* argument) noexcept {
  const unsigned index = active == nullptr ? 0 : active->start_thread(name, entry, argument);
  if (index == 0) return std::unexpected(std::make_error_code(std::errc::resource_unavailable_try_again));
  return thread(index);
}

void thread::join_native(std::uint64_t native) noexcept {
  if (active == nullptr) abort_outside("join outside of an execution");
  active->join_thread(static_cast<unsigned>(native));
}

void thread::detach_native(std::uint64_t /*native*/) noexcept {}

bool set_niceness(int /*nice*/) noexcept { return true; }
bool has_half_a_stack() noexcept { return true; }
unsigned usable_processors() noexcept { return 2; }

std::uint64_t this_thread_id() noexcept { return active == nullptr ? 1 : active->current() + 1; }

std::optional<nanoseconds> processor_time_of(std::uint64_t /*thread_id*/) noexcept { return std::nullopt; }
thread_state state_of_thread(std::uint64_t /*thread_id*/) noexcept { return thread_state::unknown; }
std::uint64_t this_process_id() noexcept { return 1; }

void watch_for_exit() noexcept {}

bool exits_inside_a_task() noexcept { return false; }

void yield_thread() noexcept { cpu_relax(); }
void back_off(unsigned /*looks*/) noexcept { cpu_relax(); }

}  // namespace rota::base
