// F3: channels, the semaphore and the cell behave like plain ones with operations of one step. (Those that
// tell each receiver everything: linear_news_model.cpp.)
//
// Documented limits are admitted here. A semaphore may refuse beside another operation, since a permit is
// promised to a waiter; a channel's tries may not. A late wait may, beside another operation.
#include "model/linear.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/semaphore.hpp>

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

// ---- channels ---------------------------------------------------------------------------------------------

enum channel_does : unsigned { try_send, send_for, try_recv, recv_for, close, channel_kinds };
/// The result of an operation without an item.
enum answer : std::uint64_t { yes = 1000, no, late, over, busy };

struct queue_state {
  std::vector<std::uint64_t> items;
  std::uint64_t capacity = 0;
  bool drops_oldest = false;
  std::uint64_t max_weight = 0;  // 0: its items have none
  bool senders_wait = false;     // room may be kept for a send that waits and is under way
  bool is_closed = false;
  friend auto operator<=>(const queue_state&, const queue_state&) = default;

  /// By its number.
  static std::uint64_t weight_of(std::uint64_t item) noexcept { return item % 5; }

  bool admits(const operation& o) {
    switch (o.what) {
      case try_send:
      case send_for: return admits_send(o);
      case try_recv:
      case recv_for: return admits_recv(o);
      default: is_closed = true; return true;
    }
  }

 private:
  bool admits_send(const operation& o) {
    if (o.got == over) return is_closed;
    if (is_closed) return false;
    if (o.got != yes && drops_oldest) return false;
    const bool has_room = items.size() < capacity && fits(weight_of(o.given));
    if (o.got == late) return !has_room || o.is_beside_another;
    if (o.got != yes) return !has_room || (senders_wait && (o.beside >> send_for & 1U) != 0);
    if (!has_room && !drops_oldest) return false;
    if (items.size() == capacity) items.erase(items.begin());
    items.push_back(o.given);
    return true;
  }
  [[nodiscard]] bool fits(std::uint64_t weight) const {
    if (max_weight == 0 || items.empty()) return true;
    std::uint64_t sum = weight;
    for (const std::uint64_t item : items) sum += weight_of(item);
    return sum <= max_weight;
  }
  bool admits_recv(const operation& o) {
    if (o.got == over) return is_closed && items.empty();
    if (o.got == no || o.got == late) return items.empty() || (o.got == late && o.is_beside_another);
    if (items.empty() || items.front() != o.got) return false;
    items.erase(items.begin());
    return true;
  }
};

template <class Halves>
class channel_scene {
 public:
  using state = queue_state;
  static constexpr unsigned kinds = 10;
  static constexpr std::array<std::string_view, 8> names{
      "try_send", "send_for", "try_recv", "recv_for", "close"};

  channel_scene(Halves made, std::uint64_t capacity, channel::overflow on_full = channel::overflow::wait)
      : halves_(std::move(made)),
        before_{
            .items = {}, .capacity = capacity, .drops_oldest = on_full == channel::overflow::drop_oldest} {}
  channel_scene(Halves made, state before) : halves_(std::move(made)), before_(std::move(before)) {}

  [[nodiscard]] state before() const { return before_; }
  /// A close is rarer than the others.
  void does(history<state>& seen, unsigned kind, unsigned /*thread*/) {
    const std::uint64_t item = ++last_item_;
    switch (kind) {
      case 0:
      case 1: return seen.add(try_send, item, [&] { return of(halves_.sender.try_send(item)); });
      case 2:
      case 3:
      case 4:
        return seen.add(send_for, item, [&] { return of(halves_.sender.blocking_send_for(moment, item)); });
      case 5:
      case 6: return seen.add(try_recv, 0, [&] { return of(halves_.receiver.try_recv()); });
      case 7:
      case 8: return seen.add(recv_for, 0, [&] { return of(halves_.receiver.blocking_recv_for(moment)); });
      default:
        return seen.add(close, 0, [&]() -> std::uint64_t {
          halves_.sender.close();
          return yes;
        });
    }
  }

 private:
  static std::uint64_t of(channel::send_status how) {
    switch (how) {
      case channel::send_status::sent: return yes;
      case channel::send_status::closed: return over;
      case channel::send_status::timed_out: return late;
      default: return no;
    }
  }
  static std::uint64_t of(const std::expected<std::uint64_t, channel::recv_status>& got) {
    if (got.has_value()) return *got;
    if (got.error() == channel::recv_status::closed) return over;
    return got.error() == channel::recv_status::timed_out ? late : no;
  }

  Halves halves_;
  state before_;
  std::uint64_t last_item_ = 0;  // of the scene, with threads that take turns
};

class bounded_scene : public channel_scene<decltype(channel::bounded<std::uint64_t>(1))> {
 public:
  explicit bounded_scene(std::uint64_t capacity, channel::overflow on_full = channel::overflow::wait)
      : channel_scene(channel::bounded<std::uint64_t>(capacity, {.on_full = on_full}), capacity, on_full) {}
};
class unbounded_scene : public channel_scene<decltype(channel::unbounded<std::uint64_t>())> {
 public:
  unbounded_scene() : channel_scene(channel::unbounded<std::uint64_t>(), ~std::uint64_t{0}) {}
};

// Items of weight 0 to 4, at most 3 in all: one of weight 4 is alone.
enum class sends_that_wait : bool { no, yes };
class weighed_scene : public channel_scene<decltype(channel::bounded_by_weight<std::uint64_t>(
                          1, 1, queue_state::weight_of))> {
 public:
  explicit weighed_scene(std::uint64_t capacity, sends_that_wait waiting)
      : channel_scene(channel::bounded_by_weight<std::uint64_t>(capacity, 3, queue_state::weight_of),
                      {.items = {},
                       .capacity = capacity,
                       .max_weight = 3,
                       .senders_wait = waiting == sends_that_wait::yes}),
        waiting_(waiting) {}
  void does(history<state>& seen, unsigned kind, unsigned thread) {
    const bool would_wait = kind >= 2 && kind <= 4;
    channel_scene::does(seen, would_wait && waiting_ == sends_that_wait::no ? 0 : kind, thread);
  }

 private:
  sends_that_wait waiting_;
};

// Where no sender waits, a try is refused only by what is in the channel.
TEST(linear_model, channel_bounded_by_weight_is_linearizable) {
  expect_linear<weighed_scene>("linear_weighed_3", 3U, sends_that_wait::no);
  expect_linear<weighed_scene>("linear_weighed_waits_2", 2U, sends_that_wait::yes);
}

TEST(linear_model, bounded_channel_is_linearizable) {
  expect_linear<bounded_scene>("linear_bounded_1", 1U);
  expect_linear<bounded_scene>("linear_bounded_3", 3U);
}
TEST(linear_model, bounded_channel_that_rejects_is_linearizable) {
  expect_linear<bounded_scene>("linear_reject_2", 2U, channel::overflow::reject);
}
// The drop and the send are one step, and the new item always gets in.
TEST(linear_model, bounded_channel_that_drops_the_oldest_is_linearizable) {
  expect_linear<bounded_scene>("linear_drops_1", 1U, channel::overflow::drop_oldest);
  expect_linear<bounded_scene>("linear_drops_2", 2U, channel::overflow::drop_oldest);
  expect_linear<bounded_scene>("linear_drops_3", 3U, channel::overflow::drop_oldest);
}
TEST(linear_model, unbounded_channel_is_linearizable) { expect_linear<unbounded_scene>("linear_unbounded"); }

// ---- oneshots ---------------------------------------------------------------------------------------------

enum oneshot_does : unsigned { send_once, go, is_closed, try_take, take_for, end, oneshot_kinds };

/// Three of them, in a ring: each thread sends through its own, and receives from the next one.
struct ring_state {
  struct one {
    std::uint64_t item = 0;  // 0: none was sent
    bool is_taken = false;
    bool is_closed = false;
    friend auto operator<=>(const one&, const one&) = default;
  };
  std::array<one, 3> all;
  friend auto operator<=>(const ring_state&, const ring_state&) = default;

  static constexpr std::uint64_t stride = 100;  // of `given`: which one, and the item

  bool admits(const operation& o) {
    one& at = all.at(o.given / stride);
    const bool is_over = at.item != 0 || at.is_closed;
    switch (o.what) {
      case send_once:
        if (at.is_closed) return o.got == over;
        at.item = o.given % stride;
        return o.got == yes;
      case is_closed: return o.got == (is_over ? std::uint64_t{over} : no);
      case go:
      case end: at.is_closed = at.item == 0; return true;
      default:
        if (o.got == late && o.is_beside_another) return true;
        if (at.item == 0 || at.is_taken) return is_over ? o.got == over : o.got == no || o.got == late;
        at.is_taken = true;
        return o.got == at.item;
    }
  }
};

class ring_of_oneshots {
 public:
  using state = ring_state;
  static constexpr unsigned kinds = oneshot_kinds;
  static constexpr std::array<std::string_view, 8> names{
      "send", "go", "is_closed", "try_recv", "recv_for", "close"};

  ring_of_oneshots() {
    for (std::size_t i = 0; i < 3; ++i) {
      auto made = channel::oneshot<std::uint64_t>();
      senders_.at(i).emplace(std::move(made.sender));
      receivers_.at(i).emplace(std::move(made.receiver));
    }
  }

  [[nodiscard]] static state before() { return {}; }
  /// A thread without an item left to send receives.
  void does(history<state>& seen, unsigned kind, unsigned thread) {
    auto& sender = senders_.at(thread);
    if (kind <= is_closed && sender.has_value()) return sends(seen, kind, thread * ring_state::stride);
    const unsigned from = (thread + 1) % 3;
    receives(seen, kind <= is_closed ? unsigned{try_take} : kind, from * ring_state::stride);
  }

 private:
  using maybe_item = std::expected<std::uint64_t, channel::recv_status>;

  void sends(history<state>& seen, unsigned kind, std::uint64_t where) {
    auto& sender = senders_.at(where / ring_state::stride);
    const std::uint64_t item = ++last_;
    switch (kind) {
      case send_once:
        return seen.add(send_once, where + item, [&]() -> std::uint64_t {
          const auto how = (*std::exchange(sender, std::nullopt)).send(item);
          return how == channel::send_status::sent ? yes : over;
        });
      case go:
        return seen.add(go, where, [&]() -> std::uint64_t {
          sender.reset();
          return yes;
        });
      default: return seen.add(is_closed, where, [&] { return sender->is_closed() ? over : no; });
    }
  }
  void receives(history<state>& seen, unsigned kind, std::uint64_t where) {
    auto& receiver = *receivers_.at(where / ring_state::stride);
    switch (kind) {
      case try_take: return seen.add(try_take, where, [&] { return of(receiver.try_recv()); });
      case take_for: return seen.add(take_for, where, [&] { return of(receiver.blocking_recv_for(moment)); });
      default:
        return seen.add(end, where, [&]() -> std::uint64_t {
          receiver.close();
          return yes;
        });
    }
  }
  static std::uint64_t of(const maybe_item& got) {
    if (got.has_value()) return *got;
    if (got.error() == channel::recv_status::closed) return over;
    return got.error() == channel::recv_status::timed_out ? late : no;
  }

  std::array<std::optional<channel::oneshot_sender<std::uint64_t>>, 3> senders_;
  std::array<std::optional<channel::oneshot_receiver<std::uint64_t>>, 3> receivers_;
  std::uint64_t last_ = 0;  // as above
};

TEST(linear_model, oneshot_is_linearizable) { expect_linear<ring_of_oneshots>("linear_oneshot"); }

// ---- the semaphore ----------------------------------------------------------------------------------------

enum semaphore_does : unsigned { try_acquire, acquire_for, release, close_it };

struct permits_state {
  std::uint64_t permits = 0;
  bool is_closed = false;
  friend auto operator<=>(const permits_state&, const permits_state&) = default;

  bool admits(const operation& o) {
    if (o.what == close_it) is_closed = true;
    if (o.what == release) permits += o.given;
    if (o.what == close_it || o.what == release) return true;
    if (o.got == over) return is_closed;
    if (is_closed) return false;
    if (o.got != yes) return permits < o.given || o.is_beside_another;
    if (permits < o.given) return false;
    permits -= o.given;
    return true;
  }
};

class semaphore_scene {
 public:
  using state = permits_state;
  static constexpr unsigned kinds = 9;
  static constexpr std::array<std::string_view, 8> names{"try_acquire", "acquire_for", "release", "close"};

  [[nodiscard]] static state before() { return {.permits = 2}; }
  void does(history<state>& seen, unsigned kind, unsigned /*thread*/) {
    const std::uint64_t n = 1 + kind % 2;
    switch (kind / 2) {
      case 0:
        return seen.add(try_acquire, n, [&]() -> std::uint64_t {
          const auto got = sem_.try_acquire(n);
          if (got.has_value()) return yes;
          return got.error() == sync::acquire_refusal::closed ? over : no;
        });
      case 1:
        return seen.add(acquire_for, n, [&]() -> std::uint64_t {
          const auto got = sem_.blocking_acquire_for(moment, n);
          if (got.has_value()) return yes;
          return got.error() == make_error_code(errc::closed) ? over : late;
        });
      case 2:
      case 3:
        return seen.add(release, n, [&]() -> std::uint64_t {
          sem_.release(n);
          return yes;
        });
      default:
        return seen.add(close_it, 0, [&]() -> std::uint64_t {
          sem_.close();
          return yes;
        });
    }
  }

 private:
  sync::semaphore sem_{2};
};

TEST(linear_model, semaphore_is_linearizable) { expect_linear<semaphore_scene>("linear_semaphore"); }

// ---- the cell ---------------------------------------------------------------------------------------------

enum cell_does : unsigned { get, set, make, fail_to_make, wait_for };

struct cell_state {
  std::uint64_t value = 0;  // 0: none
  friend auto operator<=>(const cell_state&, const cell_state&) = default;

  bool admits(const operation& o) {
    switch (o.what) {
      case get: return o.got == value;
      case wait_for: return o.got == late ? value == 0 || o.is_beside_another : value != 0 && o.got == value;
      case set:
        if (o.got == no) return value != 0;
        // Another thread makes the value, and may yet fail.
        if (o.got == busy) return o.is_beside_another;
        break;
      case fail_to_make:
        if (o.got == no) return value == 0;
        return value != 0 && o.got == value;
      default:
        if (value != 0) return o.got == value;
        break;
    }
    if (value != 0 || o.got != (o.what == set ? std::uint64_t{yes} : o.given)) return false;
    value = o.given;
    return true;
  }
};

class cell_scene {
 public:
  using state = cell_state;
  static constexpr unsigned kinds = 5;
  static constexpr std::array<std::string_view, 8> names{
      "get", "set", "get_or_init", "throwing get_or_init", "wait_for"};

  [[nodiscard]] static state before() { return {}; }
  void does(history<state>& seen, unsigned kind, unsigned /*thread*/) {
    const std::uint64_t mine = ++last_;
    switch (kind) {
      case get: return seen.add(get, 0, [&] { return value(cell_.get()); });
      case set:
        return seen.add(set, mine, [&]() -> std::uint64_t {
          const auto did = cell_.set(mine);
          if (did.has_value()) return yes;
          return did.error() == sync::set_refusal::busy ? busy : no;
        });
      case make:
        return seen.add(
            make, mine, [&] { return value(&cell_.blocking_get_or_init([mine] { return mine; })); });
      case fail_to_make:
        return seen.add(fail_to_make, 0, [&]() -> std::uint64_t {
          try {
            return cell_.blocking_get_or_init([]() -> std::uint64_t { throw 1; });
          } catch (int) {
            return no;
          }
        });
      default:
        return seen.add(wait_for, 0, [&]() -> std::uint64_t {
          const auto got = cell_.blocking_wait_for(moment);
          return got.has_value() ? **got : std::uint64_t{late};
        });
    }
  }

 private:
  static std::uint64_t value(const std::uint64_t* at) { return at == nullptr ? 0 : *at; }

  sync::once_cell<std::uint64_t> cell_;
  std::uint64_t last_ = 0;  // as above
};

TEST(linear_model, once_cell_is_linearizable) { expect_linear<cell_scene>("linear_once_cell"); }

}  // namespace
}  // namespace rota
