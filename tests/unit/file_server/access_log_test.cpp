// The access log: its writer, its limits and its counts.
#include "file_server/access_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <system_error>
#include <vector>

#include <rota/runtime.hpp>
#include <rota/task.hpp>

#include "read_file.hpp"
#include "support/scratch_folder.hpp"

namespace file_server::testing {

using rota::test::scratch_folder;
namespace access_log_test {
namespace {

TEST(access_log, that_cannot_be_opened_is_named) {
  try {
    const access_log log("/no/such/log", {});
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("--access-log /no/such/log"), std::string::npos);
  }
}

TEST(access_log, has_written_everything_when_it_ends) {
  const scratch_folder folder;
  access_log log(folder.at("log"), {});
  rota::runtime rt(rota::runtime_options{.workers = 2});
  rota::join_handle<void> writer = rt.spawn(log.write_until_finished());
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string one = std::to_string(i) + "\n";
    log.add(one);
    expected += one;
  }
  log.finish();
  writer.join();
  EXPECT_EQ(read_file(folder.at("log")), expected);
  EXPECT_EQ(log.lines(), 1000U);
  EXPECT_EQ(log.dropped(), 0U);
}

TEST(access_log, writes_before_it_ends) {
  const scratch_folder folder;
  access_log log(folder.at("log"), {});
  rota::runtime rt(rota::runtime_options{.workers = 1});
  rota::join_handle<void> writer = rt.spawn(log.write_until_finished());
  log.add("a\n");
  while (read_file(folder.at("log")) != "a\n") {
  }
  log.add("b\n");
  while (read_file(folder.at("log")) != "a\nb\n") {
  }
  log.finish();
  writer.join();
}

TEST(access_log, drops_and_counts_lines_that_do_not_fit_its_buffer) {
  const scratch_folder folder;
  access_log log(folder.at("log"), {}, 8);
  for (const char* text : {"aaa\n", "bbb\n", "c\n", "d\n"}) log.add(text);
  EXPECT_EQ(log.lines(), 2U);
  EXPECT_EQ(log.dropped(), 2U);
  rota::runtime rt(rota::runtime_options{.workers = 1});
  rota::join_handle<void> writer = rt.spawn(log.write_until_finished());
  log.finish();
  writer.join();
  EXPECT_EQ(read_file(folder.at("log")), "aaa\nbbb\n");
}

TEST(access_log, is_opened_anew_on_request_even_without_lines) {
  const scratch_folder folder;
  access_log log(folder.at("log"), {});
  rota::runtime rt(rota::runtime_options{.workers = 1});
  rota::join_handle<void> writer = rt.spawn(log.write_until_finished());
  std::filesystem::rename(folder.at("log"), folder.at("old"));
  log.reopen();
  while (!std::filesystem::exists(folder.at("log"))) {
  }
  log.add("a\n");
  log.finish();
  writer.join();
  EXPECT_EQ(read_file(folder.at("log")), "a\n");
  EXPECT_EQ(read_file(folder.at("old")), "");
}

TEST(access_log, counts_what_the_disk_does_not_take) {
  access_log log("/dev/full", {});
  rota::runtime rt(rota::runtime_options{.workers = 1});
  rota::join_handle<void> writer = rt.spawn(log.write_until_finished());
  log.add("a\n");
  log.add("b\n");
  log.finish();
  writer.join();
  EXPECT_EQ(log.lost(), 2U);
}

TEST(access_log, takes_lines_from_many_threads) {
  const scratch_folder folder;
  access_log log(folder.at("log"), {});
  rota::runtime rt(rota::runtime_options{.workers = 4});
  rota::join_handle<void> writer = rt.spawn(log.write_until_finished());
  const auto add_many = [](access_log& to) -> rota::task<void> {
    for (int i = 0; i < 500; ++i) {
      to.add("line\n");
      co_await rota::yield();
    }
  };
  std::vector<rota::join_handle<void>> adders;
  for (int i = 0; i < 4; ++i) adders.push_back(rt.spawn(add_many(log)));
  for (rota::join_handle<void>& one : adders) one.join();
  log.finish();
  writer.join();
  EXPECT_EQ(read_file(folder.at("log")).size(), 4U * 500 * 5);
}

}  // namespace
}  // namespace access_log_test
}  // namespace file_server::testing
