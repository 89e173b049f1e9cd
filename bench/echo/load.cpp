// QUESTION  How many requests per second does an echo server answer, with what latency, and at what processor
//           time per request?
// WHY       The suite `echo` loads all of its servers with this one program, so that only the servers differ.
// BASELINE  None: this program is not a subject.
// READ IT   One line of JSON. Each connection has one request in flight: a slow server gets fewer requests,
//           and a latency is the time of an answer while all other connections send requests, too. All
//           returned bytes are compared.
//
//   echo_load --port P --server PID --connections N --bytes B --threads T --warm-up MS --window MS
//   echo_load --port P --server PID --connections N --bytes B --idle MS      the cost of an idle connection
//
// All connections are made first, a few at a time, and each gets one answer. Any failure ends the program
// with exit code 1, also an answer that is missing --patience MS (10000) after the end.
#include <sys/types.h>

#include <barrier>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "client.hpp"

namespace {

using load::clock_now;
using load::fail;
using load::nanoseconds;

struct settings {
  unsigned long port = 0;
  unsigned long server = 0;
  unsigned long connections = 1;
  unsigned long bytes = 64;
  unsigned long threads = 1;
  unsigned long warm_up = 0;
  unsigned long window = 0;
  unsigned long idle = 0;
  unsigned long patience = 10'000;
};

unsigned long number(std::string_view name, const char* text, unsigned long most) {
  char* end = nullptr;
  const unsigned long value = text == nullptr ? 0 : std::strtoul(text, &end, 10);
  if (value == 0 || value > most || *end != '\0') {
    std::fprintf(stderr, "load: %s is a number from 1 to %lu\n", name.data(), most);
    std::exit(2);
  }
  return value;
}

settings parse(int argc, char** argv) {
  settings how;
  const struct {
    std::string_view name;
    unsigned long* value;
    unsigned long most;
  } options[] = {{"--port", &how.port, 65535},
                 {"--server", &how.server, 1UL << 30U},
                 {"--connections", &how.connections, 1'000'000},
                 {"--bytes", &how.bytes, load::most_bytes},
                 {"--threads", &how.threads, 64},
                 {"--warm-up", &how.warm_up, 600'000},
                 {"--window", &how.window, 600'000},
                 {"--idle", &how.idle, 600'000},
                 {"--patience", &how.patience, 600'000}};
  for (int i = 1; i < argc; i += 2) {
    const auto* const found = std::find_if(
        std::begin(options), std::end(options), [&](const auto& each) { return each.name == argv[i]; });
    if (found == std::end(options)) {
      std::fprintf(stderr, "load: there is no option %s\n", argv[i]);
      std::exit(2);
    }
    *found->value = number(found->name, i + 1 < argc ? argv[i + 1] : nullptr, found->most);
  }
  how.threads = std::min(how.threads, how.connections);
  return how;
}

/// Reads the processor time of all threads of the server.
class server_clock {
 public:
  explicit server_clock(unsigned long pid) {
    const int error = ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock_);
    if (error != 0) fail("no clock of process %lu: %s", pid, std::strerror(error));
  }
  [[nodiscard]] nanoseconds now() const { return clock_now(clock_); }

 private:
  clockid_t clock_{};
};

double resident_bytes(unsigned long pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/statm";
  long long resident = 0;
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr || std::fscanf(file, "%*d %lld", &resident) != 1) fail("no %s", path.c_str());
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void sleep_until(nanoseconds when) {
  const timespec t{static_cast<time_t>(when / 1'000'000'000), static_cast<long>(when % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

/// Returns the processor time that the server has used in the window, in seconds. This thread may wake late,
/// so the measured value is scaled to the window.
double server_seconds(const settings& how, nanoseconds begin, nanoseconds end) {
  const server_clock server(how.server);
  sleep_until(begin);
  const nanoseconds from = clock_now();
  const nanoseconds spent_before = server.now();
  sleep_until(end);
  const nanoseconds spent = server.now() - spent_before;
  const nanoseconds passed = clock_now() - from;
  return static_cast<double>(spent) / static_cast<double>(passed) * static_cast<double>(end - begin) / 1e9;
}

using clients = std::vector<std::unique_ptr<load::client>>;

clients clients_of(const settings& how, const load::pattern& sent) {
  const load::asking asking{how.port, how.bytes, how.patience * load::millisecond};
  clients all;
  for (unsigned long i = 0; i < how.threads; ++i) {
    const unsigned long count = how.connections / how.threads + (i < how.connections % how.threads ? 1 : 0);
    all.push_back(std::make_unique<load::client>(asking, sent, count, i << 40U));
  }
  return all;
}

/// Runs `work(client)` on one thread per client, and `meanwhile()` on this thread.
template <class Work, class Meanwhile>
void on_threads(const clients& all, Work work, Meanwhile meanwhile) {
  std::vector<std::jthread> threads;
  for (const auto& each : all) threads.emplace_back([&work, &each] { work(*each); });
  meanwhile();
}

double microseconds(const bench::histogram& of, double share) {
  return static_cast<double>(of.quantile(share)) / 1e3;
}

void measure(const settings& how, const clients& all) {
  on_threads(all, [](load::client& each) { each.connect(); }, [] {});
  const nanoseconds begin = clock_now() + how.warm_up * load::millisecond;
  const nanoseconds end = begin + how.window * load::millisecond;
  double spent = 0;
  on_threads(
      all,
      [&](load::client& each) { each.ask(begin, end); },
      [&] { spent = server_seconds(how, begin, end); });
  bench::histogram sum;
  for (const auto& each : all) sum += each->latencies();
  if (sum.total() == 0) fail("nothing was answered in the window");
  std::printf(R"({"requests":%llu,"seconds":%.3f,"server_seconds":%.6f,"p50":%.3f,"p99":%.3f,"p999":%.3f})"
              "\n",
              static_cast<unsigned long long>(sum.total()),
              static_cast<double>(how.window) / 1e3,
              spent,
              microseconds(sum, 0.5),
              microseconds(sum, 0.99),
              microseconds(sum, 0.999));
}

/// Measures by how many bytes the server's resident set has grown, per connection.
void measure_idle(const settings& how, const clients& all) {
  const double before = resident_bytes(how.server);
  on_threads(all, [](load::client& each) { each.connect(); }, [] {});
  sleep_until(clock_now() + how.idle * load::millisecond);
  const double grown = resident_bytes(how.server) - before;
  std::printf("{\"bytes\":%.1f}\n", grown / static_cast<double>(how.connections));
}

}  // namespace

int main(int argc, char** argv) {
  const settings how = parse(argc, argv);
  if (how.port == 0 || how.server == 0 || (how.window == 0) == (how.idle == 0)) {
    std::fputs("load: --port P --server PID, and --window MS or --idle MS\n", stderr);
    return 2;
  }
  const load::pattern sent;
  const clients all = clients_of(how, sent);
  if (how.window != 0) {
    measure(how, all);
  } else {
    measure_idle(how, all);
  }
}
