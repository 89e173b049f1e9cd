#include "log_analyzer/analyse.hpp"

#include "log_analyzer/generate.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

namespace log_analyzer::analyse_test {
namespace {

/// Returns what `write` writes to a file in memory.
template <class Write>
std::string written(const Write& write) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = ::open_memstream(&text, &size);
  write(file);
  std::fclose(file);
  const std::string all(text, size);
  std::free(text);
  return all;
}

std::string made(std::uint64_t bytes, std::uint64_t seed) {
  return written([&](std::FILE* to) { EXPECT_TRUE(generate(bytes, seed, to)); });
}
std::string printed(const totals& all, std::size_t top) {
  return written([&](std::FILE* to) { print(all, top, to); });
}

TEST(analyse, gives_the_same_result_for_any_threads_and_block_size) {
  const std::string log = made(300'000, 7);
  const std::string plain = printed(analyse_plainly(log), 1000);
  EXPECT_NE(plain.find("malformed"), std::string::npos);
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const std::size_t block : {std::size_t{1}, std::size_t{997}, std::size_t{1} << 20U}) {
      EXPECT_EQ(printed(analyse(log, threads, block), 1000), plain)
          << threads << " threads, blocks of " << block;
    }
  }
}

TEST(analyse, accepts_an_empty_log_and_a_last_line_without_an_end) {
  EXPECT_EQ(printed(analyse("", 2), 10), "lines 0, malformed 0, clients 0, requests 0, bytes 0, errors 0\n");
  const char* const two = "x\na - - [x] \"GET /\" 500 3";
  EXPECT_EQ(printed(analyse(two, 2), 10),
            "lines 2, malformed 1, clients 1, requests 1, bytes 3, errors 1\n"
            "a requests 1 bytes 3 errors 1 largest 3\n");
}

TEST(analyse, sorts_clients_with_equal_requests_by_name) {
  const char* const log =
      "b - - [x] \"GET /\" 200 1\n"
      "c - - [x] \"GET /\" 200 1\n"
      "a - - [x] \"GET /\" 200 1\n"
      "c - - [x] \"GET /\" 200 5\n";
  EXPECT_EQ(printed(analyse(log, 1), 2),
            "lines 4, malformed 0, clients 3, requests 4, bytes 8, errors 0\n"
            "c requests 2 bytes 6 errors 0 largest 5\n"
            "a requests 1 bytes 1 errors 0 largest 1\n");
}

TEST(generated_log, is_the_same_for_a_seed) {
  EXPECT_EQ(made(10'000, 3), made(10'000, 3));
  EXPECT_NE(made(10'000, 3), made(10'000, 4));
  EXPECT_GE(made(10'000, 3).size(), 10'000U);
}

}  // namespace
}  // namespace log_analyzer::analyse_test
