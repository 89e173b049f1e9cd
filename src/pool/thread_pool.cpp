// The public class: forwards to the pool, by id, by list, by group, and for all.
#include <rota/pool/events.hpp>
#include <rota/pool/thread_pool.hpp>

#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>

#include <memory>
#include <stdexcept>

namespace rota::pool {

namespace detail {

draft draw(pool_core& pool, const body_type& type, const work_options* wanted) {
  work_core& w = pool.draw(type, wanted);
  return {&w, w.body};
}
void give_back(const draft& place) noexcept { place.work->pool->give_back(*place.work); }
work_core& enter(const draft& place, const work_options* options) {
  place.work->pool->enter(*place.work, options, pool_core::handle::given);
  return *place.work;
}
void enter_and_let_go(const draft& place) {
  place.work->pool->enter(*place.work, nullptr, pool_core::handle::none);
}
void throw_empty_function() { throw std::invalid_argument("thread_pool::submit: an empty function or task"); }
void throw_empty_handle() {
  throw error(errc::already_joined, "work: an empty handle, or its outcome was fetched before");
}

void retain(work_core& work) noexcept { work.retain(); }
void release(work_core& work) noexcept { work.pool->drop(work); }
work_id id_of(const work_core& work) noexcept { return {work.id}; }
work_status status_of(const work_core& work) noexcept { return work.load().status(); }
cancel_reason reason_of(const work_core& work) noexcept {
  const word now = work.load();
  if (now.has(timed_out)) return cancel_reason::timeout;
  return now.has(ending) ? cancel_reason::shutdown : cancel_reason::user;
}
bool is_over(const work_core& work) noexcept { return work.load().has(over); }
void* take_outcome_of(work_core& work, const void* tag) {
  // A cancelled reservation has no type.
  const body_type* const type = work.type;
  if (type != nullptr && type->result != tag)
    throw std::invalid_argument("the result of this work is of another type");
  word seen{};
  if (!work.apply<rule::fetch>(seen)) return nullptr;
  return type == nullptr ? &work : type->outcome(work.body);
}
std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds span) noexcept {
  return rota::detail::saturating_deadline(base::now(), span);
}
const void* value_of(work_core& work) {
  const word now = work.load();
  const bool is_there = now.is(work_status::succeeded) && !now.has(fetched);
  const void* const value = is_there ? work.type->value(work.body) : nullptr;
  if (value == nullptr) throw_empty_handle();
  return value;
}
namespace {

constexpr auto by_cancel = [](work_core& w) { return w.pool->cancel(w, 0); };
constexpr auto by_stop = [](work_core& w) { return w.pool->stop(w, 0); };
constexpr auto by_force = [](work_core& w) { return w.pool->stop(w, force_asked); };
constexpr auto by_pause = [](work_core& w) { return w.pool->pause(w); };
constexpr auto by_resume = [](work_core& w) { return w.pool->resume(w); };

/// Gives an order to a work. Returns false in a forked child, where the work's pool has no threads.
template <class F>
bool order(work_core& work, F f) noexcept {
  return work.pool->is_own_process() && f(work);
}

}  // namespace

bool cancel(work_core& work) noexcept { return order(work, by_cancel); }
bool stop(work_core& work) noexcept { return order(work, by_stop); }
bool force_stop(work_core& work) noexcept { return order(work, by_force); }
bool pause(work_core& work) noexcept { return order(work, by_pause); }
bool resume(work_core& work) noexcept { return order(work, by_resume); }
bool join_group(work_core& work, std::string_view group) { return work.pool->join_group(work, group); }
bool leave_group(work_core& work, std::string_view group) { return work.pool->leave_group(work, group); }
bool wait(work_core& work, std::chrono::steady_clock::time_point deadline) {
  return work.pool->wait(work, deadline);
}
void wait_helping(work_core& work) { work.pool->wait_helping(work); }

work_core* find(pool_core& pool, work_id id) {
  pool.demand_own_process("fetch");
  if (work_core* const kept = pool.find_stored(id.value)) return kept;
  work_core* const found = pool.find(id.value);
  if (found == nullptr) return nullptr;
  // If the work is over, only a handle keeps it, and the outcome belongs to that handle.
  if (!found->load().has(over)) return found;
  pool.drop(*found);
  return nullptr;
}
work_id id_within(const pool_core& pool, const work_core& work) {
  if (work.pool != &pool) throw std::invalid_argument("thread_pool::submit_when: a work of another pool");
  return {work.id};
}
bool forget(work_core& work) noexcept { return work.pool->forget_stored(work); }

namespace {

/// Calls `f(work)` for a work, if it exists.
template <class F>
bool with(pool_core& pool, work_id id, F f) {
  if (!pool.is_own_process()) return false;
  work_core* const w = pool.find(id.value);
  if (w == nullptr) return false;
  const reference kept(*w);
  return f(*w);
}

template <class F>
std::vector<work_id> with_each(pool_core& pool, std::span<const work_id> ids, F f) {
  std::vector<work_id> failed;
  for (const work_id id : ids) {
    if (!with(pool, id, f)) failed.push_back(id);
  }
  return failed;
}

template <class F>
std::size_t with_group(pool_core& pool, std::string_view group, F f) {
  if (!pool.is_own_process()) return 0;
  std::size_t done = 0;
  for (const held_works::entry& each : pool.circles.snapshot(group)) {
    if (f(*each.work)) ++done;
  }
  return done;
}

template <class F>
std::size_t with_all(pool_core& pool, F f) {
  if (!pool.is_own_process()) return 0;
  std::size_t done = 0;
  pool.memory.for_each([&](work_core& w) {
    if (f(w)) ++done;
  });
  return done;
}

}  // namespace

}  // namespace detail

thread_pool::thread_pool() : thread_pool(pool_options{}) {}
thread_pool::thread_pool(pool_options options) : core_(new detail::pool_core(std::move(options))) {
  core_->threads.fill();
}
thread_pool::~thread_pool() {
  // A child of fork() has this object, but none of its threads.
  if (!core_->is_own_process()) return;
  core_->shut_down(core_->options.shutdown_grace);
  core_->let_go();
}

work_id thread_pool::reserve() { return core_->reserve(); }
void thread_pool::start() { core_->start(); }

bool thread_pool::cancel(work_id id) noexcept { return detail::with(*core_, id, detail::by_cancel); }
std::vector<work_id> thread_pool::cancel(std::span<const work_id> ids) {
  return detail::with_each(*core_, ids, detail::by_cancel);
}
std::size_t thread_pool::cancel(std::string_view group) {
  return detail::with_group(*core_, group, detail::by_cancel);
}
std::size_t thread_pool::cancel_all() { return detail::with_all(*core_, detail::by_cancel); }
bool thread_pool::stop(work_id id) noexcept { return detail::with(*core_, id, detail::by_stop); }
std::vector<work_id> thread_pool::stop(std::span<const work_id> ids) {
  return detail::with_each(*core_, ids, detail::by_stop);
}
std::size_t thread_pool::stop(std::string_view group) {
  return detail::with_group(*core_, group, detail::by_stop);
}
std::size_t thread_pool::stop_all() { return detail::with_all(*core_, detail::by_stop); }
bool thread_pool::force_stop(work_id id) noexcept { return detail::with(*core_, id, detail::by_force); }
std::vector<work_id> thread_pool::force_stop(std::span<const work_id> ids) {
  return detail::with_each(*core_, ids, detail::by_force);
}
std::size_t thread_pool::force_stop(std::string_view group) {
  return detail::with_group(*core_, group, detail::by_force);
}
std::size_t thread_pool::force_stop_all() { return detail::with_all(*core_, detail::by_force); }
bool thread_pool::pause(work_id id) noexcept { return detail::with(*core_, id, detail::by_pause); }
std::vector<work_id> thread_pool::pause(std::span<const work_id> ids) {
  return detail::with_each(*core_, ids, detail::by_pause);
}
void thread_pool::pause(std::string_view group) { core_->pause_group(group); }
void thread_pool::pause_all() { core_->pause_all(); }
bool thread_pool::resume(work_id id) noexcept { return detail::with(*core_, id, detail::by_resume); }
std::vector<work_id> thread_pool::resume(std::span<const work_id> ids) {
  return detail::with_each(*core_, ids, detail::by_resume);
}
void thread_pool::resume(std::string_view group) { core_->resume_group(group); }
void thread_pool::resume_all() { core_->resume_all(); }

bool thread_pool::wait(work_id id) { return wait_by(id, base::never); }
std::vector<work_id> thread_pool::wait(std::span<const work_id> ids) { return wait_by(ids, base::never); }
void thread_pool::wait(std::string_view group) { static_cast<void>(wait_by(group, base::never)); }
bool thread_pool::wait_by(work_id id, std::chrono::steady_clock::time_point deadline) {
  core_->demand_own_process("wait");
  detail::work_core* const w = core_->find(id.value);
  if (w == nullptr) return false;
  const detail::reference kept(*w);
  return core_->wait(*w, deadline);
}
std::vector<work_id> thread_pool::wait_by(std::span<const work_id> ids,
                                          std::chrono::steady_clock::time_point deadline) {
  std::vector<work_id> failed;
  for (const work_id id : ids) {
    if (!wait_by(id, deadline)) failed.push_back(id);
  }
  return failed;
}
bool thread_pool::wait_by(std::string_view group, std::chrono::steady_clock::time_point deadline) {
  return core_->wait_group(group, deadline);
}
work_id thread_pool::wait_any(std::span<const work_id> ids) { return wait_any_by(ids, base::never); }
work_id thread_pool::wait_any_by(std::span<const work_id> ids,
                                 std::chrono::steady_clock::time_point deadline) {
  return core_->wait_any(ids, deadline);
}
bool thread_pool::wait_idle_until(std::chrono::steady_clock::time_point deadline) {
  return core_->wait_idle(deadline);
}
void thread_pool::wait_idle(help_t /*how*/) { core_->wait_idle_helping(); }

std::size_t thread_pool::clear_results() noexcept { return core_->clear_stored(); }

void thread_pool::limit_group(std::string_view group, unsigned limit) { core_->limit_group(group, limit); }
void thread_pool::relate(std::string_view parent, std::string_view child) {
  core_->circles.relate(parent, child);
}
void thread_pool::unrelate(std::string_view parent, std::string_view child) noexcept {
  core_->unrelate(parent, child);
}
bool thread_pool::join_group(work_id id, std::string_view group) {
  return detail::with(*core_, id, [group](detail::work_core& w) { return w.pool->join_group(w, group); });
}
std::vector<work_id> thread_pool::join_group(std::span<const work_id> ids, std::string_view group) {
  return detail::with_each(
      *core_, ids, [group](detail::work_core& w) { return w.pool->join_group(w, group); });
}
bool thread_pool::leave_group(work_id id, std::string_view group) {
  return detail::with(*core_, id, [group](detail::work_core& w) { return w.pool->leave_group(w, group); });
}
std::vector<work_id> thread_pool::leave_group(std::span<const work_id> ids, std::string_view group) {
  // A destructor: it must also run if there is no memory for the ids that are refused.
  struct held_releaser {
    detail::pool_core& pool;
    bool was_held = false;
    ~held_releaser() {
      if (was_held) pool.release_held();
    }
  } last{*core_};
  return detail::with_each(
      *core_, ids, [&](detail::work_core& w) { return w.pool->leave_group(w, group, last.was_held); });
}
std::vector<work_id> thread_pool::members(std::string_view group) const {
  std::vector<work_id> found;
  for (const auto& each : core_->circles.snapshot(group)) found.push_back({each.work->id});
  return found;
}

void thread_pool::resize(unsigned min_threads, unsigned max_threads) {
  detail::check_threads(min_threads, max_threads);
  core_->threads.resize(min_threads, max_threads);
}
unsigned thread_pool::min_threads() const noexcept { return core_->threads.bounds().min; }
unsigned thread_pool::max_threads() const noexcept { return core_->threads.bounds().max; }
thread_pool::busy_guard::busy_guard(thread_pool& pool) : holder_(&pool.core_->begin_busy(note_)) {}
thread_pool::busy_guard::~busy_guard() { holder_->pool->end_busy(*holder_, note_); }
pool_report thread_pool::shutdown_within(std::chrono::nanoseconds grace) {
  core_->demand_own_process("shutdown");
  core_->shut_down(grace);
  return core_->report();
}

subscription thread_pool::subscribe(observer& whom) { return subscription(core_->listen(whom)); }
pool_stats thread_pool::stats() const { return core_->count(); }
std::vector<failed_work> thread_pool::failed_works() const { return core_->all_failed(); }
bool thread_pool::clear_failed_work(work_id id) noexcept { return core_->forget_failed(id); }
std::size_t thread_pool::clear_failed_works() noexcept { return core_->forget_all_failed(); }
work_status thread_pool::status(work_id id) const noexcept {
  work_status found = work_status::created;
  static_cast<void>(detail::with(*core_, id, [&](const detail::work_core& w) {
    found = w.load().status();
    return true;
  }));
  return found;
}
work_id thread_pool::find(std::string_view name) const noexcept { return {core_->find_name(name)}; }
std::vector<work_id> thread_pool::waiting() const {
  std::vector<work_id> found;
  static_cast<void>(detail::with_all(*core_, [&](const detail::work_core& w) {
    if (w.load().waits_to_begin()) found.push_back({w.id});
    return true;
  }));
  return found;
}

}  // namespace rota::pool
