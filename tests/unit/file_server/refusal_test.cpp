// A connection above the limit gets its 503 for any input, and an orderly end. A later one is refused.
#include "file_server/server.hpp"
#include "support/scratch_folder.hpp"
#include "unit/file_server/loopback.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <rota/runtime.hpp>

namespace file_server::testing {

using rota::test::scratch_folder;
namespace refusal_test {
namespace {

TEST(refusal, one_connection_too_many_reads_503_and_no_reset) {
  const scratch_folder folder;
  options o;
  o.directory = folder.root();
  o.port = free_port();
  o.max_connections = 1;
  rota::runtime rt(rota::runtime_options{.workers = 1});
  server one(o, 1);
  rota::join_handle<int> served = rt.spawn(one.run());

  const client first(o.port);
  while (one.snapshot().connections_open != 1) std::this_thread::yield();
  {
    const client second(o.port);
    // More than one request, and longer than one read.
    const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(6000, 'x') + "\r\n\r\n";
    EXPECT_TRUE(second.send(head));
    std::string answer;
    while (answer.size() < 12) {
      char c = 0;
      if (!second.receive_one(c)) break;
      answer.push_back(c);
    }
    EXPECT_EQ(answer, "HTTP/1.1 503");
    EXPECT_TRUE(second.send(head));
    second.finish();
    EXPECT_TRUE(second.receive_all(answer)) << "the connection was reset";
  }
  EXPECT_EQ(one.snapshot().connections_refused, 1U);
  ::raise(SIGTERM);
  EXPECT_EQ(served.join(), 0);
  rt.shutdown(std::chrono::seconds(0));
}

TEST(refusal, connection_above_the_refusal_limit_is_closed_without_503) {
  const scratch_folder folder;
  options o;
  o.directory = folder.root();
  o.port = free_port();
  o.max_connections = 1;
  rota::runtime rt(rota::runtime_options{.workers = 1});
  server one(o, 1);
  rota::join_handle<int> served = rt.spawn(one.run());

  const client first(o.port);
  while (one.snapshot().connections_open != 1) std::this_thread::yield();
  std::string answer;
  one.refusals() = refusal_place::most;
  EXPECT_TRUE(client(o.port).receive_all(answer));
  EXPECT_EQ(answer, "");
  EXPECT_EQ(one.refusals(), refusal_place::most);
  one.refusals() = refusal_place::most - 1;
  {
    const client second(o.port);
    second.finish();
    EXPECT_TRUE(second.receive_all(answer));
  }
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  while (one.refusals() != refusal_place::most - 1) std::this_thread::yield();
  EXPECT_EQ(one.snapshot().connections_refused, 2U);
  ::raise(SIGTERM);
  EXPECT_EQ(served.join(), 0);
  rt.shutdown(std::chrono::seconds(0));
}

// The first client reads nothing of a large file, so the drain waits for it while other clients connect.
TEST(drain, new_clients_are_refused_by_the_kernel_and_the_old_one_gets_its_answer) {
  constexpr std::size_t size = std::size_t{8} << 20U;
  const scratch_folder folder;
  folder.write("huge", "");
  std::filesystem::resize_file(folder.at("huge"), size);
  options o;
  o.directory = folder.root();
  o.port = free_port();
  o.drain_timeout = std::chrono::hours(1);
  rota::runtime rt(rota::runtime_options{.workers = 1});
  server one(o, 1);
  rota::join_handle<int> served = rt.spawn(one.run());

  const client first(o.port, 1);
  char byte = 0;
  ASSERT_TRUE(first.send("GET /huge HTTP/1.1\r\nHost: a\r\n\r\n") && first.receive_one(byte));
  ::raise(SIGTERM);
  while (can_connect(o.port)) std::this_thread::yield();
  // Connections that came before the server saw the signal end; the first one stays.
  while (one.snapshot().connections_open > 1) std::this_thread::yield();
  EXPECT_EQ(one.snapshot().connections_open, 1U);
  first.finish();
  std::string answer(1, byte);
  EXPECT_TRUE(first.receive_all(answer));
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, size);
  EXPECT_EQ(served.join(), 0);
  rt.shutdown(std::chrono::seconds(0));
}

}  // namespace
}  // namespace refusal_test
}  // namespace file_server::testing
