// The functions that a work may call while it runs.
#include <rota/pool/this_work.hpp>

#include "base/tls_slot.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

#include <rota/error.hpp>

namespace rota::pool {

namespace core_of = detail;

force_stopped::~force_stopped() = default;
work_stopped::~work_stopped() = default;

namespace {

detail::work_core* work_here() noexcept {
  return static_cast<detail::work_core*>(base::this_thread_locals().work);
}

detail::work_core& demand(const char* what) {
  detail::work_core* const here = work_here();
  if (here == nullptr) throw error(errc::no_runtime, what);
  return *here;
}

}  // namespace

namespace this_work {

work_id id() noexcept {
  const core_of::work_core* const here = work_here();
  return here == nullptr ? work_id{} : work_id{here->id};
}

std::string_view name() noexcept {
  const core_of::work_core* const here = work_here();
  return here == nullptr || here->extras == nullptr ? std::string_view()
                                                    : std::string_view(here->extras->name);
}

unsigned attempt() {
  const core_of::work_core& here = demand("this_work::attempt outside of a work");
  return here.extras == nullptr ? 0 : here.extras->attempt;
}

bool stop_requested() {
  return demand("this_work::stop_requested outside of a work").load().has(core_of::stop_asked);
}

void stop_if_requested() {
  const core_of::word now = demand("this_work::stop_if_requested outside of a work").load();
  if (now.has(core_of::force_asked)) throw force_stopped();
  if (now.has(core_of::stop_asked)) throw work_stopped();
}

void pause_if_requested() {
  core_of::work_core& here = demand("this_work::pause_if_requested outside of a work");
  here.pool->checkpoint(here);
}

void checkpoint() {
  pause_if_requested();
  stop_if_requested();
}

void sleep_until(std::chrono::steady_clock::time_point time) {
  core_of::work_core& here = demand("this_work::sleep_until outside of a work");
  here.pool->sleep(here, time);
}

void stop_retry() { core_of::never_retry(demand("this_work::stop_retry outside of a work")); }

namespace detail {

void forget_stop() {
  core_of::word seen{};
  static_cast<void>(demand("this_work").apply<core_of::rule::forget_stop>(seen));
}
void throw_stopped() { throw work_stopped(); }
std::chrono::steady_clock::time_point after(std::chrono::nanoseconds span) noexcept {
  return rota::detail::saturating_deadline(base::now(), span);
}

}  // namespace detail

}  // namespace this_work

blocking_region::blocking_region() noexcept : crew_(detail::crew::here()) {
  if (auto* const here = static_cast<detail::seat*>(crew_)) here->of->enter_region(*here);
}
blocking_region::~blocking_region() {
  if (auto* const here = static_cast<detail::seat*>(crew_)) here->of->leave_region(*here);
}

namespace detail {

void never_retry(work_core& work) noexcept {
  word seen{};
  static_cast<void>(work.apply<rule::set>(seen, std::uint64_t{last_attempt}));
}

const void* stored_result(const work_core& work, const void* tag) {
  if (work.type->result != tag)
    throw std::invalid_argument("work_end::value<T>: the result of this work is no T");
  return work.load().is(work_status::succeeded) ? work.type->value(work.body) : nullptr;
}

stop_hook* hook_of(work_core& work) noexcept { return work.hook; }

void set_hook(work_core& work, stop_hook& hook) noexcept {
  work.hook = &hook;
  word seen{};
  // The thread that sets `hooked` and the thread that requests the stop change the same word. So the later
  // one sees the other's change.
  if (work.apply<rule::set>(seen, std::uint64_t{hooked}) && seen.has(stop_asked)) hook.request(hook);
}

}  // namespace detail

}  // namespace rota::pool
