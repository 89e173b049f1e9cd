#include "gate/executor_core.hpp"

#include <rota/error.hpp>
#include <rota/gate/mailbox.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rota::gate {

namespace detail {

void throw_no_mailbox() {
  throw std::logic_error("rota::gate: an empty mailbox or address: moved from, or made by default");
}
void throw_would_deadlock(const char* what) { throw rota::error(errc::would_deadlock, what); }

namespace {

constexpr unsigned most_threads = 256;
constexpr std::uint32_t most_budget = 65'536;
constexpr std::chrono::nanoseconds longest_slice = std::chrono::days(1);
constexpr std::uint32_t most_restarts = 1024;
constexpr std::size_t most_capacity = std::size_t{1} << 32U;

[[noreturn]] void refuse(const char* field, const std::string& found, const char* range) {
  throw std::invalid_argument(std::string("rota::gate: ") + field + " is " + found + ", and must be " +
                              range);
}

/// How many consumers: 0 means one for each processor.
unsigned counted(const char* what, unsigned asked) {
  if (asked > most_threads) refuse(what, std::to_string(asked), "0 to 256");
  return asked != 0 ? asked : std::min(base::usable_processors(), most_threads);
}

}  // namespace

tasks_to_make::tasks_to_make(unsigned consumers)
    : core_(&executor_core::create_for_tasks(counted("executor's consumers", consumers))) {}

tasks_to_make::~tasks_to_make() {
  if (core_ == nullptr) return;
  core_->shut_down();
  core_->drop_reference();
}

void tasks_to_make::note_started(core::header& consumer) noexcept {
  core_->note_scheduler(consumer);
  core::drop(&consumer);
}

std::optional<task<void>> tasks_to_make::next() {
  if (made_ == core_->consumers()) return std::nullopt;
  return executor_core::consume(*core_, made_++);
}

}  // namespace detail

executor::executor(unsigned threads)
    : core_(&detail::executor_core::create(detail::counted("executor's threads", threads))) {}

executor::~executor() {
  // A child of fork() has this object, but none of its threads.
  if (!core_->is_own_process()) return;
  if (core_->runs_here() || core_->handles_here())
    ROTA_FATAL("an executor is destroyed in its own handler", 0);
  core_->shut_down();
  core_->drop_reference();
}

void executor::demand_tasks(bool needed) const {
  if (needed && !core_->has_tasks())
    detail::refuse(
        "the handler", "a coroutine", "a function: this executor has threads of its own, and no runtime");
}

void executor::demand_no_restarts(const mailbox_options& options) {
  if (options.error_policy == on_error::restart)
    detail::refuse(
        "the handler", "made once", "a rota::gate::made_by for on_error::restart, which makes it anew");
}

void executor::check(const mailbox_options& options) const {
  core_->demand_own_process();
  if (options.capacity > detail::most_capacity)
    detail::refuse(
        "mailbox_options::capacity", std::to_string(options.capacity), "0 (unbounded) to 4294967296");
  if (options.budget == 0 || options.budget > detail::most_budget)
    detail::refuse("mailbox_options::budget", std::to_string(options.budget), "1 to 65536");
  if (options.time_slice.count() < 0 || options.time_slice > detail::longest_slice)
    detail::refuse(
        "mailbox_options::time_slice", std::to_string(options.time_slice.count()) + " ns", "0 to a day");
  if (static_cast<unsigned>(options.on_full) > static_cast<unsigned>(overflow::drop_oldest))
    detail::refuse(
        "mailbox_options::on_full", std::to_string(static_cast<unsigned>(options.on_full)), "an overflow");
  if (static_cast<unsigned>(options.band) >= priority_bands)
    detail::refuse(
        "mailbox_options::band", std::to_string(static_cast<unsigned>(options.band)), "a priority_band");
  if (static_cast<unsigned>(options.error_policy) > static_cast<unsigned>(on_error::restart))
    detail::refuse("mailbox_options::error_policy",
                   std::to_string(static_cast<unsigned>(options.error_policy)),
                   "an on_error");
  if (options.error_policy != on_error::restart) return;
  const restart_options& again = options.restarts;
  if (again.limit == 0 || again.limit > detail::most_restarts)
    detail::refuse("restart_options::limit", std::to_string(again.limit), "1 to 1024");
  if (again.within.count() <= 0 || again.within > detail::longest_slice)
    detail::refuse(
        "restart_options::within", std::to_string(again.within.count()) + " ns", "above 0, at most a day");
  if (again.pause.count() < 0 || again.pause > detail::longest_slice)
    detail::refuse("restart_options::pause", std::to_string(again.pause.count()) + " ns", "0 to a day");
  if (again.longest_pause.count() < 0 || again.longest_pause > detail::longest_slice)
    detail::refuse(
        "restart_options::longest_pause", std::to_string(again.longest_pause.count()) + " ns", "0 to a day");
}

void executor::pause() {
  core_->demand_own_process();
  core_->pause();
}
void executor::resume() {
  core_->demand_own_process();
  core_->resume();
}

void executor::drain() {
  core_->demand_own_process();
  if (core_->would_deadlock()) detail::throw_would_deadlock("drain of an executor where it runs");
  // If nothing was served during a whole pass, no handler has sent anything, so mailboxes that were found
  // empty are still empty.
  std::uint64_t before = 0;
  do {
    before = core_->totals().served;
    core_->wait_until_all_were_empty();
  } while (core_->totals().served != before);
}

task<void> executor::async_drain() {
  return detail::executor_core::drain_all(detail::core_reference(*core_));
}

executor_stats executor::stats() const {
  core_->demand_own_process();
  return core_->totals();
}

}  // namespace rota::gate
