// A coroutine takes its argument by reference and is kept longer than the argument: clang warns on request.
// ONLY: clang
// FLAGS: -DROTA_CHECK_LIFETIMES
// EXPECT: kept.*Wdangling
#include <rota/task.hpp>

#include <string>

rota::task<std::size_t> length(const std::string& text) { co_return text.size(); }

rota::task<std::size_t> asks() {
  auto kept = length(std::string("gone at the end of this line"));
  co_return co_await std::move(kept);
}
