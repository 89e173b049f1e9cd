#include "fs/transfer.hpp"

#include "base/sys/files.hpp"

#include <algorithm>

namespace rota::fs::detail {

namespace {

/// A read of a pipe may wait for its writer.
when_late late_at(std::uint64_t offset) noexcept {
  return offset == sys::no_offset ? when_late::refused : when_late::here;
}

/// The most that a worker copies at once.
constexpr std::size_t most_in_place = std::size_t{256} << 10U;

/// Reads cached data in place. An end that the system reports is not trusted: kernels 5.9 and 5.10 return 0
/// where they should report that they would wait.
class cached_read_leaf final : public leaf {
 public:
  cached_read_leaf(int fd, const parts& into, std::uint64_t offset) noexcept
      : fd_(fd), into_(into), offset_(offset) {}
  cached_read_leaf(const cached_read_leaf&) = delete;
  cached_read_leaf& operator=(const cached_read_leaf&) = delete;
  ~cached_read_leaf() = default;

  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  [[nodiscard]] const char* what() const noexcept override { return "file read"; }
  /// Returns 0 if the data is not cached, or if there is none.
  [[nodiscard]] std::size_t await_resume() const noexcept { return got_; }

 private:
  bool start() override {
    got_ = sys::read_cached(fd_, into_.data(), into_.count(), offset_).value_or(0);
    charge(got_);
    return true;
  }
  int fd_;
  const parts& into_;
  std::uint64_t offset_;
  std::size_t got_ = 0;
};

task<number> write_blocking(int fd, const parts& from) {
  const auto make = [&] { return sys::write_v_at(fd, from.data(), from.count(), sys::no_offset); };
  co_return co_await on_thread(make, when_late::refused);
}

}  // namespace

void parts::limit(std::size_t bytes) noexcept {
  for (unsigned i = 0; i < count_; ++i) {
    all_[i].iov_len = std::min(all_[i].iov_len, bytes);
    bytes -= all_[i].iov_len;
  }
}

task<std::size_t> read_in_memory(int fd, std::span<std::byte> into, std::uint64_t offset) {
  const parts one(into);
  co_return co_await cached_read_leaf(fd, one, offset);
}

task<number> read_some(int fd, std::span<std::byte> into, std::uint64_t offset, in_place how) {
  // An empty read does not wait. A ring would return 0 where the system returns an error: EISDIR.
  if (into.empty() && offset != sys::no_offset) co_return sys::read_at(fd, into, offset);
  if (how == in_place::tried && offset != sys::no_offset) {
    const parts one(into.first(std::min(into.size(), most_in_place)));
    const std::size_t got = co_await cached_read_leaf(fd, one, offset);
    if (got != 0) co_return got;
  }
  const auto prepare = [&](sys::ring_request& r) noexcept { sys::prepare_read(r, fd, into, offset); };
  const auto make = [&]() noexcept { return sys::read_at(fd, into, offset); };
  const system_call call("file read", sys::ring_call::read, prepare, make);
  co_return co_await perform(call, late_at(offset));
}

task<number> read_parts(int fd,
                        std::span<const std::span<std::byte>> into,
                        std::uint64_t offset,
                        in_place how) {
  parts all(into);
  if (how == in_place::tried && offset != sys::no_offset) {
    parts some(into);
    some.limit(most_in_place);
    const std::size_t got = co_await cached_read_leaf(fd, some, offset);
    if (got != 0) co_return got;
  }
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_read_v(r, fd, all.data(), all.count(), offset);
  };
  const auto make = [&]() noexcept { return sys::read_v_at(fd, all.data(), all.count(), offset); };
  const system_call call("file read", sys::ring_call::read_v, prepare, make);
  co_return co_await perform(call, late_at(offset));
}

task<number> write_some(int fd, std::span<const std::byte> from, std::uint64_t offset) {
  const std::span<const std::byte> one[] = {from};
  // The ring would raise SIGPIPE.
  if (offset == sys::no_offset) co_return co_await write_parts(fd, one, offset);
  const auto prepare = [&](sys::ring_request& r) noexcept { sys::prepare_write(r, fd, from, offset); };
  const auto make = [&]() noexcept { return sys::write_at(fd, from, offset); };
  const system_call call("file write", sys::ring_call::write, prepare, make);
  co_return co_await perform(call);
}

task<number> write_parts(int fd, std::span<const std::span<const std::byte>> from, std::uint64_t offset) {
  const parts all(from);
  if (offset == sys::no_offset) co_return co_await write_blocking(fd, all);
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_write_v(r, fd, all.data(), all.count(), offset);
  };
  const auto make = [&]() noexcept { return sys::write_v_at(fd, all.data(), all.count(), offset); };
  const system_call call("file write", sys::ring_call::write_v, prepare, make);
  co_return co_await perform(call);
}

}  // namespace rota::fs::detail
