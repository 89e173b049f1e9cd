#include "tree_hash/pipeline.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <rota/finally.hpp>
#include <rota/spawn.hpp>
#include <rota/this_task.hpp>

#include "tree_hash/read_file.hpp"

namespace tree_hash {
namespace {

/// The maximum number of entries that wait for their turn in the output.
constexpr std::size_t window_size = 32'768;
constexpr std::size_t walked_at_once = 512;
/// Small files share a job: starting a job costs as much as reading some kilobytes.
constexpr std::size_t batch_files = 64;
constexpr std::uint64_t batch_bytes = std::uint64_t{1} << 20U;
/// The maximum of text that waits for the output, and of entries that are formatted before other steps have a
/// turn.
constexpr std::size_t pending_text = std::size_t{256} << 10U;
constexpr std::size_t reported_at_once = 512;

}  // namespace

rota::task<void> pipeline::run() {
  const auto stop_jobs = [this] { return close_jobs(); };
  co_await rota::finally(pump(), stop_jobs, std::chrono::hours::max());
}

rota::task<void> pipeline::close_jobs() { co_await jobs_.close(); }

rota::task<void> pipeline::pump() {
  start_jobs();
  while (!jobs_.empty()) {
    std::optional<rota::outcome<job_end>> next = co_await jobs_.next();
    job_end end = std::move(*next).value();
    std::visit([this](auto& one) { take(std::move(one)); }, end);
    while (report_ready() == reported::some) {
      start_jobs();
      co_await rota::yield();
    }
    start_jobs();
  }
}

void pipeline::start_jobs() {
  if (may_walk()) {
    is_walking_ = true;
    jobs_.spawn(walk_on());
  }
  while (reading_ < threads_ && !unread_.empty()) {
    ++reading_;
    jobs_.spawn(read(next_batch()));
  }
  if (!is_printing_ && report_.pending().size() != 0) {
    is_printing_ = true;
    jobs_.spawn(print(report_.take()));
  }
}

bool pipeline::may_walk() const noexcept {
  if (is_walking_ || walk_.is_over()) return false;
  return window_.size() < window_size && walk_.has_room();
}

pipeline::batch pipeline::next_batch() {
  batch files;
  std::uint64_t bytes = 0;
  do {
    bytes += unread_.front()->size;
    files.push_back(unread_.front());
    unread_.pop_front();
  } while (!unread_.empty() && files.size() < batch_files && bytes + unread_.front()->size <= batch_bytes);
  return files;
}

rota::task<pipeline::job_end> pipeline::walk_on() {
  rota::join_handle<tree_walked> job =
      rota::spawn_blocking([this] { return tree_walked{walk_.next(walked_at_once)}; });
  co_return co_await job;
}

rota::task<pipeline::job_end> pipeline::read(batch files) {
  rota::join_handle<void> job = rota::spawn_blocking([this, &files] { read_batch(files); });
  co_await job;
  co_return files_read{std::move(files)};
}

/// Runs in the blocking pool.
void pipeline::read_batch(const batch& files) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(read_size);
  for (entry* const file : files) {
    if (rota::this_task::cancel_requested()) return;
    read_file(*file, std::span(buffer.get(), read_size), counts_);
  }
}

rota::task<pipeline::job_end> pipeline::print(texts lines) {
  rota::join_handle<std::error_code> job =
      rota::spawn_blocking([this, &lines] { return screen_.print(lines); });
  const std::error_code failed = co_await job;
  co_return text_printed{failed};
}

void pipeline::take(files_read end) {
  --reading_;
  for (entry* const file : end.files) file->is = state::ready;
}

void pipeline::take(tree_walked end) {
  is_walking_ = false;
  for (entry& one : end.found) {
    window_.push_back(std::move(one));
    if (window_.back().is == state::unread) unread_.push_back(&window_.back());
  }
}

void pipeline::take(text_printed end) {
  is_printing_ = false;
  if (end.failed) throw std::system_error(end.failed, "standard output");
}

/// `some`: more entries can be reported at once.
pipeline::reported pipeline::report_ready() {
  for (std::size_t n = 0; n < reported_at_once; ++n) {
    const bool is_next_ready = !window_.empty() && window_.front().is == state::ready;
    if (!is_next_ready || report_.pending().size() >= pending_text) return reported::all;
    report_.add(window_.front());
    window_.pop_front();
  }
  return reported::some;
}

}  // namespace tree_hash
