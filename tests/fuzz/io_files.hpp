// A folder with a few names, and files that are open, for the fuzzer of the backends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io_script.hpp"

#include <rota/fs/file.hpp>
#include <rota/fs/paths.hpp>
#include <rota/rota.hpp>

namespace fuzz {

class io_files {
 public:
  io_files(journal& to, std::string folder) : to_(to), folder_(std::move(folder)) {}

  rota::task<> step(std::uint64_t which, std::uint64_t how, std::size_t size) {
    const unsigned slot = which % 2;
    if (how % 32 >= 18) {
      co_await change_names(which, how % 32, size);
    } else if (!files_[slot].has_value() || how % 32 == 0) {
      co_await open(slot, which / 2, size);
    } else {
      co_await use(slot, how % 32, size, which / 2 * 97);
    }
  }
  rota::task<> end() {
    for (auto& each : files_) {
      if (each.has_value()) to_.note("close", 0, co_await std::move(*each).close());
      each.reset();
    }
  }
  [[nodiscard]] std::uint64_t state() const {
    return (files_[0].has_value() ? 1U : 0U) | (files_[1].has_value() ? 2U : 0U);
  }

 private:
  using count_result = rota::io::result<std::size_t>;

  [[nodiscard]] std::string path(std::uint64_t which) const {
    return folder_ + "/" + static_cast<char>('a' + which % 4);
  }

  rota::task<> open(unsigned slot, std::uint64_t name, std::size_t how) {
    rota::fs::open_options wanted;
    if (how % 4 != 1) wanted.read();
    if (how % 4 != 0) wanted.write();
    if (how / 4 % 8 == 1) wanted.append();
    if (how / 4 % 8 > 2) wanted.create();
    if (how / 4 % 8 == 2) wanted.create_new();
    if (how / 32 % 4 == 1) wanted.truncate();
    files_[slot].reset();
    auto got = co_await wanted.open(path(name));
    got.has_value() ? to_.note("open", name % 4, std::uint64_t{1})
                    : to_.note_error("open", name % 4, got.error());
    if (got.has_value()) files_[slot].emplace(std::move(*got));
  }

  rota::task<> use(unsigned slot, std::uint64_t how, std::size_t size, std::uint64_t at) {
    rota::fs::file& by = *files_[slot];
    switch (how) {
      case 1:
      case 2: co_await write(by, size, at); break;
      case 3:
      case 4: co_await read(by, size, at); break;
      case 5:
      case 6: co_await write_here(by, size); break;
      case 7:
      case 8: co_await read_here(by, size); break;
      case 9: to_.note("set_len", slot, co_await by.set_len(size * 3)); break;
      case 10: to_.note("sync_data", slot, co_await by.sync_data()); break;
      case 11: to_.note("sync_all", slot, co_await by.sync_all()); break;
      case 12: to_.note("preallocate", slot, co_await by.preallocate(at, size)); break;
      case 13: co_await seek(by, size, at); break;
      case 14: co_await ask(by); break;
      case 15: co_await write_for_nobody(by, size, at); break;
      case 16: co_await many(by, size); break;
      default: co_await in_parts(by, size, at); break;
    }
    to_.note("position", slot, by.position());
  }

  rota::task<> write(rota::fs::file& by, std::size_t size, std::uint64_t at) {
    const std::vector<std::byte> bytes = pattern(size, ++written_);
    to_.note("write_at", at, co_await by.write_at(bytes, at));
  }
  rota::task<> read(rota::fs::file& by, std::size_t size, std::uint64_t at) {
    std::vector<std::byte> into(size);
    const count_result got = co_await by.read_at(into, at);
    to_.note("read_at", at, got, into);
  }
  rota::task<> write_here(rota::fs::file& by, std::size_t size) {
    const std::vector<std::byte> bytes = pattern(size, ++written_);
    to_.note("write", size, co_await by.write(bytes));
  }
  rota::task<> read_here(rota::fs::file& by, std::size_t size) {
    std::vector<std::byte> into(size);
    const count_result got = co_await by.read(into);
    to_.note("read", size, got, into);
  }
  rota::task<> seek(rota::fs::file& by, std::size_t size, std::uint64_t at) {
    const auto whence = static_cast<rota::fs::seek_from>(size % 3);
    const auto got =
        co_await by.seek(static_cast<std::int64_t>(at) - static_cast<std::int64_t>(size / 3), whence);
    got.has_value() ? to_.note("seek", at, *got) : to_.note_error("seek", at, got.error());
  }
  rota::task<> ask(rota::fs::file& by) { note_info("metadata", 0, co_await by.metadata()); }
  void note_info(const char* what, std::uint64_t of, const rota::io::result<rota::fs::file_info>& got) {
    if (!got.has_value()) return to_.note_error(what, of, got.error());
    to_.note(what, of, got->is_directory() ? std::uint64_t{0} : got->size);
    to_.note(
        "links and mode", of, got->links << 32U | got->permissions << 8U | static_cast<unsigned>(got->type));
  }

  static rota::task<count_result> writes(rota::fs::file& by,
                                         std::span<const std::byte> bytes,
                                         std::uint64_t at) {
    co_return co_await by.write_at(bytes, at);
  }
  static rota::task<count_result> reads(const rota::fs::file& by,
                                        std::span<std::byte> into,
                                        std::uint64_t at) {
    co_return co_await by.read_at(into, at);
  }
  /// It is unknown whether a cancelled write was made, so it is made once more.
  rota::task<> write_for_nobody(rota::fs::file& by, std::size_t size, std::uint64_t at) {
    const std::vector<std::byte> bytes = pattern(size, ++written_);
    auto writing = rota::spawn(writes(by, bytes, at));
    if (size % 2 == 0) co_await rota::yield();
    writing.cancel();
    static_cast<void>(co_await writing.result());
    to_.note("write_at once more", at, co_await by.write_at(bytes, at));
  }
  /// More at a time than some queues hold.
  rota::task<> many(rota::fs::file& by, std::size_t size) {
    constexpr std::size_t part = 64;
    const std::size_t count = 1 + size % 48;
    const std::vector<std::byte> bytes = pattern(count * part, ++written_);
    std::vector<std::byte> into(count * part);
    std::vector<rota::join_handle<count_result>> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(rota::spawn(writes(by, std::span(bytes).subspan(i * part, part), i * part)));
    for (auto& each : all) to_.note("one of many writes", 0, co_await each);
    all.clear();
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(rota::spawn(reads(by, std::span(into).subspan(i * part, part), i * part)));
    for (auto& each : all) to_.note("one of many reads", 0, co_await each);
    to_.note("what they read", 0, std::uint64_t{count}, into);
  }
  rota::task<> in_parts(rota::fs::file& by, std::size_t size, std::uint64_t at) {
    std::vector<std::byte> bytes = pattern(size, ++written_);
    const std::size_t cut = size / 3;
    const std::array<std::span<const std::byte>, 2> from{std::span<const std::byte>(bytes).first(cut),
                                                         std::span<const std::byte>(bytes).subspan(cut)};
    to_.note("write_v_at", at, co_await by.write_v_at(from, at));
    const std::array<std::span<std::byte>, 2> into{std::span(bytes).subspan(cut),
                                                   std::span(bytes).first(cut)};
    to_.note("read_v_at", at, co_await by.read_v_at(into, at));
    to_.note("parts", at, std::uint64_t{size}, bytes);
  }

  rota::task<> change_names(std::uint64_t which, std::uint64_t how, std::size_t size) {
    const std::string one = path(which);
    const std::string other = path(which / 4);
    const std::uint64_t names = which % 16;
    switch (how) {
      case 18: to_.note("remove_file", names, co_await rota::fs::remove_file(one)); break;
      case 19: to_.note("remove_dir", names, co_await rota::fs::remove_dir(one)); break;
      case 20: to_.note("create_dir", names, co_await rota::fs::create_dir(one, size % 010000)); break;
      case 21: to_.note("rename", names, co_await rota::fs::rename(one, other)); break;
      case 22: to_.note("rename_new", names, co_await rota::fs::rename_new(one, other)); break;
      case 23: to_.note("hard_link", names, co_await rota::fs::hard_link(one, other)); break;
      case 24:
        to_.note("symlink", names, co_await rota::fs::symlink(one.substr(folder_.size() + 1), other));
        break;
      case 25: co_await is_there(one, names); break;
      case 26: note_info("metadata of a name", names, co_await rota::fs::metadata(one)); break;
      case 27: note_info("metadata of a link", names, co_await rota::fs::symlink_metadata(one)); break;
      case 28: co_await open_for_nobody(size); break;
      case 29:
        to_.note("remove_file", names, co_await rota::fs::remove_file(std::string(1, '\0') + one));
        break;
      case 30:
        to_.note("create_dir below", names, co_await rota::fs::create_dir(one + "/" + other.back()));
        break;
      default: co_await where_to(one, names); break;
    }
  }
  rota::task<> is_there(std::string name, std::uint64_t names) {
    const auto got = co_await rota::fs::exists(name);
    got.has_value() ? to_.note("exists", names, std::uint64_t{*got})
                    : to_.note_error("exists", names, got.error());
  }
  rota::task<> where_to(std::string name, std::uint64_t names) {
    const auto got = co_await rota::fs::read_link(name);
    got.has_value() ? to_.note("read_link", names, got->size(), std::as_bytes(std::span(*got)))
                    : to_.note_error("read_link", names, got.error());
  }
  /// The file may have been made, so it is removed; no descriptor is left in any case.
  rota::task<> open_for_nobody(std::size_t size) {
    const std::string name = folder_ + "/z";
    auto opening = rota::spawn(rota::fs::file::create(name));
    if (size % 2 == 0) co_await rota::yield();
    opening.cancel();
    static_cast<void>(co_await opening.result());
    static_cast<void>(co_await rota::fs::remove_file(name));
  }

  journal& to_;
  std::string folder_;
  std::uint64_t written_ = 0;
  std::array<std::optional<rota::fs::file>, 2> files_;
};

}  // namespace fuzz
