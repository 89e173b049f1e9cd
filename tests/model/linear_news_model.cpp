// F3: a watch and a broadcast behave like plain ones with operations of one step: see linear.hpp. Each thread
// has a receiver of its own. The only exception: a wait with a limit may give up beside a send.
#include "model/linear.hpp"

#include <rota/channel/broadcast.hpp>
#include <rota/channel/watch.hpp>

#include <chrono>
#include <compare>
#include <optional>
#include <vector>

namespace rota {
namespace {

using model::expect_linear;
using model::history;
using model::operation;

constexpr auto moment = std::chrono::milliseconds(1);

/// The result of an operation without a value.
enum answer : std::uint64_t { yes = 1000, no, late, over, lagged = 2000 };

/// A value that lies in a node; a plain number lies in words.
class in_node {
 public:
  in_node(std::uint64_t number) noexcept
      : number_(number) {}  // NOLINT(google-explicit-constructor): as a number
  in_node(const in_node& other) noexcept : number_(other.number_) {}
  in_node& operator=(const in_node&) = default;
  ~in_node() = default;
  operator std::uint64_t() const noexcept { return number_; }  // NOLINT(google-explicit-constructor)

 private:
  std::uint64_t number_;
};
static_assert(!channel::detail::lies_in_words<in_node> && channel::detail::lies_in_words<std::uint64_t>);

// ---- a watch ----------------------------------------------------------------------------------------------

enum watch_does : unsigned {
  send,
  modify,
  get,
  update,
  try_changed,
  changed_for,
  subscribe,
  close,
  watch_kinds
};

struct watch_state {
  static constexpr std::uint64_t more = 20;  // added by a modification

  std::uint64_t value = 0;
  std::uint64_t count = 0;
  bool is_closed = false;
  std::array<std::uint64_t, 3> seen{};
  friend auto operator<=>(const watch_state&, const watch_state&) = default;

  /// `given`: what is sent, or the thread.
  bool admits(const operation& o) {
    switch (o.what) {
      case send:
        if (is_closed || o.got != yes) return is_closed && o.got == over;
        return replace(o.given);
      case modify:
        if (is_closed || o.got != value) return is_closed && o.got == over;
        return replace(value + more);
      case get: return o.got == value;
      case update: seen.at(o.given) = count; return o.got == value;
      case subscribe: seen.at(o.given) = count; return true;
      case close: is_closed = true; return true;
      default: return admits_news(o, seen.at(o.given));
    }
  }

 private:
  bool replace(std::uint64_t by) {
    value = by;
    ++count;
    return true;
  }
  bool admits_news(const operation& o, std::uint64_t& mine) {
    const bool is_news = count > mine;
    if (o.got == yes) {
      mine = count;
      return is_news;
    }
    if (o.got == over) return is_closed && !is_news;
    return (!is_news && !is_closed) || (o.got == late && o.is_beside_another);
  }
};

template <class T>
class watch_scene {
 public:
  using state = watch_state;
  static constexpr unsigned kinds = 12;
  static constexpr std::array<std::string_view, 8> names{
      "send", "send_modify", "get", "get_and_update", "try_changed", "changed_for", "subscribe", "close"};

  watch_scene() : made_(channel::watch<T>(T(0))), receivers_(3, made_.receiver) {}

  [[nodiscard]] static state before() { return {}; }
  void does(history<state>& seen, unsigned kind, unsigned thread) {
    const std::uint64_t item = ++last_;
    auto& mine = receivers_.at(thread);
    switch (kind % watch_kinds) {
      case send: return seen.add(send, item, [&] { return of(made_.sender.send(T(item))); });
      case modify: return seen.add(modify, 0, [&] { return modifies(); });
      case get: return seen.add(get, 0, [&]() -> std::uint64_t { return made_.sender.get(); });
      case update: return seen.add(update, thread, [&]() -> std::uint64_t { return mine.get_and_update(); });
      case try_changed: return seen.add(try_changed, thread, [&] { return of(mine.try_changed()); });
      case changed_for:
        return seen.add(changed_for, thread, [&] { return of(mine.blocking_changed_for(moment)); });
      case subscribe:
        return seen.add(subscribe, thread, [&]() -> std::uint64_t {
          mine = made_.sender.subscribe();
          return yes;
        });
      default:
        return seen.add(close, 0, [&]() -> std::uint64_t {
          made_.sender.close();
          return yes;
        });
    }
  }

 private:
  /// Returns the value from before.
  std::uint64_t modifies() {
    std::uint64_t old = 0;
    const auto how = made_.sender.send_modify([&old](T& value) {
      old = value;
      value = T(old + watch_state::more);
    });
    return how == channel::send_status::sent ? old : std::uint64_t{over};
  }
  static std::uint64_t of(channel::send_status how) { return how == channel::send_status::sent ? yes : over; }
  static std::uint64_t of(const std::expected<void, channel::recv_status>& got) {
    if (got.has_value()) return yes;
    if (got.error() == channel::recv_status::closed) return over;
    return got.error() == channel::recv_status::timed_out ? late : no;
  }

  decltype(channel::watch<T>(T(0))) made_;
  std::vector<channel::watch_receiver<T>> receivers_;
  std::uint64_t last_ = 0;  // of the scene, with threads that take turns
};

TEST(linear_watch_and_broadcast_model, watch_of_values_in_words_is_linearizable) {
  expect_linear<watch_scene<std::uint64_t>>("linear_watch_words");
}
TEST(linear_watch_and_broadcast_model, watch_of_values_in_nodes_is_linearizable) {
  expect_linear<watch_scene<in_node>>("linear_watch_nodes");
}

// ---- a broadcast ------------------------------------------------------------------------------------------

enum broadcast_does : unsigned { tell, try_recv, recv_for, come, leave, end };

struct broadcast_state {
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};

  std::uint64_t capacity = 0;
  std::vector<std::uint64_t> sent;
  std::array<std::uint64_t, 3> next{};  // of each thread's receiver; the largest number: it has none
  bool is_closed = false;
  friend auto operator<=>(const broadcast_state&, const broadcast_state&) = default;

  /// `given`: what is sent, or the thread.
  bool admits(const operation& o) {
    switch (o.what) {
      case tell: return admits_send(o);
      case come: next.at(o.given) = sent.size(); return true;
      case leave: next.at(o.given) = nobody; return true;
      case end: is_closed = true; return true;
      default: return admits_recv(o, next.at(o.given));
    }
  }

 private:
  bool admits_send(const operation& o) {
    if (is_closed) return o.got == over;
    if (next == std::array{nobody, nobody, nobody}) return o.got == no;
    sent.push_back(o.given);
    return o.got == yes;
  }
  bool admits_recv(const operation& o, std::uint64_t& mine) {
    if (o.got == late) return (mine == sent.size() && !is_closed) || o.is_beside_another;
    if (mine == sent.size()) return o.got == (is_closed ? std::uint64_t{over} : no);
    const std::uint64_t behind = sent.size() - mine;
    if (behind > capacity) {
      mine = sent.size() - capacity;
      return o.got == lagged + behind - capacity;
    }
    return o.got == sent.at(mine++);
  }
};

template <class T>
class broadcast_scene {
 public:
  using state = broadcast_state;
  static constexpr unsigned kinds = 9;
  static constexpr std::array<std::string_view, 8> names{
      "send", "try_recv", "recv_for", "subscribe", "leave", "close"};

  explicit broadcast_scene(std::uint64_t capacity) : capacity_(capacity) {
    auto made = channel::broadcast<T>(capacity);
    receivers_.at(0).emplace(made.sender.subscribe());
    receivers_.at(1).emplace(made.sender.subscribe());
    receivers_.at(2).emplace(std::move(made.receiver));
    sender_.emplace(std::move(made.sender));
  }

  [[nodiscard]] state before() const { return {.capacity = capacity_, .sent = {}}; }
  void does(history<state>& seen, unsigned kind, unsigned thread) {
    const std::uint64_t item = ++last_;
    auto& mine = receivers_.at(thread);
    if (kind < 3) return seen.add(tell, item, [&] { return of(sender_->send(T(item))); });
    if (kind == 8) {
      return seen.add(end, 0, [&]() -> std::uint64_t {
        sender_->close();
        return yes;
      });
    }
    if (!mine.has_value()) {
      return seen.add(come, thread, [&]() -> std::uint64_t {
        mine.emplace(sender_->subscribe());
        return yes;
      });
    }
    if (kind == 7) {
      return seen.add(leave, thread, [&]() -> std::uint64_t {
        mine.reset();
        return yes;
      });
    }
    if (kind < 5) return seen.add(try_recv, thread, [&] { return of(mine->try_recv()); });
    seen.add(recv_for, thread, [&] { return of(mine->blocking_recv_for(moment)); });
  }

 private:
  static std::uint64_t of(channel::send_status how) {
    if (how == channel::send_status::sent) return yes;
    return how == channel::send_status::closed ? over : no;
  }
  static std::uint64_t of(const std::expected<T, channel::no_item>& got) {
    if (got.has_value()) return *got;
    switch (got.error().why) {
      case channel::recv_status::closed: return over;
      case channel::recv_status::timed_out: return late;
      case channel::recv_status::lagged: return lagged + got.error().lagged;
      default: return no;
    }
  }

  std::uint64_t capacity_;
  std::optional<channel::broadcast_sender<T>> sender_;
  std::array<std::optional<channel::broadcast_receiver<T>>, 3> receivers_;
  std::uint64_t last_ = 0;  // as above
};

TEST(linear_watch_and_broadcast_model, broadcast_of_values_in_words_is_linearizable) {
  expect_linear<broadcast_scene<std::uint64_t>>("linear_broadcast_words", 1U);
}
TEST(linear_watch_and_broadcast_model, broadcast_of_values_in_nodes_is_linearizable) {
  expect_linear<broadcast_scene<in_node>>("linear_broadcast_nodes", 2U);
}

}  // namespace
}  // namespace rota
