// As many connections at once as descriptors allow, up to ten thousand, through a proxy that cuts, delays,
// ends a direction early, or resets both sides. What arrives is what was sent, by count and hash. A reset is
// an error of one operation. Every fourth round shuts the runtime down. No descriptor leaks.
#include "net_echo.hpp"

#include "stress.hpp"
#include "support/sanitized.hpp"

#include <rota/fs/file.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/semaphore.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <iterator>
#include <optional>

namespace {

using namespace stress::echo;
using namespace std::chrono_literals;
using rota::task;
using rota::net::tcp_listener;
using rota::net::tcp_stream;

constexpr std::size_t piece = 2'048;
using buffer = std::array<std::byte, piece>;
using head = std::array<std::byte, sizeof(std::uint32_t)>;

/// One round.
class world {
 public:
  world(std::uint64_t seed, std::size_t connections, stress::watchdog& dog)
      : accounts(connections), said(seed), round(seed), dog_(dog) {}

  [[nodiscard]] std::size_t count() const noexcept { return accounts.size(); }
  [[nodiscard]] plan plan_of(std::size_t id) const {
    return stress::echo::plan_of(round, id, said.all().size());
  }
  void moved() { dog_.progress.fetch_add(1, std::memory_order_relaxed); }
  void complain(std::size_t id, const char* what, const std::error_code& why = {}) {
    constexpr std::uint64_t shown = 10;
    if (violations++ >= shown) return;
    std::fprintf(stderr,
                 "stress: net_echo --seed %llu, connection %zu (fate %u): %s %s\n",
                 static_cast<unsigned long long>(round),
                 id,
                 static_cast<unsigned>(plan_of(id).what),
                 what,
                 why ? why.message().c_str() : "");
  }
  /// Both connections of a pair are there, or never will be.
  void arrive() {
    connecting.release();
    if (++there == count()) all_there.set();
  }

  std::vector<account> accounts;
  const words said;
  const std::uint64_t round;
  std::optional<rota::fs::file> written;  // `said`, in a file
  rota::net::endpoint proxy_at;
  rota::net::endpoint server_at;
  rota::sync::semaphore connecting{512};  // fewer than a listener's queue holds
  rota::sync::event all_there;
  std::atomic<std::size_t> there{0};
  std::atomic<std::uint64_t> violations{0};

 private:
  stress::watchdog& dog_;
};

// ---- the client

task<> says(world& in, tcp_stream& to, const plan& p, side& mine) {
  chance luck(p.luck);
  const std::span<const std::byte> all = in.said.of(p);
  while (mine.bytes.count() < all.size()) {
    const std::size_t most = std::min(all.size() - mine.bytes.count(), 2 * piece);
    const auto some = all.subspan(mine.bytes.count(), 1 + luck.below(most));
    const auto sent = co_await to.write_all(some);
    if (!sent.has_value()) {
      mine.error = sent.error();
      co_return;
    }
    mine.bytes.add(some);
    in.moved();
  }
  mine.is_over = true;
  static_cast<void>(to.shutdown_write());  // ENOTCONN: the connection was reset, and its reader gets an error
}

/// The same, from the file: with a ring its completions come beside the sockets' events.
task<> says_what_it_reads(world& in, tcp_stream& to, const plan& p, side& mine) {
  buffer some;
  while (mine.bytes.count() < p.size) {
    const auto into = std::span(some).first(std::min(p.size - mine.bytes.count(), some.size()));
    const auto got = co_await in.written->read_at(into, p.first + mine.bytes.count());
    if (!got.has_value() || *got == 0) {
      mine.error = got.has_value() ? std::make_error_code(std::errc::io_error) : got.error();
      co_return;
    }
    const auto sent = co_await to.write_all(into.first(*got));
    if (!sent.has_value()) {
      mine.error = sent.error();
      co_return;
    }
    mine.bytes.add(into.first(*got));
    in.moved();
  }
  mine.is_over = true;
  static_cast<void>(to.shutdown_write());
}

task<> hears(world& in, tcp_stream& from, const plan& p, side& mine) {
  if (p.luck % 5 == 0) co_await rota::sleep_for(std::chrono::milliseconds(p.luck % 50));
  buffer some;
  for (;;) {
    const auto got = co_await from.read(some);
    if (!got.has_value()) {
      mine.error = got.error();
      co_return;
    }
    if (*got == 0) break;
    mine.bytes.add(std::span(some).first(*got));
    in.moved();
  }
  mine.is_over = true;
}

task<> client(world& in, std::uint32_t id) {
  static_cast<void>(co_await in.connecting.acquire());
  auto to = co_await tcp_stream::connect(in.proxy_at);
  if (!to.has_value()) {
    in.complain(id, "no connection:", to.error());
    in.arrive();
    co_return;
  }
  const auto me = std::bit_cast<head>(id);
  const auto told = co_await to->write_all(me);
  if (!told.has_value()) in.complain(id, "no head:", told.error());
  static_cast<void>(co_await in.all_there.wait());
  const plan p = in.plan_of(id);
  account& mine = in.accounts[id];
  auto saying = id % 8 == 0 ? says_what_it_reads(in, *to, p, mine.said) : says(in, *to, p, mine.said);
  auto hearing = hears(in, *to, p, mine.back);
  static_cast<void>(co_await rota::when_all(std::move(saying), std::move(hearing)));
}

// ---- the server

/// The id of a connection: the first bytes that the client sends.
task<std::optional<std::uint32_t>> id_of(world& in, tcp_stream& from) {
  head first;
  const auto got = co_await rota::io::read_exact(from, first);
  const auto id = std::bit_cast<std::uint32_t>(first);
  if (got.has_value() && id < in.count()) co_return id;
  in.complain(0, "a head that did not come:", got.has_value() ? std::error_code() : got.error());
  co_return std::nullopt;
}

task<> answers(world& in, tcp_stream from) {
  const auto id = co_await id_of(in, from);
  if (!id.has_value()) co_return;
  side& mine = in.accounts[*id].arrived;
  buffer some;
  for (;;) {
    const auto got = co_await from.read(some);
    if (got.has_value() && *got == 0) break;
    std::error_code failed = got.has_value() ? std::error_code() : got.error();
    if (!failed) {
      const auto bytes = std::span(some).first(*got);
      mine.bytes.add(bytes);
      const auto sent = co_await from.write_all(bytes);
      if (!sent.has_value()) failed = sent.error();
    }
    if (failed) {
      mine.error = failed;
      co_return;
    }
    in.moved();
  }
  mine.is_over = true;
  static_cast<void>(from.shutdown_write());
}

// ---- the proxy

struct lane {
  tcp_stream& from;
  tcp_stream& to;
  std::uint32_t id;
  std::size_t cut;
  chance luck;
  unsigned waits = 16;  // at most
};

task<> forwards(world& in, lane& by, const plan& p, std::span<const std::byte> some) {
  while (!some.empty()) {
    const bool is_cut = p.what != fate::whole;
    const auto next = some.first(is_cut ? 1 + by.luck.below(some.size()) : some.size());
    if (p.what == fate::late && by.waits != 0 && by.luck.below(4) == 0) {
      --by.waits;
      co_await rota::sleep_for(std::chrono::microseconds(by.luck.below(20'000)));
    }
    const auto sent = co_await by.to.write_all(next);
    if (!sent.has_value()) {
      in.complain(by.id, "the proxy could not write:", sent.error());
      co_return;
    }
    some = some.subspan(next.size());
  }
}

/// Reads to the end, or to the cut. What comes then is dropped, unless both are about to be reset.
task<> passes(world& in, lane by, const plan& p) {
  buffer some;
  std::size_t left = by.cut;
  for (;;) {
    const auto got = co_await by.from.read(some);
    if (!got.has_value()) {
      in.complain(by.id, "the proxy could not read:", got.error());
      co_return;
    }
    in.moved();
    if (*got == 0) break;
    if (left == 0) continue;
    const std::size_t pass = std::min(left, *got);
    co_await forwards(in, by, p, std::span(some).first(pass));
    if (left != no_cut) left -= pass;
    if (left != 0) continue;
    if (is_reset(p.what)) co_return;
    static_cast<void>(by.to.shutdown_write());
  }
  if (left != 0) static_cast<void>(by.to.shutdown_write());
}

/// From now on their end is a reset.
void arm_reset(world& in, tcp_stream& one, tcp_stream& other, std::uint32_t id) {
  for (tcp_stream* const each : {&one, &other}) {
    const auto done = each->reset_on_close();
    if (!done.has_value()) in.complain(id, "no reset:", done.error());
  }
}

task<> pass_both(world& in, tcp_stream& front, tcp_stream& back, std::uint32_t id) {
  const plan p = in.plan_of(id);
  co_await rota::with_scope([&](rota::scope& lanes) -> task<> {
    auto up = lanes.spawn(passes(in, lane{front, back, id, p.cut_up(), chance(p.luck + 1)}, p));
    auto down = lanes.spawn(passes(in, lane{back, front, id, p.cut_down(), chance(p.luck + 2)}, p));
    auto& decides = p.what == fate::reset_down ? down : up;
    auto& other = p.what == fate::reset_down ? up : down;
    co_await decides;
    if (is_reset(p.what)) other.cancel();
    static_cast<void>(co_await other.result());
  });
  if (is_reset(p.what)) arm_reset(in, front, back, id);
}

task<> stands_between(world& in, tcp_stream front) {
  const auto id = co_await id_of(in, front);
  if (!id.has_value()) co_return in.arrive();
  auto back = co_await tcp_stream::connect(in.server_at);
  if (!back.has_value()) {
    in.complain(*id, "the proxy could not connect:", back.error());
    co_return in.arrive();
  }
  const auto me = std::bit_cast<head>(*id);
  const auto told = co_await back->write_all(me);
  if (!told.has_value()) in.complain(*id, "no head:", told.error());
  in.arrive();
  co_await pass_both(in, front, *back, *id);
}

// ---- a round

template <class Serve>
task<> accepts(world& in, tcp_listener& at, rota::scope& those, Serve serve) {
  for (std::size_t i = 0; i < in.count(); ++i) {
    auto one = co_await at.accept();
    if (!one.has_value()) {
      in.complain(i, "not accepted:", one.error());
      continue;
    }
    those.fork(serve(in, std::move(*one)));
  }
}

/// `said` in a file that has no name, for the tasks of this runtime.
rota::fs::file file_of(const words& said) {
  const int fd = ::memfd_create("words", MFD_CLOEXEC);
  const std::span<const std::byte> all = said.all();
  if (fd == -1 || ::write(fd, all.data(), all.size()) != static_cast<ssize_t>(all.size()))
    throw std::system_error(errno, std::system_category(), "memfd");
  return rota::fs::file::adopt(fd).value();
}

/// Each round has its own addresses, so its listeners share no port with older connections.
task<> everything(world& in) {
  const std::string here = "127.0.0." + std::to_string(2 + in.round % 250) + ":0";
  tcp_listener proxies = tcp_listener::bind(rota::net::endpoint::parse(here)).value();
  tcp_listener servers = tcp_listener::bind(rota::net::endpoint::parse(here)).value();
  in.proxy_at = proxies.local_endpoint().value();
  in.server_at = servers.local_endpoint().value();
  in.written = file_of(in.said);
  co_await rota::with_scope([&](rota::scope& all) -> task<> {
    all.fork(accepts(in, proxies, all, stands_between));
    all.fork(accepts(in, servers, all, answers));
    for (std::uint32_t id = 0; id < in.count(); ++id) all.fork(client(in, id));
    co_return;
  });
  in.written.reset();
}

struct totals {
  std::uint64_t rounds = 0;
  std::uint64_t connections = 0;
  std::uint64_t resets = 0;
  std::uint64_t ended_early = 0;
  std::uint64_t bytes = 0;
  std::uint64_t shut_down = 0;
  std::uint64_t violations = 0;
  bool has_ring = false;
};

void settle(world& in, totals& so_far) {
  if (in.there != in.count()) in.complain(0, "not all were there");
  for (std::size_t id = 0; id < in.count(); ++id) {
    const plan p = in.plan_of(id);
    const account& a = in.accounts[id];
    if (const char* const why = fault_of(p, a, in.said.of(p))) in.complain(id, why);
    so_far.resets += is_reset(p.what) ? 1 : 0;
    so_far.ended_early += !is_reset(p.what) && p.cut_up() != p.cut_down() ? 1 : 0;
    so_far.bytes += a.said.bytes.count() + a.arrived.bytes.count() + a.back.bytes.count();
  }
  so_far.connections += in.count();
}

/// The runtime ends in the middle: what was received until then is a prefix of what was sent.
void settle_half(world& in, totals& so_far) {
  for (std::size_t id = 0; id < in.count(); ++id) {
    const char* const why = fault_of_bytes(in.accounts[id], in.said.of(in.plan_of(id)));
    if (why != nullptr) in.complain(id, why);
  }
  ++so_far.shut_down;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// A thread of a runtime that has gone, and the kernel's end of a ring, may keep theirs for a moment.
bool all_files_are_closed(std::size_t before) {
  const auto since = stress::clock_type::now();
  while (open_files() != before) {
    if (stress::clock_type::now() - since > 10s) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

void play(std::uint64_t round, std::size_t connections, stress::watchdog& dog, totals& so_far) {
  const std::size_t files = open_files();
  const bool is_shut_down = round % 4 == 3;
  world in(round, connections, dog);
  {
    rota::runtime rt(stress::options_of_round(round));
    const stress::watchdog::watched here(dog, rt);
    so_far.has_ring = rt.stats().io_backend == rota::io_backend::uring;
    if (is_shut_down) {
      rt.spawn(everything(in)).detach();
      std::this_thread::sleep_for(std::chrono::milliseconds(chance(round).below(1'500)));
      rt.shutdown(0ms);
      settle_half(in, so_far);
    } else {
      rt.block_on(everything(in));
      settle(in, so_far);
      if (rt.stats().io.watched != 0) in.complain(0, "a descriptor is still watched");
    }
    rt.shutdown(0ms);
    if (rt.stats().alive_tasks != 0) in.complain(0, "a task is left");
    in.written.reset();
  }
  if (!all_files_are_closed(files)) in.complain(0, "a descriptor is left");
  so_far.violations += in.violations;
  ++so_far.rounds;
}

/// Four for each connection: its two ends, and the proxy's. All that this process may have.
std::size_t connections_that_fit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  constexpr rlim_t others = 100;
  const auto fit = static_cast<std::size_t>(std::min<rlim_t>(files.rlim_cur - others, 40'000) / 4);
  return std::min<std::size_t>(fit, rota::test::sanitized ? 500 : 10'000);
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  const std::size_t at_once = stress::number_after(argc, argv, "--connections", connections_that_fit());
  totals all;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round) play(round, at_once, dog, all);
  return stress::finish("net_echo",
                        o,
                        {{"uring", all.has_ring ? 1U : 0U},
                         {"connections_at_once", at_once},
                         {"rounds", all.rounds},
                         {"connections", all.connections},
                         {"resets", all.resets},
                         {"ended_early", all.ended_early},
                         {"shut_down", all.shut_down},
                         {"bytes", all.bytes}},
                        all.violations);
}
