// Linked to a model test whose orders can be weakened: see README.md.
//
//   ROTA_WEAKENED=N:ORDER    the order with this number is this one, as a number of the compiler's
//   ROTA_USED_ORDERS=FILE    adds a line for each test: its name and the numbers of the orders that it has used
#include "weakened.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace rota::base {

unsigned weakened_number = 0;
order weakened_order{};
unsigned char used_orders[ROTA_ORDERS + 1] = {};

namespace {

void read_environment() {
  const char* const asked = std::getenv("ROTA_WEAKENED");
  int to = 0;
  if (asked == nullptr) return;
  if (std::sscanf(asked, "%u:%d", &weakened_number, &to) != 2) std::abort();
  weakened_order = order{to};
}

class recorder final : public testing::EmptyTestEventListener {
 public:
  explicit recorder(const char* path) : path_(path) {}

 private:
  void OnTestStart(const testing::TestInfo& /*test*/) override {
    std::fill(std::begin(used_orders), std::end(used_orders), 0);
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    std::FILE* const file = std::fopen(path_, "a");
    if (file == nullptr) std::abort();
    std::fprintf(file, "%s.%s", test.test_suite_name(), test.name());
    for (unsigned n = 1; n <= ROTA_ORDERS; ++n)
      if (used_orders[n] != 0) std::fprintf(file, " %u", n);
    std::fprintf(file, "\n");
    std::fclose(file);
  }

  const char* path_;
};

const bool started = [] {
  read_environment();
  if (const char* const path = std::getenv("ROTA_USED_ORDERS"))
    testing::UnitTest::GetInstance()->listeners().Append(new recorder(path));
  return true;
}();

}  // namespace
}  // namespace rota::base
