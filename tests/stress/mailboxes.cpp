// Many mailboxes, many senders: bounded and unbounded, in every band. Some are destroyed during sends, some
// throw, some are paused; handlers send on and make mailboxes. Every second round is on a runtime, where half
// of the handlers wait; every eighth of these is shut down during sends. Every message is served or dropped,
// once; one handler call at a time for each mailbox; messages of a sender in order. `--messages N`: that many
// to 100,000 mailboxes from 8 threads; the memory at the end is that after a tenth of them.
#include "stress.hpp"

#include <rota/gate/mailbox.hpp>
#include <rota/runtime.hpp>
#include <rota/this_task.hpp>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using namespace rota::gate;

std::atomic<std::uint64_t> violations{0};

constexpr std::size_t senders = 8;

struct letter {
  letter(std::size_t sender, std::uint32_t order) noexcept
      : from(static_cast<std::uint32_t>(sender)), number(order) {
    alive.fetch_add(1, std::memory_order_relaxed);
  }
  letter(const letter&) = delete;
  letter(letter&& other) noexcept : from(other.from), number(other.number) {
    alive.fetch_add(1, std::memory_order_relaxed);
  }
  letter& operator=(letter&&) = delete;
  ~letter() { alive.fetch_sub(1, std::memory_order_relaxed); }

  std::uint32_t from;
  std::uint32_t number;
  static inline std::atomic<std::int64_t> alive{0};
};

/// The guarantees of a handler.
struct account {
  std::array<std::uint32_t, senders> last{};
  std::atomic<bool> inside{false};
  std::atomic<std::uint64_t> served{0};

  void begin(const letter& l) {
    if (inside.exchange(true)) ++violations;
    if (l.number <= last.at(l.from)) ++violations;
    last.at(l.from) = l.number;
    ++served;
  }
  void end() { inside = false; }
};

/// Marks that a handler is inside. Also an unwound frame takes the mark back.
class inside_of {
 public:
  inside_of(account& whose, const letter& l) : whose_(&whose) { whose.begin(l); }
  inside_of(inside_of&& other) noexcept : whose_(std::exchange(other.whose_, nullptr)) {}
  inside_of& operator=(inside_of&&) = delete;
  ~inside_of() {
    if (whose_ != nullptr) whose_->end();
  }

 private:
  account* whose_;
};

void may_throw(bool throws, std::uint32_t number) {
  if (throws && number % 16 == 0) throw std::runtime_error("now and then");
}

rota::task<void> waits(inside_of /*here*/, bool throws, std::uint32_t number) {
  for (std::uint32_t i = number % 4; i != 0; --i) co_await rota::yield();
  may_throw(throws, number);
}

mailbox<letter> make(executor& on, account& mine, bool throws, bool is_task, const mailbox_options& options) {
  if (is_task) {
    return on.make_mailbox<letter>(made_by{[&mine, throws] {
                                     return [&mine, throws](letter&& l) {
                                       return waits(inside_of(mine, l), throws, l.number);
                                     };
                                   }},
                                   options);
  }
  return on.make_mailbox<letter>(made_by{[&mine, throws] {
                                   return [&mine, throws](letter&& l) {
                                     const inside_of here(mine, l);
                                     may_throw(throws, l.number);
                                   };
                                 }},
                                 options);
}

mailbox_options options_of(std::mt19937_64& random) {
  mailbox_options o;
  o.band = static_cast<priority_band>(random() % 3);
  o.budget = static_cast<std::uint32_t>(1 + random() % 70);
  if (random() % 2 == 0) {
    o.capacity = 1 + random() % 8;
    o.on_full = static_cast<overflow>(random() % 3);
  }
  o.error_policy = static_cast<on_error>(random() % 3);
  o.restarts.pause = std::chrono::microseconds(random() % 50);
  // No line on standard error for each exception that is thrown on purpose.
  o.on_unhandled = rota::unhandled_policy::callback([](const rota::unhandled_exception&) noexcept {});
  return o;
}

struct sums {
  std::uint64_t sent = 0;
  std::uint64_t served = 0;
  std::uint64_t dropped = 0;
  std::uint64_t refused = 0;
};

/// A round: everything at once, then the account.
void play(std::uint64_t round, stress::watchdog& dog, sums& all) {
  std::mt19937_64 random(round);
  const std::size_t boxes = 1 + random() % 200;
  std::vector<std::unique_ptr<account>> accounts;
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> refused{0};
  const bool on_a_runtime = round % 2 == 1;
  const bool shuts_down = on_a_runtime && round / 2 % 8 == 7;
  std::optional<rota::runtime> tasks;
  std::optional<executor> made;
  if (on_a_runtime) {
    tasks.emplace(rota::runtime_options{.workers = static_cast<unsigned>(1 + round / 2 % 3)});
    made.emplace(*tasks, static_cast<unsigned>(1 + round / 4 % 4));
  } else {
    made.emplace(static_cast<unsigned>(1 + round / 2 % 4));
  }
  executor& threads = *made;
  {
    std::vector<std::optional<mailbox<letter>>> owned(boxes);
    std::vector<address<letter>> to(boxes);
    for (std::size_t b = 0; b < boxes; ++b) {
      accounts.push_back(std::make_unique<account>());
      const bool throws = random() % 8 == 0;
      const bool is_task = on_a_runtime && random() % 2 == 0;
      owned[b] = make(threads, *accounts.back(), throws, is_task, options_of(random));
      to[b] = owned[b]->address();
    }
    std::vector<std::jthread> work;
    for (std::size_t s = 0; s < senders; ++s) {
      work.emplace_back([&, s] {
        std::mt19937_64 choice(round * 64 + s);
        std::vector<std::uint32_t> number(boxes, 0);
        for (int i = 0; i < 500; ++i) {
          const std::size_t b = choice() % boxes;
          const send_status end = to[b].send(letter(s, ++number[b]));
          ++(end == send_status::sent ? sent : refused);
          ++dog.progress;
        }
      });
    }
    work.emplace_back([&] {
      std::mt19937_64 choice(round * 64 + 63);
      for (std::size_t i = 0; i < boxes / 2; ++i) {
        std::optional<mailbox<letter>>& box = owned[choice() % boxes];
        if (!box.has_value()) continue;
        switch (choice() % 5) {
          case 0: box.reset(); break;
          case 1: box->close(); break;
          case 2:
            box->pause();
            std::this_thread::yield();
            box->resume();
            break;
          case 3:
            if (!shuts_down) box->drain();
            break;
          default:
            threads.pause();
            std::this_thread::yield();
            threads.resume();
            break;
        }
        ++dog.progress;
      }
    });
    if (shuts_down) static_cast<void>(tasks->shutdown(std::chrono::seconds(0)));
    work.clear();
    if (round % 4 < 2) threads.drain();
  }
  threads.drain();
  const executor_stats s = threads.stats();
  std::uint64_t served = 0;
  for (const auto& each : accounts) served += each->served;
  if (s.served != served || s.served + s.dropped != sent || s.depth != 0 || s.mailboxes != 0) ++violations;
  if (letter::alive != 0) ++violations;
  all.sent += sent;
  all.served += s.served;
  all.dropped += s.dropped;
  all.refused += refused;
}

/// Sends that many messages from 8 threads to 100,000 mailboxes.
int send_many(const stress::options& o, std::uint64_t messages) {
  constexpr std::size_t boxes = 100'000;
  stress::watchdog dog;
  std::vector<std::array<std::uint32_t, senders>> last(boxes);
  std::uint64_t after_a_tenth = 0;
  {
    executor threads(2);
    std::vector<mailbox<std::uint64_t>> all;
    all.reserve(boxes);
    for (std::size_t b = 0; b < boxes; ++b) {
      all.push_back(threads.make_mailbox<std::uint64_t>(
          [&mine = last[b]](std::uint64_t m) {
            const auto number = static_cast<std::uint32_t>(m / senders);
            if (number != mine[m % senders] + 1) ++violations;
            mine[m % senders] = number;
          },
          {.capacity = 4, .on_full = overflow::wait}));
    }
    const auto send = [&](std::uint64_t each, std::vector<std::vector<std::uint32_t>>& numbers) {
      std::vector<std::jthread> work;
      for (std::size_t s = 0; s < senders; ++s) {
        work.emplace_back([&, s] {
          std::mt19937_64 choice(o.seed * 64 + s);
          for (std::uint64_t i = 0; i < each; ++i) {
            const std::size_t b = choice() % boxes;
            if (all[b].send(++numbers[s][b] * senders + s) != send_status::sent) ++violations;
            if (i % 1024 == 0) ++dog.progress;
          }
        });
      }
    };
    std::vector<std::vector<std::uint32_t>> numbers(senders, std::vector<std::uint32_t>(boxes, 0));
    const std::uint64_t each = messages / senders / 10;
    for (int tenth = 0; tenth < 10; ++tenth) {
      send(each, numbers);
      threads.drain();
      if (tenth == 0) after_a_tenth = stress::resident();
    }
    const std::uint64_t at_the_end = stress::resident();
    if (at_the_end > after_a_tenth + after_a_tenth / 20) ++violations;
    const executor_stats s = threads.stats();
    if (s.served != each * 10 * senders || s.dropped != 0) ++violations;
    return stress::finish("mailboxes",
                          o,
                          {{"served", s.served}, {"kib_after_a_tenth", after_a_tenth}, {"kib", at_the_end}},
                          violations);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  if (const std::uint64_t messages = stress::number_after(argc, argv, "--messages", 0); messages != 0) {
    return send_many(o, messages);
  }
  stress::watchdog dog;
  sums all;
  std::uint64_t rounds = 0;
  for (; !o.is_over(); ++rounds) play(o.seed + rounds, dog, all);
  return stress::finish("mailboxes",
                        o,
                        {{"rounds", rounds},
                         {"sent", all.sent},
                         {"served", all.served},
                         {"dropped", all.dropped},
                         {"refused", all.refused}},
                        violations);
}
