// Commands without memory: an error; no descriptor or process is left; the next command succeeds.
#include "unit/faults/allocation_support.hpp"

#include <rota/process.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace rota::allocations_in_process_test {
namespace {

using test::memory;

template <class T>
T demand(std::expected<T, std::error_code> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  return std::move(*got);
}

struct call {
  const char* name;
  task<> (*body)();
};
std::ostream& operator<<(std::ostream& out, const call& c) { return out << c.name; }

const call calls[] = {
    {"output",
     []() -> task<> {
       process::command cat("cat");
       cat.arg("-").env("ROTA_TEST", "1");
       process::output_options how;
       const std::string text = "to be repeated, and longer than what a string has room for in itself";
       how.input = std::as_bytes(std::span(text));
       auto got = co_await cat.output(how);
       const process::captured all = demand(std::move(got));
       if (all.out != text) throw std::logic_error("something else");
     }},
    {"spawn_and_wait",
     []() -> task<> {
       process::command cat("cat");
       cat.in(process::stdio::pipe()).out(process::stdio::pipe()).err(process::stdio::pipe());
       auto started = co_await cat.spawn();
       process::child running = demand(std::move(started));
       const auto end = co_await running.wait();
       if (!demand(end).is_success()) throw std::logic_error("it failed");
     }},
    {"a_pipe",
     []() -> task<> {
       auto [reader, writer] = demand(process::pipe());
       const char one = 'x';
       const auto put = co_await writer.write_all(std::as_bytes(std::span(&one, 1)));
       demand(put);
     }},
};

class allocations_in_process : public ::testing::TestWithParam<std::tuple<call, std::size_t>> {};

TEST_P(allocations_in_process, fail_one_after_the_other) {
  const auto& [what, in_a_row] = GetParam();
  test::forgo_frame_cache();
  run(what.body());
  // The reaper opens its epoll instance for the first child that outlives its object, and keeps it open.
  // The pipe outlives the object, so this child is alive.
  run([]() -> task<> {
    process::command cat("cat");
    cat.in(process::stdio::pipe()).dropped(process::on_drop::leave);
    auto started = co_await cat.spawn();
    std::optional<process::child> dropped(demand(std::move(started)));
    const process::pipe_writer input = std::move(dropped->in());
    dropped.reset();
  });
  test::until_clean([&](std::size_t nth) {
    test::until_alone();
    const long before = memory::live();
    const std::size_t files = test::open_files();
    std::size_t failed = 0;
    {
      runtime rt(test::short_of_memory());
      test::join_on_worker(rt.spawn(test::without_cache()));
      memory::fail_after(nth, in_a_row);
      const test::verdict v = test::judge([&] { test::join_on_worker(rt.spawn(what.body())); });
      failed = memory::stop_failing();
      EXPECT_NE(v.how, test::ending::other) << v.what;
      test::join_on_worker(rt.spawn(what.body()));
    }
    test::wait_until([] { return ::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == -1; });
    test::until_alone();
    EXPECT_EQ(memory::live(), before);
    EXPECT_EQ(test::open_files(), files);
    EXPECT_EQ(test::strange_ends, 0);
    return failed;
  });
}

INSTANTIATE_TEST_SUITE_P(each_call,
                         allocations_in_process,
                         ::testing::Combine(::testing::ValuesIn(calls), ::testing::Values(1, 3)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) +
                                  (std::get<1>(one.param) == 1 ? "_one" : "_three_in_a_row");
                         });

}  // namespace
}  // namespace rota::allocations_in_process_test
