// Two bugs that a test finds once in a thousand runs, or never. explore() finds each within a second and
// prints how to reproduce it. This program links rota::testing; docs/find-a-race.md walks through it.
#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>
#include <rota/testing/shared.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

using namespace std::chrono_literals;
namespace testing = rota::testing;

namespace {

// --- a cache in front of a slow origin: it must fetch each page once

class cache {
 public:
  // Bug: check-then-act race. Between find() and store() the task waits for the origin, and another task may
  // check, too.
  rota::task<std::string> get(int page) {
    if (const std::string* const known = find(page)) co_return *known;
    std::string text = co_await fetch(page);
    store(page, text);
    co_return text;
  }

  // The second task waits until the first has stored the page.
  rota::task<std::string> get_once(int page) {
    while (begins_to_fetch(page) == false) {
      if (const std::string* const known = find(page)) co_return *known;
      co_await rota::sleep_for(1ms);
    }
    std::string text = co_await fetch(page);
    store(page, text);
    co_return text;
  }

  int fetches() {
    const std::lock_guard lock(mutex_);
    return fetches_.read();
  }

 private:
  const std::string* find(int page) {
    const std::lock_guard lock(mutex_);
    const auto found = pages_.read().find(page);
    return found == pages_.read().end() || found->second.empty() ? nullptr : &found->second;
  }
  bool begins_to_fetch(int page) {
    const std::lock_guard lock(mutex_);
    return pages_.write().emplace(page, std::string()).second;
  }
  void store(int page, const std::string& text) {
    const std::lock_guard lock(mutex_);
    pages_.write()[page] = text;
  }
  rota::task<std::string> fetch(int page) {
    {
      const std::lock_guard lock(mutex_);
      ++fetches_.write();
    }
    co_await rota::sleep_for(20ms);
    co_return "page " + std::to_string(page);
  }

  testing::mutex mutex_;
  testing::shared<std::map<int, std::string>> pages_;
  testing::shared<int> fetches_{0};
};

template <bool Once>
rota::task<> two_readers() {
  struct reader {
    static rota::task<> read(cache& from) {
      rota::task<std::string> page = Once ? from.get_once(1) : from.get(1);
      const std::string text = co_await std::move(page);
      testing::check(text == "page 1", "the reader gets its page");
    }
  };
  cache shared;
  co_await rota::when_all(reader::read(shared), reader::read(shared));
  testing::check(shared.fetches() == 1, "the origin is asked once");
}

// --- an account: every payment must arrive in the balance

class account {
 public:
  // Bug: lost update. The load and the store are atomic, but the two together are not.
  void pay_in(int amount) {
    const int before = balance_.load();
    balance_.store(before + amount);
  }
  void pay_in_at_once(int amount) { balance_.fetch_add(amount); }
  int balance() { return balance_.load(); }

 private:
  testing::atomic<int> balance_{0};
};

template <bool AtOnce>
rota::task<> two_payers() {
  struct payer {
    static rota::task<> pay(account& into) {
      AtOnce ? into.pay_in_at_once(10) : into.pay_in(10);
      co_return;
    }
  };
  account shared;
  auto first = rota::spawn(payer::pay(shared));
  auto second = rota::spawn(payer::pay(shared));
  co_await first;
  co_await second;
  testing::check(shared.balance() == 20, "what is paid in is there");
}

bool shows(const char* what, const testing::report& report, bool expected_to_fail) {
  std::printf("%s: %llu runs, %.2f s: %s\n",
              what,
              static_cast<unsigned long long>(report.runs),
              report.seconds,
              report.failed ? report.what.c_str() : "holds");
  if (report.failed) std::printf("  again: ROTA_MODEL_REPLAY=%s\n", report.replay.c_str());
  return report.failed == expected_to_fail;
}

}  // namespace

int main() {
  bool right = true;
  right &= shows("a cache", testing::explore({.name = "cache"}, two_readers<false>), true);
  right &= shows("a cache that fetches once",
                 testing::explore({.name = "cache once", .max_runs = 2'000}, two_readers<true>),
                 false);
  right &= shows("an account", testing::explore({.name = "account"}, two_payers<false>), true);
  right &= shows("an account that adds at once",
                 testing::explore({.name = "account once", .max_runs = 2'000}, two_payers<true>),
                 false);
  return right ? 0 : 1;
}
