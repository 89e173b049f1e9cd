// A thread that waits in a wait_list.
#pragma once

#include <cstddef>
#include <span>

#include <rota/detail/chrono.hpp>
#include <rota/detail/wait_list.hpp>

namespace rota::core {

enum class [[nodiscard]] wait_end : unsigned char { granted, closed, timed_out };

/// Blocks the calling thread until `me`, a new node on its stack, is granted, closed, or the deadline has passed (the largest time
/// point: never); what is granted before it gives up wins. The same hooks as for tasks; try_now comes first.
///
/// A worker lends its role to another thread meanwhile, a thread of a pool counts as absent, and a force stop of the work that it runs
/// ends the wait: pool::force_stopped is thrown then. In a task of a testing::runtime, where nobody else can run: a wait with a
/// deadline is over at once, one without ends the program with a sentence.
ROTA_API wait_end block_until(const wait_target& at,
                              wait_node& me,
                              std::chrono::steady_clock::time_point deadline);
/// The same, counted from now.
ROTA_API wait_end block_for(const wait_target& at, wait_node& me, std::chrono::nanoseconds span);
ROTA_API wait_end block(const wait_target& at, wait_node& me);
/// What block_for() would wait until, for who waits several times.
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point deadline_in(
    std::chrono::nanoseconds span) noexcept;

// For a thread that waits in one list after the other, as in a condition variable.

/// What wakes a thread that sleeps on the word of `me`.
[[nodiscard]] ROTA_API waker thread_waker_of(wait_node& me) noexcept;
enum class [[nodiscard]] on_sleep : unsigned char { ended, timed_out, forced };
/// Sleeps while `me`, which is in some list or on its way to one, is `waiting`.
ROTA_API on_sleep sleep_while_waiting(wait_node& me, std::chrono::steady_clock::time_point deadline) noexcept;
/// Blocks until `me`, which is new, or has been in this list already, is granted. Neither a limit nor a force stop ends that.
ROTA_API void block_firmly(const wait_target& at, wait_node& me) noexcept;
/// After on_sleep::forced, when nothing is waited for any more: throws pool::force_stopped.
ROTA_API void throw_forced();

/// One of several that a thread waits for.
struct wait_case {
  const wait_target* at;  // null: not this time
  wait_node* me;
};

/// None of them.
inline constexpr std::size_t no_case = ~std::size_t{0};

/// One that need not wait; of several, each is equally likely if `draw` is uniform. Its node says how it ended; the others have taken
/// nothing. At most 64 cases.
ROTA_API std::size_t try_any(std::span<const wait_case> cases, std::uint64_t draw) noexcept;
/// As block_until(), for whichever comes first; no_case: the deadline has passed.
ROTA_API std::size_t block_any(std::span<const wait_case> cases,
                               std::uint64_t draw,
                               std::chrono::steady_clock::time_point deadline);
/// A number for a thread that would be fair, where no scheduler is asked: each thread has a sequence, and that of all threads is the same.
[[nodiscard]] ROTA_API std::uint64_t draw_of_thread() noexcept;

}  // namespace rota::core
