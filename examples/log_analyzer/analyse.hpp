// Analyses a log, with one thread or with mailboxes.
#pragma once

#include <cstddef>
#include <string_view>

#include "log_analyzer/totals.hpp"

namespace log_analyzer {

[[nodiscard]] totals analyse_plainly(std::string_view log);

/// Sends blocks of lines to readers, and their results to the mailbox of each client's partition. The totals
/// do not depend on the number of threads.
[[nodiscard]] totals analyse(std::string_view log,
                             unsigned threads,
                             std::size_t block = std::size_t{1} << 20U);

}  // namespace log_analyzer
