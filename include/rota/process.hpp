// Child processes: starting them, exchanging data through pipes, and waiting for their end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/io/result.hpp>
#include <rota/leaf.hpp>
#include <rota/task.hpp>

namespace rota::process {

using io::result;

/// The outcome of a process. A value.
class ROTA_API exit_status {
 public:
  enum class kind : unsigned char { exited, signalled, signalled_with_core };
  exit_status(kind how, int value) noexcept : kind_(how), value_(value) {}

  /// Returns true if the process exited with code 0.
  [[nodiscard]] bool is_success() const noexcept { return kind_ == kind::exited && value_ == 0; }
  /// Returns the exit code, 0..255, or nullopt if a signal ended the process.
  [[nodiscard]] std::optional<int> code() const noexcept;
  /// Returns the signal that ended the process, or nullopt.
  [[nodiscard]] std::optional<int> signal() const noexcept;
  [[nodiscard]] bool dumped_core() const noexcept { return kind_ == kind::signalled_with_core; }
  /// Returns text such as "exit code 3" or "signal 9 (Killed)".
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const exit_status&, const exit_status&) = default;

 private:
  kind kind_;
  int value_;
};

namespace detail {

class watched;
class child_state;
class starter;

/// The single owner of a descriptor that the driver watches.
class ROTA_API watched_ptr {
 public:
  watched_ptr() noexcept = default;
  explicit watched_ptr(watched* w) noexcept : watched_(w) {}
  watched_ptr(watched_ptr&& other) noexcept : watched_(std::exchange(other.watched_, nullptr)) {}
  watched_ptr& operator=(watched_ptr&& other) noexcept {
    watched_ptr old(std::move(*this));
    watched_ = std::exchange(other.watched_, nullptr);
    return *this;
  }
  ~watched_ptr();
  [[nodiscard]] watched* get() const noexcept { return watched_; }
  [[nodiscard]] explicit operator bool() const noexcept { return watched_ != nullptr; }
  /// Returns -1 if there is no descriptor, or if it is closed.
  [[nodiscard]] int descriptor() const noexcept;
  /// Closes the descriptor. Any thread may call it. The pointed-to object stays alive.
  void close() const noexcept;

 private:
  watched* watched_ = nullptr;
};

/// One operation on a watched descriptor: tries it, waits until the driver reports readiness, and tries
/// again. The operation ends if the descriptor is closed meanwhile. Without a descriptor the first try must
/// complete the operation.
class ROTA_API watched_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept override;
  cancel_progress try_cancel(cancel_reason reason) noexcept override;

 protected:
  watched_leaf(watched* w, bool for_writing) noexcept : watched_(w), for_writing_(for_writing) {}
  ~watched_leaf() = default;
  bool start() override;

  /// `paused`: the operation gave up the turn between two system calls. The leaf has woken its own task,
  /// which tries again in its next turn.
  enum class [[nodiscard]] attempt : unsigned char { done, would_block, paused };
  /// Makes one try and keeps its result.
  virtual attempt try_once() noexcept = 0;
  /// Stores `why` as the result.
  virtual void fail(std::error_code why) noexcept = 0;
  /// Resets the result of an operation that has completed and is awaited again.
  virtual void begin_anew() noexcept {}
  [[nodiscard]] int descriptor() const noexcept;  // -1: none
  /// Called after each system call of an operation that makes many. Returns true if the turn must end here
  /// because its budget is used up. The task is woken already then, and the try must return `paused`.
  [[nodiscard]] bool gives_turn_up() noexcept;

 private:
  [[nodiscard]] bool try_or_wait() noexcept;
  [[nodiscard]] attempt try_unless_closed() noexcept;
  watched* watched_;
  bool for_writing_;
  bool untried_ = false;  // the turn was given up before the first try
  bool paused_ = false;   // the turn was given up between two system calls
  bool done_ = false;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API pipe_read_leaf final : public watched_leaf {
 public:
  pipe_read_leaf(watched* w, std::span<std::byte> into) noexcept : watched_leaf(w, false), into_(into) {}
  result<std::size_t> await_resume() noexcept { return std::move(result_); }
  [[nodiscard]] const char* what() const noexcept override { return "pipe read"; }

 private:
  attempt try_once() noexcept override;
  void fail(std::error_code why) noexcept override { result_ = std::unexpected(why); }
  std::span<std::byte> into_;
  result<std::size_t> result_{0};
};

class ROTA_DETAIL_AWAIT_IT ROTA_API pipe_write_leaf final : public watched_leaf {
 public:
  pipe_write_leaf(watched* w, std::span<const std::byte> from, bool all) noexcept
      : watched_leaf(w, true), from_(from), all_(all) {}
  result<std::size_t> await_resume() noexcept { return std::move(result_); }
  [[nodiscard]] const char* what() const noexcept override { return "pipe write"; }

 private:
  attempt try_once() noexcept override;
  void fail(std::error_code why) noexcept override { result_ = std::unexpected(why); }
  void begin_anew() noexcept override { result_ = 0; }
  std::span<const std::byte> from_;
  bool all_;
  result<std::size_t> result_{0};
};

class ROTA_DETAIL_AWAIT_IT ROTA_API exit_leaf final : public watched_leaf {
 public:
  explicit exit_leaf(child_state* of) noexcept;
  result<exit_status> await_resume() const noexcept;
  [[nodiscard]] const char* what() const noexcept override { return "child exit"; }

 private:
  attempt try_once() noexcept override;
  void fail(std::error_code why) noexcept override { failed_ = why; }
  void begin_anew() noexcept override { failed_ = {}; }
  child_state* of_;
  std::error_code failed_;
};

}  // namespace detail

/// The read end of a pipe. Its destructor closes it. An io::reader.
///
/// Threads       One task at a time. Any thread may call close(), also while that task waits. Belongs to the
///               runtime of the task that made it.
/// Ownership     Owns the descriptor. The buffer and this object must live and stay in place until the
///               co_await is done.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       std::error_code of the system; std::errc::bad_file_descriptor if the pipe is closed (also
///               during the wait) or was moved from. errc::forked: the read would have to wait in a fork of
///               the process that made the pipe. A cancelled read has read nothing.
/// Cost          One system call for a read that need not wait, two for one that must. No allocation.
/// Example       examples/run/main.cpp
class ROTA_API pipe_reader {
 public:
  pipe_reader() noexcept = default;
  /// Takes ownership of `fd`, also when this fails, and makes it non-blocking for every process that shares
  /// it. No child inherits it, unless it is 0, 1 or 2. EPERM: `fd` does not support waiting.
  [[nodiscard]] static result<pipe_reader> adopt(int fd) noexcept;

  /// Reads some bytes, at most `into.size()`. Returns 0 when every writer has closed its end, or if `into` is
  /// empty.
  detail::pipe_read_leaf read(std::span<std::byte> into) noexcept {
    return detail::pipe_read_leaf(watched_.get(), into);
  }
  /// Closes the descriptor. A task that waits here is woken and fails. Writers get EPIPE at once.
  void close() noexcept { watched_.close(); }
  /// Returns -1 if the pipe is closed.
  [[nodiscard]] int native_handle() const noexcept { return watched_.descriptor(); }
  /// Returns true if the pipe is open.
  [[nodiscard]] explicit operator bool() const noexcept { return watched_.descriptor() != -1; }

 private:
  friend class detail::starter;
  explicit pipe_reader(detail::watched_ptr w) noexcept : watched_(std::move(w)) {}
  detail::watched_ptr watched_;
};

/// The write end of a pipe. Its destructor closes it; the reader then reaches the end. An io::writer. In all
/// else as pipe_reader. EPIPE: every read end is closed. SIGPIPE is never raised. If the pipe is closed
/// during a write, an unknown part has been written.
class ROTA_API pipe_writer {
 public:
  pipe_writer() noexcept = default;
  [[nodiscard]] static result<pipe_writer> adopt(int fd) noexcept;

  /// Writes some bytes and returns how many.
  detail::pipe_write_leaf write(std::span<const std::byte> from) noexcept {
    return detail::pipe_write_leaf(watched_.get(), from, false);
  }
  /// Writes all bytes. After a cancellation or an error an unknown part has been written.
  detail::pipe_write_leaf write_all(std::span<const std::byte> from) noexcept {
    return detail::pipe_write_leaf(watched_.get(), from, true);
  }
  /// Writes a text, without a terminating zero. The text must live until the co_await is done. A character
  /// array is rejected because its end is unknown: pass a string_view of the part that counts.
  detail::pipe_write_leaf write_all(std::string_view text ROTA_DETAIL_KEPT) noexcept {
    return write_all(std::as_bytes(std::span(text)));
  }
  template <std::size_t N>
  detail::pipe_write_leaf write_all(char (&buffer)[N]) = delete;
  /// Writes a literal without its terminating zero. Zeros in the middle are written.
  template <std::size_t N>
  detail::pipe_write_leaf write_all(const char (&text ROTA_DETAIL_KEPT)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }
  void close() noexcept { watched_.close(); }
  [[nodiscard]] int native_handle() const noexcept { return watched_.descriptor(); }
  [[nodiscard]] explicit operator bool() const noexcept { return watched_.descriptor() != -1; }

 private:
  friend class detail::starter;
  explicit pipe_writer(detail::watched_ptr w) noexcept : watched_(std::move(w)) {}
  detail::watched_ptr watched_;
};

/// Creates a pipe within this process. Fails with EMFILE and similar errors; errc::no_runtime outside of a
/// task.
[[nodiscard]] ROTA_API result<std::pair<pipe_reader, pipe_writer>> pipe() noexcept;

/// The source of one of the three standard descriptors of a child.
class stdio {
 public:
  enum class kind : unsigned char { unset, inherit, null, pipe, descriptor };

  /// Unset. Means inherit() for spawn() and run(). For output() it means null() for descriptor 0, and pipe()
  /// for 1 and 2.
  constexpr stdio() noexcept = default;
  [[nodiscard]] static constexpr stdio inherit() noexcept { return {kind::inherit, -1}; }
  [[nodiscard]] static constexpr stdio null() noexcept { return {kind::null, -1}; }
  /// A new pipe; this process holds the other end.
  [[nodiscard]] static constexpr stdio pipe() noexcept { return {kind::pipe, -1}; }
  /// A copy of `fd`, made when the command starts. `fd` still belongs to the caller.
  [[nodiscard]] static constexpr stdio from(int fd) noexcept { return {kind::descriptor, fd}; }

  [[nodiscard]] constexpr kind what() const noexcept { return kind_; }
  [[nodiscard]] constexpr int descriptor() const noexcept { return fd_; }

 private:
  constexpr stdio(kind what, int fd) noexcept : kind_(what), fd_(fd) {}
  kind kind_ = kind::unset;
  int fd_ = -1;
};

/// What happens to a running child when its object is destroyed. If the child leads a process group of its
/// own, this applies to every process of the group, also when the child itself has ended.
enum class on_drop : unsigned char {
  kill,   // SIGKILL, sent to the group if the child leads one
  leave,  // nothing
};

/// A process that this one has started.
///
/// Threads       One task at a time waits. Any thread may call signal(), kill() and id(). Belongs to the
///               runtime of the task that made it.
/// Ownership     A running child that is dropped is killed or left alone: command::dropped(). If the child
///               leads a process group, the same applies to the processes that it left in the group. The id
///               of the group stays reserved by a zombie while this object exists. Any other zombie is
///               reaped when wait() or try_wait() returns the end. No zombie outlives this object for long.
/// Ordering      What the child wrote into a pipe before its end can be read when wait() returns.
/// Failure       Waits: std::errc::no_child_process: other code has reaped the child, or SIGCHLD is ignored,
///               so the exit status is unknown. Signals: std::errc::no_such_process once the end has been
///               observed; a signal never goes to another process or group that reuses the id. Waits and
///               signals: errc::forked in a fork of the process that started the child; the destructor
///               leaves the child alone there. A moved-from child ends the program with a message, except
///               in(), out() and err(), which are empty.
/// Cost          One descriptor, watched by the driver. A wait: one system call, two if it must wait. There
///               is no polling, and SIGCHLD is not used.
/// Example       examples/run/main.cpp
class ROTA_API child {
 public:
  child(child&& other) noexcept;
  child& operator=(child&& other) noexcept;
  ~child();

  [[nodiscard]] int id() const noexcept;
  /// Waits for the end of the child: result<exit_status>. Closes in() first, so that a child that reads to
  /// the end of its input ends. A task that is writing to in() then gets std::errc::bad_file_descriptor; to
  /// go on writing, move in() out before. May be called again and returns the same result. A cancelled wait
  /// changes nothing else.
  detail::exit_leaf wait() noexcept;
  /// Polls without waiting. Returns nullopt if the child still runs.
  [[nodiscard]] result<std::optional<exit_status>> try_wait() noexcept;

  /// Sends SIGKILL.
  result<void> kill() noexcept;
  result<void> signal(int number) noexcept;
  /// Sends a signal to the process group that the child leads: command::process_group(), new_session().
  /// Returns std::errc::operation_not_permitted if it leads none. Works also when the child itself has ended.
  /// Returns std::errc::no_such_process if no process of the group is known to be left.
  result<void> signal_group(int number) noexcept;

  /// The ends of the requested pipes that belong to this process; otherwise empty objects (false). Use them
  /// here or move them out.
  [[nodiscard]] pipe_writer& in() noexcept { return in_; }
  [[nodiscard]] pipe_reader& out() noexcept { return out_; }
  [[nodiscard]] pipe_reader& err() noexcept { return err_; }

  /// Returns a pidfd, or -1 if the process had gone before it could be opened.
  [[nodiscard]] int native_handle() const noexcept;

 private:
  friend class detail::starter;
  explicit child(detail::child_state* state) noexcept : state_(state) {}
  [[nodiscard]] detail::child_state& demand() const noexcept;
  detail::child_state* state_;
  pipe_writer in_;
  pipe_reader out_;
  pipe_reader err_;
};

struct output_options {
  /// The limit for each of the two outputs; more is errc::too_long.
  std::size_t most = std::size_t{64} << 20U;
  /// The time limit; exceeding it is errc::timed_out.
  std::chrono::nanoseconds limit = std::chrono::nanoseconds::max();
  /// The standard input of the command. Must live until the co_await is done. Used only if in() was not
  /// called.
  std::span<const std::byte> input;
};

/// The result of a command.
struct captured {
  exit_status status{exit_status::kind::exited, 0};
  std::string out;
  std::string err;
};

namespace detail {

struct environment_change {
  std::string name;
  std::optional<std::string> value;  // nullopt: remove it
};

/// All settings of a command.
struct recipe {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<environment_change> changes;
  std::string directory;
  stdio files[3];
  bool clears_environment = false;
  bool merges_errors = false;
  bool leads_session = false;
  int group = -1;  // -1: the group of this process; 0: a new one
  on_drop dropped = on_drop::kill;
};

}  // namespace detail

/// A program, its arguments and its environment. A value: it may be copied, changed and started any number of
/// times.
///
///   rota::process::command list("ls");
///   list.arg("-l").current_dir("/tmp");
///   const auto done = co_await list.output();
///   if (done.has_value() && done->status.is_success()) use(done->out);
///
/// No shell interprets the arguments, except in shell(). The child inherits no descriptor but 0, 1 and 2,
/// provided that the others are close-on-exec (all of rota's are). It starts with no signal blocked, and with
/// default actions for SIGPIPE and SIGCHLD.
///
/// Threads       As any value. spawn, run and output keep a copy of it.
/// Ownership     If spawn() is cancelled before it has returned, the child is killed.
/// Ordering      A spawn cannot be cancelled halfway: it waits for the thread that starts the process.
/// Failure       The errors of exec: ENOENT, EACCES, ...; also of the directory, and of the group (EPERM: it
///               is not in this session). std::errc::invalid_argument for a NUL in a string, and for an
///               environment name that is empty or contains `=`. EMFILE, EAGAIN, ENOMEM. Throws
///               std::bad_alloc.
/// Cost          A closure in the blocking pool, at most 16 of them at a time: posix_spawn blocks until the
///               program is executed. The memory of this process is not copied.
/// Example       examples/run/main.cpp
class ROTA_API command {
 public:
  /// A program without a slash is searched in the PATH of this process. Other relative paths start at
  /// current_dir(). `program` is argument 0, too.
  explicit command(std::string program);
  /// Makes a command `/bin/sh -c -- text`. The shell interprets every character, so `text` must not contain
  /// untrusted input. Pass such input to arg() of a plain command, or to env() and write "$NAME" in the text.
  [[nodiscard]] static command shell(std::string text);

  command& arg(std::string value);
  command& args(std::span<const std::string> values);
  command& env(std::string name, std::string value);
  command& env_remove(std::string name);
  /// Removes the environment of this process. Changes by env(), before and after, stay.
  command& env_clear() noexcept;
  command& current_dir(std::string path);

  command& in(stdio from) noexcept;
  command& out(stdio to) noexcept;
  command& err(stdio to) noexcept;
  /// Makes descriptor 2 a copy of descriptor 1. A spawn fails with std::errc::bad_file_descriptor if 1 is
  /// inherited and is not open here, or is close-on-exec.
  command& merge_err_into_out() noexcept;

  /// 0: the child gets a process group of its own; the id of the group is that of the child. Ctrl-C at the
  /// terminal does not reach it then. Throws std::invalid_argument for a negative group.
  command& process_group(int group = 0);
  /// Starts the child in a new session without a terminal. It leads a process group, too.
  command& new_session() noexcept;
  command& dropped(on_drop what) noexcept;

  task<result<child>> spawn() const;
  /// Runs the command until it has ended. A cancellation kills the child and waits for it. dropped() decides
  /// about processes that the child leaves in the group that it leads.
  task<result<exit_status>> run() const;
  /// As run(), and captures what the child writes into those of 1 and 2 that are pipes. Reads until both are
  /// closed, also by processes that the child has started. On too much output, a timeout or a cancellation it
  /// kills the child (or the group that it leads) and waits for it. Processes that the child leaves behind:
  /// as run().
  task<result<captured>> output(output_options how = {}) const;

 private:
  detail::recipe recipe_;
};

}  // namespace rota::process
