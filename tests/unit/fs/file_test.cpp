// Reading, writing, and other operations on an open file.
#include "unit/fs/fs_support.hpp"

#include <rota/fs/directory.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/buffered_writer.hpp>
#include <rota/io/concepts.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/lines.hpp>
#include <rota/when.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace rota::fs::file_test {
namespace {

using test::as_bytes_of;
using test::as_text;
using test::content_of;
using test::fails;
using test::generic;
using test::gives;
using test::must;
using test::numbered;
using test::said;

static_assert(io::stream<file>);

using fs_file = test::fs_test;

task<file> opened(const std::string& path) {
  open_options how;
  how.read().write().create();
  co_return must(co_await how.open(path));
}

TEST_F(fs_file, the_cursor_moves_by_what_was_read_and_written) {
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    EXPECT_EQ(f.position(), 0U);
    co_await gives(f.write(as_bytes_of("hello ")), 6U);
    co_await gives(f.write(as_bytes_of("world")), 5U);
    EXPECT_EQ(f.position(), 11U);
    std::array<std::byte, 100> some;
    co_await gives(f.read(some), 0U);
    must(f.seek_to(4));
    const std::size_t got = must(co_await f.read(std::span(some).first(4)));
    EXPECT_EQ(as_text(std::span(some).first(got)), "o wo");
    EXPECT_EQ(f.position(), 8U);
    co_await gives(f.write(as_bytes_of("RLD!!")), 5U);
    co_await gives(f.read(std::span(some).first(0)), 0U);
    co_await gives(f.write(as_bytes_of("")), 0U);
    EXPECT_EQ(f.position(), 13U);
  });
  EXPECT_EQ(content_of(at("f")), "hello woRLD!!");
}

TEST_F(fs_file, an_offset_leaves_the_cursor_alone) {
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    co_await gives(f.write_at(as_bytes_of("later"), 10), 5U);
    must(co_await f.write_all_at(as_bytes_of("first"), 0));
    EXPECT_EQ(f.position(), 0U);
    std::array<std::byte, 15> all;
    must(co_await f.read_exact_at(all, 0));
    EXPECT_EQ(as_text(all), std::string("first\0\0\0\0\0later", 15));
    const result<void> beyond = co_await f.read_exact_at(all, 1);
    EXPECT_EQ(beyond.error(), errc::end_of_stream);
    co_await gives(f.read_at(all, 12), 3U);
    co_await gives(f.read_at(all, 15), 0U);
    co_await gives(f.read_at(all, 1'000'000), 0U);
  });
}

TEST_F(fs_file, offsets_above_int64_max_are_refused) {
  run_it([&]() -> task<void> {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    file f = must(co_await file::create_new(at("f")));
    std::array<std::byte, 4> some{};
    const std::span<std::byte> one[] = {some};
    const std::span<const std::byte> from[] = {some};
    for (const std::uint64_t bad : {most + 1, ~std::uint64_t{0}}) {
      co_await fails(f.read_at(some, bad), EINVAL);
      co_await fails(f.write_at(some, bad), EINVAL);
      co_await fails(f.read_v_at(one, bad), EINVAL);
      co_await fails(f.write_v_at(from, bad), EINVAL);
      co_await fails(f.set_len(bad), EINVAL);
      co_await fails(f.preallocate(bad, 1), EINVAL);
      EXPECT_EQ(said(f.seek_to(bad)), generic(EINVAL));
    }
    co_await fails(f.read_exact_at(some, most - 3), EINVAL);
    co_await fails(f.write_all_at(some, most - 3), EINVAL);
    co_await fails(f.preallocate(0, 0), EINVAL);
    co_await fails(f.preallocate(most, 1), EINVAL);
    co_await fails(f.set_permissions(010000), EINVAL);
    const file_info info = must(co_await f.metadata());
    EXPECT_EQ(info.size, 0U) << "nothing has happened";
  });
}

TEST_F(fs_file, seek_works_from_start_current_and_end) {
  folder.write("f", "0123456789");
  run_it([&]() -> task<void> {
    file f = must(co_await file::open(at("f")));
    co_await gives(f.seek(3, seek_from::start), 3U);
    co_await gives(f.seek(2, seek_from::current), 5U);
    co_await gives(f.seek(-5, seek_from::current), 0U);
    co_await gives(f.seek(-1, seek_from::end), 9U);
    co_await gives(f.seek(90, seek_from::end), 100U);
    co_await fails(f.seek(-1, seek_from::start), EINVAL);
    co_await fails(f.seek(-11, seek_from::end), EINVAL);
    co_await fails(f.seek(std::numeric_limits<std::int64_t>::max(), seek_from::current), EINVAL);
    co_await fails(f.seek(std::numeric_limits<std::int64_t>::min(), seek_from::end), EINVAL);
    EXPECT_EQ(f.position(), 100U);
  });
}

TEST_F(fs_file, append_mode_writes_at_the_end_and_keeps_the_cursor) {
  folder.write("f", "one ");
  run_it([&]() -> task<void> {
    file a = must(co_await open_options().append().read().open(at("f")));
    file b = must(co_await open_options().append().open(at("f")));
    must(co_await io::write_all(a, as_bytes_of("two ")));
    must(co_await io::write_all(b, as_bytes_of("three ")));
    const std::span<const std::byte> parts[] = {as_bytes_of("fo"), as_bytes_of("ur")};
    co_await gives(a.write_v(parts), 4U);
    EXPECT_EQ(a.position(), 0U);
    std::array<std::byte, 3> some;
    must(co_await io::read_exact(a, some));
    EXPECT_EQ(as_text(some), "one");
    co_await fails(a.write_v_at(parts, 0), EINVAL);
    co_await fails(a.write_all_at(some, 0), EINVAL);
  });
  EXPECT_EQ(content_of(at("f")), "one two three four");
}

TEST_F(fs_file, vectored_io_uses_the_buffers_in_order) {
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    const std::span<const std::byte> from[] = {as_bytes_of("abc"), as_bytes_of(""), as_bytes_of("defgh")};
    co_await gives(f.write_v(from), 8U);
    co_await gives(f.write_v_at(from, 4), 8U);
    EXPECT_EQ(f.position(), 8U);
    std::array<std::byte, 5> first;
    std::array<std::byte, 50> second;
    const std::span<std::byte> into[] = {first, second};
    co_await gives(f.read_v_at(into, 1), 11U);
    EXPECT_EQ(as_text(first) + as_text(std::span(second).first(6)), "bcdabcdefgh");
    must(f.seek_to(10));
    co_await gives(f.read_v(into), 2U);
    EXPECT_EQ(f.position(), 12U);
    co_await gives(f.read_v(into), 0U);
    co_await gives(f.read_v(std::span<const std::span<std::byte>>()), 0U);
  });
}

TEST_F(fs_file, vectored_io_does_not_count_empty_buffers_against_its_limit) {
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    std::vector<std::span<const std::byte>> from(100);
    from.push_back(as_bytes_of("abc"));
    co_await gives(f.write_v(from), 3U);
    std::array<std::byte, 5> bytes;
    std::vector<std::span<std::byte>> into(100);
    into.emplace_back(bytes);
    co_await gives(f.read_v_at(into, 0), 3U);
    EXPECT_EQ(as_text(std::span(bytes).first(3)), "abc");
  });
}

/// More than 64 buffers: the first 64 are used, and a caller that continues loses none.
TEST_F(fs_file, vectored_io_uses_at_most_64_buffers_per_call) {
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    const std::string bytes = numbered(100);
    std::vector<std::span<const std::byte>> from;
    for (std::size_t i = 0; i < 100; ++i) from.push_back(as_bytes_of(bytes).subspan(i, 1));
    co_await gives(f.write_v(from), 64U);
    co_await gives(f.write_v(std::span(from).subspan(64)), 36U);
    std::vector<std::byte> got(100);
    std::vector<std::span<std::byte>> into;
    for (std::size_t i = 0; i < 100; ++i) into.push_back(std::span(got).subspan(i, 1));
    co_await gives(f.read_v_at(into, 0), 64U);
    co_await gives(f.read_v_at(std::span(into).subspan(64), 64), 36U);
    EXPECT_EQ(as_text(got), bytes);
  });
}

TEST_F(fs_file, large_file_is_read_back_unchanged) {
  const std::string bytes = numbered(3'000'001);
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    must(co_await io::write_all(f, as_bytes_of(bytes)));
    must(f.seek_to(0));
    std::vector<std::byte> got;
    co_await gives(io::read_to_end(f, got, 10'000'000), bytes.size());
    EXPECT_TRUE(as_text(got) == bytes);
    std::vector<std::byte> exact(bytes.size() - 7);
    must(co_await f.read_exact_at(exact, 7));
    EXPECT_TRUE(as_text(exact) == bytes.substr(7));
    // Evicts the file from the page cache.
    must(co_await f.sync_all());
    EXPECT_EQ(::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED), 0);
    must(co_await f.read_exact_at(exact, 7));
    EXPECT_TRUE(as_text(exact) == bytes.substr(7));
  });
  EXPECT_TRUE(content_of(at("f")) == bytes);
}

TEST_F(fs_file, buffered_reader_and_writer_work_on_a_file) {
  run_it([&]() -> task<void> {
    file out = must(co_await file::create(at("lines")));
    {
      io::buffered_writer<file> writer(out, 64);
      for (int i = 0; i < 1000; ++i) {
        const std::string line = "line " + std::to_string(i) + "\n";
        must(co_await writer.write_all(as_bytes_of(line)));
      }
      must(co_await writer.flush());
    }
    file in = must(co_await file::open(at("lines")));
    io::buffered_reader<file> reader(in, 64);
    auto lines = io::lines(reader);
    int n = 0;
    for (;;) {
      const auto line = co_await lines.next();
      if (!line) break;
      EXPECT_EQ(line->value(), "line " + std::to_string(n++));
    }
    EXPECT_EQ(n, 1000);
  });
}

TEST_F(fs_file, io_copy_from_file_to_file_moves_both_cursors) {
  const std::string bytes = numbered(200'000);
  folder.write("from", bytes);
  run_it([&]() -> task<void> {
    file from = must(co_await file::open(at("from")));
    file to = must(co_await file::create(at("to")));
    must(co_await io::write_all(to, as_bytes_of(">")));
    must(from.seek_to(10));
    io::copy_options some;
    some.limit = 1000;
    co_await gives(io::copy(from, to, some), 1000U);
    EXPECT_EQ(from.position(), 1010U);
    EXPECT_EQ(to.position(), 1001U);
    co_await gives(io::copy(from, to), bytes.size() - 1010);
    co_await gives(io::copy(from, to), 0U);
    // A source without a size, and a target that appends.
    file proc = must(co_await file::open("/proc/self/status"));
    file log = must(co_await open_options().append().create().open(at("log")));
    const std::uint64_t of_proc = must(co_await io::copy(proc, log));
    EXPECT_GT(of_proc, 100U);
    must(from.seek_to(199'990));
    co_await gives(io::copy(from, log), 10U);
    std::array<std::byte, 1> one{};
    co_await fails(io::copy(to, from), EBADF);  // `to` is not open for reading
    co_await fails(from.write(one), EBADF);     // `from` is not open for writing
  });
  EXPECT_TRUE(content_of(at("to")) == ">" + bytes.substr(10));
  const std::string log = content_of(at("log"));
  EXPECT_TRUE(log.starts_with("Name:")) << log;
  EXPECT_TRUE(log.ends_with(bytes.substr(199'990)));
}

TEST_F(fs_file, metadata_says_what_stat_says) {
  folder.write("f", std::string(5000, 'x'));
  ::chmod(at("f").c_str(), 04751);
  run_it([&]() -> task<void> {
    const file f = must(co_await file::open(at("f")));
    const file_info info = must(co_await f.metadata());
    struct stat s{};
    EXPECT_EQ(::fstat(f.native_handle(), &s), 0);
    EXPECT_TRUE(info.is_file());
    EXPECT_FALSE(info.is_directory() || info.is_symlink());
    EXPECT_EQ(info.permissions, 04751U);
    EXPECT_EQ(info.size, 5000U);
    EXPECT_EQ(info.inode, s.st_ino);
    EXPECT_EQ(info.links, 1U);
    EXPECT_EQ(info.blocks, static_cast<std::uint64_t>(s.st_blocks));
    EXPECT_EQ(info.block_size, static_cast<std::uint64_t>(s.st_blksize));
    EXPECT_EQ(info.owner, s.st_uid);
    EXPECT_EQ(info.group, s.st_gid);
    const auto since = info.modified.time_since_epoch();
    EXPECT_EQ(since, std::chrono::seconds(s.st_mtim.tv_sec) + std::chrono::nanoseconds(s.st_mtim.tv_nsec));
    EXPECT_GE(info.changed, info.modified);
    EXPECT_LE(info.created.value_or(info.changed), info.changed);
    const file_info again = must(co_await fs::metadata(at("f")));
    EXPECT_TRUE(info.is_same_file(again));
    const file_info other = must(co_await fs::metadata(folder.root()));
    EXPECT_FALSE(info.is_same_file(other));
    EXPECT_TRUE(other.is_directory());
  });
}

TEST_F(fs_file, set_len_and_preallocate_change_the_size) {
  folder.write("f", "0123456789");
  run_it([&]() -> task<void> {
    file f = co_await opened(at("f"));
    must(co_await f.set_len(4));
    must(co_await f.set_len(6));
    std::array<std::byte, 10> some;
    co_await gives(f.read(some), 6U);
    EXPECT_EQ(as_text(std::span(some).first(6)), std::string("0123\0\0", 6));
    must(co_await f.preallocate(0, 1'000'000));
    const file_info info = must(co_await f.metadata());
    EXPECT_EQ(info.size, 1'000'000U);
    EXPECT_GE(info.blocks * 512, 1'000'000U);
    must(co_await f.set_permissions(0640));
    const file_info after = must(co_await f.metadata());
    EXPECT_EQ(after.permissions, 0640U);
    const file read_only = must(co_await file::open(at("f")));
    file copy = must(file::adopt(::dup(read_only.native_handle())));
    co_await fails(copy.set_len(0), EINVAL);
    co_await fails(copy.preallocate(0, 1), EBADF);
  });
}

TEST_F(fs_file, sync_and_close_succeed) {
  run_it([&]() -> task<void> {
    file f = co_await opened(at("f"));
    must(co_await f.write(as_bytes_of("x")));
    must(co_await f.sync_data());
    must(co_await f.sync_all());
    must(co_await std::move(f).close());
    EXPECT_FALSE(f);
  });
}

TEST_F(fs_file, closed_file_refuses_every_operation) {
  run_it([&]() -> task<void> {
    file f;
    std::array<std::byte, 4> some{};
    EXPECT_FALSE(f);
    EXPECT_EQ(f.native_handle(), -1);
    co_await fails(f.read(some), EBADF);
    co_await fails(f.write(some), EBADF);
    co_await fails(f.read_exact_at(some, 0), EBADF);
    co_await fails(f.metadata(), EBADF);
    co_await fails(f.sync_all(), EBADF);
    co_await fails(f.set_len(0), EBADF);
    co_await fails(f.preallocate(0, 1), EBADF);
    co_await fails(f.set_permissions(0), EBADF);
    EXPECT_EQ(said(f.seek_to(0)), generic(EBADF));
    co_await fails(f.seek(0, seek_from::end), EBADF);
    co_await fails(std::move(f).close(), EBADF);
  });
}

TEST_F(fs_file, errors_of_a_full_device_and_a_directory_are_returned) {
  run_it([&]() -> task<void> {
    file full = must(co_await open_options().read().write().open("/dev/full"));
    co_await fails(full.write(as_bytes_of("x")), ENOSPC);
    co_await fails(full.write_all_at(as_bytes_of("x"), 0), ENOSPC);
    EXPECT_EQ(full.position(), 0U);
    file directory = must(co_await file::open(folder.root()));
    std::array<std::byte, 4> some;
    co_await fails(directory.read(some), EISDIR);
    // Also for zero bytes, where a ring would return 0.
    co_await fails(directory.read(std::span<std::byte>()), EISDIR);
    co_await fails(directory.read_at(std::span<std::byte>(), 0), EISDIR);
    co_await fails(file::open("/dev/null/x"), ENOTDIR);
  });
}

TEST_F(fs_file, pipe_can_be_read_and_written_but_not_at_an_offset) {
  run_it([&]() -> task<void> {
    std::array<int, 2> ends;
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    file reads = must(file::adopt(ends[0]));
    file writes = must(file::adopt(ends[1]));
    co_await gives(writes.write(as_bytes_of("through")), 7U);
    const std::span<const std::byte> parts[] = {as_bytes_of(" a "), as_bytes_of("pipe")};
    co_await gives(writes.write_v(parts), 7U);
    std::array<std::byte, 7> some;
    co_await gives(reads.read(some), 7U);
    EXPECT_EQ(as_text(some), "through");
    const std::span<std::byte> into[] = {std::span(some).first(2), std::span(some).subspan(2)};
    co_await gives(reads.read_v(into), 7U);
    EXPECT_EQ(as_text(some), " a pipe");
    co_await fails(reads.read_at(some, 0), ESPIPE);
    co_await fails(writes.write_at(some, 0), ESPIPE);
    EXPECT_EQ(said(reads.seek_to(0)), generic(ESPIPE));
    EXPECT_EQ(::fcntl(writes.native_handle(), F_SETFL, O_APPEND), 0);
    file appends = must(file::adopt(::dup(writes.native_handle())));
    co_await gives(appends.write(some), 7U);
    co_await gives(reads.read(some), 7U);
    // No reader is left: the write must not raise a signal, on any thread.
    must(co_await std::move(reads).close());
    co_await fails(writes.write(some), EPIPE);
    co_await fails(writes.write_v(parts), EPIPE);
  });
}

/// Checks exact counts: no operation uses a thread without need, and a cached read uses no operation.
TEST_F(fs_file, operations_use_the_io_uring_if_there_is_one) {
  runtime rt(test::with_workers(1));
  if (rt.stats().io_backend != io_backend::uring) GTEST_SKIP() << "there is no ring";
  rt.block_on([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    must(co_await f.write(as_bytes_of("0123456789")));
    must(co_await f.write_v(std::span<const std::span<const std::byte>>()));
    must(co_await f.metadata());
    must(co_await f.preallocate(0, 4096));
    must(co_await f.sync_data());
    std::array<std::byte, 4> some;
    co_await gives(f.read_at(some, 4), 4U);
    co_await gives(f.read_at(some, 4096), 0U);
  });
  const unsigned not_in_place = folder.reads_in_memory() ? 0 : 1;
  EXPECT_EQ(rt.stats().io.operations, 7U + not_in_place) << "the last one: an end is asked for twice";
}

TEST_F(fs_file, file_and_directory_survive_self_move_assignment) {
  folder.write("d/a", "");
  folder.write("d/b", "");
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    file& same = f;
    f = std::move(same);
    EXPECT_TRUE(f);
    must(co_await f.sync_all());
    directory d = must(co_await read_dir(at("d")));
    const auto first = must(co_await d.next());
    EXPECT_TRUE(first.has_value());
    directory& same_directory = d;
    d = std::move(same_directory);
    const auto second = must(co_await d.next());
    EXPECT_TRUE(second.has_value());
    const auto none = must(co_await d.next());
    EXPECT_FALSE(none.has_value());
    // The assigned-over file is closed as usual.
    f = must(co_await file::open(at("d/a")));
    d = directory();
  });
}

/// As in every other call, the operation begins when it is awaited.
TEST_F(fs_file, operation_reads_the_descriptor_when_it_is_awaited) {
  run_it([&]() -> task<void> {
    file f;
    auto all = f.sync_all();
    auto data = f.sync_data();
    auto info = f.metadata();
    auto cut = f.set_len(7);
    f = must(co_await file::create_new(at("f")));
    must(co_await std::move(all));
    must(co_await std::move(data));
    must(co_await std::move(cut));
    const file_info now = must(co_await std::move(info));
    EXPECT_EQ(now.size, 7U);
  });
}

/// The only blocking thread is held and there is no ring: a read that runs all the same has run in place.
TEST_F(fs_file, reads_with_o_direct_do_not_run_in_place) {
  constexpr std::size_t block = 4096;
  const std::string bytes = numbered(2 * block);
  folder.write("f", bytes);
  runtime_options o = test::with_workers(1);
  o.backend = io_backend::epoll;
  o.blocking.max_threads = 1;
  runtime rt(o);
  file plain = rt.block_on([&]() -> task<file> { co_return must(co_await file::open(at("f"))); });
  result<file> opened = rt.block_on([&]() -> task<result<file>> {
    co_return co_await open_options().read().custom_flags(O_DIRECT).open(at("f"));
  });
  if (!opened.has_value()) GTEST_SKIP() << "this file system has no O_DIRECT";
  if (!test::can_be_read_in_place(plain.native_handle()))
    GTEST_SKIP() << "nor can it be asked what is in memory";
  // Dirty pages would make the system refuse a read in place.
  ASSERT_EQ(::fsync(plain.native_handle()), 0);
  file adopted = must(file::adopt(::dup(opened->native_handle())));
  alignas(block) std::array<std::byte, block> first;
  alignas(block) std::array<std::byte, block> second;
  alignas(block) std::array<std::byte, block> third;
  std::atomic<bool> is_held{false};
  std::atomic<bool> done{false};
  join_handle<void> held = rt.spawn_blocking([&] {
    is_held = true;
    test::wait_until([&] { return done.load(); });
  });
  test::wait_until([&] { return is_held.load(); });
  rt.block_on([&]() -> task<void> { co_await gives(plain.read_at(first, block), block); });
  std::atomic<int> over{0};
  const auto reads = [&](file& of, std::span<std::byte> into) -> task<void> {
    co_await gives(of.read_at(into, block), block);
    ++over;
  };
  const auto reads_v = [&]() -> task<void> {
    const std::span<std::byte> parts[] = {third};
    co_await gives(opened->read_v_at(parts, 0), block);
    ++over;
  };
  std::vector<join_handle<void>> all;
  all.push_back(rt.spawn([&] { return reads(*opened, first); }));
  all.push_back(rt.spawn([&] { return reads(adopted, second); }));
  all.push_back(rt.spawn(reads_v));
  // Runs after them, on the only worker.
  test::join_on_worker(rt.spawn([]() -> task<void> { co_return; }));
  EXPECT_EQ(over, 0);
  done = true;
  held.join();
  for (auto& each : all) each.join();
  EXPECT_TRUE(as_text(first) == bytes.substr(block) && as_text(second) == bytes.substr(block));
  EXPECT_TRUE(as_text(third) == bytes.substr(0, block));
}

TEST_F(fs_file, many_tasks_share_one_file_by_offsets) {
  constexpr std::size_t size = 10'000;
  constexpr std::size_t count = 40;
  const std::string bytes = numbered(size * count);
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    const auto writes = [&](std::size_t i) -> task<void> {
      must(co_await f.write_all_at(as_bytes_of(bytes).subspan(i * size, size), i * size));
    };
    const auto reads = [&](std::size_t i) -> task<void> {
      std::vector<std::byte> got(size);
      must(co_await f.read_exact_at(got, i * size));
      EXPECT_TRUE(as_text(got) == bytes.substr(i * size, size));
    };
    std::vector<task<void>> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(writes(i));
    co_await when_all(std::move(all));
    std::vector<task<void>> again;
    for (std::size_t i = 0; i < count; ++i) again.push_back(reads(i));
    co_await when_all(std::move(again));
  });
  EXPECT_TRUE(content_of(at("f")) == bytes);
}

}  // namespace
}  // namespace rota::fs::file_test
