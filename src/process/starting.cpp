#include "process/starting.hpp"

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/sys/files.hpp"
#include "process/reaper.hpp"

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

namespace rota::process::detail {

namespace sys = base::sys;

namespace {

bool has_nul(std::string_view text) noexcept { return text.find('\0') != std::string_view::npos; }

bool is_bad_name(std::string_view name) noexcept {
  return name.empty() || has_nul(name) || name.find('=') != std::string_view::npos;
}

void close_and_forget(int& fd) noexcept {
  if (fd != -1) sys::close(std::exchange(fd, -1));
}

/// Retries for a second, in a thread that may block.
constexpr int most_tries = 1000;
void pause_before_next_try() noexcept {
  base::atomic<std::uint32_t> nobody{0};
  static_cast<void>(base::futex_wait(nobody, 0, base::now() + std::chrono::milliseconds(1)));
}

bool must_retry(const sys::result<int>& pidfd) noexcept {
  return !pidfd.has_value() && pidfd.error() != std::errc::no_such_process;
}

}  // namespace

starting::~starting() {
  close_child_ends();
  for (int& fd : own_ends_) close_and_forget(fd);
  if (pidfd_ == -1) return;
  const auto killed =
      leads_group() ? sys::signal_group(pidfd_, id_, SIGKILL) : sys::signal_process(pidfd_, SIGKILL);
  // EPERM: the process has other rights than this one, and ends at its own time.
  reap_later(pidfd_, killed.has_value());
}

void starting::close_child_ends() noexcept {
  for (int& fd : child_ends_) close_and_forget(fd);
}

bool starting::has_bad_text() const noexcept {
  if (has_nul(what_.program) || has_nul(what_.directory)) return true;
  for (const std::string& each : what_.arguments) {
    if (has_nul(each)) return true;
  }
  for (const environment_change& each : what_.changes) {
    if (is_bad_name(each.name) || (each.value.has_value() && has_nul(*each.value))) return true;
  }
  return false;
}

// posix_spawn takes non-const pointers to strings that it does not change.
void starting::set_arguments() {
  arguments_.reserve(what_.arguments.size() + 2);
  arguments_.push_back(const_cast<char*>(what_.program.c_str()));
  for (const std::string& each : what_.arguments) arguments_.push_back(const_cast<char*>(each.c_str()));
  arguments_.push_back(nullptr);
}

void starting::set_environment() {
  const auto is_changed = [this](std::string_view variable) noexcept {
    return std::any_of(what_.changes.begin(), what_.changes.end(), [&](const environment_change& each) {
      return variable.size() > each.name.size() && variable.starts_with(each.name) &&
             variable[each.name.size()] == '=';
    });
  };
  for (char** each = what_.clears_environment ? nullptr : environ; each != nullptr && *each != nullptr;
       ++each) {
    if (!is_changed(*each)) variables_.emplace_back(*each);
  }
  for (const environment_change& each : what_.changes) {
    if (each.value.has_value()) variables_.push_back(each.name + "=" + *each.value);
  }
  environment_.reserve(variables_.size() + 1);
  for (std::string& each : variables_) environment_.push_back(each.data());
  environment_.push_back(nullptr);
}

/// The child's descriptors have numbers above 2 here, so that each can be copied to any of the three in any
/// order.
std::error_code starting::set_file(int number) {
  const stdio& file = what_.files[number];
  if (file.what() == stdio::kind::descriptor) {
    const auto copy = sys::duplicate_high(file.descriptor());
    if (!copy.has_value()) return copy.error();
    child_ends_[number] = *copy;
  } else if (file.what() == stdio::kind::pipe) {
    const auto ends = sys::pipe();
    if (!ends.has_value()) return ends.error();
    const bool child_reads = number == STDIN_FILENO;
    own_ends_[number] = child_reads ? ends->write : ends->read;
    child_ends_[number] = child_reads ? ends->read : ends->write;
  }
  return {};
}

/// If this process has closed its 1, that number may now be another file, which is close-on-exec. A copy
/// would not be.
bool starting::merges_into_nothing() const noexcept {
  const stdio::kind out = what_.files[STDOUT_FILENO].what();
  const bool inherits = out == stdio::kind::unset || out == stdio::kind::inherit;
  return what_.merges_errors && inherits && !sys::is_inherited(STDOUT_FILENO);
}

std::error_code starting::begin() {
  if (has_bad_text()) return std::make_error_code(std::errc::invalid_argument);
  if (merges_into_nothing()) return std::make_error_code(std::errc::bad_file_descriptor);
  set_arguments();
  set_environment();
  for (int number = 0; number <= STDERR_FILENO; ++number) {
    if (const std::error_code failed = set_file(number)) return failed;
  }
  return {};
}

/// A missing permission or lack of descriptors is detected before there is a process.
void starting::start() noexcept {
  const auto spare = sys::open_own_process();
  if (spare.has_value()) {
    start_with(*spare);
  } else {
    error_ = spare.error();
  }
  close_child_ends();
}

void starting::start_with(int spare) noexcept {
  sys::process_start how{
      .program = what_.program.c_str(), .arguments = arguments_.data(), .environment = environment_.data()};
  if (!what_.directory.empty()) how.directory = what_.directory.c_str();
  for (int number = 0; number <= STDERR_FILENO; ++number) {
    if (child_ends_[number] != -1) how.files[number] = child_ends_[number];
    if (what_.files[number].what() == stdio::kind::null) how.files[number] = sys::process_start::null_device;
  }
  how.errors_to_output = what_.merges_errors;
  how.group = what_.group;
  how.leads_session = what_.leads_session;

  const auto id = sys::start_process(how);
  close_child_ends();
  if (id.has_value()) {
    id_ = *id;
    watch_process(spare);
  } else {
    error_ = id.error();
    sys::close(spare);
  }
}

void starting::watch_process(int spare) noexcept {
  auto pidfd = sys::open_process(id_);
  close_and_forget(spare);
  // Another thread may take the freed number at once. It may also take those of the pipes, which are useless
  // without a pidfd.
  for (int tries = 0; must_retry(pidfd) && tries < most_tries; ++tries) {
    if (tries != 0 && !close_own_end()) pause_before_next_try();
    pidfd = sys::open_process(id_);
  }
  if (!pidfd.has_value()) {
    // ESRCH: other code has reaped the process; nothing else is wrong.
    if (pidfd.error() != std::errc::no_such_process) error_ = pidfd.error();
    return;
  }
  // If SIGCHLD is ignored, or other code reaps all children, the process may have gone already, and its id be
  // another's.
  if (sys::look_at_process(*pidfd).has_value()) {
    pidfd_ = *pidfd;
  } else {
    sys::close(*pidfd);
  }
}

bool starting::close_own_end() noexcept {
  for (int& fd : own_ends_) {
    if (fd == -1) continue;
    error_ = std::make_error_code(std::errc::too_many_files_open);
    close_and_forget(fd);
    return true;
  }
  return false;
}

int starting::take_pipe(int number) noexcept { return std::exchange(own_ends_[number], -1); }

}  // namespace rota::process::detail
