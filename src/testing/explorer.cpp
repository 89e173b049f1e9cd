#include "testing/explorer.hpp"

#include "testing/crash.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace rota::testing::detail {

namespace {

constexpr const char* replay_variable = "ROTA_MODEL_REPLAY";

double processor_seconds() noexcept {
  timespec now{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool same_step(const event& a, const event& b) noexcept {
  return a.kind == b.kind && a.fibre == b.fibre && a.where.line() == b.where.line();
}

std::string describe(const std::vector<event>& events, std::size_t index) {
  if (index >= events.size()) return "the end";
  const event& e = events[index];
  return std::string("thread ") + std::to_string(e.fibre) + ' ' + name_of(e.kind) + ' ' + to_string(e.where);
}

std::string first_difference(const std::vector<event>& a, const std::vector<event>& b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same_step);
  const auto index = static_cast<std::size_t>(in_a - a.begin());
  return "step " + std::to_string(index + 1) + " was: " + describe(a, index) + "; is: " + describe(b, index);
}

}  // namespace

explorer::explorer(machine& m, const options& o, body_ref body)
    : machine_(m), options_(o), body_(body), began_(processor_seconds()) {}

double explorer::seconds() const noexcept { return processor_seconds() - began_; }

/// Returns true if the budget of the search is spent.
bool explorer::is_over() noexcept {
  constexpr std::uint64_t look_every = 64;
  if (report_.runs >= options_.max_runs) return true;
  return options_.seconds != 0 && report_.runs % look_every == 0 && seconds() >= options_.seconds;
}

report explorer::explore() {
  if (options_.search == search_kind::dfs) {
    explore_bounds();
  } else {
    walk();
  }
  return std::move(report_);
}

// If one bound cut nothing off, a larger one adds nothing.
void explorer::explore_bounds() {
  for (unsigned bound = 0; bound <= options_.preemptions; ++bound) {
    search s(options_, bound);
    report_.preemptions = bound;
    report_.runs_at.push_back(0);
    do {
      if (is_over()) return;
      ++report_.runs_at.back();
      if (!run_once(s)) return;
    } while (s.next());
    if (!s.was_cut_off()) break;
  }
  report_.complete = true;
}

void explorer::walk() {
  search s(options_, search::unbounded);
  while (!is_over() && run_once(s)) {
  }
}

bool explorer::run_once(search& s) {
  const bool fine = machine_.run(body_, s);
  const bool checked = options_.replay_every != 0 && report_.runs % options_.replay_every == 0;
  ++report_.runs;
  report_.steps += machine_.steps();
  if (!fine) conclude(s);
  return fine && (!checked || same_again(s));
}

search explorer::follower(unsigned bound, std::vector<decision> path) const {
  options o = options_;
  o.search = search_kind::dfs;
  search s(o, bound);
  s.follow(std::move(path));
  return s;
}

// The same choices must lead to the same steps. Otherwise the program depends on randomness, time or
// addresses of its own, and neither a search nor a replay is meaningful.
bool explorer::same_again(const search& s) {
  const auto before = machine_.events().events();
  const auto signature = machine_.signature();
  search again = follower(s.bound(), s.path());
  if (machine_.run(body_, again) && machine_.signature() == signature) return true;
  adopt(again);
  report_.what = "nondeterminism: the same choices led to other steps\n  " +
                 first_difference(before, machine_.events().events());
  return false;
}

void explorer::adopt(const search& s) {
  report_.failed = true;
  report_.what = machine_.what();
  report_.trace = machine_.print_trace();
  report_.preemptions = s.preemptions();
  report_.replay = to_hex(options_.name, s.bound(), s.path());
}

void explorer::conclude(const search& s) {
  adopt(s);
  const std::string what = report_.what;
  if (what.starts_with("crash")) return;  // the heap may be broken: a further run proves nothing
  search again = follower(s.bound(), s.path());
  if (!machine_.run(body_, again) && machine_.what() == what) return minimise(s);
  report_.what += "\n  (not reproduced: the same choices led elsewhere the second time)";
}

report explorer::replay(std::string_view hex) {
  recording r;
  (void)from_hex(options_.name, hex, r);
  search s = follower(r.bound, std::move(r.path));
  const bool fine = machine_.run(body_, s);
  adopt(s);
  report_.failed = !fine;
  report_.runs = 1;
  report_.steps = machine_.steps();
  (void)std::fprintf(stderr,
                     "%s=%s: %s\n%s",
                     replay_variable,
                     report_.replay.c_str(),
                     fine ? "no failure" : report_.what.c_str(),
                     report_.trace.c_str());
  return std::move(report_);
}

namespace {

constexpr const char* table_variable = "ROTA_MODEL_TABLE";

const char* name_of(search_kind kind) noexcept {
  switch (kind) {
    case search_kind::dfs: return "dfs";
    case search_kind::random: return "random";
    case search_kind::pct: return "pct";
    case search_kind::mixed: return "mixed";
    case search_kind::few: return "few";
  }
  return "?";
}

const char* name_of_memory(const options& o) noexcept {
  if (o.memory == memory_mode::tso) return "TSO";
  return o.stale_reads != 0 ? "stale" : "SC";
}

/// Appends a line about the exploration to a table: one write for each line, since tests run in parallel.
void note_in_table(const options& o, const report& r) {
  const char* const path = std::getenv(table_variable);
  if (path == nullptr || o.name.empty()) return;
  std::FILE* const table = std::fopen(path, "a");
  if (table == nullptr) return;
  const unsigned bound = o.search == search_kind::dfs ? r.preemptions : o.depth;
  (void)std::fprintf(table,
                     "%s\t%.*s\t%s\t%s\t%u\t%llu\t%s\t%.2f\n",
                     program_invocation_short_name,
                     static_cast<int>(o.name.size()),
                     o.name.data(),
                     name_of(o.search),
                     name_of_memory(o),
                     bound,
                     static_cast<unsigned long long>(r.runs),
                     r.failed ? "FAILED" : (r.complete ? "complete" : "-"),
                     r.seconds);
  (void)std::fclose(table);
}

/// More change points or preemptions than this are no better than a random walk.
constexpr unsigned most_changes = 250;

report refused(std::string why) {
  report r;
  r.failed = true;
  r.what = std::move(why);
  return r;
}

}  // namespace

std::string what_is_wrong(const options& o) {
  const auto number = [](const char* field, std::uint64_t given, const char* range) {
    return std::string(field) + ": " + std::to_string(given) + " is not in " + range;
  };
  if (o.max_runs < 1) return number("max_runs", o.max_runs, "1..");
  if (o.steps < 1) return number("steps", o.steps, "1..");
  if (o.depth < 1 || o.depth > most_changes) return number("depth", o.depth, "1..250");
  if (o.preemptions > most_changes) return number("preemptions", o.preemptions, "0..250");
  if (o.memory == memory_mode::tso && o.stale_reads != 0)
    return "stale_reads: must be 0 with memory_mode::tso";
  return {};
}

report explore(const options& o, body_ref body) {
  if (const std::string wrong = what_is_wrong(o); !wrong.empty()) return refused("options." + wrong);
  thread_local machine this_threads;  // its stacks and tables are reused by each exploration
  if (active != nullptr) active->fail("explore() inside an execution");
  const crash_guard guard;
  this_threads.configure(o);
  explorer e(this_threads, o, body);
  const char* hex = std::getenv(replay_variable);
  const auto search = [&] {
    report r = e.explore();
    r.seconds = e.seconds();
    note_in_table(o, r);
    return r;
  };
  if (hex == nullptr) return search();
  recording ignored;
  switch (from_hex(o.name, hex, ignored)) {
    case recording_error::none: return e.replay(hex);
    case recording_error::other_name: return search();
    case recording_error::malformed: break;
  }
  return refused(std::string(replay_variable) + " is malformed: " + hex);
}

}  // namespace rota::testing::detail

namespace rota::testing {

std::string to_string(const report& r) {
  std::string text = std::to_string(r.runs) + " executions, " + std::to_string(r.steps) + " steps, " +
                     (r.complete ? "complete" : "not complete") + '\n';
  if (!r.failed) return text;
  text += r.what + '\n' + r.trace;
  return text + "preemptions: " + std::to_string(r.preemptions) + ", again: ROTA_MODEL_REPLAY=" + r.replay +
         '\n';
}

}  // namespace rota::testing
