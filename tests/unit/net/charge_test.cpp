// The cost of socket operations in their task's budget: one unit for each 16 KiB moved.
#include "task/header.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_stream.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rota::test::charge_test {
namespace {

using net::result;
using net::unix_stream;

constexpr std::size_t kib = 1024;

int budget() noexcept { return core::current_task()->budget; }

/// Returns the cost of an operation that ends now; the budget was `before`.
int cost(int before) noexcept { return before - budget(); }

task<> set_flag(bool& flag) {
  flag = true;
  co_return;
}

struct pair_of_streams {
  unix_stream near;
  unix_stream far;
};

pair_of_streams make_pair() {
  auto both = unix_stream::pair();
  EXPECT_TRUE(both.has_value());
  return {std::move(both->first), std::move(both->second)};
}

task<> reads_and_writes() {
  auto [near, far] = make_pair();
  const std::vector<std::byte> out(64 * kib);
  std::vector<std::byte> in(64 * kib);
  co_await yield();
  int before = budget();
  const result<std::size_t> put = co_await near.write_all(out);
  EXPECT_EQ(put.value_or(0), out.size());
  EXPECT_EQ(cost(before), 4) << "write_all";

  before = budget();
  const result<std::size_t> got = co_await far.read(in);
  EXPECT_EQ(got.value_or(0), in.size());
  EXPECT_EQ(cost(before), 4) << "read";

  before = budget();
  const result<std::size_t> one = co_await near.write(std::span(out).first(1));
  EXPECT_EQ(one.value_or(0), 1U);
  EXPECT_EQ(cost(before), 1) << "write";
}

TEST(charge, reads_and_writes_cost_a_unit_for_each_16_KiB) {
  runtime rt(with_workers(1));
  rt.spawn(reads_and_writes()).join();
}

task<> vectored() {
  auto [near, far] = make_pair();
  const std::vector<std::byte> out(24 * kib);
  std::vector<std::byte> in(24 * kib);
  const std::span<const std::byte> from[] = {out, out};
  const std::span<std::byte> into[] = {in, in};
  co_await yield();
  int before = budget();
  const result<std::size_t> put = co_await near.write_all_v(from);
  EXPECT_EQ(put.value_or(0), 48 * kib);
  EXPECT_EQ(cost(before), 3) << "write_all_v";

  before = budget();
  const result<std::size_t> got = co_await far.read_v(into);
  EXPECT_EQ(got.value_or(0), 48 * kib);
  EXPECT_EQ(cost(before), 3) << "read_v";
}

TEST(charge, vectored_operations_cost_the_sum_of_their_parts) {
  runtime rt(with_workers(1));
  rt.spawn(vectored()).join();
}

task<> sends_a_file(int file) {
  auto [near, far] = make_pair();
  co_await yield();
  const int before = budget();
  const result<std::size_t> sent = co_await near.send_file(file, 0, 64 * kib);
  EXPECT_EQ(sent.value_or(0), 64 * kib);
  EXPECT_EQ(cost(before), 4);
}

TEST(charge, a_file_that_is_sent_costs_a_unit_for_each_16_KiB) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  ASSERT_NE(file, nullptr);
  const std::vector<std::byte> content(64 * kib);
  ASSERT_EQ(std::fwrite(content.data(), 1, content.size(), file.get()), content.size());
  ASSERT_EQ(std::fflush(file.get()), 0);
  runtime rt(with_workers(1));
  rt.spawn(sends_a_file(::fileno(file.get()))).join();
}

task<> sends_datagrams() {
  auto both = net::unix_datagram::pair();
  EXPECT_TRUE(both.has_value());
  if (!both.has_value()) co_return;
  auto& [near, far] = *both;
  const std::vector<std::byte> out(48 * kib);
  std::vector<std::byte> in(64 * kib);
  co_await yield();
  int before = budget();
  const result<std::size_t> put = co_await near.send(out);
  EXPECT_EQ(put.value_or(0), out.size());
  EXPECT_EQ(cost(before), 3) << "send";

  before = budget();
  const result<std::size_t> got = co_await far.recv(in);
  EXPECT_EQ(got.value_or(0), out.size());
  EXPECT_EQ(cost(before), 3) << "receive";
}

TEST(charge, datagrams_cost_a_unit_for_each_16_KiB) {
  runtime rt(with_workers(1));
  rt.spawn(sends_datagrams()).join();
}

// ---- a case of a select

using channel::select_in_order;

task<> selects_a_read() {
  auto [near, far] = make_pair();
  const std::vector<std::byte> out(64 * kib);
  std::vector<std::byte> in(64 * kib);
  const result<std::size_t> put = co_await near.write_all(out);
  EXPECT_EQ(put.value_or(0), out.size());
  auto [tx, rx] = channel::oneshot<int>();
  co_await yield();
  const int before = budget();
  auto first = co_await select_in_order(far.read(in), rx.recv());
  EXPECT_EQ(first.index(), 0U);
  EXPECT_EQ(cost(before), 4);
}

TEST(charge, a_read_that_wins_a_select_costs_what_it_has_moved) {
  runtime rt(with_workers(1));
  rt.spawn(selects_a_read()).join();
}

/// The write fills the socket and waits; then the receive wins, which is ready.
task<> selects_past_a_write() {
  auto [near, far] = make_pair();
  const std::vector<std::byte> out(8 * 1024 * kib);
  std::vector<std::byte> in(out.size());
  auto [tx, rx] = channel::oneshot<int>();
  EXPECT_EQ(std::move(tx).send(1), channel::send_status::sent);
  co_await yield();
  const int before = budget();
  auto first = co_await select_in_order(near.write_all(out), rx.recv());
  EXPECT_EQ(first.index(), 1U);
  const int paid = cost(before);
  const result<std::size_t> moved = far.try_read(in);
  EXPECT_GT(moved.value_or(0), 16 * kib) << "the socket has room for this";
  EXPECT_GE(paid, static_cast<int>(moved.value_or(0) / (16 * kib)));
}

TEST(charge, a_write_that_loses_a_select_costs_what_it_has_moved) {
  runtime rt(with_workers(1));
  rt.spawn(selects_past_a_write()).join();
}

/// The first read finds no bytes; the second case wins.
task<> selects_past_a_read_of_nothing() {
  auto [near, far] = make_pair();
  std::byte in[1];
  auto [tx, rx] = channel::oneshot<int>();
  EXPECT_EQ(std::move(tx).send(1), channel::send_status::sent);
  co_await yield();
  const int before = budget();
  auto first = co_await select_in_order(far.read(in), rx.recv());
  EXPECT_EQ(first.index(), 1U);
  EXPECT_EQ(cost(before), 1);
}

TEST(charge, a_case_that_moves_nothing_costs_nothing) {
  runtime rt(with_workers(1));
  rt.spawn(selects_past_a_read_of_nothing()).join();
}

/// 48 operations of 128 KiB: fewer than 128 operations, but they cost 384.
task<> selects_many_reads(std::span<std::byte> block) {
  auto [near, far] = make_pair();
  auto [tx, rx] = channel::oneshot<int>();
  bool other_ran = false;
  co_await yield();
  auto other = spawn(set_flag(other_ran));
  for (int i = 0; i < 48; ++i) {
    EXPECT_GT(near.try_write(block).value_or(0), 0U);
    auto first = co_await select_in_order(far.read(block), rx.recv());
    EXPECT_EQ(first.index(), 0U);
  }
  EXPECT_TRUE(other_ran) << "the turn was never given up";
  co_await other;
}

TEST(charge, a_loop_of_selects_gives_its_turn_up_by_what_its_cases_move) {
  std::vector<std::byte> block(128 * kib);
  runtime rt(with_workers(1));
  rt.spawn(selects_many_reads(block)).join();
}

// ---- one operation that is many system calls

/// 200 parts need four system calls, none of which waits.
task<> writes_many_parts_with_a_spent_budget() {
  auto [near, far] = make_pair();
  const std::byte one[1] = {};
  const std::vector<std::span<const std::byte>> parts(200, std::span(one));
  bool other_ran = false;
  co_await yield();
  core::current_task()->budget = 2;
  auto other = spawn(set_flag(other_ran));
  const result<std::size_t> put = co_await near.write_all_v(parts);
  EXPECT_EQ(put.value_or(0), parts.size());
  EXPECT_TRUE(other_ran) << "the write has not given its turn up";
  std::byte in[256];
  const result<std::size_t> got = co_await far.read(in);
  EXPECT_EQ(got.value_or(0), parts.size()) << "each part was sent once";
  co_await other;
}

TEST(charge, a_write_of_many_system_calls_gives_its_turn_up_when_the_budget_is_spent) {
  runtime rt(with_workers(1));
  rt.spawn(writes_many_parts_with_a_spent_budget()).join();
}

/// 200 system calls of 64 bytes each, with a budget of 128.
task<> writes_very_many_small_parts() {
  auto [near, far] = make_pair();
  const std::byte one[1] = {};
  const std::vector<std::span<const std::byte>> parts(std::size_t{200} * 64, std::span(one));
  bool other_ran = false;
  co_await yield();
  auto other = spawn(set_flag(other_ran));
  const result<std::size_t> put = co_await near.write_all_v(parts);
  EXPECT_EQ(put.value_or(0), parts.size());
  EXPECT_TRUE(other_ran) << "the write has not given its turn up";
  co_await other;
}

TEST(charge, small_parts_count_by_the_system_calls_that_they_take) {
  runtime rt(with_workers(1));
  rt.spawn(writes_very_many_small_parts()).join();
}

task<> write_and_set(unix_stream& near, std::size_t& sent, bool& began) {
  const std::byte one[1] = {};
  const std::vector<std::span<const std::byte>> parts(200, std::span(one));
  co_await yield();
  began = true;
  core::current_task()->budget = 2;
  const result<std::size_t> put = co_await near.write_all_v(parts);
  sent = put.value_or(0);
}

task<> cancels_a_write_that_has_given_its_turn_up() {
  auto [near, far] = make_pair();
  std::size_t sent = 0;
  bool began = false;
  auto writer = spawn(write_and_set(near, sent, began));
  while (!began) co_await yield();
  writer.cancel();
  const outcome<void> how = co_await writer.result();
  EXPECT_TRUE(how.is_cancelled());
  EXPECT_EQ(sent, 0U) << "it went on";
  std::byte in[256];
  const result<std::size_t> got = co_await far.read(in);
  EXPECT_EQ(got.value_or(0), 64U) << "one system call was made";
}

TEST(charge, a_write_is_cancelled_between_two_system_calls) {
  runtime rt(with_workers(1));
  rt.spawn(cancels_a_write_that_has_given_its_turn_up()).join();
}

}  // namespace
}  // namespace rota::test::charge_test
