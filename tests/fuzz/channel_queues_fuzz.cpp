// Tasks at a bounded, an unbounded and a oneshot channel, beside plain models of them.
#include <optional>

#include "item.hpp"
#include "queue_beside.hpp"
#include "sequence.hpp"
#include "waits.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>

namespace {

using namespace fuzz;
using namespace std::chrono_literals;
namespace channel = rota::channel;

number code_of_item(std::optional<item>& got) { return got.has_value() ? got->what() : closed; }
number code_of_item(std::expected<item, channel::recv_status>& got) {
  return got.has_value() ? got->what() : code_of(got.error());
}

template <class Sender>
struct send_wait {
  loan<Sender> by;
  item what;
  auto leaf() { return by.get().send(std::move(what)); }
  auto timed(std::chrono::milliseconds limit) { return by.get().send_for(limit, std::move(what)); }
  static number got(channel::send_status how) { return code_of(how); }
};

template <class Receiver>
struct receive_wait {
  loan<Receiver> by;
  auto leaf() { return by.get().recv(); }
  auto timed(std::chrono::milliseconds limit) { return by.get().recv_for(limit); }
  template <class Got>
  static number got(Got got) {
    return code_of_item(got);
  }
};

/// The only half of its side.
struct oneshot_wait {
  channel::oneshot_receiver<item>* of;
  auto leaf() { return of->recv(); }
  auto timed(std::chrono::milliseconds limit) { return of->recv_for(limit); }
  template <class Got>
  static number got(Got got) {
    return code_of_item(got);
  }
};

using bounded_queue = queue_beside<channel::sender<item>, channel::receiver<item>>;
using unbounded_queue = queue_beside<channel::unbounded_sender<item>, channel::unbounded_receiver<item>>;

struct oneshot_pair {
  std::optional<channel::oneshot_sender<item>> sender;
  std::optional<channel::oneshot_receiver<item>> receiver;
  std::optional<oneshot_reference> should;
};

class queues {
 public:
  queues(scene& in, number shape) : in_(&in), shape_(shape) { renew(shape); }

  /// With one channel, or with any.
  void step(const operation& next) {
    const number focus = shape_ / 256 % 4;
    const bool is_bounded = focus < 2 ? focus == 0 : next.which % 2 == 0;
    const operation then{next.what, next.which / 2, next.how, next.then};
    in_->note("step", next.what % 32, next.which);
    const number what = focus < 2 ? next.what % 24 : next.what % 32;
    if (what >= 28) return select(next);
    if (what >= 24) return step_oneshot(next);
    if (what == 22) return renew(shape_ + next.which);
    is_bounded ? step_queue(bounded_, what, then) : step_queue(unbounded_, what, then);
  }

  void compare() {
    bounded_.compare(*in_);
    unbounded_.compare(*in_);
    if (single_.sender.has_value())
      in_->check(single_.sender->is_closed() == single_.should->is_closed(), "a oneshot is closed that is");
    in_->check(item::alive == bounded_.should->alive() + unbounded_.should->alive() + single_.should->alive(),
               "each item is at one place");
  }

  [[nodiscard]] number state() const {
    return few(bounded_.should->size()) | few(unbounded_.should->size()) << 2U |
           (bounded_.should->is_closed() ? 16U : 0U) | (unbounded_.should->is_closed() ? 32U : 0U);
  }

  /// Some receive what there is, and then all go.
  void drain() {
    for (number i = 0; i < 3; ++i) {
      receive(bounded_, i);
      receive(unbounded_, i);
      bounded_.close(i);
      unbounded_.close(i);
      drop_all(bounded_, i);
      drop_all(unbounded_, i);
    }
    if (single_.receiver.has_value()) close_oneshot();
    drop_oneshot_sender();
    drop_oneshot_receiver();
  }

 private:
  [[nodiscard]] item next_item() { return item(first_item + ++items_); }
  static plan with(reference& at, number how, const operation& next) {
    plan made = plan_of(next.how);
    made.stakes[0] = {&at, how};
    return made;
  }

  template <class Queue>
  void step_queue(Queue& at, number what, const operation& next) {
    const number which = next.which;
    switch (what) {
      case 0:
      case 1: return start_send(at, next);
      case 2:
      case 4:
      case 5: return start_receive(at, next);
      case 6:
      case 8: return send(at, which);
      case 9:
      case 10: return receive(at, which);
      case 12: return send_in_no_time(at, which);
      case 13: return receive_in_no_time(at, which);
      case 14: return at.copy_sender(which);
      case 16: return at.copy_receiver(which);
      case 17: return at.drop_sender(which);
      case 18: return at.drop_receiver(which);
      case 20: return try_select(at, which);
      default: return which % 4 == 0 ? at.close(which / 4) : send(at, which);
    }
  }

  template <class Queue>
  auto sends(Queue& at, number which, number& how) {
    const bool is_own = which % 2 != 0;
    send_wait<typename Queue::sender_half> made{{*at.sender(which / 2), is_own}, next_item()};
    how = (first_item + items_) | (is_own ? queue_reference::own_half : 0);
    return made;
  }
  template <class Queue>
  auto receives(Queue& at, number which, number& how) {
    const bool is_own = which % 2 != 0;
    how = is_own ? queue_reference::own_half : 0;
    return receive_wait<typename Queue::receiver_half>{{*at.receiver(which / 2), is_own}};
  }
  template <class Queue>
  void start_send(Queue& at, const operation& next) {
    if (at.sender(0) == nullptr || !in_->has_room()) return;
    number how = 0;
    auto kind = sends(at, next.which, how);
    start_wait(*in_, with(at.should->sends, how, next), std::move(kind));
  }
  template <class Queue>
  void start_receive(Queue& at, const operation& next) {
    if (at.receiver(0) == nullptr || !in_->has_room()) return;
    number how = 0;
    auto kind = receives(at, next.which, how);
    start_wait(*in_, with(at.should->receives, how, next), std::move(kind));
  }

  template <class Queue>
  void send(Queue& at, number which) {
    auto* const by = at.sender(which);
    if (by == nullptr) return;
    item what = next_item();
    const number should = at.should->try_send(what.what());
    in_->check(code_of(by->it->try_send(std::move(what))) == should, "an item is taken where there is room");
    // NOLINTNEXTLINE(bugprone-use-after-move): that is the question
    in_->check((what.what() == 0) == (should == yes), "an item that is not sent stays where it is");
  }
  template <class Queue>
  void send_in_no_time(Queue& at, number which) {
    auto* const by = at.sender(which);
    if (by == nullptr) return;
    item what = next_item();
    const number id = what.what();
    const number got = code_of(by->it->blocking_send_for(0ms, std::move(what)));
    if (!at.should->sends.is_there(thread, id)) return in_->check(got == late, "a thread comes too late");
    at.should->sends.arrive(thread, id);
    in_->check(got == at.should->sends.take(thread), "a thread sends where there is room");
  }
  template <class Queue>
  void receive(Queue& at, number which) {
    auto* const by = at.receiver(which);
    if (by == nullptr) return;
    auto got = by->it->try_recv();
    in_->check(code_of_item(got) == at.should->receive(), "an item is had that is there");
  }
  template <class Queue>
  void receive_in_no_time(Queue& at, number which) {
    auto* const by = at.receiver(which);
    if (by == nullptr) return;
    auto got = by->it->blocking_recv_for(0ms);
    const number should = at.should->receive();
    in_->check(code_of_item(got) == (should == empty ? late : should), "a thread has an item that is there");
  }
  /// Selects without a wait. An item that it takes is sent again.
  template <class Queue>
  void try_select(Queue& at, number which) {
    auto* const from = at.receiver(which);
    auto* const to = at.sender(which);
    if (from == nullptr || to == nullptr || single_.receiver == std::nullopt || is_awaited()) return;
    auto first = channel::try_select(from->it->recv(), single_.receiver->recv());
    if (!first.has_value()) {
      in_->check(at.should->receive() == empty && single_.should->receive() == empty,
                 "a case is had that is there");
      return;
    }
    const number should = first->index() == 0 ? at.should->receive() : single_.should->receive();
    const number got =
        first->index() == 0 ? code_of_item(first->template get<0>()) : code_of_item(first->template get<1>());
    in_->check(got == should, "a case yields what is there");
  }
  template <class Queue>
  void drop_all(Queue& at, number which) {
    at.drop_sender(which);
    at.drop_receiver(which);
  }

  [[nodiscard]] bool is_awaited() const { return in_->is_staked(*single_.should); }
  void step_oneshot(const operation& next) {
    if (next.what % 32 == 24) {
      if (single_.receiver.has_value() && !is_awaited())
        start_wait(*in_, with(*single_.should, 0, next), oneshot_wait{&*single_.receiver});
      return;
    }
    switch (next.which % 8) {
      case 0: return drop_oneshot_sender();
      case 1: return drop_oneshot_receiver();
      case 2: return close_oneshot();
      case 3:
      case 4: return receive_oneshot(next.which % 8 == 3);
      case 5: return renew_oneshot();
      default: return send_oneshot();
    }
  }
  void send_oneshot() {
    if (!single_.sender.has_value()) return;
    item what = next_item();
    const number should = single_.should->send(what.what());
    in_->check(code_of(std::move(*single_.sender).send(std::move(what))) == should, "an item is sent once");
    single_.sender.reset();
  }
  void receive_oneshot(bool by_thread) {
    if (!single_.receiver.has_value() || is_awaited()) return;
    auto got = by_thread ? single_.receiver->blocking_recv_for(0ms) : single_.receiver->try_recv();
    const number should = single_.should->receive();
    in_->check(code_of_item(got) == (should == empty && by_thread ? late : should), "an item is had once");
  }
  void close_oneshot() {
    if (!single_.receiver.has_value()) return;
    single_.receiver->close();
    single_.should->close();
  }
  void drop_oneshot_sender() {
    if (!single_.sender.has_value()) return;
    single_.sender.reset();
    single_.should->drop_sender();
  }
  void drop_oneshot_receiver() {
    if (!single_.receiver.has_value() || is_awaited()) return;
    single_.receiver.reset();
    single_.should->drop_receiver();
  }
  void renew_oneshot() {
    if (single_.sender.has_value() || single_.receiver.has_value()) return;
    auto made = channel::oneshot<item>();
    single_.sender.emplace(std::move(made.sender));
    single_.receiver.emplace(std::move(made.receiver));
    single_.should.emplace();
  }

  void select(const operation& next) {
    if (bounded_.sender(0) == nullptr || bounded_.receiver(0) == nullptr || !in_->has_room()) return;
    if (unbounded_.receiver(0) == nullptr) return;
    plan how = select_plan_of(next.how);
    const number which = next.which / 4;
    switch (next.which % 4) {
      case 0: {
        auto a = receives(bounded_, which, how.stakes[0].how);
        auto b = receives(unbounded_, which / 4, how.stakes[1].how);
        how.stakes[0].at = &bounded_.should->receives;
        how.stakes[1].at = &unbounded_.should->receives;
        return start_select(*in_, how, std::move(a), std::move(b));
      }
      case 1: {
        auto a = sends(bounded_, which, how.stakes[0].how);
        auto b = receives(unbounded_, which / 4, how.stakes[1].how);
        how.stakes[0].at = &bounded_.should->sends;
        how.stakes[1].at = &unbounded_.should->receives;
        return start_select(*in_, how, std::move(a), std::move(b));
      }
      default: {
        if (!single_.receiver.has_value() || is_awaited()) return;
        auto a = receives(bounded_, which, how.stakes[0].how);
        how.stakes[0].at = &bounded_.should->receives;
        how.stakes[1] = {&*single_.should, 0};
        return start_select(*in_, how, std::move(a), oneshot_wait{&*single_.receiver});
      }
    }
  }

  void renew(number shape) {
    const number room = 1 + shape % 4;
    const auto on_full = static_cast<queue_reference::policy>(shape / 4 % 8 > 3 ? 0 : shape / 4 % 4);
    bounded_.begin(room, on_full, [&] {
      return channel::bounded<item>(room, {.on_full = static_cast<channel::overflow>(on_full)});
    });
    unbounded_.begin(
        queue_reference::no_limit, queue_reference::policy::wait, [] { return channel::unbounded<item>(); });
    renew_oneshot();
  }

  scene* in_;
  number shape_;
  number items_ = 0;
  bounded_queue bounded_;
  unbounded_queue unbounded_;
  oneshot_pair single_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  play<queues>(fuzz::text_of(data, size));
  return 0;
}
