// A bank. One mailbox holds the accounts. Its handler runs for one message at a time, so it needs no lock.
#include <rota/gate/mailbox.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct payment {
  std::string from;
  std::string to;
  int amount = 0;
};

}  // namespace

int main() {
  std::map<std::string, int> accounts{{"ann", 1000}, {"bob", 1000}};
  int refused = 0;

  rota::gate::executor threads(2);
  auto bank = threads.make_mailbox<payment>([&](const payment& p) {
    int& from = accounts[p.from];
    if (from < p.amount) {
      ++refused;
      return;
    }
    from -= p.amount;
    accounts[p.to] += p.amount;
  });

  {
    std::vector<std::jthread> branches;
    for (int branch = 0; branch < 4; ++branch) {
      branches.emplace_back([to = bank.address(), branch] {
        for (int i = 0; i < 1000; ++i) {
          payment p = branch % 2 == 0 ? payment{"ann", "bob", 3} : payment{"bob", "ann", 3};
          if (to.send(std::move(p)) != rota::gate::send_status::sent) return;
        }
      });
    }
  }
  bank.close();
  bank.join();  // returns when all sent messages have been handled

  std::printf("%d in all, %d refused\n", accounts["ann"] + accounts["bob"], refused);
  return accounts["ann"] + accounts["bob"] == 2000 ? 0 : 1;
}
