#include "driver/epoll.hpp"

#include "base/sys/files.hpp"
#include "base/uninitialized.hpp"

#include <new>

namespace rota::driver {

namespace {

constexpr std::uint32_t readable = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;
constexpr std::uint32_t readable_for_ever = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;
constexpr std::uint32_t writable = EPOLLOUT | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t writable_for_ever = EPOLLHUP | EPOLLERR;

constexpr news news_of(std::uint32_t events, std::uint32_t any, std::uint32_t lasting) noexcept {
  if ((events & lasting) != 0) return news::lasts;
  return (events & any) != 0 ? news::once : news::none;
}

}  // namespace

std::error_code epoll::open() noexcept {
  table_ = new (std::nothrow) std::remove_pointer_t<decltype(table_)>();
  if (table_ == nullptr) return std::make_error_code(std::errc::not_enough_memory);
  const auto poll = base::sys::epoll_create();
  if (!poll.has_value()) return poll.error();
  epoll_ = *poll;
  const auto signal = base::sys::event_fd();
  if (!signal.has_value()) return signal.error();
  event_fd_ = *signal;
  return watch_for_others(event_fd_);
}

std::error_code epoll::watch_for_others(int fd) noexcept {
  const auto added = base::sys::epoll_add_input(epoll_, fd, key_of_others);
  return added.has_value() ? std::error_code() : added.error();
}

epoll::~epoll() {
  if (event_fd_ != -1) base::sys::close(event_fd_);
  if (epoll_ != -1) base::sys::close(epoll_);
  if (table_ == nullptr) return;
  for (auto& entry : *table_) {
    // relaxed: this thread is the only user left.
    delete entry.load(base::order::relaxed);
  }
  delete table_;
}

unsigned epoll::wait(base::time_point deadline, event* found, unsigned most) noexcept {
  constexpr int batch = 64;
  ROTA_UNINITIALIZED epoll_event events[batch];
  const auto count =
      base::sys::epoll_wait(epoll_, events, most < batch ? static_cast<int>(most) : batch, deadline);
  if (!count.has_value()) ROTA_FATAL("epoll_wait", count.error().value());
  unsigned kept = 0;
  for (unsigned i = 0; i < *count; ++i) {
    // Edge-triggered as all others: each write to the event descriptor is an edge, whether the counter was
    // read or not. The counter is full after 2^64 interrupts.
    if (events[i].data.u64 != key_of_others) found[kept++] = {events[i].data.u64, events[i].events};
  }
  return kept;
}

void epoll::dispatch(const event* found, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    const auto slot = static_cast<std::uint32_t>(found[i].key);
    const auto generation = static_cast<std::uint32_t>(found[i].key >> 32U);
    const std::uint32_t what = found[i].what;
    at(slot).event(
        generation, news_of(what, readable, readable_for_ever), news_of(what, writable, writable_for_ever));
  }
}

void epoll::interrupt() noexcept { base::sys::signal_event_fd(event_fd_); }

registration& epoll::at(std::uint32_t slot) noexcept {
  // acquire: pairs with the release in take_slot(): the chunk is constructed.
  return (*(*table_)[slot / chunk].load(base::order::acquire))[slot % chunk];
}

std::uint32_t epoll::take_slot() noexcept {
  const base::lock_guard lock(mutex_);
  if (free_ != none) {
    const std::uint32_t slot = free_;
    free_ = at(slot).next_free;
    return slot;
  }
  if (used_ == max_slots) return none;
  if (used_ % chunk == 0) {
    auto* const made = new (std::nothrow) slots;
    if (made == nullptr) return none;
    // release: pairs with the acquire in at().
    (*table_)[used_ / chunk].store(made, base::order::release);
  }
  return used_++;
}

void epoll::give_slot(std::uint32_t slot) noexcept {
  const base::lock_guard lock(mutex_);
  at(slot).next_free = free_;
  free_ = slot;
}

std::expected<std::uint32_t, std::error_code> epoll::add(int fd, interest what) noexcept {
  const std::uint32_t slot = take_slot();
  if (slot == none) return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  const std::uint64_t key = at(slot).open(slot);
  const auto added = what == interest::both ? base::sys::epoll_add(epoll_, fd, key)
                                            : base::sys::epoll_add_input(epoll_, fd, key);
  if (!added.has_value()) {
    at(slot).close();
    give_slot(slot);
    return std::unexpected(added.error());
  }
  // relaxed: a counter for reports.
  watched_.fetch_add(1, base::order::relaxed);
  return slot;
}

void epoll::remove_open(std::uint32_t slot, int fd) noexcept {
  base::sys::epoll_remove(epoll_, fd);
  remove(slot);
}

void epoll::remove(std::uint32_t slot) noexcept {
  at(slot).close();
  give_slot(slot);
  // relaxed: a counter for reports.
  watched_.fetch_sub(1, base::order::relaxed);
}

}  // namespace rota::driver
