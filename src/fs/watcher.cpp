#include <rota/fs/watcher.hpp>

#include "base/sys/files.hpp"
#include "base/sys/paths.hpp"
#include "base/sys/processes.hpp"
#include "driver/io_driver.hpp"
#include "fs/system_call.hpp"
#include "task/header.hpp"

#include <rota/detail/fs_descriptor.hpp>
#include <rota/error.hpp>
#include <rota/leaf.hpp>

#include <sys/inotify.h>
#include <array>
#include <cstring>
#include <new>

namespace rota::fs {

namespace {

using detail::bad_argument;
namespace sys = detail::sys;

}  // namespace

/// The descriptor, watched by the driver, and events that have been read and not returned. They outlive the
/// frames of a waiting task: a cancellation loses nothing.
class watcher::state {
 public:
  state(core::scheduler& owner, driver::io_driver& d, int fd, std::uint32_t slot) noexcept
      : owner_(&owner), driver_(&d), fd_(fd), slot_(slot) {
    owner_->ops->held(*owner_);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    driver_->remove(slot_);
    sys::close(fd_);
    owner_->ops->freed(*owner_);
  }

  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] driver::registration& events() noexcept { return driver_->at(slot_); }
  [[nodiscard]] bool has_event() const noexcept { return first_ != end_; }
  /// Does not block.
  [[nodiscard]] result<void> fill() noexcept {
    const detail::number got = sys::read(fd_, bytes_.data(), bytes_.size());
    if (!got.has_value()) return std::unexpected(got.error());
    first_ = 0;
    end_ = *got;
    return {};
  }
  [[nodiscard]] watch_event take() {
    inotify_event head;
    std::memcpy(&head, bytes_.data() + first_, sizeof head);
    const auto* const name = reinterpret_cast<const char*>(bytes_.data()) + first_ + sizeof head;
    watch_event made{.watch = head.wd,
                     .what = head.mask,
                     .cookie = head.cookie,
                     .name = std::string(name, ::strnlen(name, head.len))};
    first_ += sizeof head + head.len;
    return made;
  }

 private:
  core::scheduler* owner_;
  driver::io_driver* driver_;
  const int fd_;
  const std::uint32_t slot_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  alignas(inotify_event) std::array<std::byte, 4096> bytes_;
};

/// Waits until there are events, or an error.
class watcher::wait final : public leaf {
 public:
  explicit wait(state& of) noexcept : of_(of) {}
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;
  ~wait() = default;

  /// An event of the driver between the try and the wait is consumed, and leads to another try.
  [[nodiscard]] bool is_ready() noexcept override {
    if (done_) return true;
    if (std::exchange(untried_, false)) return try_or_wait();
    return of_.events().take_ready(driver::direction::read) && try_or_wait();
  }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
    if (!done_ && !untried_) of_.events().disarm(driver::direction::read);
    return cancel_progress::ended;
  }
  [[nodiscard]] const char* what() const noexcept override { return "file watch"; }
  result<void> await_resume() noexcept { return std::move(result_); }

 private:
  bool start() override {
    done_ = untried_ = false;
    if (task().budget > 1) return try_or_wait();
    untried_ = true;
    task().why = core::stop_reason::yield;
    return false;
  }
  [[nodiscard]] bool try_or_wait() noexcept {
    for (;;) {
      result_ = of_.fill();
      if (result_.has_value() || !sys::would_block(result_.error())) {
        done_ = true;
        return true;
      }
      waker mine = make_waker();
      if (!of_.events().arm(driver::direction::read, mine)) return false;
    }
  }

  state& of_;
  result<void> result_;
  bool untried_ = false;  // the turn was given up before the first try
  bool done_ = false;
};

watcher::~watcher() { delete state_; }

result<watcher> watcher::open() noexcept {
  const core::header* const task = core::current_task();
  driver::io_driver* const driver = task == nullptr ? nullptr : task->owner->ops->io(*task->owner);
  if (driver == nullptr) return std::unexpected(make_error_code(errc::no_runtime));
  const sys::result<int> fd = sys::make_watch();
  if (!fd.has_value()) return std::unexpected(fd.error());
  detail::descriptor owned(*fd);
  const auto slot = driver->add(*fd);
  if (!slot.has_value()) return std::unexpected(slot.error());
  auto* const made = new (std::nothrow) state(core::scheduler_for_children(*task), *driver, *fd, *slot);
  if (made == nullptr) {
    driver->remove(*slot);
    return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  }
  static_cast<void>(owned.release());
  return watcher(made);
}

task<result<int>> watcher::add(std::string path, unsigned events) {
  if (detail::has_zero(path)) co_return bad_argument();
  const int fd = state_ == nullptr ? -1 : state_->descriptor();
  const auto add_it = [&]() noexcept { return sys::watch_path(fd, path.c_str(), events); };
  co_return co_await detail::on_thread(add_it);
}

result<void> watcher::remove(int watch) noexcept {
  return sys::unwatch_path(state_ == nullptr ? -1 : state_->descriptor(), watch);
}

task<result<watch_event>> watcher::next() {
  if (state_ == nullptr) co_return std::unexpected(std::make_error_code(std::errc::bad_file_descriptor));
  while (!state_->has_event()) {
    const result<void> waited = co_await wait(*state_);
    if (!waited.has_value()) co_return std::unexpected(waited.error());
  }
  co_return state_->take();
}

}  // namespace rota::fs
