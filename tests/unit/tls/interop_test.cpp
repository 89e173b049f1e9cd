// With other programs: openssl's client and server, and curl. `./dev` installs them; else tests skip.
#include "support/certificates.hpp"
#include "support/scratch_folder.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/io/buffered_reader.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/process.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/error.hpp>
#include <rota/tls/server.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::test::interop_test {
namespace {

using io::result;
using secure_stream = tls::stream<net::tcp_stream>;

bool is_installed(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string file = std::string(rest.substr(0, end)) + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) return true;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return false;
}

#define NEEDS(program) \
  if (!is_installed(program)) GTEST_SKIP() << program << " is not installed: apt-get install " << program

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The files that the programs need.
struct files {
  files() {
    folder.write("ca.pem", root().pem());
    folder.write("chain.pem", of_example_com().chain_pem);
    folder.write("key.pem", of_example_com().key_pem);
    const tls::identity alice = root().issue({.name = "alice", .hosts = ""});
    folder.write("alice.pem", alice.chain_pem);
    folder.write("alice.key", alice.key_pem);
  }
  scratch_folder folder;
};

tls::server_config serving_files(const files& f) {
  tls::server_config config;
  config.identities.emplace_back();
  config.identities[0].chain_file = f.folder.at("chain.pem");
  config.identities[0].key_file = f.folder.at("key.pem");
  return config;
}

/// What a server learns of its one client.
struct guest {
  std::error_code why;
  std::string line;
  std::string host;
  std::string subject;
  std::string alpn;
  bool is_resumed = false;
};

/// Reads a line, answers, and ends.
task<guest> answers(tls::server server, net::tcp_listener& listener, std::string answer) {
  guest seen;
  result<net::tcp_stream> socket = co_await listener.accept();
  result<secure_stream> stream = co_await server.accept(std::move(socket.value()));
  if (!stream.has_value()) seen.why = stream.error();
  if (!stream.has_value()) co_return seen;
  seen.host = stream->host();
  seen.subject = stream->peer_subject();
  seen.alpn = stream->alpn();
  seen.is_resumed = stream->is_resumed();
  io::buffered_reader<secure_stream> in(*stream);
  const auto line = co_await in.line();
  if (line.has_value() && line->has_value()) seen.line = std::string(**line);
  if (!line.has_value()) seen.why = line.error();
  const result<std::size_t> put = co_await stream->write_all(as_bytes(answer));
  EXPECT_TRUE(put.has_value()) << put.error().message();
  const result<void> finished = co_await stream->shutdown_write();
  EXPECT_TRUE(finished.has_value());
  // Reads until the client's end. Otherwise its last bytes would reset the connection and lose the answer.
  std::byte rest[100];
  for (;;) {
    const result<std::size_t> got = co_await stream->read(rest);
    if (!got.has_value() || *got == 0) co_return seen;
  }
}

struct visit {
  guest seen;
  process::captured said;
};

/// Serves one client: a program that gets the port in place of `PORT` in its arguments.
task<visit> visited(tls::server_config config,
                    std::vector<std::string> command,
                    std::string input,
                    std::string answer) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
  const std::string port = std::to_string(listener->local_endpoint()->port());
  process::command program(command[0]);
  for (std::size_t i = 1; i < command.size(); ++i) {
    std::string one = command[i];
    const std::size_t at = one.find("PORT");
    if (at != std::string::npos) one.replace(at, 4, port);
    program.arg(one);
  }
  const tls::server server(config);
  auto serving = spawn(answers(server, *listener, answer));
  process::output_options how;
  how.limit = 30s;
  how.input = as_bytes(input);
  const auto said = co_await program.output(how);
  EXPECT_TRUE(said.has_value()) << said.error().message();
  visit v;
  v.seen = co_await serving;
  if (said.has_value()) v.said = *said;
  co_return v;
}

std::vector<std::string> s_client(const files& f, std::vector<std::string> more) {
  std::vector<std::string> all{"openssl",
                               "s_client",
                               "-connect",
                               "127.0.0.1:PORT",
                               "-servername",
                               "example.com",
                               "-verify_hostname",
                               "example.com",
                               "-verify_return_error",
                               "-quiet",
                               "-CAfile",
                               f.folder.at("ca.pem")};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

visit run_visit(const tls::server_config& config,
                const std::vector<std::string>& command,
                const std::string& input,
                const std::string& answer) {
  runtime rt(with_workers(2));
  return rt.spawn(visited(config, command, input, answer)).join();
}

TEST(interop, a_server_talks_to_openssls_client) {
  NEEDS("openssl");
  const files f;
  tls::server_config config = serving_files(f);
  config.alpn = {"other", "echo"};
  const visit v = run_visit(config, s_client(f, {"-alpn", "echo", "-tls1_3"}), "hello\n", "and welcome\n");
  EXPECT_FALSE(v.seen.why) << v.seen.why.message();
  EXPECT_EQ(v.seen.line, "hello");
  EXPECT_EQ(v.seen.host, "example.com");
  EXPECT_EQ(v.seen.alpn, "echo");
  EXPECT_TRUE(v.said.status.is_success()) << v.said.err;
  EXPECT_EQ(v.said.out, "and welcome\n");
}

TEST(interop, a_server_accepts_tls_1_2_from_openssls_client_only_if_configured) {
  NEEDS("openssl");
  const files f;
  tls::server_config config = serving_files(f);
  const visit refused = run_visit(config, s_client(f, {"-tls1_2"}), "hello\n", "x");
  EXPECT_EQ(refused.seen.why.message(), "unsupported protocol");
  EXPECT_FALSE(refused.said.status.is_success());
  config.minimum_version = tls::version::tls_1_2;
  const visit taken = run_visit(config, s_client(f, {"-tls1_2"}), "hello\n", "x\n");
  EXPECT_FALSE(taken.seen.why) << taken.seen.why.message();
  EXPECT_EQ(taken.said.out, "x\n") << taken.said.err;
}

TEST(interop, a_server_sees_the_certificate_of_openssls_client) {
  NEEDS("openssl");
  const files f;
  tls::server_config config = serving_files(f);
  config.from_clients = tls::client_certificates::required;
  config.ca_file = f.folder.at("ca.pem");
  const visit with =
      run_visit(config,
                s_client(f, {"-cert", f.folder.at("alice.pem"), "-key", f.folder.at("alice.key")}),
                "hi\n",
                "x\n");
  EXPECT_FALSE(with.seen.why) << with.seen.why.message();
  EXPECT_EQ(with.seen.subject, "CN=alice");
  const visit without = run_visit(config, s_client(f, {}), "hi\n", "x\n");
  EXPECT_EQ(without.seen.why, tls::errc::no_certificate);
  EXPECT_NE(without.said.err.find("certificate required"), std::string::npos) << without.said.err;
}

/// Two connections to one server, so that the second one may resume the session of the first.
task<std::vector<visit>> visited_twice(const files& f) {
  std::vector<visit> all;
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
  const std::string port = std::to_string(listener->local_endpoint()->port());
  const tls::server server(serving_files(f));
  for (const char* option : {"-sess_out", "-sess_in"}) {
    process::command program("openssl");
    for (std::string each : s_client(f, {option, f.folder.at("session")})) {
      if (each == "openssl") continue;
      if (each.ends_with(":PORT")) each = "127.0.0.1:" + port;
      program.arg(each);
    }
    process::output_options how;
    how.limit = 30s;
    how.input = as_bytes("hello\n");
    auto serving = spawn(answers(server, *listener, "x\n"));
    const auto said = co_await program.output(how);
    visit v;
    v.seen = co_await serving;
    if (said.has_value()) v.said = *said;
    all.push_back(v);
  }
  co_return all;
}

TEST(interop, a_session_is_resumed_by_openssls_client) {
  NEEDS("openssl");
  const files f;
  runtime rt(with_workers(2));
  const std::vector<visit> all = rt.spawn(visited_twice(f)).join();
  EXPECT_FALSE(all[0].seen.is_resumed);
  EXPECT_TRUE(all[1].seen.is_resumed) << all[1].said.err;
  EXPECT_EQ(all[1].said.out, "x\n");
}

/// openssl's server, which reverses lines.
struct reverser {
  process::child child;
  std::uint16_t port;
};

task<std::optional<reverser>> started(const files& f, std::string version) {
  process::command program("openssl");
  for (const std::string& each : {std::string("s_server"),
                                  std::string("-accept"),
                                  std::string("127.0.0.1:0"),
                                  std::string("-rev"),
                                  version,
                                  std::string("-cert"),
                                  f.folder.at("chain.pem"),
                                  std::string("-key"),
                                  f.folder.at("key.pem")})
    program.arg(each);
  program.out(process::stdio::pipe()).err(process::stdio::null()).in(process::stdio::null());
  auto child = co_await program.spawn();
  if (!child.has_value()) co_return std::nullopt;
  io::buffered_reader<process::pipe_reader> said(child->out());
  for (;;) {
    const auto line = co_await said.line();
    if (!line.has_value() || !line->has_value()) co_return std::nullopt;
    const std::string_view text = **line;
    if (!text.starts_with("ACCEPT")) continue;
    const auto port = static_cast<std::uint16_t>(std::stoi(std::string(text.substr(text.rfind(':') + 1))));
    co_return reverser{std::move(*child), port};
  }
}

task<std::string> asks(const files& f, std::string version, tls::version lowest) {
  std::optional<reverser> server = co_await started(f, version);
  if (!server.has_value()) co_return "openssl s_server has not begun";
  tls::client_config config;
  config.ca_file = f.folder.at("ca.pem");
  config.minimum_version = lowest;
  const tls::client client(config);
  std::string all;
  for (int i = 0; i < 2; ++i) {
    auto socket = co_await net::tcp_stream::connect(net::endpoint::loopback_v4(server->port));
    if (!socket.has_value()) co_return socket.error().message();
    result<secure_stream> stream = co_await client.connect(std::move(*socket), "example.com");
    if (!stream.has_value()) co_return stream.error().message();
    const result<std::size_t> put = co_await stream->write_all(as_bytes("hello\n"));
    EXPECT_TRUE(put.has_value());
    io::buffered_reader<secure_stream> in(*stream);
    const auto line = co_await in.line();
    if (line.has_value() && line->has_value()) all += **line;
    all += stream->is_resumed() ? " again;" : ";";
    const result<void> finished = co_await stream->shutdown_write();
    EXPECT_TRUE(finished.has_value());
  }
  co_return all;
}

std::string ask(const std::string& version, tls::version lowest) {
  const files f;
  runtime rt(with_workers(2));
  return rt.spawn(asks(f, version, lowest)).join();
}

TEST(interop, a_client_talks_to_openssls_server) {
  NEEDS("openssl");
  EXPECT_EQ(ask("-tls1_3", tls::version::tls_1_3), "olleh;olleh again;");
  EXPECT_EQ(ask("-tls1_2", tls::version::tls_1_2), "olleh;olleh again;");
  EXPECT_EQ(ask("-tls1_2", tls::version::tls_1_3), make_error_code(tls::alert::protocol_version).message());
}

TEST(interop, a_server_talks_to_curl) {
  NEEDS("curl");
  const files f;
  const std::string body(3'000'000, 'x');
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\nConnection: close\r\n\r\n" + body;
  const std::vector<std::string> command{"curl",
                                         "-sS",
                                         "--http1.1",
                                         "--resolve",
                                         "example.com:PORT:127.0.0.1",
                                         "--noproxy",
                                         "*",
                                         "--cacert",
                                         f.folder.at("ca.pem"),
                                         "https://example.com:PORT/"};
  const visit v = run_visit(serving_files(f), command, "", answer);
  EXPECT_TRUE(v.said.status.is_success()) << v.said.err;
  EXPECT_EQ(v.seen.line, "GET / HTTP/1.1");
  EXPECT_EQ(v.said.out.size(), body.size());
  std::vector<std::string> strange = command;
  strange[8] = "/dev/null";
  const visit refused = run_visit(serving_files(f), strange, "", answer);
  EXPECT_FALSE(refused.said.status.is_success());
  EXPECT_TRUE(refused.seen.why) << "the client has said why, or gone";
}

}  // namespace
}  // namespace rota::test::interop_test
