// Ends of pipes that are closed while a task uses them.
#include "unit/process/process_support.hpp"

#include <poll.h>
#include <vector>

namespace rota::test::closing_test {
namespace {

template <class F>
void on_a_runtime(F body) {
  runtime rt(with_workers(2));
  rt.block_on(body);
}

bool is_bad_descriptor(const std::expected<std::size_t, std::error_code>& got) {
  return !got.has_value() && got.error() == std::errc::bad_file_descriptor;
}

/// Writes until an error occurs, and returns that error.
task<std::error_code> write_for_ever(process::pipe_writer& to) {
  const std::vector<std::byte> much(1'000'000);
  for (;;) {
    const auto put = co_await to.write_all(much);
    if (!put.has_value()) co_return put.error();
  }
}

task<> until_full(const process::pipe_writer& in) {
  pollfd asked{.fd = in.native_handle(), .events = POLLOUT, .revents = 0};
  while (::poll(&asked, 1, 0) != 0) co_await yield();
}

TEST(closing, wait_for_a_child_ends_a_write_to_it_in_progress) {
  on_a_runtime([]() -> task<> {
    auto started = co_await shell("exec sleep 1000").in(stdio::pipe()).spawn();
    child deaf = demand(std::move(started));
    auto writes = spawn(write_for_ever(deaf.in()));
    co_await until_full(deaf.in());
    auto ends = deaf.wait();
    const std::error_code why = co_await writes;
    EXPECT_EQ(why, std::errc::bad_file_descriptor);
    EXPECT_FALSE(deaf.in());
    EXPECT_EQ(deaf.in().native_handle(), -1);
    EXPECT_TRUE(deaf.kill().has_value());
    const auto end = co_await std::move(ends);
    EXPECT_EQ(demand(end).signal(), SIGKILL);
  });
}

/// The close meets the writer in the middle of a try, waiting, or just woken.
TEST(closing, wait_closes_the_input_of_a_child_while_a_task_writes_to_it) {
  on_a_runtime([]() -> task<> {
    for (int round = 0; round < 200; ++round) {
      auto started = co_await command("cat").in(stdio::pipe()).out(stdio::null()).spawn();
      child reads = demand(std::move(started));
      auto writes = spawn(write_for_ever(reads.in()));
      for (int i = 0; i < round % 20; ++i) co_await yield();
      const auto end = co_await reads.wait();
      EXPECT_TRUE(demand(end).is_success());
      const std::error_code why = co_await writes;
      EXPECT_EQ(why, std::errc::bad_file_descriptor);
    }
  });
}

TEST(closing, wait_for_a_pipe_ends_when_any_thread_closes_it) {
  runtime rt(with_workers(2));
  auto ends = rt.spawn([]() -> task<std::pair<process::pipe_reader, process::pipe_writer>> {
                  co_return demand(process::pipe());
                }).join();
  auto& [reader, writer] = ends;
  const auto read = [](process::pipe_reader& from) -> task<bool> {
    std::array<std::byte, 1> byte{};
    const auto got = co_await from.read(byte);
    co_return is_bad_descriptor(got);
  };
  auto reads = rt.spawn(read, std::ref(reader));
  wait_until([&rt] { return rt.dump().find("pipe read") != std::string::npos; });
  reader.close();
  EXPECT_TRUE(reads.join());
  const auto write = [](process::pipe_writer& to) -> task<std::error_code> {
    const auto put = co_await to.write_all(bytes_of("x"));
    co_return put.has_value() ? std::error_code() : put.error();
  };
  EXPECT_EQ(rt.spawn(write, std::ref(writer)).join(), std::errc::broken_pipe) << "it was not closed";
  writer.close();
  writer.close();
  EXPECT_EQ(rt.spawn(write, std::ref(writer)).join(), std::errc::bad_file_descriptor);
}

/// The descriptor's number is in use again, by another owner: the object must not close it.
TEST(closing, closed_pipe_does_not_close_its_descriptor_number_again) {
  on_a_runtime([]() -> task<> {
    int number = -1;
    {
      auto ends = process::pipe();
      auto [reader, writer] = demand(std::move(ends));
      number = reader.native_handle();
      reader.close();
      EXPECT_EQ(::dup2(writer.native_handle(), number), number);
    }
    EXPECT_EQ(::close(number), 0);
    co_return;
  });
}

}  // namespace
}  // namespace rota::test::closing_test
