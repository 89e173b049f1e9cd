// The matrix of causes (cause_matrix.hpp): sockets, names of hosts, files, FIFOs, processes and signals.
#include "api/cause_matrix.hpp"
#include "support/scratch_folder.hpp"

#include <rota/fs/file.hpp>
#include <rota/fs/watcher.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/net/name_of.hpp>
#include <rota/net/resolve.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/net/udp_socket.hpp>
#include <rota/net/unix_listener.hpp>
#include <rota/process.hpp>
#include <rota/unix_signal.hpp>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::test {
namespace {

/// Host names that the system's resolver does not answer while the object exists.
class silent_names {
 public:
  std::string open() {
    const std::lock_guard lock(mutex_);
    std::string name = "silent" + std::to_string(++made_) + ".test";
    open_.insert(name);
    return name;
  }
  void close(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      open_.erase(name);
    }
    closed_.notify_all();
  }
  /// Blocks until `name` is not open.
  void wait(const std::string& name) {
    std::unique_lock lock(mutex_);
    closed_.wait(lock, [&] { return !open_.contains(name); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable closed_;
  std::set<std::string> open_;
  unsigned made_ = 0;
};
silent_names& names() {
  // Never destroyed: a closure that outlives a shutdown may use it until the program ends.
  static auto* const all = new silent_names;
  return *all;
}

}  // namespace
}  // namespace rota::test

// Replaces the function of the C library: rota's closure in the blocking pool calls this one.
extern "C" int getaddrinfo(const char* host,
                           const char* /*service*/,
                           const addrinfo* /*hints*/,
                           addrinfo** into) {
  rota::test::names().wait(host);
  *into = nullptr;
  return EAI_AGAIN;
}

namespace rota::test {
namespace {

class plain_descriptor {
 public:
  explicit plain_descriptor(int fd) : fd_(fd) { EXPECT_GE(fd, 0); }
  plain_descriptor(const plain_descriptor&) = delete;
  plain_descriptor& operator=(const plain_descriptor&) = delete;
  ~plain_descriptor() { ::close(fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// A loopback socket that never answers: a datagram socket that is not read, or a stream with a full backlog.
class silent_socket {
 public:
  explicit silent_socket(int type)
      : fd_(::socket(AF_INET, type | SOCK_CLOEXEC, 0)),
        in_backlog_(::socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    socklen_t size = sizeof at;
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    at_ = net::endpoint::loopback_v4(ntohs(at.sin_port));
    if (type != SOCK_STREAM) return;
    // A backlog of 0 has a place for one connection. The system drops what asks for another.
    EXPECT_EQ(::listen(fd_.get(), 0), 0);
    EXPECT_EQ(::connect(in_backlog_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }
  [[nodiscard]] net::endpoint at() const noexcept { return at_; }

 private:
  plain_descriptor fd_;
  plain_descriptor in_backlog_;
  net::endpoint at_;
};

/// A FIFO into which a thread writes bytes now and then: a read on a pool thread ends only with a byte.
class dripping_fifo {
 public:
  explicit dripping_fifo(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    fd_ = ::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(fd_, 0);
    drip_ = std::jthread([this](const std::stop_token& stop) { drip(stop); });
  }
  dripping_fifo(const dripping_fifo&) = delete;
  dripping_fifo& operator=(const dripping_fifo&) = delete;
  ~dripping_fifo() {
    drip_.request_stop();
    drip_.join();
    ::close(fd_);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void drip(const std::stop_token& stop) const {
    const std::array<std::byte, 16> some{};
    while (!stop.stop_requested()) {
      // A FIFO that is full takes nothing, and no reader waits for it.
      static_cast<void>(!::write(fd_, some.data(), some.size()));
      std::this_thread::sleep_for(200us);
    }
  }

  std::string path_;
  int fd_ = -1;
  std::jthread drip_;
};

}  // namespace

struct world {
  world() {
    folder.write("full", std::string(4096, 'x'));
    EXPECT_EQ(::mkfifo(folder.at("without_a_writer").c_str(), 0600), 0);
  }
  scratch_folder folder;
  silent_socket name_server{SOCK_DGRAM};
  silent_socket full_listener{SOCK_STREAM};
  dripping_fifo fifo{folder.at("fifo")};
  std::atomic<unsigned> files{0};
};

namespace {

/// Throws if a resource of a wait could not be opened: then the cell fails instead of testing less.
void demand(const auto& opened) { static_cast<void>(opened.value()); }

// ---- sockets

task<int> an_accept(run_of_one& /*r*/) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  static_cast<void>(co_await listener.accept());
  co_return 1;
}
task<int> a_connect(run_of_one& r) {
  auto connecting = net::tcp_stream::connect(r.around.full_listener.at());
  const auto end = co_await std::move(connecting);
  co_return end.has_value() ? 1 : 2;
}
task<int> a_connect_by_name(run_of_one& r) {
  net::connect_options how;
  how.attempt_delay = 50us;
  auto connecting = net::connect("127.0.0.1", r.around.full_listener.at().port(), how);
  const auto end = co_await std::move(connecting);
  co_return end.has_value() ? 1 : 2;
}
task<int> a_read(run_of_one& /*r*/) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  auto stream = co_await net::tcp_stream::connect(listener.local_endpoint().value());
  demand(stream);
  std::array<std::byte, 8> bytes{};
  static_cast<void>(co_await stream->read(bytes));
  co_return 1;
}
task<int> a_write(run_of_one& /*r*/) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  auto stream = co_await net::tcp_stream::connect(listener.local_endpoint().value());
  demand(stream);
  const std::vector<std::byte> bytes(65536);
  for (;;) {
    const auto written = co_await stream->write(bytes);
    if (!written.has_value()) co_return 1;
  }
}
task<int> a_datagram(run_of_one& /*r*/) {
  auto socket = net::udp_socket::bind(net::endpoint::loopback_v4(0)).value();
  std::array<std::byte, 8> bytes{};
  net::endpoint from;
  static_cast<void>(co_await socket.recv_from(bytes, from));
  co_return 1;
}
task<int> readiness(run_of_one& /*r*/) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
  auto stream = co_await net::tcp_stream::connect(listener.local_endpoint().value());
  demand(stream);
  static_cast<void>(co_await stream->readable());
  co_return 1;
}

// ---- names of hosts

struct open_name {
  open_name() = default;
  open_name(const open_name&) = delete;
  open_name& operator=(const open_name&) = delete;
  ~open_name() { names().close(text); }
  std::string text = names().open();
};
task<int> a_name_for_the_system(run_of_one& /*r*/) {
  const open_name name;
  net::resolve_options how;
  how.by = net::name_source::system;
  how.limit = 1h;
  auto asking = net::resolve(name.text, 1, how);
  const auto end = co_await std::move(asking);
  co_return end.has_value() ? 1 : 2;
}
task<int> a_name_for_a_server(run_of_one& r) {
  net::resolve_options how;
  how.by = net::name_source::name_servers;
  how.name_servers.push_back(r.around.name_server.at());
  how.limit = 1h;
  auto asking = net::resolve("silent.test", 1, how);
  const auto end = co_await std::move(asking);
  // Built without c-ares.
  if (!end.has_value() && end.error() == std::errc::not_supported) co_return co_await hour();
  co_return end.has_value() ? 1 : 2;
}
task<int> a_name_of_an_address(run_of_one& r) {
  net::name_options how;
  how.by = net::name_source::name_servers;
  how.name_servers.push_back(r.around.name_server.at());
  how.limit = 1h;
  auto asking = net::name_of(net::endpoint::parse("192.0.2.7:1").value(), how);
  const auto end = co_await std::move(asking);
  // Built without c-ares.
  if (!end.has_value() && end.error() == std::errc::not_supported) co_return co_await hour();
  co_return end.has_value() ? 1 : 2;
}
task<int> a_connect_to_a_name(run_of_one& /*r*/) {
  const open_name name;
  net::connect_options how;
  how.by = net::name_source::system;
  how.limit = 1h;
  auto connecting = net::connect(name.text, 1, how);
  const auto end = co_await std::move(connecting);
  co_return end.has_value() ? 1 : 2;
}

// ---- files

task<int> opens_a_fifo_without_a_writer(run_of_one& r) {
  auto opening = fs::file::open(r.around.folder.at("without_a_writer"));
  const auto end = co_await std::move(opening);
  co_return end.has_value() ? 1 : 2;
}
task<int> reads_of_a_fifo(run_of_one& r) {
  auto opening = fs::file::open(r.around.fifo.path());
  auto file = co_await std::move(opening);
  if (!file.has_value()) co_return 1;
  std::array<std::byte, 8> bytes{};
  for (;;) {
    const auto size = co_await file->read(bytes);
    if (size.value_or(0) == 0) co_return 2;
  }
}
task<int> reads_of_a_file(run_of_one& r) {
  auto opening = fs::file::open(r.around.folder.at("full"));
  auto file = co_await std::move(opening);
  if (!file.has_value()) co_return 1;
  std::array<std::byte, 512> bytes{};
  for (;;) {
    const auto size = co_await file->read_at(bytes, 0);
    if (size.value_or(0) == 0) co_return 2;
  }
}
task<int> writes_to_a_file(run_of_one& r) {
  auto opening = fs::file::create(r.around.folder.at("written" + std::to_string(++r.around.files % 8)));
  auto file = co_await std::move(opening);
  if (!file.has_value()) co_return 1;
  const std::array<std::byte, 512> bytes{};
  for (;;) {
    const auto size = co_await file->write_at(bytes, 0);
    if (!size.has_value()) co_return 2;
  }
}
task<int> whole_files(run_of_one& r) {
  for (;;) {
    auto reading = fs::read(r.around.folder.at("full"));
    const auto all = co_await std::move(reading);
    if (!all.has_value()) co_return 1;
  }
}
task<int> a_change_of_a_folder(run_of_one& /*r*/) {
  auto changes = fs::watcher::open();
  demand(changes);
  const auto first = co_await changes->next();
  co_return first.has_value() ? 1 : 2;
}

// ---- processes

task<int> a_process(run_of_one& /*r*/) {
  auto started = co_await process::command("/bin/sleep").arg("3600").spawn();
  demand(started);
  static_cast<void>(co_await started->wait());
  co_return 1;
}
task<int> a_run(run_of_one& /*r*/) {
  const auto end = co_await process::command("/bin/sleep").arg("3600").run();
  co_return end.has_value() ? 1 : 2;
}
task<int> an_output(run_of_one& /*r*/) {
  const auto captured = co_await process::command("/bin/sleep").arg("3600").output();
  co_return captured.has_value() ? 1 : 2;
}
task<int> short_processes(run_of_one& /*r*/) {
  for (;;) {
    auto started = co_await process::command("/bin/true").spawn();
    if (!started.has_value()) co_return 1;
    const auto end = co_await started->wait();
    if (!end.has_value()) co_return 2;
  }
}
task<int> a_signal_of_the_system(run_of_one& /*r*/) {
  auto signals = unix_signal::open({SIGUSR2});
  demand(signals);
  static_cast<void>(co_await signals->next());
  co_return 1;
}

constexpr way ways[] = {
    {"an accept", an_accept},
    {"a connect", a_connect},
    {"a connect to one of several addresses", a_connect_by_name},
    {"a read of a socket", a_read},
    {"writes to a socket", a_write},
    {"a datagram", a_datagram},
    {"readable() of a socket", readiness},
    {"a name for the system's resolver", a_name_for_the_system, leaves::a_closure},
    {"a name for a name server", a_name_for_a_server},
    {"the name of an address", a_name_of_an_address},
    {"a connect to a name", a_connect_to_a_name, leaves::a_closure},
    {"the open of a FIFO", opens_a_fifo_without_a_writer, leaves::a_task_with_a_closure},
    {"reads of a FIFO", reads_of_a_fifo, leaves::a_task_with_a_closure},
    {"reads of a file", reads_of_a_file, leaves::a_task_with_a_closure},
    {"writes to a file", writes_to_a_file, leaves::a_task_with_a_closure},
    {"reads of whole files", whole_files, leaves::a_task_with_a_closure},
    {"next() of a watcher", a_change_of_a_folder},
    {"wait() of a process", a_process, leaves::a_task_with_a_closure},
    {"run() of a process", a_run, leaves::a_task_with_a_closure},
    {"output() of a process", an_output, leaves::a_task_with_a_closure},
    {"spawns and waits of processes", short_processes, leaves::a_task_with_a_closure},
    {"a signal", a_signal_of_the_system},
};

TEST_P(cause_matrix, one_cause_has_one_report) {
  world around;
  expect_one_cause_one_report(GetParam(), around, ways);
}
INSTANTIATE_TEST_SUITE_P(boundaries, cause_matrix, ::testing::ValuesIn(boundaries), name_of);

TEST(cause_of_a_shutdown, has_one_report) {
  world around;
  expect_one_report_of_a_shutdown(around, ways);
}

TEST(document_of_causes, lists_the_tested_ways_to_wait_of_io) {
  expect_ways_in_the_document("cause_matrix_io_test", ways);
}

}  // namespace
}  // namespace rota::test
