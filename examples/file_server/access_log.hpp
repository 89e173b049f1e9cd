// The access log: lines from all connections, written in batches off the request path.
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
//   Connections append to `front_`, under `mutex_`, and never wait for the disk: what does not fit is dropped and counted. One
//   task, write_until_finished(), takes all of it at once and writes it in the blocking pool; only it touches `back_` and
//   `file_`, in turn with the pool's thread, which it awaits. `waiting_` is the waker of that task while it sleeps, and
//   `wanted_` how many bytes it sleeps for: whoever reaches that, and whoever sets `reopen_` or `finished_`, takes it out.

/// Threads    add, reopen, finish and the counts: any, at the same time.
class access_log {
 public:
  static constexpr std::size_t default_capacity = std::size_t{1} << 20U;
  /// A line is written so long after it was added, or as soon as half of the room is used.
  static constexpr std::chrono::milliseconds patience{200};

  /// Throws std::system_error, which names the file, if it cannot be opened.
  access_log(std::string name, rotation r, std::size_t capacity = default_capacity);

  /// `line` ends with a line feed.
  void add(std::string_view line) noexcept;
  /// Opens the file anew before the next line is written: it may have been renamed.
  void reopen() noexcept;
  /// No line comes any more: write_until_finished() ends when all are written.
  void finish() noexcept;

  /// The writer. Once.
  rota::task<void> write_until_finished();

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_.load(std::memory_order::relaxed); }
  /// Those for which there was no room.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order::relaxed); }
  /// Those that the file did not take.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order::relaxed); }

 private:
  /// Waits until `bytes` bytes wait, or something else is to be done.
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
