// A thread that waits in a wait_list.
#pragma once

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

}  // namespace rota::core
