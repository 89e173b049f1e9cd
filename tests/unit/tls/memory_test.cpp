// OpenSSL without memory: the connection fails, and the next one does not.
#include "tls/contexts.hpp"
#include "unit/tls/tls_support.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string_view>

#include <openssl/crypto.h>

namespace rota::test::memory_test {
namespace {

/// The name of the OpenSSL source file in which allocations fail. Null: none fail.
thread_local const char* fails_in = nullptr;
thread_local int failures = 0;

bool fails_now(const char* file) noexcept {
  if (fails_in == nullptr || file == nullptr || !std::string_view(file).ends_with(fails_in)) return false;
  ++failures;
  return true;
}
void* give(std::size_t size, const char* file, int /*line*/) {
  return fails_now(file) ? nullptr : std::malloc(size);
}
void* give_other(void* old, std::size_t size, const char* file, int /*line*/) {
  return fails_now(file) ? nullptr : std::realloc(old, size);
}
void take_back(void* old, const char* /*file*/, int /*line*/) { std::free(old); }

// OpenSSL accepts these functions only before its first allocation.
const bool are_ours = CRYPTO_set_mem_functions(give, give_other, take_back) == 1;

/// Returns false if there is no memory for a session.
bool opens(const tls::client_config& config) {
  try {
    const tls::detail::session one(tls::detail::make_client_context(config), "example.com");
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

/// Runs in a process of its own, in which no connection was made before.
[[noreturn]] void open_without_memory() {
  const tls::client_config config = trusting();
  // The first connection makes the BIO method that all connections share.
  fails_in = "bio_meth.c";
  const bool has_failed = !opens(config) && failures == 1;
  fails_in = nullptr;
  const bool is_good = has_failed && opens(config) && !shake(config, serving_example()).of_client();
  std::exit(is_good ? 0 : 1);
}

TEST(no_memory, for_one_connection_does_not_break_the_next) {
  ASSERT_TRUE(are_ours);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(open_without_memory(), ::testing::ExitedWithCode(0), "");
}

/// A stream that claims to have written one byte more than it was given.
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

TEST(streams_below, that_report_more_bytes_than_they_were_given_end_the_program) {
  EXPECT_DEATH(connect_by_one_that_boasts(), "has written more than it was given");
}

}  // namespace
}  // namespace rota::test::memory_test
