#include <rota/unix_signal.hpp>

#include "base/mutex.hpp"
#include "base/sys/events.hpp"
#include "base/sys/files.hpp"
#include "base/sys/processes.hpp"
#include "base/thread.hpp"
#include "driver/io_driver.hpp"
#include "task/header.hpp"

#include <rota/error.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

namespace rota {

namespace {

constexpr int first_number = 1;
constexpr int last_number = 64;
constexpr std::size_t subscriptions_per_number = 16;

// PROTOCOL: subscriptions to one signal
//   fds      written under the lock of `table_mutex`; read by the handler, which may run at any moment on any
//            thread
//   pending  a bit for each subscription's slot; set by the handler before it writes the descriptor, taken by
//            the task
// The handler reads a descriptor, sets the bit, and writes. A subscription that ends removes its descriptor
// from the table. A handler that has read it just before writes to it later. If it were closed, that write
// could go to another file that has got its number. So eventfds of this table are never closed, but kept for
// the next subscription.
// A signal that every thread blocks reaches no handler. It is read from the signalfd of a subscription, and
// the reader calls the handler for all subscriptions. A signal is delivered or read, never both.
// A fork has this table, and eventfds that it shares with the parent: it closes them, and does not reuse
// them.
struct slot {
  base::atomic<int> fd{-1};
  base::atomic<std::uint32_t> pending{0};
};
struct entry {
  std::array<slot, subscriptions_per_number> slots;
  struct sigaction before{};
  unsigned used = 0;
};

base::mutex table_mutex;
std::array<entry, last_number + 1> table;
/// One place for each possible subscription.
int spare_fds[subscriptions_per_number * last_number];
std::size_t spare_count = 0;
std::uint64_t spare_process = 0;

void handle(int number) {
  const int saved = errno;
  for (slot& s : table[static_cast<std::size_t>(number)].slots) {
    // acquire: pairs with subscribe(): the descriptor is open.
    const int fd = s.fd.load(base::order::acquire);
    if (fd == -1) continue;
    // release: pairs with take_pending().
    s.pending.store(1, base::order::release);
    base::sys::signal_event_fd(fd);
  }
  errno = saved;
}

bool can_be_caught(int number) noexcept {
  return number >= first_number && number <= last_number && number != SIGKILL && number != SIGSTOP;
}

/// Installs the handler. The lock is held.
std::error_code install(int number, entry& e) noexcept {
  struct sigaction action{};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  const auto done = base::sys::set_signal_action(number, action, &e.before);
  return done.has_value() ? std::error_code() : done.error();
}

/// Puts `fd` into a free slot. The lock is held.
std::error_code subscribe(int number, int fd) noexcept {
  entry& e = table[static_cast<std::size_t>(number)];
  for (slot& s : e.slots) {
    // relaxed: only changed under the lock.
    if (s.fd.load(base::order::relaxed) != -1) continue;
    // relaxed: before the descriptor is published.
    s.pending.store(0, base::order::relaxed);
    // release: pairs with handle().
    s.fd.store(fd, base::order::release);
    const std::error_code failed = e.used == 0 ? install(number, e) : std::error_code();
    if (!failed) {
      ++e.used;
    } else {
      // relaxed: no handler was installed that could have read it.
      s.fd.store(-1, base::order::relaxed);
    }
    return failed;
  }
  return std::make_error_code(std::errc::too_many_files_open);
}

/// Closes the spares of the process that this one is a fork of. The lock is held.
void forget_foreign_spares() noexcept {
  const std::uint64_t here = base::this_process_id();
  if (std::exchange(spare_process, here) == here) return;
  while (spare_count != 0) base::sys::close(spare_fds[--spare_count]);
}

/// Keeps a descriptor that no subscription uses any more for the next one. The lock is held.
void keep_spare(int fd) noexcept {
  forget_foreign_spares();
  if (spare_count < std::size(spare_fds)) spare_fds[spare_count++] = fd;
}

/// Returns a spare, or -1 if there is none. The lock is held.
int take_spare() noexcept {
  forget_foreign_spares();
  return spare_count != 0 ? spare_fds[--spare_count] : -1;
}

/// Removes `fd` from its slot. The lock is held.
void unsubscribe(int number, int fd) noexcept {
  entry& e = table[static_cast<std::size_t>(number)];
  for (slot& s : e.slots) {
    // relaxed: only changed under the lock.
    if (s.fd.load(base::order::relaxed) != fd) continue;
    // relaxed: a handler that has read it before writes to a descriptor that stays open.
    s.fd.store(-1, base::order::relaxed);
    if (--e.used == 0) static_cast<void>(base::sys::set_signal_action(number, e.before, nullptr));
  }
}

}  // namespace

namespace detail {

class signal_source {
 public:
  signal_source(core::scheduler& owner, driver::io_driver& d, int event_fd) noexcept
      : owner_(&owner), driver_(&d), fd_(event_fd), process_(base::this_process_id()) {
    owner_->ops->held(*owner_);
  }
  signal_source(const signal_source&) = delete;
  signal_source& operator=(const signal_source&) = delete;

  ~signal_source() {
    const base::lock_guard lock(table_mutex);
    for (int n = first_number; n <= last_number; ++n) {
      if ((numbers_ & bit(n)) != 0) unsubscribe(n, fd_);
    }
    if (blocked_fd_ != -1) {
      driver_->remove(blocked_slot_);
      base::sys::close(blocked_fd_);
    }
    if (process_ == base::this_process_id()) {
      if (watched_) driver_->remove_open(slot_, fd_);
      keep_spare(fd_);
    } else {
      // In a fork the epoll of the driver is shared with the parent, and so is its set of watched
      // descriptors.
      if (watched_) driver_->remove(slot_);
      base::sys::close(fd_);
    }
    owner_->ops->freed(*owner_);
  }

  std::error_code begin(std::initializer_list<int> numbers) noexcept {
    const auto slot = driver_->add(fd_);
    if (!slot.has_value()) return slot.error();
    slot_ = *slot;
    watched_ = true;
    if (const std::error_code failed = subscribe_to(numbers)) return failed;
    return watch_blocked();
  }

  /// Takes a pending number. Returns 0 if none is pending.
  [[nodiscard]] int take_pending() noexcept {
    for (int n = first_number; n <= last_number; ++n) {
      if ((numbers_ & bit(n)) == 0) continue;
      for (slot& s : table[static_cast<std::size_t>(n)].slots) {
        // acquire, then acq_rel: pairs with handle().
        if (s.fd.load(base::order::acquire) == fd_ && s.pending.exchange(0, base::order::acq_rel) != 0)
          return n;
      }
    }
    return 0;
  }

  /// Puts back a number that a wait has taken. That wait was cancelled before it returned the number. The
  /// next wait takes it.
  void put_back(int number) noexcept {
    for (slot& s : table[static_cast<std::size_t>(number)].slots) {
      // relaxed: this subscription's own entry, which stays while it lives.
      if (s.fd.load(base::order::relaxed) != fd_) continue;
      // release: pairs with take_pending(), as in the handler.
      s.pending.store(1, base::order::release);
    }
  }

  /// Takes a number, or waits. Returns true if there is a number. `make_waker`: called for each of the two
  /// descriptors.
  template <class MakeWaker>
  [[nodiscard]] bool take_or_wait(int& number, MakeWaker make_waker) noexcept {
    for (;;) {
      number = take_pending();
      if (number != 0) return true;
      if (take_blocked()) continue;
      // A signal between the check and the wait is an event that arm() finds: check again.
      waker of_handler = make_waker();
      if (events().arm(driver::direction::read, of_handler)) {
        base::sys::clear_event_fd(fd_);
        continue;
      }
      waker of_blocked = make_waker();
      if (!blocked().arm(driver::direction::read, of_blocked)) return false;
      events().disarm(driver::direction::read);
    }
  }
  /// Ends the wait if an event has arrived. Returns false if there is none.
  [[nodiscard]] bool stop_if_ready() noexcept {
    const bool told = events().take_ready(driver::direction::read);
    const bool readable = blocked().take_ready(driver::direction::read);
    if (!told && !readable) return false;
    stop();
    return true;
  }
  void stop() noexcept {
    events().disarm(driver::direction::read);
    blocked().disarm(driver::direction::read);
  }

 private:
  static std::uint64_t bit(int number) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(number - 1);
  }
  [[nodiscard]] driver::registration& events() noexcept { return driver_->at(slot_); }
  [[nodiscard]] driver::registration& blocked() noexcept { return driver_->at(blocked_slot_); }

  std::error_code subscribe_to(std::initializer_list<int> numbers) noexcept {
    const base::lock_guard lock(table_mutex);
    for (const int n : numbers) {
      if ((numbers_ & bit(n)) != 0) continue;
      if (const std::error_code failed = subscribe(n, fd_)) return failed;
      numbers_ |= bit(n);
    }
    return {};
  }

  std::error_code watch_blocked() noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    for (int n = first_number; n <= last_number; ++n) {
      if ((numbers_ & bit(n)) != 0) ::sigaddset(&set, n);
    }
    const auto made = base::sys::signal_fd(set);
    if (!made.has_value()) return made.error();
    const auto slot = driver_->add(*made);
    if (!slot.has_value()) {
      base::sys::close(*made);
      return slot.error();
    }
    blocked_fd_ = *made;
    blocked_slot_ = *slot;
    return {};
  }

  /// Reads signals that reached no handler, and calls the handler for all subscriptions. Returns false if
  /// there were none.
  [[nodiscard]] bool take_blocked() const noexcept {
    bool found = false;
    for (int n = base::sys::read_signal_fd(blocked_fd_); n != 0; n = base::sys::read_signal_fd(blocked_fd_)) {
      handle(n);
      found = true;
    }
    return found;
  }

  /// Its memory is kept, and the driver with it: a subscription may outlive its runtime.
  core::scheduler* owner_;
  driver::io_driver* driver_;
  int fd_;
  std::uint32_t slot_ = 0;
  bool watched_ = false;
  int blocked_fd_ = -1;
  std::uint32_t blocked_slot_ = 0;
  const std::uint64_t process_;
  std::uint64_t numbers_ = 0;
};

}  // namespace detail

std::expected<unix_signal, std::error_code> unix_signal::open(std::initializer_list<int> numbers) noexcept {
  if (numbers.size() == 0) return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  for (const int n : numbers) {
    if (!can_be_caught(n)) return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  }
  const core::header* const task = core::current_task();
  driver::io_driver* const driver = task == nullptr ? nullptr : task->owner->ops->io(*task->owner);
  if (driver == nullptr) return std::unexpected(make_error_code(errc::no_runtime));
  int fd = -1;
  {
    const base::lock_guard lock(table_mutex);
    fd = take_spare();
  }
  if (fd == -1) {
    const auto made = base::sys::event_fd();
    if (!made.has_value()) return std::unexpected(made.error());
    fd = *made;
  }
  auto* const source =
      new (std::nothrow) detail::signal_source(core::scheduler_for_children(*task), *driver, fd);
  if (source == nullptr) {
    const base::lock_guard lock(table_mutex);
    keep_spare(fd);
    return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  }
  unix_signal opened(source);
  if (const std::error_code failed = source->begin(numbers)) return std::unexpected(failed);
  return opened;
}

unix_signal::~unix_signal() { delete source_; }

bool unix_signal::next_leaf::start() {
  if (source_ == nullptr) [[unlikely]]
    ROTA_FATAL("next() of a unix_signal that was moved from", 0);
  return source_->take_or_wait(number_, [this]() noexcept { return make_waker(); });
}

bool unix_signal::next_leaf::is_ready() noexcept {
  if (number_ != 0) return true;
  return source_->stop_if_ready() &&
         source_->take_or_wait(number_, [this]() noexcept { return make_waker(); });
}

cancel_progress unix_signal::next_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  // The number was taken at once, but the turn was given up before the task went on.
  if (number_ != 0) {
    source_->put_back(number_);
  } else {
    source_->stop();
  }
  return cancel_progress::ended;
}

}  // namespace rota
