// Other programs: starting them, talking to them through pipes, and hearing how they end.
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

/// How a process ended. A value.
class ROTA_API exit_status {
 public:
  enum class kind : unsigned char { exited, signalled, signalled_with_core };
  exit_status(kind how, int value) noexcept : kind_(how), value_(value) {}

  /// It exited with code 0.
  [[nodiscard]] bool is_success() const noexcept { return kind_ == kind::exited && value_ == 0; }
  /// What it exited with, 0..255; nothing if a signal ended it.
  [[nodiscard]] std::optional<int> code() const noexcept;
  /// The signal that ended it, if one did.
  [[nodiscard]] std::optional<int> signal() const noexcept;
  [[nodiscard]] bool dumped_core() const noexcept { return kind_ == kind::signalled_with_core; }
  /// "exit code 3", "signal 9 (Killed)".
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

/// The one owner of a descriptor that the driver watches.
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
  /// -1: there is none, or it is closed.
  [[nodiscard]] int descriptor() const noexcept;
  /// Any thread. What it points to stays.
  void close() const noexcept;

 private:
  watched* watched_ = nullptr;
};

/// One operation on such a descriptor: tries it, waits until the driver says that it may succeed, tries again; closed meanwhile, it ends.
/// Without a descriptor the try must be done at once.
class ROTA_API watched_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept override;
  cancel_progress try_cancel(cancel_reason reason) noexcept override;

 protected:
  watched_leaf(watched* w, bool for_writing) noexcept : watched_(w), for_writing_(for_writing) {}
  ~watched_leaf() = default;
  bool start() override;

  /// `paused`: the turn was given up between two system calls. The leaf has woken its own task, which tries again in its next turn.
  enum class [[nodiscard]] attempt : unsigned char { done, would_block, paused };
  /// One try; keeps its result.
  virtual attempt try_once() noexcept = 0;
  /// This is the result.
  virtual void fail(std::error_code why) noexcept = 0;
  /// It was done, and is awaited again: what it says then is of that time.
  virtual void begin_anew() noexcept {}
  [[nodiscard]] int descriptor() const noexcept;  // -1: none
  /// Of an operation of many system calls, after one of them. Returns true if the turn must end here, since its share is used up; then the
  /// task is woken already, and the try must return `paused`.
  [[nodiscard]] bool gives_turn_up() noexcept;

 private:
  [[nodiscard]] bool try_or_wait() noexcept;
  [[nodiscard]] attempt try_unless_closed() noexcept;
  watched* watched_;
  bool for_writing_;
  bool untried_ = false;  // the turn was given up first
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

/// The end of a pipe that is read; closed by its destructor. An io::reader.
///
/// Threads       One task at a time; close() by any thread, also while that task waits. Belongs to the runtime in whose task it was made.
/// Ownership     Owns the descriptor. The buffer, and this object, must live and stay where they are until the co_await is done.
/// Ordering      Bytes come in the order in which they were written.
/// Failure       std::error_code of the system; std::errc::bad_file_descriptor for one that is closed, also while it is waited for, or was moved
///               from. errc::forked: it would have to be waited for in a fork of the process that has made it. Cancelled, nothing was read.
/// Cost          One system call for each read that need not wait, two for one that must. No allocation.
/// Example       examples/run/main.cpp
class ROTA_API pipe_reader {
 public:
  pipe_reader() noexcept = default;
  /// Owns `fd` from now on, also when this fails, and makes it non-blocking, for all who share it. No child inherits it, unless it is 0, 1 or 2.
  /// EPERM: nothing that can be waited for.
  [[nodiscard]] static result<pipe_reader> adopt(int fd) noexcept;

  /// Some bytes, at most `into.size()`; 0: all who could write have closed their end (or `into` is empty).
  detail::pipe_read_leaf read(std::span<std::byte> into) noexcept {
    return detail::pipe_read_leaf(watched_.get(), into);
  }
  /// Whoever waits ends, and whoever writes hears of it at once.
  void close() noexcept { watched_.close(); }
  /// -1: it is closed.
  [[nodiscard]] int native_handle() const noexcept { return watched_.descriptor(); }
  /// Not closed.
  [[nodiscard]] explicit operator bool() const noexcept { return watched_.descriptor() != -1; }

 private:
  friend class detail::starter;
  explicit pipe_reader(detail::watched_ptr w) noexcept : watched_(std::move(w)) {}
  detail::watched_ptr watched_;
};

/// The end of a pipe that is written; closed by its destructor, and whoever reads then comes to the end. An io::writer. As pipe_reader;
/// EPIPE: nobody can read any more. SIGPIPE is never raised. Closed while a task writes, an unknown part has been written.
class ROTA_API pipe_writer {
 public:
  pipe_writer() noexcept = default;
  [[nodiscard]] static result<pipe_writer> adopt(int fd) noexcept;

  /// Some bytes; how many.
  detail::pipe_write_leaf write(std::span<const std::byte> from) noexcept {
    return detail::pipe_write_leaf(watched_.get(), from, false);
  }
  /// All of them. Cancelled, or after an error, an unknown part has been written.
  detail::pipe_write_leaf write_all(std::span<const std::byte> from) noexcept {
    return detail::pipe_write_leaf(watched_.get(), from, true);
  }
  /// A text, which must live until the co_await is done; without a zero at its end. What is in an array of characters ends nowhere: name
  /// the part that counts.
  detail::pipe_write_leaf write_all(std::string_view text ROTA_DETAIL_KEPT) noexcept {
    return write_all(std::as_bytes(std::span(text)));
  }
  template <std::size_t N>
  detail::pipe_write_leaf write_all(char (&buffer)[N]) = delete;
  /// The same of a literal, without the zero at its end; zeros in the middle are sent.
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

/// A pipe within this process. EMFILE and the like; errc::no_runtime outside of a task.
[[nodiscard]] ROTA_API result<std::pair<pipe_reader, pipe_writer>> pipe() noexcept;

/// Where one of a child's three standard descriptors comes from.
class stdio {
 public:
  enum class kind : unsigned char { unset, inherit, null, pipe, descriptor };

  /// What is said of no descriptor: inherit() for spawn and run; for output() null() of 0, and pipe() of 1 and 2.
  constexpr stdio() noexcept = default;
  [[nodiscard]] static constexpr stdio inherit() noexcept { return {kind::inherit, -1}; }
  [[nodiscard]] static constexpr stdio null() noexcept { return {kind::null, -1}; }
  /// A new one; this process has the other end.
  [[nodiscard]] static constexpr stdio pipe() noexcept { return {kind::pipe, -1}; }
  /// A copy of `fd`, made when the command is started; it stays the caller's.
  [[nodiscard]] static constexpr stdio from(int fd) noexcept { return {kind::descriptor, fd}; }

  [[nodiscard]] constexpr kind what() const noexcept { return kind_; }
  [[nodiscard]] constexpr int descriptor() const noexcept { return fd_; }

 private:
  constexpr stdio(kind what, int fd) noexcept : kind_(what), fd_(fd) {}
  kind kind_ = kind::unset;
  int fd_ = -1;
};

/// What becomes of a child that still runs when its object goes; and, if it leads a process group of its own, of all who are in that, also when it
/// has ended itself.
enum class on_drop : unsigned char {
  kill,   // SIGKILL, for the group if it leads one
  leave,  // nothing
};

/// A process that this one has started.
///
/// Threads       One task at a time waits; signal(), kill() and id() by any thread. Belongs to the runtime in whose task it was made.
/// Ownership     Dropped while it runs it is killed, or left alone: command::dropped(). So are those whom it has left behind in its group, if it leads
///               one: the id of that stays its own as long as there is this object, by a zombie. Other zombies go when wait() or try_wait() tell
///               the end, and all of them with the object, or soon after.
/// Ordering      What it wrote into a pipe before its end is there to be read when wait() returns.
/// Failure       std::errc::no_child_process of a wait: somebody else has asked for its end, or SIGCHLD is ignored, so nobody knows it. Signals:
///               std::errc::no_such_process once its end was heard of; never does a signal go to another process, or group, that has got its id.
///               errc::forked, of all of them, in a fork of the process that has started it, which leaves it alone when the object goes there. One that was moved from ends the
///               program with a sentence, but for in(), out() and err(), which are empty.
/// Cost          One descriptor, watched by the driver. A wait: one system call, two if it must wait. Nobody polls, and SIGCHLD is left alone.
/// Example       examples/run/main.cpp
class ROTA_API child {
 public:
  child(child&& other) noexcept;
  child& operator=(child&& other) noexcept;
  ~child();

  [[nodiscard]] int id() const noexcept;
  /// Until it has ended: result<exit_status>. Closes in() before, so that a child that reads to the end ends: whoever is just writing to it hears
  /// std::errc::bad_file_descriptor. Who wants to write on moves it out first. May be called again: the same once more. A wait that is cancelled
  /// changes nothing more.
  detail::exit_leaf wait() noexcept;
  /// Does not wait. Nothing: it runs.
  [[nodiscard]] result<std::optional<exit_status>> try_wait() noexcept;

  /// SIGKILL.
  result<void> kill() noexcept;
  result<void> signal(int number) noexcept;
  /// To all of its process group, if it leads one: command::process_group(), new_session(). Else std::errc::operation_not_permitted. Also when it
  /// has ended itself; std::errc::no_such_process if nobody is left, as far as anybody knows.
  result<void> signal_group(int number) noexcept;

  /// This process's ends of the pipes that were asked for. Empty ones (false) otherwise. Move them out, or use them here.
  [[nodiscard]] pipe_writer& in() noexcept { return in_; }
  [[nodiscard]] pipe_reader& out() noexcept { return out_; }
  [[nodiscard]] pipe_reader& err() noexcept { return err_; }

  /// A pidfd; -1 if the process had gone before it could be opened.
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
  /// For each of the two; more is errc::too_long.
  std::size_t most = std::size_t{64} << 20U;
  /// Longer is errc::timed_out.
  std::chrono::nanoseconds limit = std::chrono::nanoseconds::max();
  /// What the command reads, then it comes to the end. Must live until the co_await is done. Only if nothing was said of in().
  std::span<const std::byte> input;
};

/// What a command has come to.
struct captured {
  exit_status status{exit_status::kind::exited, 0};
  std::string out;
  std::string err;
};

namespace detail {

struct environment_change {
  std::string name;
  std::optional<std::string> value;  // nothing: not there
};

/// What a command is made of.
struct recipe {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<environment_change> changes;
  std::string directory;
  stdio files[3];
  bool clears_environment = false;
  bool merges_errors = false;
  bool leads_session = false;
  int group = -1;  // -1: this process's; 0: its own
  on_drop dropped = on_drop::kill;
};

}  // namespace detail

/// A program, its arguments, and what it finds when it starts. A value: it may be copied, changed and started any number of times.
///
///   rota::process::command list("ls");
///   list.arg("-l").current_dir("/tmp");
///   const auto done = co_await list.output();
///   if (done.has_value() && done->status.is_success()) use(done->out);
///
/// No shell looks at the arguments, but in shell(). The child inherits no descriptor but 0, 1 and 2, as far as others were made to be closed by an exec (all of
/// rota's are). It begins with no signal blocked, and does not ignore SIGPIPE and SIGCHLD.
///
/// Threads       As any value. spawn, run and output keep a copy of it.
/// Ownership     A child that is cancelled before its spawn() has returned is killed.
/// Ordering      Not cancellable halfway: a spawn waits for the thread that starts the process.
/// Failure       What exec says: ENOENT, EACCES, ...; of the directory, too, and of the group (EPERM: it is none of this session's).
///               std::errc::invalid_argument for a NUL in a string, and for a name in the environment that is empty or has a `=`. EMFILE, EAGAIN,
///               ENOMEM. Throws std::bad_alloc.
/// Cost          A closure in the blocking pool, at most 16 of them at a time: posix_spawn blocks until the program is executed. No copy of this
///               process's memory.
/// Example       examples/run/main.cpp
class ROTA_API command {
 public:
  /// Searched in PATH, this process's, if it has no slash; relative to current_dir() otherwise. It is the argument 0, too.
  explicit command(std::string program);
  /// `/bin/sh -c -- text`. The shell interprets every character: `text` holds no input from others; that comes by arg() of a plain command, or by
  /// env(), and is "$NAME" in the text.
  [[nodiscard]] static command shell(std::string text);

  command& arg(std::string value);
  command& args(std::span<const std::string> values);
  command& env(std::string name, std::string value);
  command& env_remove(std::string name);
  /// Nothing of this process's environment; what env() says, before and after, stays.
  command& env_clear() noexcept;
  command& current_dir(std::string path);

  command& in(stdio from) noexcept;
  command& out(stdio to) noexcept;
  command& err(stdio to) noexcept;
  /// 2 is what 1 is. std::errc::bad_file_descriptor of a spawn: 1 is inherited, and not open here, or closed by an exec.
  command& merge_err_into_out() noexcept;

  /// 0: one of its own, whose id is its own. Ctrl-C at the terminal does not reach it then. Throws std::invalid_argument for one below 0.
  command& process_group(int group = 0);
  /// Without a terminal; it leads a process group, too.
  command& new_session() noexcept;
  command& dropped(on_drop what) noexcept;

  task<result<child>> spawn() const;
  /// Until it has ended. Cancelled: killed, and waited for. Whom it leaves behind in its group, if it leads one: dropped() says.
  task<result<exit_status>> run() const;
  /// The same, and all that it writes into those of 1 and 2 that are pipes; until both are closed, also by those that it has started. Too much, too
  /// late, or cancelled: killed (its group, if it has one of its own), and waited for. Whom it leaves behind: as run().
  task<result<captured>> output(output_options how = {}) const;

 private:
  detail::recipe recipe_;
};

}  // namespace rota::process
