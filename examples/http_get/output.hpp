// The file that is written, and the line that says how far it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/task.hpp>

#include "http_get/options.hpp"

namespace http_get {

/// What may block is done by threads for that. "-" is the standard output. A file that is not there is made by start_anew().
class output {
 public:
  explicit output(const options& o);
  output(const output&) = delete;
  output& operator=(const output&) = delete;
  ~output();

  /// What is there already, if it is to go on; else 0.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// From its beginning. These three: an error, or nothing.
  [[nodiscard]] rota::task<std::string> start_anew();
  [[nodiscard]] rota::task<std::string> write(std::string_view bytes);
  /// Some systems say only now that what was written is not there.
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

/// "12.0 MiB of 40.0 MiB, 30 %".
[[nodiscard]] std::string progress_text(std::uint64_t done, std::optional<std::uint64_t> whole);

class progress {
 public:
  explicit progress(shows_progress how);
  /// At most ten times a second.
  void show(std::uint64_t done, std::optional<std::uint64_t> whole);
  void finish(std::uint64_t done, std::optional<std::uint64_t> whole);

 private:
  bool is_shown_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace http_get
