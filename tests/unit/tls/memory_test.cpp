// OpenSSL without memory: what it was wanted for fails, and the next one does not.
#include "tls/contexts.hpp"
#include "unit/tls/tls_support.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include <openssl/crypto.h>

namespace rota::test {
namespace {

/// The allocations that succeed before one fails; negative: all do.
thread_local int until_failure = -1;

bool fails_now() noexcept { return until_failure >= 0 && until_failure-- == 0; }
void* give(std::size_t size, const char* /*file*/, int /*line*/) {
  return fails_now() ? nullptr : std::malloc(size);
}
void* give_other(void* old, std::size_t size, const char* /*file*/, int /*line*/) {
  return fails_now() ? nullptr : std::realloc(old, size);
}
void take_back(void* old, const char* /*file*/, int /*line*/) { std::free(old); }

// OpenSSL takes them only before its first allocation.
const bool are_ours = CRYPTO_set_mem_functions(give, give_other, take_back) == 1;

/// False: there was no memory for it.
bool opens(const tls::client_config& config, int fails_after) {
  const auto made_of = tls::detail::make_client_context(config);
  until_failure = fails_after;
  bool is_there = true;
  try {
    const tls::detail::session one(made_of, "example.com");
  } catch (const std::bad_alloc&) {
    is_there = false;
  }
  until_failure = -1;
  return is_there;
}

/// In a process of its own, so that nothing was made before.
[[noreturn]] void open_without_memory() {
  const tls::client_config config = trusting();
  int failures = 0;
  while (!opens(config, failures)) ++failures;
  const bool is_good = failures > 5 && opens(config, -1) && !shake(config, serving_example()).of_client();
  std::exit(is_good ? 0 : 1);
}

TEST(no_memory, for_a_connection_is_forgotten_by_the_next) {
  ASSERT_TRUE(are_ours);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(open_without_memory(), ::testing::ExitedWithCode(0), "");
}

/// Says that it has written one byte more than it was given.
class boasting_stream {
 public:
  explicit boasting_stream(duplex_end of) noexcept : of_(std::move(of)) {}
  [[nodiscard]] auto read(std::span<std::byte> into) noexcept { return of_.read(into); }
  task<result<std::size_t>> write(std::span<const std::byte> from) {
    const result<std::size_t> put = co_await of_.write(from);
    co_return put.has_value() ? result<std::size_t>(from.size() + 1) : put;
  }

 private:
  duplex_end of_;
};

void connect_by_one_that_boasts() {
  testing::runtime rt;
  auto [near, far] = io::duplex(wide);
  const tls::client client(trusting());
  static_cast<void>(rt.block_on(client.connect(boasting_stream(std::move(near)), "example.com")));
}

TEST(streams_below, that_say_more_than_they_did_end_the_program) {
  EXPECT_DEATH(connect_by_one_that_boasts(), "has written more than it was given");
}

}  // namespace
}  // namespace rota::test
