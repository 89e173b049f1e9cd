// Types that cannot be a case of a select, and handlers that do not fit.
// EXPECT: a task is no case of a select: spawn it and name its handle
// EXPECT: no case of a select: it needs a leaf that may lose
// EXPECT: what happens here cannot be given back if another case wins
// EXPECT: must have a name: its task goes on if another case wins
// EXPECT: a thread can wait for channels and for what is in rota/sync
// EXPECT: either every case of a select has a handler, or none
// EXPECT: the handler does not take what its case yields
// EXPECT: this case has a handler already
// EXPECT: select_list.hpp.*a thread can wait for channels and for what is in rota/sync
// EXPECT: the list of a select must have a name
// EXPECT: no list of cases: its elements are neither handles nor receivers, or are const
// EXPECT: no case of a select: the function must return a leaf that may lose
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/barrier.hpp>

#include <vector>

namespace channel = rota::channel;

rota::task<int> child();

rota::task<void> of_a_task(channel::receiver<int> rx) {
  static_cast<void>(co_await channel::select(rx.recv(), child()));
}
rota::task<void> of_a_limit(channel::receiver<int> rx) {
  static_cast<void>(co_await channel::select(rx.recv_for(std::chrono::seconds(1))));
}
rota::task<void> of_a_temporary_handle() {
  static_cast<void>(co_await channel::select(rota::spawn(child())));
}
rota::task<void> of_an_arrival(rota::sync::barrier& b) {
  static_cast<void>(co_await channel::select(b.arrive_and_wait()));
}
void of_an_arrival_in_a_thread(rota::sync::barrier& b) {
  static_cast<void>(channel::blocking_select(b.arrive_and_wait()));
}
void of_a_timer_in_a_thread(channel::receiver<int> rx) {
  static_cast<void>(channel::blocking_select(rx.recv(), rota::sleep_for(std::chrono::seconds(1))));
}
void with_one_handler(channel::receiver<int> rx, channel::receiver<int> other) {
  static_cast<void>(channel::try_select(channel::on(rx.recv(), [](std::optional<int>) {}), other.recv()));
}
void with_a_handler_of_another_type(channel::receiver<int> rx) {
  static_cast<void>(channel::try_select(channel::on(rx.recv(), [](const char*) {})));
}
void with_two_handlers(channel::receiver<int> rx) {
  const auto f = [](std::optional<int>) {};
  static_cast<void>(channel::try_select(channel::on(channel::on(rx.recv(), f), f)));
}
rota::task<void> of_a_temporary_list(std::vector<channel::receiver<int>> (*make)()) {
  static_cast<void>(co_await channel::select(make()));
}
rota::task<void> of_a_const_list(const std::vector<channel::receiver<int>>& all) {
  static_cast<void>(co_await channel::select(all));
}
void of_a_list_of_handles_in_a_thread(std::vector<rota::join_handle<int>>& all) {
  static_cast<void>(channel::blocking_select(all));
}
rota::task<void> of_a_list_of_limits(std::vector<channel::receiver<int>>& all) {
  const auto limited = [](channel::receiver<int>& each) { return each.recv_for(std::chrono::seconds(1)); };
  static_cast<void>(co_await channel::select(all, limited));
}
