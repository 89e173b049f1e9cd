// The system calls that wait for descriptors.
#pragma once

#include "base/clock.hpp"
#include "base/sys/result.hpp"

#include <sys/epoll.h>
#include <cstdint>

namespace rota::base::sys {

result<int> epoll_create() noexcept;
/// Adds `fd`, edge-triggered, for everything.
result<void> epoll_add(int epoll, int fd, std::uint64_t key) noexcept;
/// The same, for input alone: a read of an event_fd would be an edge for output.
result<void> epoll_add_input(int epoll, int fd, std::uint64_t key) noexcept;
/// Level-triggered, with `fd` as its key: what it is to tell from now on, instead of what was said before; neither: nothing.
result<void> epoll_set(int epoll, int fd, bool for_reading, bool for_writing) noexcept;
/// For a descriptor that stays open.
void epoll_remove(int epoll, int fd) noexcept;
/// `deadline`: `never` waits for ever, a past one only looks. Returns how many events.
result<unsigned> epoll_wait(int epoll, epoll_event* events, int most, time_point deadline) noexcept;
result<int> event_fd() noexcept;
void signal_event_fd(int fd) noexcept;
void clear_event_fd(int fd) noexcept;

}  // namespace rota::base::sys
