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

/// Options for opening a file. A value.
///
///   auto log = co_await rota::fs::open_options().append().create().open("log");
///
/// Threads       As any value.
/// Failure       open(): std::errc::invalid_argument for a combination that makes no sense: none of read,
///               write and append; create or truncate without write or append; truncate with append; a mode
///               above 07777; custom flags that repeat an option of this class; a path with a zero byte.
/// Example       examples/files.cpp
class ROTA_API open_options {
 public:
  open_options& read() noexcept;
  open_options& write() noexcept;
  /// Makes each write go to the end of the file as it is at the time of the write. The cursor does not move.
  open_options& append() noexcept;
  /// Creates the file if it does not exist.
  open_options& create() noexcept;
  /// Creates the file and fails with EEXIST if the name exists, even as a symbolic link.
  open_options& create_new() noexcept;
  /// Discards the contents of an existing file.
  open_options& truncate() noexcept;
  /// Sets the permissions of a file that open() creates, less the umask of the process. The default is 0666.
  open_options& mode(unsigned permissions) noexcept;
  /// Adds other flags of open(2): O_DIRECT, O_NOFOLLOW, O_NOATIME, O_SYNC, ...
  open_options& custom_flags(int flags) noexcept;

  /// If open() is cancelled after the system has returned a descriptor, the descriptor is closed. A FIFO that
  /// is opened only for reading or only for writing waits here for its peer, as in open(2). A cancellation or
  /// a deadline ends that wait within 5 ms. With O_NONBLOCK among the custom flags there is no wait. The open
  /// of a device that blocks (a serial line that waits for its carrier) cannot be cancelled: use O_NONBLOCK.
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

/// An open file. Its destructor closes it. It is an io::stream that reads and writes at its own cursor, which
/// is not the cursor of the descriptor.
///
/// Threads       read_at(), write_at() and other operations that do not move the cursor: any number of tasks
///               at a time, of any runtime. Operations that move the cursor: one task at a time. No operation
///               may be in progress when the file is moved, closed or destroyed.
/// Ownership     Owns the descriptor, which no child inherits. The buffers must live until the co_await is
///               done. That holds for a cancelled task, too: it ends only when neither the kernel nor a pool
///               thread uses them any more.
/// Ordering      That of the system: a read that begins after a write has ended sees the write.
/// Failure       std::error_code of the system; EBADF if the file is closed. A cancelled read at the cursor
///               has read nothing. A cancelled write may have been made, in part or as a whole, but the
///               cursor has not moved, so the caller can repeat it; a cancelled append may be in the file.
///               Operations that go on until all is done may have done a part. An offset above 2^63 - 1:
///               std::errc::invalid_argument. The pool of the runtime is full: errc::queue_full. Throws
///               `std::bad_alloc`. A file without offsets (a pipe, a terminal) is read and written
///               sequentially only; every other operation fails with ESPIPE. Without a ring a read that waits
///               there holds a thread, its cancellation waits for the read, and bytes that arrive in the end
///               are lost. With a ring bytes are lost only if cancellation and completion race.
///               process::pipe_reader has none of these limits.
/// Cost          With a ring (io_backend::uring) one operation of it; without one, one closure in the
///               blocking pool. A read of cached data is one system call on the thread that runs the task, of
///               at most 256 KiB. Files that were opened or adopted with O_DIRECT do not take this path:
///               their reads would wait for the disk there.
/// Example       examples/files.cpp
class ROTA_API file {
 public:
  file() noexcept = default;
  /// Opens an existing file for reading.
  static task<result<file>> open(std::string path);
  /// Opens a file for writing. Creates it, or discards its contents.
  static task<result<file>> create(std::string path);
  /// Creates a file for reading and writing. Fails if it exists.
  static task<result<file>> create_new(std::string path);
  /// Takes ownership of a descriptor that was opened elsewhere. No child inherits it any more, unless it is
  /// 0, 1 or 2. The cursor begins at the offset of the descriptor. After an error the descriptor still
  /// belongs to the caller.
  [[nodiscard]] static result<file> adopt(int fd) noexcept;
  /// Gives up ownership of the descriptor. The offset of the descriptor is unchanged.
  [[nodiscard]] int release() && noexcept { return fd_.release(); }

  // Operations at the cursor; they advance it.
  /// Reads some bytes, at most `into.size()`. Returns 0 at the end of the file, or if `into` is empty.
  task<result<std::size_t>> read(std::span<std::byte> into);
  /// Reads into several buffers, one after the other, at most 64 of them at a time. The same limit holds for
  /// `read_v_at`, `write_v` and `write_v_at`.
  task<result<std::size_t>> read_v(std::span<const std::span<std::byte>> into);
  /// Writes some bytes, at least one unless `from` is empty.
  task<result<std::size_t>> write(std::span<const std::byte> from);
  task<result<std::size_t>> write_v(std::span<const std::span<const std::byte>> from);

  // Operations at an offset. Writes fail with std::errc::invalid_argument on a file that appends: the system
  // would append.
  task<result<std::size_t>> read_at(std::span<std::byte> into, std::uint64_t offset) const;
  task<result<std::size_t>> read_v_at(std::span<const std::span<std::byte>> into, std::uint64_t offset) const;
  task<result<std::size_t>> write_at(std::span<const std::byte> from, std::uint64_t offset);
  task<result<std::size_t>> write_v_at(std::span<const std::span<const std::byte>> from,
                                       std::uint64_t offset);
  /// Fills `into`. Returns errc::end_of_stream if the file ends before.
  task<result<void>> read_exact_at(std::span<std::byte> into, std::uint64_t offset) const;
  /// Writes all of `from`. After an error an unknown part has been written.
  task<result<void>> write_all_at(std::span<const std::byte> from, std::uint64_t offset);
  /// Writes a text, without a terminating zero. The text must live until the co_await is done. A character
  /// array is rejected because its end is unknown: pass a string_view of the part that counts.
  ROTA_DETAIL_WRAPPER task<result<void>> write_all_at(std::string_view text ROTA_DETAIL_KEPT,
                                                      std::uint64_t offset) {
    return write_all_at(std::as_bytes(std::span(text)), offset);
  }
  template <std::size_t N>
  task<result<void>> write_all_at(char (&buffer)[N], std::uint64_t offset) = delete;
  /// Writes a literal without its terminating zero. Zeros in the middle are written.
  template <std::size_t N>
  ROTA_DETAIL_WRAPPER task<result<void>> write_all_at(const char (&text ROTA_DETAIL_KEPT)[N],
                                                      std::uint64_t offset) {
    return write_all_at(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N), offset);
  }

  /// Copies bytes from the cursor of `from` to the cursor of this file, as many as `how` allows, at most
  /// until the end of `from`. Both cursors advance. Used by io::copy: the bytes do not pass through this
  /// process where the system can avoid it.
  task<result<std::uint64_t>> take_from(file& from, io::copy_options how);

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// Moves the cursor. Returns std::errc::invalid_argument for an offset above 2^63 - 1, ESPIPE for a file
  /// without offsets.
  result<void> seek_to(std::uint64_t offset) noexcept;
  /// Moves the cursor and returns its new position. Returns std::errc::invalid_argument, and does not move
  /// it, for a position before the start or above 2^63 - 1. A position beyond the end is allowed: a write
  /// there leaves a hole.
  task<result<std::uint64_t>> seek(std::int64_t offset, seek_from whence);

  /// Flushes written data and all metadata of the file to the disk.
  task<result<void>> sync_all();
  /// Flushes written data, without metadata that is not needed to read it, such as the times.
  task<result<void>> sync_data();
  task<result<file_info>> metadata() const;
  /// Truncates the file, or extends it with a hole that reads as zeros.
  task<result<void>> set_len(std::uint64_t size);
  /// Reserves disk space for these bytes, so that a write there does not fail for want of space. Extends the
  /// file if it ends before. Returns EOPNOTSUPP if the file system cannot do it.
  task<result<void>> preallocate(std::uint64_t offset, std::uint64_t size);
  task<result<void>> set_permissions(unsigned mode);

  /// Closes the file and returns the error of delayed writes that the system reports (EIO, ENOSPC, EDQUOT).
  /// Only sync_all() guarantees that data is on the disk. The destructor closes on its own thread, which may
  /// take a while for the last descriptor of a large unlinked file. A cancelled close() still closes.
  task<result<void>> close() &&;
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// Returns -1 if the file is closed.
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
