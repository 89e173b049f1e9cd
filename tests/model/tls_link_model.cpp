// A link of TLS with an engine that encrypts nothing: one task reads and one writes, with cancellations. No
// lost wakeup, no lost byte, and none comes twice.
#include "base/mutex.hpp"
#include "model/waiting.hpp"

#include <rota/detail/tls_link.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/duplex.hpp>
#include <rota/sync/semaphore.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::tls {
namespace {

using io::duplex_end;
using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::watched;
using testing::check;
using testing::execution;

// Of two owners the last one destroys what the other one has used.
TEST(tls_link_model, the_last_owner_destroys_what_the_other_one_has_used) {
  struct counted final : detail::shared_part {};
  const auto body = [](execution& e) {
    auto* const both = new counted;
    both->retain();
    for (int i = 0; i < 2; ++i) e.thread("owner", [both] { both->release(); });
  };
  expect_holds_everywhere("tls_last_owner", body);
}

/// A record is its mark and a byte. A message without data is two bytes, with no record between them.
class plain_engine {
 public:
  static constexpr std::byte mark{0xf0};
  static constexpr std::byte first_half{0xf1};
  static constexpr std::byte second_half{0xf2};
  static constexpr std::byte question{0xf3};  // the answer must go before a read goes on
  static constexpr std::byte remark{0xf4};    // the answer goes when it can
  static constexpr std::byte answer{9};
  static constexpr std::byte farewell{8};

  [[nodiscard]] detail::moved read(std::span<std::byte> into) {
    const base::turn_guard inside(lock_);
    take_in();
    if (is_asked_ && !out_.empty()) return {.what = detail::step::wants_room};
    if (data_.empty() && has_ended_) return {};
    if (data_.empty()) return wants_bytes();
    into[0] = data_.front();
    data_.erase(data_.begin());
    return {.bytes = 1};
  }
  [[nodiscard]] detail::moved write(std::span<const std::byte> from) {
    const base::turn_guard inside(lock_);
    take_in();
    if (is_between_halves_) return wants_bytes();
    make_record(from[0]);
    return {.bytes = 1};
  }
  [[nodiscard]] detail::moved finish() {
    const base::turn_guard inside(lock_);
    take_in();
    if (has_finished_) return {};
    if (is_between_halves_) return wants_bytes();
    make_record(farewell);
    has_finished_ = true;
    return {};
  }
  [[nodiscard]] bool may_write() noexcept {
    const base::turn_guard inside(lock_);
    return !has_finished_;
  }
  [[nodiscard]] static std::error_code error() noexcept { return make_error_code(rota::errc::end_of_stream); }
  [[nodiscard]] static std::error_code write_error() noexcept { return error(); }

  [[nodiscard]] bool has_arrived_since(std::uint64_t seen) noexcept {
    const base::turn_guard inside(lock_);
    return arrivals_ != seen;
  }
  [[nodiscard]] std::span<std::byte> room(std::uint64_t seen) noexcept {
    const base::turn_guard inside(lock_);
    if (arrivals_ != seen) return {};
    check(in_size_ == 0, "there is room");
    return std::span(&in_, 1);
  }
  void arrived(std::size_t count) noexcept {
    const base::turn_guard inside(lock_);
    in_size_ = count;
    has_ended_ = count == 0;
    ++arrivals_;
  }
  [[nodiscard]] bool has_news() noexcept {
    const base::turn_guard inside(lock_);
    return !out_.empty();
  }
  [[nodiscard]] std::span<const std::byte> outgoing() {
    if (sent_ == sending_.size()) {
      sending_.clear();
      sent_ = 0;
      const base::turn_guard inside(lock_);
      sending_.swap(out_);
    }
    return std::span(sending_).subspan(sent_);
  }
  void sent(std::size_t count) noexcept { sent_ += count; }
  void keep(std::span<const std::byte> bytes) { unsettled_ = bytes[0]; }
  [[nodiscard]] detail::moved settle(std::span<const std::byte> from) noexcept {
    if (!unsettled_.has_value()) return {};
    check(*unsettled_ == from[0], "it begins with the same byte");
    unsettled_.reset();
    return {.bytes = 1};
  }

 private:
  [[nodiscard]] detail::moved wants_bytes() const noexcept {
    return {.what = detail::step::wants_bytes, .arrivals = arrivals_};
  }
  void make_record(std::byte of) {
    out_.push_back(mark);
    out_.push_back(of);
  }
  void take_in() {
    if (in_size_ == 0) return;
    in_size_ = 0;
    if (in_ == first_half || in_ == second_half) {
      is_between_halves_ = in_ == first_half;
    } else if (in_ == question || in_ == remark) {
      make_record(answer);
      is_asked_ = is_asked_ || in_ == question;
    } else if (in_ != mark) {
      data_.push_back(in_);
    }
  }

  base::mutex lock_;
  std::byte in_{};
  std::size_t in_size_ = 0;
  std::uint64_t arrivals_ = 0;
  bool has_ended_ = false;
  bool is_between_halves_ = false;
  bool is_asked_ = false;
  bool has_finished_ = false;
  std::vector<std::byte> data_;
  std::vector<std::byte> out_;
  std::vector<std::byte> sending_;
  std::size_t sent_ = 0;
  std::optional<std::byte> unsettled_;
};

using plain_link = detail::link<plain_engine, duplex_end>;

struct shared {
  explicit shared(std::size_t capacity) : shared(io::duplex(capacity)) {}
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;
  ~shared() { link->release(); }

  plain_link* link;
  duplex_end far;
  model_scheduler s;

 private:
  explicit shared(std::pair<duplex_end, duplex_end> ends)
      : link(new plain_link(std::move(ends.first))), far(std::move(ends.second)) {}
};

/// Reads one byte after the other, and expects those from `first` to `last`.
task<void> reads(shared& x, int first, int last) {
  for (int next = first; next <= last; ++next) {
    std::byte one{};
    const result<std::size_t> got = co_await x.link->read(std::span(&one, 1));
    check(got == 1U && std::to_integer<int>(one) == next, "each byte comes, in order");
  }
}
task<void> writes(shared& x, int what) {
  const auto one = static_cast<std::byte>(what);
  const result<std::size_t> put = co_await x.link->write(std::span(&one, 1));
  check(put == 1U, "it is taken");
}

/// The peer sees it as the other one, `farewell`.
task<void> finishes(shared& x, int /*farewell*/) {
  const result<void> end = co_await x.link->finish();
  check(end.has_value(), "it goes");
}

task<void> gives(shared& x, std::byte what) {
  const result<std::size_t> put = co_await x.far.write(std::span(&what, 1));
  check(put == 1U, "somebody reads");
}
/// At the far end, a record of this byte, and no more.
task<void> hears(shared& x, int what) {
  for (const std::byte expected : {plain_engine::mark, static_cast<std::byte>(what)}) {
    std::byte one{};
    const result<std::size_t> got = co_await x.far.read(std::span(&one, 1));
    check(got == 1U && one == expected, "records come whole, and once");
  }
}

// The reader gets the second half, and wants more; the peer waits for the writer before it sends more.
task<void> answers_between(shared& x, int what) {
  co_await gives(x, plain_engine::second_half);
  co_await hears(x, what);
  co_await gives(x, std::byte{1});
}

using sends = task<void>(shared&, int);
constexpr int bye = std::to_integer<int>(plain_engine::farewell);

void expect_hears_of_what_a_reader_has_got(std::string_view name, sends* sender, int what) {
  expect_holds_everywhere(
      name,
      [=](execution& e) {
        auto& x = e.make<shared>(std::size_t{2});
        const std::byte half = plain_engine::first_half;
        check(x.far.try_write(std::span(&half, 1)) == 1U, "there is room");
        auto& reader = e.make<watched<void>>(x.s, reads(x, 1, 1));
        auto& writer = e.make<watched<void>>(x.s, sender(x, what));
        auto& peer = e.make<watched<void>>(x.s, answers_between(x, what));
        add_workers(e, x.s, 2);
        e.finally([&] {
          check(!reader.was_cancelled() && !writer.was_cancelled() && !peer.was_cancelled(),
                "all have ended");
        });
      },
      1);
}

TEST(tls_link_model, a_writer_continues_when_a_reader_has_received_bytes_for_it) {
  expect_hears_of_what_a_reader_has_got("tls_halves", writes, 7);
}
TEST(tls_link_model, a_finish_continues_when_a_reader_has_received_bytes_for_it) {
  expect_hears_of_what_a_reader_has_got("tls_halves_at_the_end", finishes, bye);
}

/// At the far end: so many records, which say as much as `sum`.
task<void> expects_records(shared& x, int count, int sum) {
  for (int i = 0; i < count; ++i) {
    std::byte record[2] = {};
    const result<void> got = co_await io::read_exact(x.far, record);
    check(got.has_value() && record[0] == plain_engine::mark, "records come whole");
    sum -= std::to_integer<int>(record[1]);
  }
  check(sum == 0, "each comes once");
}
/// The writer's and an answer; one more for each further question; and only then something for the reader.
task<void> asks(shared& x, std::byte what, int times) {
  co_await gives(x, what);
  co_await expects_records(x, 2, 7 + 9);
  for (int i = 1; i < times; ++i) {
    co_await gives(x, what);
    co_await expects_records(x, 1, 9);
  }
  co_await gives(x, std::byte{1});
}

void expect_answers(
    std::string_view name, std::byte what, int times, std::size_t capacity, unsigned preemptions = 1) {
  expect_holds_everywhere(
      name,
      [=](execution& e) {
        auto& x = e.make<shared>(capacity);
        auto& reader = e.make<watched<void>>(x.s, reads(x, 1, 1));
        auto& writer = e.make<watched<void>>(x.s, writes(x, 7));
        auto& peer = e.make<watched<void>>(x.s, asks(x, what, times));
        add_workers(e, x.s, 2);
        e.finally([&] {
          check(!reader.was_cancelled() && !writer.was_cancelled() && !peer.was_cancelled(),
                "all have ended");
        });
      },
      preemptions);
}

// There is space for half of a record, and two tasks have one to send.
TEST(tls_link_model, a_reader_that_answers_waits_for_its_turn) {
  expect_answers("tls_answer", plain_engine::question, 1, 1);
}

// There is space for both, and the reader does not wait for the turn: the owner of the turn sends the answer.
TEST(tls_link_model, an_answer_is_sent_although_the_reader_waits_for_no_turn) {
  expect_answers("tls_remark", plain_engine::remark, 1, 4);
}
// The second answer is made when the first is sent. Its sender may still have the turn and see no more.
TEST(tls_link_model, an_answer_made_while_another_is_sent_is_also_sent) {
  expect_answers("tls_two_remarks", plain_engine::remark, 2, 4, 2);
}

/// One that is cancelled, wherever it is; and the same once more after that.
struct with_a_second : shared {
  with_a_second(std::size_t capacity, task<void> (*what)(shared&, int), int byte)
      : shared(capacity),
        what_(what),
        byte_(byte),
        task_(&s.launch(what(*this, byte))),
        first_(*task_),
        of_first(*task_) {}
  task<void> again() {
    const outcome<void> end = co_await first_.result();
    if (end.is_cancelled()) co_await what_(*this, byte_);
  }

 private:
  task<void> (*what_)(shared&, int);
  int byte_;
  core::header* task_;
  join_handle<void> first_;

 public:
  canceller of_first;
};

task<void> reads_one(shared& x, int byte) { co_await reads(x, byte, byte); }

// The writer has to read then, and what comes after the half is there for the next reader.
TEST(tls_link_model, a_writer_reads_if_the_reader_has_gone) {
  expect_holds_everywhere(
      "tls_reader_goes",
      [](execution& e) {
        auto& x = e.make<with_a_second>(std::size_t{4}, reads_one, 1);
        const std::byte half = plain_engine::first_half;
        check(x.far.try_write(std::span(&half, 1)) == 1U, "there is room");
        auto& again = e.make<watched<void>>(x.s, x.again());
        auto& writer = e.make<watched<void>>(x.s, writes(x, 7));
        auto& peer = e.make<watched<void>>(x.s, answers_between(x, 7));
        add_workers(e, x.s, 2);
        e.thread("canceller", [&x] { x.of_first.cancel(); });
        e.finally([&] {
          check(!again.was_cancelled() && !writer.was_cancelled() && !peer.was_cancelled(), "all have ended");
        });
      },
      1);
}

/// At the far end: a record, and nothing more until the link goes.
task<void> hears_once(shared& x, int what, int& heard) {
  co_await hears(x, what);
  ++heard;
}

// There is room for half of a record.
void expect_comes_once(std::string_view name, sends* sender, int what, unsigned preemptions) {
  const auto scene = [=](execution& e) {
    auto& x = e.make<with_a_second>(std::size_t{1}, sender, what);
    auto& heard = e.make<int>(0);
    auto& again = e.make<watched<void>>(x.s, x.again());
    auto& peer = e.make<watched<void>>(x.s, hears_once(x, what, heard));
    add_workers(e, x.s, 2);
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&] {
      check(!again.was_cancelled() && !peer.was_cancelled() && heard == 1, "both have ended");
      std::byte more{};
      check(!x.far.try_read(std::span(&more, 1)).has_value(), "and nothing more has come");
    });
  };
  expect_holds_everywhere(name, scene, preemptions);
}

TEST(tls_link_model, a_write_that_is_tried_again_comes_once) {
  expect_comes_once("tls_tried_again", writes, 7, 2);
}
TEST(tls_link_model, an_end_that_is_tried_again_comes_once) {
  expect_comes_once("tls_finished_again", finishes, bye, 1);
}

/// One that is cancelled, since the far end takes nothing until it has ended; and then one that reads.
struct with_a_reader : shared {
  with_a_reader(sends* what, int byte)
      : shared(2), what_(byte), task_(&s.launch(what(*this, byte))), first_(*task_), of_first(*task_) {
    const std::byte filler{};
    check(link->below().try_write(std::span(&filler, 1)) == 1U, "there is room for half of a record");
  }
  task<void> reads_then() {
    static_cast<void>(co_await may_read_.acquire());
    co_await reads(*this, 1, 1);
  }
  /// Makes room, and expects what is missing of a record.
  task<void> takes_the_rest() {
    const outcome<void> end = co_await first_.result();
    check(end.is_cancelled(), "it had no room");
    std::byte had[2] = {};
    const result<std::size_t> before = far.try_read(had);
    may_read_.release();
    if (before == 2U) {
      std::byte rest{};
      const result<std::size_t> got = co_await far.read(std::span(&rest, 1));
      check(got == 1U && had[1] == plain_engine::mark && std::to_integer<int>(rest) == what_,
            "the reader sends the rest");
    }
    co_await gives(*this, std::byte{1});
  }

 private:
  int what_;
  core::header* task_;
  join_handle<void> first_;
  sync::semaphore may_read_{0};

 public:
  canceller of_first;
};

void expect_a_rest_goes_with_a_reader(std::string_view name, sends* sender, int what) {
  expect_holds_everywhere(
      name,
      [=](execution& e) {
        auto& x = e.make<with_a_reader>(sender, what);
        auto& reader = e.make<watched<void>>(x.s, x.reads_then());
        auto& peer = e.make<watched<void>>(x.s, x.takes_the_rest());
        add_workers(e, x.s, 2);
        e.thread("canceller", [&x] { x.of_first.cancel(); });
        e.finally([&] { check(!reader.was_cancelled() && !peer.was_cancelled(), "both have ended"); });
      },
      1);
}

TEST(tls_link_model, the_rest_of_a_cancelled_write_is_sent_by_a_reader) {
  expect_a_rest_goes_with_a_reader("tls_rest", writes, 7);
}
TEST(tls_link_model, the_rest_of_a_cancelled_finish_is_sent_by_a_reader) {
  expect_a_rest_goes_with_a_reader("tls_rest_of_an_end", finishes, bye);
}

}  // namespace
}  // namespace rota::tls
