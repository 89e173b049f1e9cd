// The file that is written, and the line of progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/task.hpp>

#include "http_get/options.hpp"

namespace http_get {

/// Writes on threads that may block. "-" is standard output. start_anew() creates the file if it is missing.
class output {
 public:
  explicit output(const options& o);
  output(const output&) = delete;
  output& operator=(const output&) = delete;
  ~output();

  /// Returns the size of the existing part if it is resumed; else 0.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Starts at the beginning of the file. These three return an error, or an empty text.
  [[nodiscard]] rota::task<std::string> start_anew();
  [[nodiscard]] rota::task<std::string> write(std::string_view bytes);
  /// Closes the file. Some systems report only now that data could not be written.
  [[nodiscard]] rota::task<std::string> finish();
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void open_what_is_there();
  [[nodiscard]] std::string begin();
  [[nodiscard]] std::string put(std::string_view bytes) const;
  [[nodiscard]] std::string close();

  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  bool is_ours_ = false;
  std::string error_;
};

/// Formats the progress: "12.0 MiB of 40.0 MiB, 30 %".
[[nodiscard]] std::string progress_text(std::uint64_t done, std::optional<std::uint64_t> whole);

class progress {
 public:
  explicit progress(shows_progress how);
  /// Prints at most ten times a second.
  void show(std::uint64_t done, std::optional<std::uint64_t> whole);
  void finish(std::uint64_t done, std::optional<std::uint64_t> whole);

 private:
  bool is_shown_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace http_get
