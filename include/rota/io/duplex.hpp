// A stream in memory between two tasks: bytes that are written at one end are read at the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <rota/detail/wait_leaf.hpp>
#include <rota/io/result.hpp>

namespace rota::io {

namespace detail {

// PROTOCOL: duplex pipe
//   One direction of a duplex: bytes of one writer for one reader, in a ring.
//
//   word_   36      35      34     33     32    31                    0
//         +-------+-------+------+------+------+-----------------------+
//         | writes| reads | gone | left | ended|    bytes in the ring  |
//         +-------+-------+------+------+------+-----------------------+
//
//   bit      means                               set by                               cleared by
//   ended    no more bytes come                  the writer: shutdown_write(), close  never
//   left     the writer's end is closed          the writer's close                   never
//   gone     the reader's end is closed          the reader's close                   never
//   reads    the reader is in the list readers_  the reader, under the list's lock    its waker, or itself,
//                                                                                     under the same lock
//   writes   the writer is in the list writers_  the writer, likewise                 likewise
//
//   write: copies bytes behind the bytes that are there, then adds to the count.
//   read: copies the first bytes, then subtracts from the count.
//
//   D1  first_ belongs to the reader, next_ to the writer. The bytes that are counted belong to the reader,
//       all others to the writer. The count grows after a byte was written, and shrinks after it was read.
//   D2  Of {bytes added, the reader waits}, {bytes taken, the writer waits}, {closed, a task waits} at least
//       one side sees the other: all are read-modify-writes of the word.
//   D3  A woken waiter owns nothing. It re-checks the word, and waits again if another task took what it was
//       woken for. So a cancelled waiter has nothing to pass on.
//   D4  A reader reads all bytes that were written before the end, then sees the end. No task reads the
//       remaining bytes after its own end was closed.
//   D5  A writer that has found free space writes, even if the reader's end is closed before the write. The
//       free space decided that the task goes on, and the same cause may have ended the task at the reader's
//       end. `kind` of the writer's node says what the writer has found. `ended` belongs to the writer's own
//       side: the write checks it again.
//   D6  The last of the two ends frees both directions. The caller of an operation holds its end.
//   Checked: tests/model/duplex_model.cpp; two readers, or two writers, of one end: ROTA_FATAL.
class ROTA_API duplex_pipe {
 public:
  duplex_pipe(std::byte* bytes, std::size_t capacity) noexcept : bytes_(bytes), capacity_(capacity) {}
  duplex_pipe(const duplex_pipe&) = delete;
  duplex_pipe& operator=(const duplex_pipe&) = delete;
  ~duplex_pipe() = default;

  /// Returns false if the reader would have to wait.
  [[nodiscard]] bool can_read() const noexcept { return is_readable(state()); }
  /// Returns false if the writer would have to wait. Notes in `me` what it has found.
  [[nodiscard]] bool can_write(core::wait_node& me) const noexcept { return find_room(state(), me); }
  /// Say whether can_read() or can_write() is true because of a closed end.
  [[nodiscard]] bool has_ended_for_reader() const noexcept {
    const std::uint64_t now = state();
    return (now & (ended | gone)) != 0 && count_in(now) == 0;
  }
  [[nodiscard]] bool has_ended_for_writer() const noexcept { return (state() & (ended | gone)) != 0; }
  /// Reads. Call it after can_read() has returned true, or after a wait.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into) noexcept;
  /// Writes. Call it after can_write() has returned true, or after a wait. `found` is `kind` of the node.
  [[nodiscard]] result<std::size_t> write(std::span<const std::byte> from, unsigned char found) noexcept;

  void end_writing() noexcept { say(ended); }
  void close_writer() noexcept { say(ended | left); }
  void close_reader() noexcept { say(gone); }

  /// `empty` means an operation on no bytes, which never waits.
  [[nodiscard]] core::wait_target to_read(bool empty) noexcept;
  [[nodiscard]] core::wait_target to_write(bool empty) noexcept;

 private:
  static constexpr std::uint64_t ended = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t left = std::uint64_t{1} << 33U;
  static constexpr std::uint64_t gone = std::uint64_t{1} << 34U;
  static constexpr std::uint64_t reads = std::uint64_t{1} << 35U;
  static constexpr std::uint64_t writes = std::uint64_t{1} << 36U;
  static constexpr unsigned char is_over = 0;
  static constexpr unsigned char has_room = 1;
  static const core::wait_rules rules_of_reader;
  static const core::wait_rules rules_of_writer;

  [[nodiscard]] static std::size_t count_in(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(word & (ended - 1));
  }
  [[nodiscard]] static bool is_readable(std::uint64_t word) noexcept {
    return (word & (ended | gone)) != 0 || count_in(word) != 0;
  }
  [[nodiscard]] bool find_room(std::uint64_t word, core::wait_node& me) const noexcept {
    me.kind = (word & (ended | gone)) == 0 ? has_room : is_over;
    return me.kind == is_over || count_in(word) != capacity_;
  }
  [[nodiscard]] std::uint64_t state() const noexcept {
    // acquire: pairs with the releases in read(), write() and say(): the bytes, or the space, belong to the
    // caller.
    return word_.load(base::order::acquire);
  }
  void say(std::uint64_t what) noexcept;
  void call(core::wait_list& line, std::uint64_t bit) noexcept;
  template <class Ready>
  core::on_join join(core::wait_section& section,
                     core::wait_node& me,
                     std::uint64_t bit,
                     Ready is_ready) noexcept;
  void leave(std::uint64_t bit) noexcept;

  std::byte* bytes_;
  std::size_t capacity_;
  base::atomic<std::uint64_t> word_{0};
  std::size_t first_ = 0;
  std::size_t next_ = 0;
  core::wait_list readers_;
  core::wait_list writers_;
};

/// Both directions and their rings, in one block of memory.
class ROTA_API duplex_core {
 public:
  [[nodiscard]] static duplex_core* make(std::size_t capacity);
  duplex_core(const duplex_core&) = delete;
  duplex_core& operator=(const duplex_core&) = delete;

  /// Returns the direction that end 0, or 1, reads from. The other end writes to it.
  [[nodiscard]] duplex_pipe& read_by(unsigned end) noexcept { return end == 0 ? first_ : second_; }
  void close(unsigned end) noexcept;
  void leave(unsigned end) noexcept;

 private:
  duplex_core(std::byte* bytes, std::size_t capacity) noexcept
      : size_(capacity), first_(bytes, capacity), second_(bytes + capacity, capacity) {}
  ~duplex_core() = default;

  std::size_t size_;
  duplex_pipe first_;
  duplex_pipe second_;
  base::atomic<std::uint32_t> ends_{2};
};

class ROTA_DETAIL_AWAIT_IT duplex_read final : public core::wait_leaf {
 public:
  duplex_read(duplex_pipe& of, std::span<std::byte> into) noexcept
      : wait_leaf(of.to_read(into.empty())), of_(&of), into_(into) {}
  bool await_ready() noexcept {
    return try_end_here([this]() noexcept { return into_.empty() || of_->can_read(); });
  }
  [[nodiscard]] result<std::size_t> await_resume() noexcept {
    if (into_.empty()) return 0;
    return of_->read(into_);
  }

 private:
  duplex_pipe* of_;
  std::span<std::byte> into_;
};

class ROTA_DETAIL_AWAIT_IT duplex_write final : public core::wait_leaf {
 public:
  duplex_write(duplex_pipe& of, std::span<const std::byte> from) noexcept
      : wait_leaf(of.to_write(from.empty())), of_(&of), from_(from) {}
  bool await_ready() noexcept {
    return try_end_here([this]() noexcept { return from_.empty() || of_->can_write(node()); });
  }
  [[nodiscard]] result<std::size_t> await_resume() noexcept {
    if (from_.empty()) return 0;
    return of_->write(from_, node().kind);
  }

 private:
  duplex_pipe* of_;
  std::span<const std::byte> from_;
};

}  // namespace detail

/// One of the two ends that duplex() makes. Empty after a move.
///
/// Threads       One task at a time reads, and one writes; they may be two tasks. Any task may call
///               `shutdown_write` and `close` while the end lives.
/// Ownership     Shares the bytes with the other end. The objects that read() and write() return must not
///               outlive the end. The caller's buffer must live until the co_await is done.
/// Ordering      Bytes arrive in the order in which they were written. What was done before a write happens
///               before the return of the read of its bytes.
/// Failure       After close() of this end: errc::closed, even if unread bytes are there. After the close of
///               the other end: reads return the bytes that it has written, then 0; a write returns
///               std::errc::broken_pipe, as after shutdown_write() of this end. A cancelled read or write has
///               moved nothing. A call of a member of an empty end ends the program with a message.
/// Cost          An operation that need not wait: its copy, one load, one read-modify-write. No allocation.
/// Example       examples/duplex.cpp
class ROTA_API duplex_end {
 public:
  duplex_end(duplex_end&& other) noexcept : core_(std::exchange(other.core_, nullptr)), end_(other.end_) {}
  duplex_end& operator=(duplex_end&& other) noexcept {
    duplex_end taken(std::move(other));
    std::swap(core_, taken.core_);
    std::swap(end_, taken.end_);
    return *this;
  }
  duplex_end(const duplex_end&) = delete;
  duplex_end& operator=(const duplex_end&) = delete;
  ~duplex_end() {
    if (core_ != nullptr) core_->leave(end_);
  }

  /// Reads some bytes, at most `into.size()`; co_await it. Returns 0 if the other side has finished, or if
  /// `into` is empty.
  detail::duplex_read read(std::span<std::byte> into) noexcept {
    return detail::duplex_read(core().read_by(end_), into);
  }
  /// Takes as many bytes as fit; co_await it. Takes at least one, unless `from` is empty.
  detail::duplex_write write(std::span<const std::byte> from) noexcept {
    return detail::duplex_write(core().read_by(1 - end_), from);
  }
  /// Read or write without waiting. Return std::errc::operation_would_block instead of waiting.
  [[nodiscard]] result<std::size_t> try_read(std::span<std::byte> into) noexcept;
  [[nodiscard]] result<std::size_t> try_write(std::span<const std::byte> from) noexcept;
  /// Ends the writing direction. The other side reads what was written, and then 0.
  void shutdown_write() noexcept { core().read_by(1 - end_).end_writing(); }
  /// Closes this end. A task that waits at this end gets errc::closed. For the other end see Failure. A
  /// second call does nothing.
  void close() noexcept { core().close(end_); }

  duplex_end(detail::duplex_core& core, unsigned end) noexcept : core_(&core), end_(end) {}

 private:
  [[nodiscard]] detail::duplex_core& core() const noexcept {
    if (core_ == nullptr) [[unlikely]]
      end_empty();
    return *core_;
  }
  [[noreturn, gnu::cold]] static void end_empty() noexcept;

  detail::duplex_core* core_;
  unsigned end_;
};

/// Makes the two ends of a stream in memory, each an io::stream: for tests of code that is written for
/// streams, and for parts of a program that communicate as if over a network. It makes no system call, so it
/// runs on a testing::runtime, and in testing::explore.
///
///   auto [ours, theirs] = rota::io::duplex(1024);
///
/// Threads       Any.
/// Ownership     The destructor of the last end frees what they share.
/// Failure       `std::invalid_argument` unless `capacity`, the most bytes that each direction holds, is
///               1..2^30. `std::bad_alloc`.
/// Cost          One allocation.
/// Example       examples/duplex.cpp
[[nodiscard]] ROTA_API std::pair<duplex_end, duplex_end> duplex(std::size_t capacity);

}  // namespace rota::io
