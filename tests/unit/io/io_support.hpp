// Readers and writers for the tests of this folder.
#pragma once

#include "unit/runtime/runtime_support.hpp"

#include <rota/error.hpp>
#include <rota/io/concepts.hpp>
#include <rota/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace rota::test {

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns sizes from 1 to `most`, in an order that depends on `seed`.
class cutter {
 public:
  explicit cutter(std::size_t most, std::uint64_t seed = 1) noexcept : most_(most), state_(seed) {}
  [[nodiscard]] std::size_t next() noexcept {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return 1 + static_cast<std::size_t>(state_ >> 33U) % most_;
  }

 private:
  std::size_t most_;
  std::uint64_t state_;
};

/// Delivers a text in pieces, with a yield before each, and then its error or the end.
class source {
 public:
  source(std::string_view text, cutter cuts) noexcept : text_(text), cuts_(cuts) {}

  task<io::result<std::size_t>> read(std::span<std::byte> into) {
    ++reads;
    co_await yield();
    if (text_.empty() && error.has_value()) co_return std::unexpected(make_error_code(*error));
    const std::size_t n = std::min({text_.size(), into.size(), cuts_.next()});
    if (n != 0) std::memcpy(into.data(), text_.data(), n);
    text_.remove_prefix(n);
    co_return n;
  }

  std::optional<std::errc> error;
  int reads = 0;

 private:
  std::string_view text_;
  cutter cuts_;
};

/// Accepts pieces, with a yield before each; after `most` bytes it returns an error, or 0.
class sink {
 public:
  explicit sink(cutter cuts) noexcept : cuts_(cuts) {}

  task<io::result<std::size_t>> write(std::span<const std::byte> from) {
    ++writes;
    co_await yield();
    if (text.size() >= most) {
      if (!error.has_value()) co_return 0;
      co_return std::unexpected(make_error_code(*error));
    }
    const std::size_t n = std::min({from.size(), most - text.size(), cuts_.next()});
    text += text_of(from.first(n));
    co_return n;
  }

  std::string text;
  std::size_t most = ~std::size_t{0};
  std::optional<std::errc> error = std::errc::no_space_on_device;
  int writes = 0;

 private:
  cutter cuts_;
};

/// Runs `body` as a task on one worker: a task that it spawns runs only when it yields or waits.
template <class F>
void on_one_worker(F body) {
  runtime rt(with_workers(1));
  rt.spawn(body).join();
}

static_assert(io::reader<source> && !io::writer<source>);
static_assert(io::writer<sink> && !io::reader<sink>);

}  // namespace rota::test
