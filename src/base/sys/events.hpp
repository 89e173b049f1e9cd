// The system calls that wait for descriptors.
#pragma once

#include "base/clock.hpp"
#include "base/sys/result.hpp"

#include <sys/epoll.h>
#include <cstdint>

namespace rota::base::sys {

result<int> epoll_create() noexcept;
/// Adds `fd` for all events, edge-triggered.
result<void> epoll_add(int epoll, int fd, std::uint64_t key) noexcept;
/// Adds `fd` for input alone: a read of an event_fd would be an edge for output.
result<void> epoll_add_input(int epoll, int fd, std::uint64_t key) noexcept;
/// Sets the events of `fd`, level-triggered, with `fd` as the key, in place of the ones before. With neither
/// it removes `fd`.
result<void> epoll_set(int epoll, int fd, bool for_reading, bool for_writing) noexcept;
/// Removes a descriptor that stays open.
void epoll_remove(int epoll, int fd) noexcept;
/// Waits until `deadline` and returns the number of events. `never` waits for ever; a deadline in the past
/// only polls.
result<unsigned> epoll_wait(int epoll, epoll_event* events, int most, time_point deadline) noexcept;
result<int> event_fd() noexcept;
void signal_event_fd(int fd) noexcept;
void clear_event_fd(int fd) noexcept;

}  // namespace rota::base::sys
