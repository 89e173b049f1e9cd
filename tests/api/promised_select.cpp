// The promised names of select, generators and streams.
#include <rota/async_generator.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/rota.hpp>
#include <rota/stream.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace channel = rota::channel;

rota::async_generator<int> three() {
  for (int i = 1; i <= 3; ++i) co_yield i;
}

rota::task<int> uses_select() {
  auto [tx, rx] = channel::bounded<int>(1);
  auto child = rota::spawn([]() -> rota::task<int> { co_return 5; });
  auto ended = co_await channel::select(child, rx.recv(), rota::sleep_for(1h));
  int& value = ended.get<0>();
  int sum = value + static_cast<int>(ended.index());
  auto sent =
      co_await channel::select(tx.send(7), rota::sleep_until(std::chrono::steady_clock::time_point::max()));
  if (sent.get_if<0>() != nullptr && *sent.get_if<0>() == channel::send_status::sent) sum += 10;
  const std::string text = co_await channel::select_in_order(
      channel::on(channel::when(true, rx.recv()),
                  [](std::optional<int> got) { return std::to_string(*got); }),
      channel::on(rota::sleep_for(1h), [] { return std::string(); }));
  sum += std::stoi(text);
  auto nothing = channel::try_select(rx.recv());
  static_assert(std::is_same_v<decltype(nothing), std::optional<channel::selected<std::optional<int>>>>);
  sum += nothing.has_value() ? 100 : 0;
  std::vector<rota::join_handle<int>> handles;
  handles.push_back(rota::spawn([]() -> rota::task<int> { co_return 1000; }));
  channel::chosen<int> of_list = co_await channel::select(handles);
  sum += of_list.get() + static_cast<int>(of_list.index());
  const auto result = [](rota::join_handle<int>& one) { return one.result(); };
  handles[0] = rota::spawn([]() -> rota::task<int> { co_return 2000; });
  auto in_order = co_await channel::select_in_order(handles, result);
  sum += std::move(in_order).get().value();
  tx.close();
  auto end = channel::blocking_select(rx.recv());
  sum += end.get<0>().has_value() ? 100 : 0;
  std::expected<void, rota::timed_out> handled =
      channel::blocking_select_for(1h, channel::on(rx.recv(), [&](std::optional<int>) { ++sum; }));
  sum += handled.has_value() ? 0 : 100;
  static_cast<void>(channel::blocking_select_until(std::chrono::steady_clock::now(), rx.recv()));
  co_return sum;
}

rota::task<int> uses_streams() {
  int sum = 0;
  auto all = three();
  const std::optional<int> first = co_await all.next();
  sum += *first;
  namespace stream = rota::stream;
  static_assert(stream::source<rota::async_generator<int>> && stream::source<channel::receiver<int>>);
  static_assert(std::is_same_v<stream::item_of<rota::async_generator<int>>, int>);
  auto doubled = stream::map(std::move(all), [](int n) { return 2 * n; });
  auto large = stream::take(stream::filter(std::move(doubled), [](int n) { return n > 4; }), 1);
  auto paced = stream::throttle(std::move(large), 1us);
  const std::optional<int> six = co_await paced.next();
  sum += *six;
  const auto body = [&sum](rota::scope& s) -> rota::task<void> {
    const auto same = [](int n) -> rota::task<int> { co_return n; };
    auto merged = stream::merge(s, three(), three());
    auto made = stream::buffered(s, std::move(merged), 2, same);
    for (;;) {
      const std::optional<int> each = co_await made.next();
      if (!each) co_return;
      sum += *each;
    }
  };
  co_await rota::with_scope(body);
  auto [tx, rx] = channel::bounded<int>(1);
  tx.close();
  auto ended = stream::merge(rx, rx);
  const std::optional<int> none = co_await ended.next();
  co_return none ? 0 : sum;
}

TEST(public_api, select_accepts_tasks_channels_sleeps_and_lists_of_handles) {
  EXPECT_EQ(rota::run(uses_select()), 5 + 10 + 7 + 3000 + 1);
}
TEST(public_api, streams_can_be_mapped_filtered_merged_and_buffered) {
  EXPECT_EQ(rota::run(uses_streams()), 1 + 6 + 12);
}

}  // namespace
