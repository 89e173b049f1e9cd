// A tls::stream that was moved from or split, its halves, a client and a server: each member ends the program
// with one sentence, in every build. This file is built a second time with NDEBUG.
#include <gtest/gtest.h>

#include <rota/io/duplex.hpp>
#include <rota/rota.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace rota::test {
namespace empty_tls {
namespace {

using namespace std::chrono_literals;

using stream = tls::stream<io::duplex_end>;
using read_half = tls::read_half<io::duplex_end>;
using write_half = tls::write_half<io::duplex_end>;

constexpr const char* sentence =
    "rota: fatal: a tls::stream, a half of one, a client or a server was used after it was moved from";

/// One member of an object that is empty.
template <class Object>
struct use {
  const char* member;
  void (*call)(Object& empty);
};

/// Each use ends the program with the sentence.
template <class Object>
void each_ends(void (*use_it)(void (*call)(Object&)), std::span<const use<Object>> uses) {
  for (const use<Object>& each : uses) {
    SCOPED_TRACE(each.member);
    EXPECT_EXIT(use_it(each.call), testing::KilledBySignal(SIGABRT), sentence);
  }
}

tls::server_config server_settings() {
  tls::server_config made;
  made.identities.push_back(tls::self_signed({"example.com"}, 1));
  return made;
}

tls::client_config client_settings(const tls::server_config& server) {
  tls::client_config made;
  made.ca_pem = server.identities.front().chain_pem;
  return made;
}

/// Calls `body` in a task with the client's stream of a connection.
void with_stream(void (*body)(stream& connected)) {
  const auto connects = [body]() -> task<> {
    const tls::server_config settings = server_settings();
    const tls::server server(settings);
    const tls::client client(client_settings(settings));
    auto [near, far] = io::duplex(65536);
    auto [ours, theirs] =
        co_await when_all(client.connect(std::move(near), "example.com"), server.accept(std::move(far)));
    if (ours.has_value() && theirs.has_value()) body(*ours);
  };
  rota::run(connects, {.workers = 1});
}

void (*stream_use)(stream&) = nullptr;
void of_a_stream(void (*call)(stream&)) {
  stream_use = call;
  with_stream([](stream& s) {
    const stream taken = std::move(s);
    stream_use(s);
  });
}

std::array<std::byte, 4> bytes;

TEST(an_empty_tls_stream_death_test, ends_the_program_with_a_sentence) {
  static constexpr use<stream> uses[] = {
      {"read", [](stream& s) { static_cast<void>(s.read(bytes)); }},
      {"write", [](stream& s) { static_cast<void>(s.write(bytes)); }},
      {"write_all", [](stream& s) { static_cast<void>(s.write_all(bytes)); }},
      {"write_all of a text", [](stream& s) { static_cast<void>(s.write_all("text")); }},
      {"flush", [](stream& s) { static_cast<void>(s.flush()); }},
      {"shutdown_write", [](stream& s) { static_cast<void>(s.shutdown_write()); }},
      {"close", [](stream& s) { s.close(); }},
      {"split", [](stream& s) { static_cast<void>(std::move(s).split()); }},
      {"host", [](stream& s) { static_cast<void>(s.host()); }},
      {"alpn", [](stream& s) { static_cast<void>(s.alpn()); }},
      {"cipher", [](stream& s) { static_cast<void>(s.cipher()); }},
      {"spoken", [](stream& s) { static_cast<void>(s.spoken()); }},
      {"is_resumed", [](stream& s) { static_cast<void>(s.is_resumed()); }},
      {"peer_certificate", [](stream& s) { static_cast<void>(s.peer_certificate()); }},
      {"peer_subject", [](stream& s) { static_cast<void>(s.peer_subject()); }},
      {"below", [](stream& s) { static_cast<void>(s.below()); }},
  };
  each_ends<stream>(of_a_stream, uses);
}

TEST(an_empty_tls_stream_death_test, ends_the_program_where_its_finish_is_awaited) {
  const auto finish = [] {
    of_a_stream([](stream& s) {
      auto ends = s.finish(1s);
      static_cast<void>(rota::runtime({.workers = 1}).spawn(std::move(ends)).wait_for(60s));
    });
  };
  EXPECT_EXIT(finish(), testing::KilledBySignal(SIGABRT), sentence);
}

TEST(an_empty_tls_stream_death_test, ends_the_program_when_it_was_split) {
  const auto read = [] {
    with_stream([](stream& s) {
      const auto halves = std::move(s).split();
      static_cast<void>(s.read(bytes));
    });
  };
  EXPECT_EXIT(read(), testing::KilledBySignal(SIGABRT), sentence);
}

TEST(an_empty_half_of_a_tls_stream_death_test, ends_the_program_with_a_sentence) {
  const auto read = [] {
    with_stream([](stream& s) {
      auto [reading, writing] = std::move(s).split();
      const read_half taken = std::move(reading);
      static_cast<void>(reading.read(bytes));
    });
  };
  EXPECT_EXIT(read(), testing::KilledBySignal(SIGABRT), sentence);
  const auto write = [] {
    with_stream([](stream& s) {
      auto [reading, writing] = std::move(s).split();
      const write_half taken = std::move(writing);
      static_cast<void>(writing.write(bytes));
    });
  };
  EXPECT_EXIT(write(), testing::KilledBySignal(SIGABRT), sentence);
}

TEST(an_empty_tls_client_or_server_death_test, ends_the_program_with_a_sentence) {
  const auto connect = [] {
    tls::client whole(client_settings(server_settings()));
    const tls::client taken = std::move(whole);
    auto [near, far] = io::duplex(64);
    static_cast<void>(rota::run(whole.connect(std::move(near), "example.com"), {.workers = 1}));
  };
  EXPECT_EXIT(connect(), testing::KilledBySignal(SIGABRT), sentence);
  const auto accept = [] {
    tls::server whole(server_settings());
    const tls::server taken = std::move(whole);
    auto [near, far] = io::duplex(64);
    static_cast<void>(rota::run(whole.accept(std::move(near)), {.workers = 1}));
  };
  EXPECT_EXIT(accept(), testing::KilledBySignal(SIGABRT), sentence);
}

}  // namespace
}  // namespace empty_tls
}  // namespace rota::test
