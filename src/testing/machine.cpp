#include "testing/machine.hpp"

#include "testing/sanitizers.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

namespace rota::testing::detail {

constinit thread_local machine* active [[gnu::tls_model("initial-exec")]] = nullptr;
constinit thread_local machine* dumping = nullptr;

namespace {

constexpr base::time_point first_moment{std::chrono::hours(1)};

exception_state* exceptions_of_this_thread() noexcept {
  return reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

void terminated() {
  if (active != nullptr) active->fail("std::terminate was called");
  std::abort();
}

}  // namespace

void abort_outside(const char* what) noexcept {
  if (dumping != nullptr) dumping->fail_dump(what);
  (void)std::fprintf(stderr, "rota::testing: %s\n", what);
  std::abort();
}

void machine::reset() {
  current_ = fibre_count_ = unfinished_ = 0;
  ready_ = yielded_ = behind_ = sleepers_ = timed_ = vain_ = buffering_ = 0;
  progress_ = 0;
  for (auto& buffer : buffers_) buffer.clear();
  steps_ = signature_ = 0;
  time_ = first_moment;
  spurious_wakes_ = {options_.spurious_wakes};
  weak_failures_ = {options_.weak_cas_failures};
  stale_reads_ = {options_.stale_reads};
  thread_failures_ = {options_.thread_failures};
  allocation_failures_ = {options_.allocation_failures};
  early_timeouts_ = {options_.early_timeouts};
  variations_ = {options_.variations};
  planning_ = failed_ = false;
  what_.clear();
  dump_.clear();
  memory_.clear();
  trace_.clear();
}

bool machine::run(body_ref body, search& s) {
  reset();
  body_ = body;
  search_ = &s;
  s.begin();
  ignore_leaks();
  const auto old_handler = std::set_terminate(terminated);
  const unsigned main = new_fibre("main", false);
  make_ready(fibres_[main], main);
  enter(&machine::run_fibre, fibres_[main].stack);
  if (failed_) dump_state();
  std::set_terminate(old_handler);
  clean_up();
  report_leaks();
  return !failed_;
}

// The stack of main was prepared with the same entry; that of a dump was not.
void machine::enter(context::entry_function entry, context& stack) {
  exceptions_ = exceptions_of_this_thread();
  host_exceptions_ = std::exchange(*exceptions_, {});
  stack.prepare(entry);
  active = this;
  context::switch_between(host_, stack);
  *exceptions_ = host_exceptions_;
}

void machine::leave() {
  active = nullptr;
  context::switch_between(me().stack, host_);
}

void machine::fail(std::string what) {
  what_ = std::move(what);
  failed_ = true;
  me().stack.give_up();
  leave();
  std::abort();
}

unsigned machine::new_fibre(const char* name, bool daemon) {
  if (fibre_count_ == max_fibres) fail("more than 15 threads in one execution");
  const unsigned index = fibre_count_++;
  fibre& f = fibres_[index];
  f.reset(name, daemon);
  f.clock.at[index] = 1;
  return index;
}

void machine::start_fibre(unsigned index) {
  fibre& f = fibres_[index];
  f.stack.prepare(&machine::run_fibre);
  f.clock.join(me().clock);
  ++me().clock.at[current_];
  if (!f.daemon) ++unfinished_;
  make_ready(f, index);
}

void machine::run_fibre() {
  machine& m = *active;
  std::string failure;
  m.run_job(failure);
  if (!failure.empty()) m.fail(std::move(failure));
  m.end_fibre();
}

// The exception handlers must be left before the failure is reported: fail() never returns.
void machine::run_job(std::string& failure) {
  const std::string who = full_name(me(), current_);
  try {
    if (current_ == 0) {
      run_main();
    } else {
      me().job(0);
      me().job.reset();
    }
  } catch (const std::exception& e) {
    failure = "an exception left " + who + ": " + e.what();
  } catch (...) {
    failure = "an exception left " + who + ", of a type that is not std::exception";
  }
}

// Returns only when the stack has a new job.
void machine::end_fibre() {
  fibre& f = me();
  f.stack.come_to_end();
  if (current_ == 0) return leave();
  record(event_kind::thread_end, nullptr, 0);
  if (!f.daemon) --unfinished_;
  yielded_ = 0;
  for (unsigned i = 0; i < fibre_count_; ++i) {
    if (fibres_[i].why == waiting::join && fibres_[i].wants == &f) make_ready(fibres_[i], i);
  }
  block(waiting::ended, nullptr);
}

void machine::run_main() {
  execution e(*this);
  planning_ = true;
  body_.call(body_.object, e);
  planning_ = false;
  start_planned();
  await_quiet();
  for (const auto& f : finals_) (*f)(0);
  finals_.clear();
  dumps_.clear();
  destroy_made();
  check_leaks();
}

void machine::start_planned() {
  drain();
  for (unsigned i = 1; i < fibre_count_; ++i) {
    if (fibres_[i].why == waiting::start) start_fibre(i);
  }
}

// The checks that follow belong to the harness: they are ordered after everything, including the steps of
// daemons.
void machine::await_quiet() {
  block(waiting::quiet, nullptr);
  drain_all();
  for (unsigned i = 1; i < fibre_count_; ++i) me().clock.join(fibres_[i].clock);
}

void machine::destroy_made() {
  while (!made_.empty()) {
    const made m = made_.back();
    if (m.destroy != nullptr) m.destroy(m.object);
    made_.pop_back();
    ::operator delete(m.memory, std::align_val_t(m.alignment));
  }
}

void machine::check_leaks() {
  if (heap_.live().empty()) return;
  std::string text = "leak: " + std::to_string(heap_.live().size()) + " left at the end";
  for (const heap::block& b : heap_.live()) {
    text += std::string("\n  ") + b.what + ", " + trace_.name_of(b.begin) + ", allocated by " +
            full_name(fibres_[b.fibre], b.fibre);
  }
  fail(text);
}

void machine::dump_state() {
  if (dumps_.empty()) return;
  dumping = this;
  enter(&machine::run_dump, dump_stack_);
  dumping = nullptr;
}

// Reads of the state are no steps: `active` is null here.
void machine::run_dump() {
  machine& m = *std::exchange(active, nullptr);
  try {
    for (const auto& dump : m.dumps_) (*dump)(m.dump_);
  } catch (...) {
    m.dump_ += "(the dump threw an exception)";
  }
  context::switch_between(m.dump_stack_, m.host_);
  std::abort();
}

void machine::fail_dump(const char* what) {
  dump_ += std::string("(the dump failed: ") + what + ')';
  context::switch_between(dump_stack_, host_);
  std::abort();
}

void machine::clean_up() noexcept {
  for (unsigned i = 0; i < fibre_count_; ++i) fibres_[i].job.abandon();
  for (const auto& f : finals_) f->abandon();
  for (const auto& f : dumps_) f->abandon();
  finals_.clear();
  dumps_.clear();
  for (const made& m : made_) ::operator delete(m.memory, std::align_val_t(m.alignment));
  made_.clear();
  heap_.clear();
  for (const kept_word& k : kept_words_) write_word(k.where, k.bits);
  kept_words_.clear();
}

std::string machine::print_trace() const {
  std::vector<std::string> names;
  names.reserve(fibre_count_);
  for (unsigned i = 0; i < fibre_count_; ++i) names.push_back(full_name(fibres_[i], i));
  const bool all = !options_.hides_rota || std::getenv("ROTA_MODEL_TRACE") != nullptr;
  std::string text = trace_.print(names, all ? view::everything : view::program);
  if (!all) text += "(what rota itself did is left out; ROTA_MODEL_TRACE=all shows it)\n";
  if (!dump_.empty()) text += "state:\n" + dump_ + '\n';
  return text;
}

callable<int>& machine::add_thread(const char* name, bool daemon) {
  if (!planning_) fail("threads are asked for in the body; later ones are base::thread");
  return fibres_[new_fibre(name, daemon)].job;
}

callable<int>& machine::add_finally() { return *finals_.emplace_back(std::make_unique<callable<int>>()); }

callable<std::string&>& machine::add_dump() {
  return *dumps_.emplace_back(std::make_unique<callable<std::string&>>());
}

void* machine::make_room(std::size_t size, std::size_t alignment) {
  void* memory = ::operator new(size, std::align_val_t(alignment));
  made_.push_back({memory, alignment, nullptr, nullptr});
  return memory;
}

void machine::own(void* object, void (*destroy)(void*) noexcept) {
  for (made& m : made_) {
    if (m.memory == object) m = {m.memory, m.alignment, object, destroy};
  }
}

}  // namespace rota::testing::detail
