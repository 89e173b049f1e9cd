// Files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/detail/fs_descriptor.hpp>
#include <rota/fs/metadata.hpp>

namespace rota::io {
struct copy_options;
}

namespace rota::fs {

class file;

/// How a file is opened. A value.
///
///   auto log = co_await rota::fs::open_options().append().create().open("log");
///
/// Threads       As any value.
/// Failure       open(): std::errc::invalid_argument for what makes no sense: none of read, write and append; create or truncate without write or
///               append; truncate with append; a mode above 07777; custom flags that say what a function here says; a path with a zero byte.
/// Example       examples/files.cpp
class ROTA_API open_options {
 public:
  open_options& read() noexcept;
  open_options& write() noexcept;
  /// Each write goes to the end, wherever that is by then. The cursor stays where it is.
  open_options& append() noexcept;
  /// If it is not there, it is made.
  open_options& create() noexcept;
  /// It must not be there, not even as a symbolic link: EEXIST.
  open_options& create_new() noexcept;
  /// What was in it goes.
  open_options& truncate() noexcept;
  /// Of one that is made, less the process's umask; else 0666.
  open_options& mode(unsigned permissions) noexcept;
  /// More of what open(2) knows: O_DIRECT, O_NOFOLLOW, O_NOATIME, O_SYNC, ...
  open_options& custom_flags(int flags) noexcept;

  /// A descriptor that a cancelled open() was given is closed. A FIFO that is opened only to read, or only to write, waits here for its other side,
  /// as in open(2); a cancellation, or a deadline, ends that at once, or 5 ms later. With O_NONBLOCK among the custom flags it does not wait.
  /// A device that waits in its own open, as a serial line for its carrier, is not called back: open it with O_NONBLOCK.
  task<result<file>> open(std::string path) const;

 private:
  static task<result<file>> open_as(open_options how, std::string path);
  static task<result<file>> wait_for_peer(file opened, int flags);
  [[nodiscard]] result<int> flags() const noexcept;

  bool reads_ = false;
  bool writes_ = false;
  bool appends_ = false;
  bool creates_ = false;
  bool creates_new_ = false;
  bool truncates_ = false;
  unsigned mode_ = 0666;
  int custom_ = 0;
};

enum class seek_from : unsigned char { start, current, end };

/// An open file; closed by its destructor. An io::stream at its cursor, which is its own, and not the descriptor's.
///
/// Threads       read_at(), write_at() and what else does not move the cursor: any number of tasks at a time, of any runtime. What moves it: one.
///               Nobody may be in it when it is moved, closed or destroyed.
/// Ownership     Owns the descriptor, which no child inherits. The buffers live until the co_await is done: also of a task that is cancelled, for it
///               ends only when neither the kernel nor a thread of the pool touches them any more.
/// Ordering      As the system's: a read that begins after a write has ended sees it.
/// Failure       std::error_code of the system; EBADF for one that is closed. Cancelled, a read has read nothing at the cursor; a write may have been
///               made, in part or as a whole, but the cursor has not moved, so that it may be made again; one that appends may be there. What
///               goes on until all is done may have done a part. An offset above 2^63 - 1: std::errc::invalid_argument. No place for it in
///               the runtime's pool: errc::queue_full. Throws `std::bad_alloc`.
///               What has no offsets (a pipe, a terminal) is read and written at its end alone, and everything else is ESPIPE; without a ring a read
///               that waits there holds a thread, and its cancellation waits, too, and what came for it in the end is lost (with a ring: if both
///               meet). process::pipe_reader has neither.
/// Cost          With a ring (io_backend::uring) one operation of it; without, one closure in the blocking pool. A read of what is in memory already is
///               one system call, where the task runs, of 256 KiB at most; not of a file that was opened, or adopted, with O_DIRECT: its reads
///               would wait for the disk there.
/// Example       examples/files.cpp
class ROTA_API file {
 public:
  file() noexcept = default;
  /// To read it.
  static task<result<file>> open(std::string path);
  /// To write it: it is made, or emptied.
  static task<result<file>> create(std::string path);
  /// To read and write it: it is made, and must not be there.
  static task<result<file>> create_new(std::string path);
  /// One that was opened elsewhere: owns it from now on, and no child inherits it any more, unless it is 0, 1 or 2. The cursor is where the
  /// descriptor stands. An error: it stays the caller's.
  [[nodiscard]] static result<file> adopt(int fd) noexcept;
  /// The other way; the descriptor stands where it stood.
  [[nodiscard]] int release() && noexcept { return fd_.release(); }

  // At the cursor, which moves on.
  /// Some bytes, at most `into.size()`; 0: the end (or `into` is empty).
  task<result<std::size_t>> read(std::span<std::byte> into);
  /// The same into several places, one after the other; up to 64 of them are used at a time. So `read_v_at`, `write_v` and `write_v_at`.
  task<result<std::size_t>> read_v(std::span<const std::span<std::byte>> into);
  /// Some bytes, at least one unless `from` is empty.
  task<result<std::size_t>> write(std::span<const std::byte> from);
  task<result<std::size_t>> write_v(std::span<const std::span<const std::byte>> from);

  // Elsewhere. To write so what appends is std::errc::invalid_argument: the system would append it.
  task<result<std::size_t>> read_at(std::span<std::byte> into, std::uint64_t offset) const;
  task<result<std::size_t>> read_v_at(std::span<const std::span<std::byte>> into, std::uint64_t offset) const;
  task<result<std::size_t>> write_at(std::span<const std::byte> from, std::uint64_t offset);
  task<result<std::size_t>> write_v_at(std::span<const std::span<const std::byte>> from,
                                       std::uint64_t offset);
  /// Fills `into`. errc::end_of_stream: there was less.
  task<result<void>> read_exact_at(std::span<std::byte> into, std::uint64_t offset) const;
  /// All of `from`. After an error an unknown part has been written.
  task<result<void>> write_all_at(std::span<const std::byte> from, std::uint64_t offset);
  /// A text, which must live until the co_await is done; without a zero at its end. What is in an array of characters ends nowhere: name
  /// the part that counts.
  ROTA_DETAIL_WRAPPER task<result<void>> write_all_at(std::string_view text ROTA_DETAIL_KEPT,
                                                      std::uint64_t offset) {
    return write_all_at(std::as_bytes(std::span(text)), offset);
  }
  template <std::size_t N>
  task<result<void>> write_all_at(char (&buffer)[N], std::uint64_t offset) = delete;
  /// The same of a literal, without the zero at its end; zeros in the middle are sent.
  template <std::size_t N>
  ROTA_DETAIL_WRAPPER task<result<void>> write_all_at(const char (&text ROTA_DETAIL_KEPT)[N],
                                                      std::uint64_t offset) {
    return write_all_at(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N), offset);
  }

  /// So many bytes, from here on, of those that `from` gives from its cursor on, until its end; both cursors move on. For io::copy: the bytes do not
  /// pass through this process where the system can do without.
  task<result<std::uint64_t>> take_from(file& from, io::copy_options how);

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// std::errc::invalid_argument: above 2^63 - 1; ESPIPE: it has no offsets.
  result<void> seek_to(std::uint64_t offset) noexcept;
  /// Where the cursor is then. std::errc::invalid_argument: before the start, or above 2^63 - 1, and it has not moved. Beyond the end is right: what is
  /// written there leaves a hole.
  task<result<std::uint64_t>> seek(std::int64_t offset, seek_from whence);

  /// All that was written is on the disk, and what the system knows of the file.
  task<result<void>> sync_all();
  /// The same without what nobody needs to read it, as its times.
  task<result<void>> sync_data();
  task<result<file_info>> metadata() const;
  /// Cut, or filled up with zeroes that take no room.
  task<result<void>> set_len(std::uint64_t size);
  /// There is room for these bytes: a write there does not fail for want of it. The file grows if it ends before. EOPNOTSUPP: not on this file
  /// system.
  task<result<void>> preallocate(std::uint64_t offset, std::uint64_t size);
  task<result<void>> set_permissions(unsigned mode);

  /// Closes it, and says what the system says of writes that it had put off (EIO, ENOSPC, EDQUOT); sync_all() is what makes sure. The destructor closes
  /// where it runs, which may take a while if it is the last of a large file that has no name. Cancelled, it is closed.
  task<result<void>> close() &&;
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// -1: it is closed.
  [[nodiscard]] int native_handle() const noexcept { return fd_.get(); }

 private:
  friend class open_options;
  file(detail::descriptor fd, int flags, std::uint64_t position, bool has_offsets) noexcept;
  [[nodiscard]] static result<file> make(int fd, int flags) noexcept;
  [[nodiscard]] std::uint64_t read_offset() const noexcept;
  [[nodiscard]] std::uint64_t write_offset() const noexcept;
  [[nodiscard]] std::error_code why_not_at(std::uint64_t offset, std::uint64_t size) const noexcept;
  [[nodiscard]] std::error_code why_no_write_at(std::uint64_t offset, std::uint64_t size) const noexcept;

  detail::descriptor fd_;
  std::uint64_t position_ = 0;
  bool has_offsets_ = true;
  bool appends_ = false;
  bool is_direct_ = false;
};

}  // namespace rota::fs
