#include "chat/options.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>

namespace chat {
namespace {

constexpr std::int64_t longest_time = 3'600'000;

std::string check_address(const std::string& text) {
  in6_addr room{};
  const bool good =
      ::inet_pton(AF_INET, text.c_str(), &room) == 1 || ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
  return good ? "" : "'" + text + "' is not an IPv4 or IPv6 address";
}

slow_policy policy_of(const std::string& name) {
  if (name == "drop") return slow_policy::drop;
  if (name == "disconnect") return slow_policy::disconnect;
  throw CLI::ValidationError("--slow", "'" + name + "' is neither drop nor disconnect");
}

template <class Number>
void add_number(CLI::App& app,
                const std::string& name,
                Number& to,
                std::pair<Number, Number> range,
                const std::string& help) {
  const std::string bounds = std::to_string(range.first) + ".." + std::to_string(range.second);
  app.add_option(name, to, help + " (" + bounds + ")")
      ->check(CLI::Range(range.first, range.second).description(""))
      ->type_name("N")
      ->capture_default_str();
}

void add_time(CLI::App& app, const std::string& name, std::int64_t& milliseconds, const std::string& help) {
  const std::map<std::string, std::int64_t> units{{"ms", 1}, {"s", 1'000}, {"m", 60'000}};
  app.add_option(name, milliseconds, help + " (10ms..60m)")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED).description(""))
      ->check(CLI::Range(std::int64_t{10}, longest_time).description(""))
      ->type_name("TIME")
      ->default_str(std::to_string(milliseconds / 1'000) + "s");
}

void describe(CLI::App& app, options& o) {
  using sizes = std::pair<std::size_t, std::size_t>;
  app.add_option("--bind", o.address, "the address to listen on")
      ->check(check_address)
      ->type_name("ADDRESS")
      ->capture_default_str();
  add_number<std::uint16_t>(app, "--port", o.port, {0, 65'535}, "0: any that is free; it is printed");
  add_number<unsigned>(app, "--workers", o.workers, {0, 256}, "worker threads; 0: one per processor");
  add_number(app, "--max-clients", o.max_clients, sizes{1, 100'000}, "one more is turned away");
  add_number(app, "--max-rooms", o.max_rooms, sizes{1, 100'000}, "rooms that are open at a time");
  add_number(app, "--max-line", o.max_line, sizes{64, 65'536}, "bytes; who sends more is disconnected");
  add_number(app, "--outbox", o.outbox, sizes{2, 1'000'000}, "lines that wait for a client");
  app.add_option_function<std::string>(
         "--slow",
         [&o](const std::string& given) { o.slow = policy_of(given); },
         "of a client whose outbox is full: drop its oldest lines, or disconnect it")
      ->type_name("drop|disconnect")
      ->default_str("drop");
  add_number<int>(app,
                  "--send-buffer",
                  o.send_buffer,
                  {0, 64 * 1024 * 1024},
                  "bytes that the kernel keeps for a client; 0: as it likes");
}

}  // namespace

std::expected<options, early_end> parse_options(int argc, const char* const* argv) {
  options o;
  std::int64_t write_timeout = o.write_timeout.count();
  std::int64_t flush_timeout = o.flush_timeout.count();
  CLI::App app("A chat for those who have nc: one mailbox for each room, and one for each client.", "chat");
  describe(app, o);
  add_time(app, "--write-timeout", write_timeout, "for one line; then the client is disconnected");
  add_time(app, "--flush-timeout", flush_timeout, "for all that waits, when a client or the server ends");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(early_end{0, app.help()});
  } catch (const CLI::ParseError& e) {
    return std::unexpected(early_end{2, "chat: " + std::string(e.what()) + "\nTry chat --help\n"});
  }
  o.write_timeout = std::chrono::milliseconds(write_timeout);
  o.flush_timeout = std::chrono::milliseconds(flush_timeout);
  return o;
}

}  // namespace chat
