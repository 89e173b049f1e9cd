// Staggered attempts, of which the first that succeeds is used: RFC 8305, section 5.
#pragma once

#include "base/mutex.hpp"

#include <rota/error.hpp>
#include <rota/io/result.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/scope.hpp>
#include <rota/sync/event.hpp>
#include <rota/task.hpp>
#include <rota/time.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::net::detail {

/// Returns the addresses with the families in turns, beginning with the family of the first one. Each family
/// keeps its order.
[[nodiscard]] std::vector<endpoint> in_turns(const std::vector<endpoint>& all);

/// The results of the attempts.
template <class T>
class race_state {
 public:
  /// Notes the result of an attempt that has ended. Returns true if it has won. A later success is not taken.
  bool note(io::result<T>& end) {
    bool won = false;
    {
      const base::lock_guard lock(mutex_);
      if (end.has_value() && !has_winner_) {
        has_winner_ = won = true;
      } else if (!end.has_value()) {
        ++failed_;
        error_ = end.error();
      }
    }
    // Only this thread touches winner_: has_winner_ is set once.
    if (won) winner_.emplace(std::move(*end));
    news_.set();
    return won;
  }

  [[nodiscard]] bool has_winner() noexcept {
    const base::lock_guard lock(mutex_);
    return has_winner_;
  }
  [[nodiscard]] std::size_t failed() noexcept {
    const base::lock_guard lock(mutex_);
    return failed_;
  }
  /// Is set when something was noted since the last wait.
  [[nodiscard]] sync::event& news() noexcept { return news_; }

  /// Returns the winner, or the last error. Called when all attempts have ended.
  [[nodiscard]] io::result<T> take() {
    if (winner_.has_value()) return std::move(*winner_);
    return std::unexpected(error_);
  }

 private:
  base::mutex mutex_;
  bool has_winner_ = false;
  std::size_t failed_ = 0;
  std::error_code error_;
  std::optional<T> winner_;
  sync::event news_{sync::event_reset::automatic};
};

template <class T, class Connect>
task<void> attempt(race_state<T>& all, Connect& connect, endpoint to, scope& others) {
  io::result<T> end = co_await connect(to);
  if (all.note(end)) others.cancel();
}

/// Waits until an attempt has failed since `failed_before`, or one has won.
template <class T>
task<void> until_news(race_state<T>& all, std::size_t failed_before) {
  while (!all.has_winner() && all.failed() == failed_before) co_await all.news().wait();
}

template <class T, class Connect>
task<void> begin_attempts(race_state<T>& all,
                          const std::vector<endpoint>& to,
                          std::chrono::nanoseconds delay,
                          Connect& connect,
                          scope& s) {
  for (std::size_t i = 0; i < to.size() && !all.has_winner(); ++i) {
    const std::size_t failed = all.failed();
    s.fork(attempt(all, connect, to[i], s));
    if (i + 1 == to.size()) break;
    auto news = until_news(all, failed);
    static_cast<void>(co_await timeout(delay, std::move(news)));
  }
}

/// Returns the first connection, or the last error. `connect(endpoint)` returns a task<io::result<T>>. `to`
/// is not empty.
template <class T, class Connect>
task<io::result<T>> first_connected(std::vector<endpoint> to,
                                    std::chrono::nanoseconds delay,
                                    Connect connect) {
  race_state<T> all;
  const auto body = [&](scope& s) { return begin_attempts(all, to, delay, connect, s); };
  co_await with_scope(body);
  co_return all.take();
}

}  // namespace rota::net::detail
