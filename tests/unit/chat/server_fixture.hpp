// A chat server in this process.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <memory>

#include <rota/runtime.hpp>

#include "chat/server.hpp"
#include "unit/chat/client.hpp"

namespace chat::testing {

class a_chat : public ::testing::Test {
 protected:
  void start(options o = {}) {
    o.port = 0;
    runtime_ = std::make_unique<rota::runtime>(rota::runtime_options{.workers = 2});
    server_ = std::make_unique<server>(*runtime_, o);
    const auto at = runtime_->spawn(server_->open()).join();
    ASSERT_TRUE(at.has_value());
    port_ = at->port();
    served_ = runtime_->spawn(server_->serve());
  }
  void TearDown() override {
    if (served_.valid()) stop();
  }
  /// Sends the signal of Ctrl-C. Returns once the last client has gone.
  void stop() {
    ::raise(SIGINT);
    served_.join();
  }
  [[nodiscard]] std::size_t rooms() const { return runtime_->spawn(server_->rooms()).join(); }

  std::unique_ptr<rota::runtime> runtime_;
  std::unique_ptr<server> server_;
  rota::join_handle<void> served_{};
  std::uint16_t port_ = 0;
};

}  // namespace chat::testing
