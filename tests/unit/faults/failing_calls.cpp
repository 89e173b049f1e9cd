#include "unit/faults/failing_calls.hpp"

namespace rota::test {

namespace {

/// All functions that were called or made to fail.
constinit std::atomic<failing_call*> table{nullptr};
std::atomic<std::size_t> longest{0};
std::atomic<std::size_t> pieces{0};

}  // namespace

void failing_call::enter_table() noexcept {
  if (is_in_table_.exchange(true)) return;
  failing_call* first = table;
  do {
    next_ = first;
  } while (!table.compare_exchange_weak(first, this));
}

int failing_call::next_error() noexcept {
  enter_table();
  const std::uint64_t number = made_.fetch_add(1);
  if (number < first_ || number >= end_) return 0;
  ++failed_;
  return error_;
}

void calls::fail(failing_call& what, int error, std::uint64_t nth, std::uint64_t times) noexcept {
  what.enter_table();
  const std::uint64_t from = what.made_ + nth;
  what.error_ = error;
  what.end_ = from + times;
  what.first_ = from;
}

void calls::shorten(std::size_t most) noexcept { longest = most; }

void calls::reset() noexcept {
  for (failing_call* each = table; each != nullptr; each = each->next_) {
    each->end_ = 0;
    each->made_ = 0;
    each->failed_ = 0;
  }
  longest = 0;
}

std::size_t calls::shortened(std::size_t size) noexcept {
  const std::size_t most = longest;
  if (most == 0) return size;
  const std::size_t piece = 1 + pieces.fetch_add(1) % most;
  return size < piece ? size : piece;
}

}  // namespace rota::test
