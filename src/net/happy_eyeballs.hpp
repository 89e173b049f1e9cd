// Several attempts at one thing, a little after each other, of which the first that succeeds counts: RFC 8305, section 5.
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

/// The families take turns, the first one's first; each keeps its order.
[[nodiscard]] std::vector<endpoint> in_turns(const std::vector<endpoint>& all);

/// What the attempts have come to.
template <class T>
class race_state {
 public:
  /// By an attempt that is over. True: it has won. Whoever comes later keeps its own.
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
    // Nobody else touches it: has_winner_ was set once.
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
  /// Something was noted since the last one.
  [[nodiscard]] sync::event& news() noexcept { return news_; }

  /// When all have ended.
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

/// One has failed since `failed_before`, or one has won.
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

/// `connect(endpoint)` returns a task<io::result<T>>. `to` is not empty.
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
