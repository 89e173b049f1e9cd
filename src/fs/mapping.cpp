#include <rota/fs/mapping.hpp>

#include "base/sys/files.hpp"
#include "fs/information.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <limits>

namespace rota::fs {

namespace {

using detail::bad_argument;
namespace sys = detail::sys;
using access = mapping_options::access;

std::unexpected<std::error_code> out_of_range() noexcept {
  return std::unexpected(std::make_error_code(std::errc::result_out_of_range));
}

/// Returns the size, including the bytes of the first page before the range.
result<std::size_t> size_of(int fd, const mapping_options& how, std::size_t ahead) noexcept {
  const result<file_info> info = detail::look_at(fd, "", AT_EMPTY_PATH);
  if (!info.has_value()) return std::unexpected(info.error());
  if (how.offset > info->size) return out_of_range();
  const std::uint64_t rest = info->size - how.offset;
  const std::uint64_t wanted = how.length.has_value() ? *how.length : rest;
  if (wanted > rest) return out_of_range();
  if (wanted == 0) return bad_argument();
  if (wanted > std::numeric_limits<std::size_t>::max() - ahead) return out_of_range();
  return static_cast<std::size_t>(wanted) + ahead;
}

int protection_of(access how) noexcept { return how == access::read ? PROT_READ : PROT_READ | PROT_WRITE; }

int native(advice what) noexcept {
  switch (what) {
    case advice::normal: return MADV_NORMAL;
    case advice::sequential: return MADV_SEQUENTIAL;
    case advice::random: return MADV_RANDOM;
    case advice::will_need: return MADV_WILLNEED;
    case advice::dont_need: return MADV_DONTNEED;
  }
  return MADV_NORMAL;
}

}  // namespace

mapping::~mapping() {
  if (at_ != nullptr) sys::unmap(at_ - ahead_, size_ + ahead_);
}

task<result<mapping>> mapping::of(const file& f) {
  const mapping_options all;
  return of(f, all);
}

task<result<mapping>> mapping::of(const file& f, mapping_options how) {
  const std::size_t ahead = static_cast<std::size_t>(how.offset % sys::page_size());
  mapping made;
  const auto map = [&]() noexcept -> result<void> {
    const result<std::size_t> size = size_of(f.native_handle(), how, ahead);
    if (!size.has_value()) return std::unexpected(size.error());
    const auto got = sys::map(*size,
                              protection_of(how.how),
                              how.how == access::copy ? MAP_PRIVATE : MAP_SHARED,
                              f.native_handle(),
                              how.offset - ahead);
    if (!got.has_value()) return std::unexpected(got.error());
    made.at_ = static_cast<std::byte*>(got->at) + ahead;
    made.size_ = *size - ahead;
    made.ahead_ = ahead;
    made.writable_ = how.how != access::read;
    return {};
  };
  const result<void> mapped = co_await detail::on_thread(map);
  if (!mapped.has_value()) co_return std::unexpected(mapped.error());
  co_return std::move(made);
}

/// Returns the whole pages from that of the first byte on; empty: out of range.
std::span<std::byte> mapping::pages_of(std::size_t first, std::size_t count) const noexcept {
  if (first > size_ || count > size_ - first) return {};
  const std::size_t before = (ahead_ + first) % sys::page_size();
  return {at_ + first - before, count + before};
}

result<void> mapping::advise(advice what, std::size_t first, std::size_t count) noexcept {
  if (count == 0 && first <= size_) return {};
  const std::span<std::byte> pages = pages_of(first, count);
  if (pages.empty()) return out_of_range();
  return sys::advise_mapped(pages.data(), pages.size(), native(what));
}

task<result<void>> mapping::sync(std::size_t first, std::size_t count) {
  if (count == 0 && first <= size_) co_return result<void>();
  const std::span<std::byte> pages = pages_of(first, count);
  if (pages.empty()) co_return out_of_range();
  const auto sync_it = [&]() noexcept { return sys::sync_mapped(pages.data(), pages.size()); };
  co_return co_await detail::on_thread(sync_it);
}

}  // namespace rota::fs
