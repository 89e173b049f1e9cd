#include "base/thread.hpp"
#include "process/child_state.hpp"
#include "process/reaper.hpp"

#include <rota/error.hpp>

#include <csignal>
#include <cstring>

namespace rota::process {

namespace sys = base::sys;

namespace detail {

namespace {

std::unexpected<std::error_code> because(std::errc why) noexcept {
  return std::unexpected(std::make_error_code(why));
}

std::unexpected<std::error_code> forked() noexcept { return std::unexpected(make_error_code(errc::forked)); }

exit_status status_of(const sys::process_end& end) noexcept {
  switch (end.how) {
    case sys::how_ended::signalled: return {exit_status::kind::signalled, end.value};
    case sys::how_ended::dumped: return {exit_status::kind::signalled_with_core, end.value};
    default: return {exit_status::kind::exited, end.value};
  }
}

}  // namespace

child_state::child_state(int id, bool leads_group, on_drop dropped) noexcept
    : id_(id), process_(base::this_process_id()), leads_group_(leads_group), dropped_(dropped) {}

void child_state::own(watched_ptr pidfd) noexcept {
  pidfd_ = std::move(pidfd);
  if (!pidfd_) end_.emplace(because(std::errc::no_child_process));
}

child_state::~child_state() {
  if (!is_own_process() || !pidfd_) return;
  // Before the child is reaped: other processes of its group may live, and reaping frees the id of the group.
  bool ends_soon = false;
  // EPERM: the child has other rights than this process, and ends at its own time.
  if (dropped_ == on_drop::kill)
    ends_soon = (leads_group_ ? signal_group(SIGKILL) : signal(SIGKILL)).has_value();
  if (!take_end()) reap_later(pidfd_.get()->release(), ends_soon);
}

bool child_state::take_end() noexcept {
  const bool is_taken = end_.has_value() && (!leads_group_ || !end_->has_value());
  if (is_taken) return true;
  const auto now = sys::reap_process(pidfd_.get()->descriptor());
  return !now.has_value() || now->how != sys::how_ended::not_yet;
}

bool child_state::is_own_process() const noexcept { return base::this_process_id() == process_; }

std::optional<child_state::end> child_state::reap() noexcept {
  if (!is_own_process()) return forked();
  const base::lock_guard lock(mutex_);
  if (end_.has_value()) return end_;
  const int pidfd = pidfd_.get()->descriptor();
  const auto now = leads_group_ ? sys::look_at_process(pidfd) : sys::reap_process(pidfd);
  if (!now.has_value()) {
    end_.emplace(std::unexpected(now.error()));
  } else if (now->how != sys::how_ended::not_yet) {
    end_.emplace(status_of(*now));
  }
  return end_;
}

result<void> child_state::signal(int number) noexcept {
  if (!is_own_process()) return forked();
  {
    const base::lock_guard lock(mutex_);
    if (end_.has_value()) return because(std::errc::no_such_process);
  }
  return sys::signal_process(pidfd_.get()->descriptor(), number);
}

result<void> child_state::signal_group(int number) noexcept {
  if (!is_own_process()) return forked();
  if (!leads_group_) return because(std::errc::operation_not_permitted);
  if (!pidfd_) return because(std::errc::no_such_process);
  const result<void> did = sys::signal_group(pidfd_.get()->descriptor(), id_, number);
  // Other code has reaped the child.
  if (!did.has_value() && did.error() == std::errc::no_child_process)
    return because(std::errc::no_such_process);
  return did;
}

exit_leaf::exit_leaf(child_state* of) noexcept : watched_leaf(of->events(), false), of_(of) {}

watched_leaf::attempt exit_leaf::try_once() noexcept {
  return of_->reap().has_value() ? attempt::done : attempt::would_block;
}

// The result is known, so reap() does not ask the kernel.
result<exit_status> exit_leaf::await_resume() const noexcept {
  if (failed_) return std::unexpected(failed_);
  return *of_->reap();
}

}  // namespace detail

std::optional<int> exit_status::code() const noexcept {
  if (kind_ != kind::exited) return std::nullopt;
  return value_;
}

std::optional<int> exit_status::signal() const noexcept {
  if (kind_ == kind::exited) return std::nullopt;
  return value_;
}

std::string exit_status::to_string() const {
  if (kind_ == kind::exited) return "exit code " + std::to_string(value_);
  const char* const name = ::sigdescr_np(value_);
  std::string said = "signal " + std::to_string(value_);
  if (name != nullptr) said.append(" (").append(name).append(")");
  if (dumped_core()) said += ", core dumped";
  return said;
}

child::child(child&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

child& child::operator=(child&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(in_, other.in_);
  std::swap(out_, other.out_);
  std::swap(err_, other.err_);
  return *this;
}

child::~child() { delete state_; }

detail::child_state& child::demand() const noexcept {
  if (state_ == nullptr) [[unlikely]]
    ROTA_FATAL("a process::child was used after it was moved from", 0);
  return *state_;
}

int child::id() const noexcept { return demand().id(); }

detail::exit_leaf child::wait() noexcept {
  detail::child_state& of = demand();
  in_.close();
  return detail::exit_leaf(&of);
}

result<std::optional<exit_status>> child::try_wait() noexcept {
  const auto end = demand().reap();
  if (!end.has_value()) return std::optional<exit_status>();
  if (!end->has_value()) return std::unexpected(end->error());
  return std::optional<exit_status>(**end);
}

result<void> child::kill() noexcept { return demand().signal(SIGKILL); }
result<void> child::signal(int number) noexcept { return demand().signal(number); }
result<void> child::signal_group(int number) noexcept { return demand().signal_group(number); }

int child::native_handle() const noexcept {
  return demand().events() == nullptr ? -1 : demand().events()->descriptor();
}

}  // namespace rota::process
