// The access log: lines of all connections, written in batches outside of the request path.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include <rota/leaf.hpp>
#include <rota/task.hpp>

#include "file_server/log_file.hpp"

namespace file_server {

// PROTOCOL: the lines that wait
//   Connections append to `front_`, under `mutex_`, and never wait for the disk: a line that does not fit is
//   dropped and counted. One task, write_until_finished(), takes all of `front_` at once and writes it in the
//   blocking pool. Only that task accesses `back_` and `file_`, in turn with the pool thread, which it
//   awaits. `waiting_` is the waker of that task while it sleeps; `wanted_` is the number of bytes that it
//   waits for. A thread that reaches this number, or that sets `reopen_` or `finished_`, takes the waker out
//   and wakes the task.

/// Threads    add, reopen, finish and the counts: any threads, concurrently.
class access_log {
 public:
  static constexpr std::size_t default_capacity = std::size_t{1} << 20U;
  /// A line is written this long after it was added, or as soon as half of the capacity is used.
  static constexpr std::chrono::milliseconds patience{200};

  /// Throws std::system_error, which names the file, if the file cannot be opened.
  access_log(std::string name, rotation r, std::size_t capacity = default_capacity);

  /// Appends `line`, which must end with a line feed.
  void add(std::string_view line) noexcept;
  /// Reopens the file before the next line is written, because it may have been renamed.
  void reopen() noexcept;
  /// Ends the log: no further line may be added. write_until_finished() returns when all lines are written.
  void finish() noexcept;

  /// Runs the writer. Call it once.
  rota::task<void> write_until_finished();

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_.load(std::memory_order::relaxed); }
  /// Returns the number of lines that were dropped because the buffer was full.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order::relaxed); }
  /// Returns the number of lines that could not be written to the file.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order::relaxed); }

 private:
  /// Waits until `bytes` bytes are buffered, or until the log is to be reopened or finished.
  class work_leaf final : public rota::leaf {
   public:
    work_leaf(access_log& of, std::size_t bytes) noexcept : of_(of), bytes_(bytes) {}
    bool is_ready() noexcept override;
    rota::cancel_progress try_cancel(rota::cancel_reason reason) noexcept override;
    const char* what() const noexcept override { return "lines for the access log"; }
    static void await_resume() noexcept {}

   protected:
    bool start() override;

   private:
    access_log& of_;
    std::size_t bytes_;
  };

  [[nodiscard]] bool has_work(std::size_t bytes) const noexcept;
  [[nodiscard]] rota::waker take_waiting() noexcept;
  [[nodiscard]] bool is_done() noexcept;
  void write_batch();
  void complain(std::error_code error);

  const std::string name_;
  const std::size_t capacity_;
  log_file file_;
  std::string back_;
  std::error_code complained_{};
  std::mutex mutex_;
  std::string front_;
  rota::waker waiting_;
  std::size_t wanted_ = 0;
  bool reopen_ = false;
  bool finished_ = false;
  std::atomic<std::uint64_t> lines_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace file_server
