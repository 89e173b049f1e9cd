// Linked to a model test that has all mutants: see README.md.
//
//   ROTA_MUTANT=N            the program has this mutant
//   ROTA_WEAKENED=N:ORDER    the order with this number is this one, as a number of the compiler's
//   ROTA_USED=FILE           adds a line for each test: its name, and the numbers of the mutants and orders that it has reached
#include "switch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace rota::base {

unsigned mutant_number = 0;
unsigned weakened_number = 0;
order weakened_order{};
unsigned char used_numbers[ROTA_NUMBERS] = {};

namespace {

void read_environment() {
  int to = 0;
  if (const char* const asked = std::getenv("ROTA_MUTANT");
      asked != nullptr && std::sscanf(asked, "%u", &mutant_number) != 1)
    std::abort();
  if (const char* const asked = std::getenv("ROTA_WEAKENED")) {
    if (std::sscanf(asked, "%u:%d", &weakened_number, &to) != 2) std::abort();
    weakened_order = order{to};
  }
}

class recorder final : public testing::EmptyTestEventListener {
 public:
  explicit recorder(const char* path) : path_(path) {}

 private:
  void OnTestStart(const testing::TestInfo& /*test*/) override {
    std::fill(std::begin(used_numbers), std::end(used_numbers), 0);
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    std::FILE* const file = std::fopen(path_, "a");
    if (file == nullptr) std::abort();
    std::fprintf(file, "%s.%s", test.test_suite_name(), test.name());
    for (unsigned n = 1; n < ROTA_NUMBERS; ++n)
      if (used_numbers[n] != 0) std::fprintf(file, " %u", n);
    std::fprintf(file, "\n");
    std::fclose(file);
  }

  const char* path_;
};

const bool started = [] {
  read_environment();
  if (const char* const path = std::getenv("ROTA_USED"))
    testing::UnitTest::GetInstance()->listeners().Append(new recorder(path));
  return true;
}();

}  // namespace
}  // namespace rota::base
