#include "build/plan.hpp"

#include <algorithm>
#include <utility>

namespace build {
namespace {

class planner {
 public:
  planner(const manifest& m, const graph& g, const look_at_file& written, const look_at_log& made)
      : m_(m),
        g_(g),
        written_(written),
        made_(made),
        jobs_of_(g.edges.size(), none),
        times_(g.files.size()) {}

  std::expected<plan, complaint> run(const std::vector<std::size_t>& targets) {
    for (const std::size_t target : targets) {
      if (!is_known(target)) return std::unexpected(missing(target, 0, ""));
    }
    for (const std::size_t statement : in_order(g_, targets)) {
      for (const std::size_t file : g_.edges[statement].inputs) {
        if (!is_known(file)) {
          return std::unexpected(missing(file,
                                         m_.statements[statement].line,
                                         ", needed by '" + m_.statements[statement].outputs.front() + "',"));
        }
      }
      if (has_to_run(statement)) add_job(statement);
    }
    measure_chains();
    return std::move(out_);
  }

 private:
  /// What is known of a file.
  struct state {
    bool is_looked_at = false;
    std::optional<file_time> written;
  };

  const std::optional<file_time>& time_of(std::size_t file) {
    state& s = times_[file];
    if (!std::exchange(s.is_looked_at, true)) s.written = written_(g_.files[file].path);
    return s.written;
  }
  bool is_known(std::size_t file) { return g_.files[file].maker != none || time_of(file).has_value(); }
  complaint missing(std::size_t file, unsigned line, const std::string& by) const {
    return {line, "'" + g_.files[file].path + "'" + by + " is missing, and no statement makes it"};
  }
  bool will_change(std::size_t file) const {
    const std::size_t maker = g_.files[file].maker;
    return maker != none && jobs_of_[maker] != none;
  }

  bool has_to_run(std::size_t statement);
  bool has_to_run(std::size_t statement, file_time newest_input);
  void add_job(std::size_t statement);
  void measure_chains();

  const manifest& m_;
  const graph& g_;
  const look_at_file& written_;
  const look_at_log& made_;
  std::vector<std::size_t> jobs_of_;  // by statement
  std::vector<state> times_;          // by file
  plan out_;
};

bool planner::has_to_run(std::size_t statement) {
  const edge& e = g_.edges[statement];
  file_time newest = 0;
  for (std::size_t i = 0; i < m_.statements[statement].needed_inputs; ++i) {
    if (will_change(e.inputs[i])) return true;
    newest = std::max(newest, time_of(e.inputs[i]).value_or(0));
  }
  if (!m_.statements[statement].is_phony) return has_to_run(statement, newest);
  bool is_there = true;
  for (const std::size_t file : e.outputs) {
    is_there = is_there && time_of(file).has_value();
    // A statement that needs a phony name needs the inputs of that name.
    if (!e.inputs.empty()) times_[file].written = newest;
  }
  return e.inputs.empty() && !is_there;
}

/// Returns false if every output is up to date: the log knows it, its time is unchanged, its command is the
/// same, and the command began after all inputs were written.
bool planner::has_to_run(std::size_t statement, file_time newest_input) {
  const std::uint64_t command = hash_of(m_.statements[statement].command);
  const std::vector<std::size_t>& outputs = g_.edges[statement].outputs;
  return !std::all_of(outputs.begin(), outputs.end(), [&](std::size_t file) {
    const std::optional<file_time>& now = time_of(file);
    const std::optional<made_file> then = made_(g_.files[file].path);
    return now.has_value() && then.has_value() && then->command == command && then->left == *now &&
           then->started >= newest_input;
  });
}

void planner::add_job(std::size_t statement) {
  job made{.statement = statement, .chain = 0, .after = {}};
  for (const std::size_t file : g_.edges[statement].inputs) {
    if (will_change(file)) made.after.push_back(jobs_of_[g_.files[file].maker]);
  }
  std::sort(made.after.begin(), made.after.end());
  made.after.erase(std::unique(made.after.begin(), made.after.end()), made.after.end());
  jobs_of_[statement] = out_.jobs.size();
  out_.jobs.push_back(std::move(made));
  if (!m_.statements[statement].is_phony) ++out_.commands;
}

void planner::measure_chains() {
  for (std::size_t i = out_.jobs.size(); i-- > 0;) {
    job& each = out_.jobs[i];
    if (!m_.statements[each.statement].is_phony) ++each.chain;
    for (const std::size_t before : each.after)
      out_.jobs[before].chain = std::max(out_.jobs[before].chain, each.chain);
  }
}

}  // namespace

std::expected<plan, complaint> make_plan(const manifest& m,
                                         const graph& g,
                                         const std::vector<std::size_t>& targets,
                                         const look_at_file& written,
                                         const look_at_log& made) {
  return planner(m, g, written, made).run(targets);
}

}  // namespace build
