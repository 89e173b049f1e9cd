// Bytes of a peer, given to a client and to a server. The first byte chooses: bytes as they are, to either
// side, or a true handshake with changed bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rota/detail/tls_session.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>

#include "fuzz.hpp"
#include "tls/contexts.hpp"

namespace {

using fuzz::check;
using rota::tls::detail::context;
using rota::tls::detail::moved;
using rota::tls::detail::session;
using rota::tls::detail::shared_ref;
using rota::tls::detail::step;

/// Both sides. They also accept TLS 1.2, which has more ways to fail.
struct world {
  world()
      : identity(rota::tls::self_signed({"example.com"}, 1)), client(make_client()), server(make_server()) {}

  rota::tls::identity identity;
  shared_ref<context> client;
  shared_ref<context> server;

 private:
  [[nodiscard]] shared_ref<context> make_client() const {
    rota::tls::client_config c;
    c.ca_pem = identity.chain_pem;
    c.minimum_version = rota::tls::version::tls_1_2;
    c.own.push_back(identity);
    c.alpn = {"h2", "echo"};
    return rota::tls::detail::make_client_context(c);
  }
  [[nodiscard]] shared_ref<context> make_server() const {
    rota::tls::server_config c;
    c.identities = {identity, identity};
    c.ca_pem = identity.chain_pem;
    c.from_clients = rota::tls::client_certificates::optional;
    c.minimum_version = rota::tls::version::tls_1_2;
    c.alpn = {"echo"};
    return rota::tls::detail::make_server_context(c);
  }
};

const world& here() {
  static const world instance;
  return instance;
}

/// One end, and the law of engines: it states what it wants, and states the same again; a failure stays.
class end {
 public:
  explicit end(const shared_ref<context>& of) : session_(of, "example.com") {}

  /// As far as it goes with what it has.
  void go() {
    for (int i = 0; i < 100 && !is_over_; ++i) {
      const moved m = is_connected_ ? reads() : session_.handshake();
      if (m.what == step::wants_bytes) return note_want(m.arrivals);
      if (m.what == step::failed) return fail();
      check(m.what == step::done, "there is room for what is outgoing");
      if (is_connected_ && m.bytes == 0) is_over_ = true;
      is_connected_ = true;
    }
  }
  void give(std::string_view bytes) {
    while (!bytes.empty() && !is_over_) {
      const std::span<std::byte> room = session_.room(wanted_at_);
      check(!room.empty(), "who wants bytes has room for them");
      const std::string_view part = fuzz::take(bytes, room.size());
      std::copy_n(reinterpret_cast<const std::byte*>(part.data()), part.size(), room.data());
      session_.arrived(part.size());
      go();
    }
  }
  void give_end() {
    if (is_over_) return;
    check(!session_.room(wanted_at_).empty(), "who wants bytes has room for them");
    session_.arrived(0);
    go();
    check(is_over_, "it waits for nothing after the end");
  }
  /// Takes the bytes that it wants to send.
  std::string take() {
    std::string all;
    for (;;) {
      const std::span<const std::byte> some = session_.outgoing();
      if (some.empty()) return all;
      all.append(reinterpret_cast<const char*>(some.data()), some.size());
      session_.sent(some.size());
    }
  }
  void say(std::string_view text) {
    if (!is_connected_ || is_over_) return;
    const moved m = session_.write(std::as_bytes(std::span(text)));
    if (m.what == step::done) check(m.bytes == text.size(), "a short text is one record");
    if (m.what == step::failed) fail();
  }
  [[nodiscard]] bool is_connected() const { return is_connected_; }
  [[nodiscard]] const std::string& heard() const { return heard_; }

 private:
  moved reads() {
    std::array<std::byte, 100> buffer;
    const moved m = session_.read(buffer);
    if (m.what == step::done) {
      check(m.bytes <= buffer.size(), "no more than there is room for");
      heard_.append(reinterpret_cast<const char*>(buffer.data()), m.bytes);
    }
    return m;
  }
  void note_want(std::uint64_t arrivals) { wanted_at_ = arrivals; }
  void fail() {
    check(static_cast<bool>(session_.error()), "a failure has a reason");
    check(!session_.error().message().empty(), "and the reason has words");
    std::array<std::byte, 1> one;
    check(session_.read(one).what == step::failed, "a failure stays");
    is_over_ = true;
  }

  session session_;
  std::uint64_t wanted_at_ = 0;
  bool is_connected_ = false;
  bool is_over_ = false;
  std::string heard_;
};

void bytes_as_they_are(const shared_ref<context>& to, std::string_view steps, std::string_view bytes) {
  end one(to);
  one.go();
  one.take();
  std::size_t at = 0;
  for (const std::size_t cut : fuzz::cuts_of(steps, bytes.size())) {
    one.give(bytes.substr(at, cut - at));
    at = cut;
  }
  one.give(bytes.substr(at));
  one.give_end();
  one.take();
  check(!one.is_connected(), "nobody has the key but the peer");
}

/// Changes a flight: 0 nothing · 1 one byte · 2 early end · 3 a repeated part · 4 an inserted part.
struct change {
  unsigned what;
  std::size_t flight;
  std::size_t at;
  char with;
};

std::string changed(std::string flight, const change& c) {
  if (flight.empty()) return flight;
  const std::size_t at = c.at % flight.size();
  switch (c.what) {
    case 1: flight[at] = static_cast<char>(flight[at] ^ (c.with == 0 ? 1 : c.with)); break;
    case 2: flight.resize(at); break;
    case 3: flight.insert(at, flight.substr(0, at)); break;
    case 4:
      flight.insert(at, 1 + static_cast<std::size_t>(static_cast<unsigned char>(c.with)) % 40U, c.with);
      break;
    default: break;
  }
  return flight;
}

void on_their_way(fuzz::numbers n) {
  const change c{n.below(5), n.below(6), n.below(4096), static_cast<char>(n.below(256))};
  end client(here().client);
  end server(here().server);
  client.go();
  for (std::size_t flight = 0; flight < 8; ++flight) {
    end& from = flight % 2 == 0 ? client : server;
    end& to = flight % 2 == 0 ? server : client;
    from.say(flight % 2 == 0 ? "question" : "answer");
    std::string bytes = from.take();
    if (flight == c.flight) bytes = changed(std::move(bytes), c);
    // In pieces, too.
    const std::size_t cut = bytes.empty() ? 0 : n.below(4096) % bytes.size();
    to.give(std::string_view(bytes).substr(0, cut));
    to.give(std::string_view(bytes).substr(cut));
  }
  check(std::string_view("questionquestionquestionquestion").starts_with(server.heard()),
        "no word is changed");
  check(std::string_view("answeransweransweranswer").starts_with(client.heard()), "nor an answer");
  if (c.what == 0)
    check(client.is_connected() && server.is_connected(), "a handshake that nobody touches is made");
  client.give_end();
  server.give_end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes = fuzz::text_of(data, size);
  const std::string_view kind = fuzz::take(bytes, 1);
  if (kind.empty()) return 0;
  const unsigned which = static_cast<unsigned char>(kind[0]) % 4U;
  if (which >= 2) {
    on_their_way(fuzz::numbers(bytes));
    return 0;
  }
  const std::string_view steps = fuzz::take(bytes, 6);
  bytes_as_they_are(which == 0 ? here().client : here().server, steps, bytes);
  return 0;
}
