// A server with a self-made certificate, and a client that trusts it.
#pragma once

#include "file_server/server.hpp"
#include "support/scratch_folder.hpp"
#include "unit/file_server/asking.hpp"
#include "unit/file_server/loopback.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <rota/net/tcp_stream.hpp>
#include <rota/runtime.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/self_signed.hpp>

namespace file_server::testing {

using rota::net::result;
using rota::test::scratch_folder;
using tls_client_stream = rota::tls::stream<rota::net::tcp_stream>;

/// The received text, and the error of the end; no error means a close_notify.
struct heard {
  std::string text;
  std::error_code end;
};

inline rota::task<result<std::size_t>> send(tls_client_stream& to, std::string text) {
  const result<std::size_t> sent = co_await to.write_all(std::as_bytes(std::span(text)));
  co_return sent;
}
inline rota::task<void> hear(tls_client_stream& from, heard& into) {
  std::string buffer(16'384, '\0');
  for (;;) {
    const result<std::size_t> got = co_await from.read(std::as_writable_bytes(std::span(buffer)));
    if (!got.has_value()) into.end = got.error();
    if (!got.has_value() || *got == 0) co_return;
    into.text.append(buffer, 0, *got);
  }
}

class https : public ::testing::Test {
 protected:
  void SetUp() override {
    const rota::tls::identity mine = rota::tls::self_signed({"localhost"}, 1);
    keys_.write("certificate.pem", mine.chain_pem);
    keys_.write("key.pem", mine.key_pem);
    trusting_.ca_pem = mine.chain_pem;
    trusting_.alpn = {"http/1.1"};
    options_.directory = folder_.root();
    options_.certificate = keys_.at("certificate.pem");
    options_.key = keys_.at("key.pem");
    folder_.write("small.txt", "hello");
    folder_.write("large.bin", pattern(300'000));
  }
  void TearDown() override {
    if (server_) stop();
  }

  /// The probe for a listening server connects and leaves, which is one failed handshake.
  void start() {
    options_.port = free_port();
    runtime_ = std::make_unique<rota::runtime>(rota::runtime_options{.workers = 2});
    server_ = std::make_unique<server>(options_, 2);
    served_ = runtime_->spawn(server_->run());
    {
      const client first(options_.port);
    }
    while (server_->snapshot().handshake_failures != 1) std::this_thread::yield();
    wait_for_connections(0);
  }
  void stop() {
    ::raise(SIGTERM);
    join();
  }
  void join() {
    EXPECT_EQ(served_.join(), 0);
    runtime_->shutdown(std::chrono::seconds(0));
    server_.reset();
  }
  void wait_for_connections(std::uint64_t open) const {
    while (server_->snapshot().connections_open != open) std::this_thread::yield();
  }

  [[nodiscard]] rota::task<result<tls_client_stream>> connect() const {
    result<rota::net::tcp_stream> socket =
        co_await rota::net::tcp_stream::connect(rota::net::endpoint::loopback_v4(options_.port));
    if (!socket.has_value()) co_return std::unexpected(socket.error());
    const rota::tls::client trusting(trusting_);
    result<tls_client_stream> made = co_await trusting.connect(std::move(*socket), "localhost");
    co_return made;
  }
  rota::task<void> ask(std::string requests, heard& into) const {
    result<tls_client_stream> over = co_await connect();
    EXPECT_TRUE(over.has_value()) << over.error().message();
    const result<std::size_t> sent = co_await send(*over, std::move(requests));
    EXPECT_TRUE(sent.has_value());
    co_await hear(*over, into);
  }
  /// Returns all answers to `requests`; the last request closes the connection.
  [[nodiscard]] std::string talk(const std::string& requests) const {
    heard all;
    runtime_->block_on(ask(requests, all));
    EXPECT_FALSE(all.end) << all.end.message();
    return all.text;
  }

  scratch_folder folder_;
  scratch_folder keys_;
  options options_;
  rota::tls::client_config trusting_;
  std::unique_ptr<rota::runtime> runtime_;
  std::unique_ptr<server> server_;
  rota::join_handle<int> served_{};
};

}  // namespace file_server::testing
