// A thread that waits in a wait_list.
#pragma once

#include <cstddef>
#include <span>

#include <rota/detail/chrono.hpp>
#include <rota/detail/wait_list.hpp>

namespace rota::core {

enum class [[nodiscard]] wait_end : unsigned char { granted, closed, timed_out };

/// Blocks the calling thread until `me`, a new node on its stack, is granted or closed, or the deadline has
/// passed (the largest time point: never). What is granted before the thread gives up wins. The hooks are the
/// same as for tasks; try_now comes first.
///
/// Meanwhile a worker lends its role to another thread, and a thread of a pool counts as absent. A force stop
/// of the work that runs here ends the wait: pool::force_stopped is thrown then. In a task of a
/// testing::runtime no other thread can run: a wait with a deadline ends at once, and a wait without one ends
/// the program with a sentence.
ROTA_API wait_end block_until(const wait_target& at,
                              wait_node& me,
                              std::chrono::steady_clock::time_point deadline);
/// The same. The limit is counted from now.
ROTA_API wait_end block_for(const wait_target& at, wait_node& me, std::chrono::nanoseconds span);
ROTA_API wait_end block(const wait_target& at, wait_node& me);
/// Returns the deadline that block_for() would use, for a caller that waits several times.
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point deadline_in(
    std::chrono::nanoseconds span) noexcept;

// For a thread that waits in one list after the other, as in a condition variable.

/// Returns a waker for a thread that sleeps on the word of `me`.
[[nodiscard]] ROTA_API waker thread_waker_of(wait_node& me) noexcept;
enum class [[nodiscard]] on_sleep : unsigned char { ended, timed_out, forced };
/// Sleeps while `me` is `waiting`. It is in a list, or on its way to one.
ROTA_API on_sleep sleep_while_waiting(wait_node& me, std::chrono::steady_clock::time_point deadline) noexcept;
/// Blocks until `me` is granted. The node is new, or has been in this list already. Neither a limit nor a
/// force stop ends the wait.
ROTA_API void block_firmly(const wait_target& at, wait_node& me) noexcept;
/// Throws pool::force_stopped. For the caller of a wait that returned on_sleep::forced, when it waits for
/// nothing any more.
ROTA_API void throw_forced();

/// One of several waits of a thread.
struct wait_case {
  const wait_target* at;  // null: not part of this wait
  wait_node* me;
};

/// The result if no case has ended.
inline constexpr std::size_t no_case = ~std::size_t{0};

/// Tries the cases and returns one that need not wait. If there are several, each is equally likely, provided
/// that `draw` is uniform. Its node says how it ended; the others have taken nothing. At most 64 cases.
ROTA_API std::size_t try_any(std::span<const wait_case> cases, std::uint64_t draw) noexcept;
/// As block_until(), for the case that ends first. Returns no_case if the deadline has passed.
ROTA_API std::size_t block_any(std::span<const wait_case> cases,
                               std::uint64_t draw,
                               std::chrono::steady_clock::time_point deadline);
/// Returns a random number for a fair choice of a thread without a scheduler. Each thread has a sequence of
/// its own, and all these sequences are equal.
[[nodiscard]] ROTA_API std::uint64_t draw_of_thread() noexcept;

}  // namespace rota::core
