#include "build/workshop.hpp"

#include <filesystem>
#include <utility>

#include <rota/pool/this_work.hpp>

#include "build/command.hpp"
#include "build/file_times.hpp"
#include "build/text.hpp"

namespace build {

namespace {

/// The outputs of a command before its result is known.
class unfinished_outputs {
 public:
  explicit unfinished_outputs(const std::vector<std::string>& paths) : paths_(paths) {
    for (const std::string& each : paths) {
      before_.push_back(written_at(each));
      std::error_code ignored;
      std::filesystem::create_directories(std::filesystem::path(each).parent_path(), ignored);
    }
  }
  /// Removes the outputs that the command has changed.
  void remove() const {
    std::error_code ignored;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (written_at(paths_[i]) != before_[i]) std::filesystem::remove(paths_[i], ignored);
    }
  }

 private:
  const std::vector<std::string>& paths_;
  std::vector<std::optional<file_time>> before_;
};

std::string seconds_text(std::chrono::milliseconds time) {
  std::string text = std::to_string(std::chrono::duration<double>(time).count());
  return text.substr(0, text.find('.') + 4) + " s";
}

}  // namespace

workshop::workshop(const manifest& m,
                   const plan& p,
                   const run_settings& settings,
                   build_log& log,
                   screen& out,
                   std::function<void()> give_up)
    : manifest_(m),
      plan_(p),
      settings_(settings),
      log_(log),
      screen_(out),
      give_up_(std::move(give_up)),
      timed_out_(p.jobs.size()) {}

const statement& workshop::statement_of(std::size_t job) const {
  return manifest_.statements[plan_.jobs[job].statement];
}

const std::string& workshop::title_of(const statement& s) const {
  return settings_.is_verbose || s.description.empty() ? s.command : s.description;
}

void workshop::note_timeout(std::size_t job) noexcept { timed_out_[job].store(true); }

void workshop::note_cancelled(std::size_t job) {
  if (!timed_out_[job].load()) return;
  end_badly(job, "timed out after " + seconds_text(settings_.timeout), "");
}

command_end workshop::run_traced(const statement& s, std::stop_token stop) {
  const slot_guard slot(slots_);
  const auto began = std::chrono::steady_clock::now();
  command_end end = run_command(s.command, groups_, std::move(stop), settings_.grace);
  trace_.add({.name = title_of(s),
              .rule = s.rule,
              .how = end.was_stopped ? "stopped" : end.how,
              .slot = slot.number(),
              .attempt = rota::pool::this_work::attempt(),
              .began = began,
              .ended = std::chrono::steady_clock::now()});
  return end;
}

void workshop::run(std::size_t job, std::stop_token stop) {
  rota::pool::this_work::checkpoint();
  const statement& s = statement_of(job);
  if (s.is_phony) return;
  screen_.started(title_of(s));
  const unfinished_outputs outputs(s.outputs);
  const file_time started = log_.now();
  const command_end end = run_traced(s, std::move(stop));
  if (end.is_good) {
    note_in_log(s, started);
    done_.fetch_add(1);
    return screen_.ended(title_of(s), end.output);
  }
  outputs.remove();
  const bool is_late = timed_out_[job].load();
  if (end.was_stopped && !is_late) rota::pool::this_work::stop_if_requested();
  if (is_giving_up_.load()) rota::pool::this_work::stop_retry();
  end_badly(job, is_late ? "timed out after " + seconds_text(settings_.timeout) : end.how, end.output);
  rota::pool::this_work::stop_if_requested();
  throw command_failed(s.outputs.front() + ": " + end.how);
}

void workshop::end_badly(std::size_t job, const std::string& how, const std::string& output) {
  const statement& s = statement_of(job);
  const unsigned attempt = timed_out_[job].load() ? settings_.retries : rota::pool::this_work::attempt();
  const std::string outputs = shell_words(s.outputs.data(), s.outputs.size());
  if (attempt < settings_.retries && !is_giving_up_.load()) {
    const std::string count = std::to_string(attempt + 1) + " of " + std::to_string(settings_.retries + 1);
    return screen_.say("AGAIN: " + outputs + " (" + how + ", attempt " + count + ")\n" + output);
  }
  failed_.fetch_add(1);
  screen_.ended(title_of(s), "FAILED: " + outputs + " (" + how + ")\n" + s.command + "\n" + output);
  if (settings_.keeps_going) return;
  is_giving_up_.store(true);
  give_up_();
}

void workshop::note_in_log(const statement& s, file_time started) {
  for (const std::string& each : s.outputs) {
    const made_file what{
        .command = hash_of(s.command), .started = started, .left = written_at(each).value_or(0)};
    if (!log_.add(each, what) && log_works_.exchange(false)) {
      screen_.say("build: the log cannot be written: the next run will do more than it needs to");
    }
  }
}

}  // namespace build
