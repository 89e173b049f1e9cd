// A log, as one thread reads it, and as mailboxes do.
#pragma once

#include <cstddef>
#include <string_view>

#include "log_analyzer/totals.hpp"

namespace log_analyzer {

[[nodiscard]] totals analyse_plainly(std::string_view log);

/// Blocks of lines go to readers, what they find to the mailbox of its client. The same totals, on so many threads.
[[nodiscard]] totals analyse(std::string_view log,
                             unsigned threads,
                             std::size_t block = std::size_t{1} << 20U);

}  // namespace log_analyzer
