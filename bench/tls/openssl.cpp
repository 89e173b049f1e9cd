// QUESTION  What do the cases of the suite `tls` cost in one thread, by OpenSSL on both ends of a TCP
//           connection?
// WHY       It is the lower limit for every program that uses OpenSSL: its computing, and the system calls
//           that move the bytes. No thread waits and none is woken: what one end has written is there when
//           the other one reads.
// BASELINE  bench/tls/rota.cpp, which says what one operation is.
// READ IT   As there; but one thread does both sides, one connection after the other, so a runtime with two
//           workers may take less time. Compare processor time.
#include "support/subject.hpp"
#include "support/tls_contexts.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <utility>
#include <vector>

namespace {

using bench::job;
using tls_load::block_bytes;
using tls_load::message;
using tls_load::require;
using tls_load::tickets;

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) { require(fd >= 0, "no socket"); }
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&&) = delete;
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

void send_at_once(const descriptor& on) {
  const int yes = 1;
  require(::setsockopt(on.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
}

class listener {
 public:
  listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    send_at_once(socket_);
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(::bind(socket_.get(), address(), sizeof at_) == 0 && ::listen(socket_.get(), 64) == 0, "no port");
    socklen_t size = sizeof at_;
    require(::getsockname(socket_.get(), address(), &size) == 0, "no address");
  }
  [[nodiscard]] descriptor connect() {
    descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    require(::connect(made.get(), address(), sizeof at_) == 0, "connect");
    send_at_once(made);
    require(::fcntl(made.get(), F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
    return made;
  }
  [[nodiscard]] descriptor accept() {
    return descriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }

 private:
  [[nodiscard]] sockaddr* address() noexcept { return reinterpret_cast<sockaddr*>(&at_); }

  descriptor socket_;
  sockaddr_in at_{};
};

/// One end. The bytes that it reads have been written before, so a read hardly ever finds nothing.
class end {
 public:
  end(descriptor over, SSL_CTX* of) : socket_(std::move(over)), ssl_(SSL_new(of)) {
    require(ssl_ != nullptr && SSL_set_fd(ssl_.get(), socket_.get()) == 1, "no connection");
  }
  [[nodiscard]] SSL* ssl() const noexcept { return ssl_.get(); }

  /// Continues the handshake. Returns true if it is complete.
  [[nodiscard]] bool shake_hands() {
    const int said = SSL_do_handshake(ssl());
    require(said == 1 || SSL_get_error(ssl(), said) == SSL_ERROR_WANT_READ, "a handshake failed");
    return said == 1;
  }
  void write(std::span<const std::byte> from) {
    std::size_t put = 0;
    const int said = SSL_write_ex(ssl(), from.data(), from.size(), &put);
    require(said == 1 && put == from.size(), "a write failed");
  }
  void read(std::span<std::byte> into) {
    while (!into.empty()) {
      const std::size_t got = read_some(into);
      require(got != 0, "a read found the end");
      into = into.subspan(got);
    }
  }
  void expect_end() {
    std::byte one{};
    require(read_some({&one, 1}) == 0, "a read found more than there should be");
  }
  void finish() { require(SSL_shutdown(ssl()) >= 0, "no close_notify"); }

 private:
  /// Returns 0 if the other end has finished.
  std::size_t read_some(std::span<std::byte> into) {
    for (;;) {
      std::size_t got = 0;
      const int said = SSL_read_ex(ssl(), into.data(), into.size(), &got);
      if (said == 1) return got;
      const int why = SSL_get_error(ssl(), said);
      if (why == SSL_ERROR_ZERO_RETURN) return 0;
      require(why == SSL_ERROR_WANT_READ, "a read failed");
      pollfd wanted{socket_.get(), POLLIN, 0};
      require(::poll(&wanted, 1, -1) == 1, "poll");
    }
  }

  descriptor socket_;
  tls_load::ssl_ptr ssl_;
};

struct both_ends {
  end client;
  end server;
};

/// State that all connections share.
class place {
 public:
  explicit place(tickets some)
      : server_(tls_load::make_server(own_, some)), client_(own_, some), resumes_(some == tickets::some) {}

  [[nodiscard]] both_ends connect() {
    descriptor near = listener_.connect();
    both_ends made{end(std::move(near), client_.context()), end(listener_.accept(), server_.get())};
    const bool resumes = client_.prepare(made.client.ssl());
    require(resumes || !resumes_ || is_first_, "there was no ticket");
    is_first_ = false;
    SSL_set_connect_state(made.client.ssl());
    SSL_set_accept_state(made.server.ssl());
    bool client_is_done = false;
    for (bool server_is_done = false; !client_is_done || !server_is_done;) {
      client_is_done = made.client.shake_hands();
      server_is_done = made.server.shake_hands();
    }
    tls_load::check(made.client.ssl(), resumes);
    return made;
  }

 private:
  tls_load::own_certificate own_;
  listener listener_;
  tls_load::context_ptr server_;
  tls_load::client client_;
  bool resumes_;
  bool is_first_ = true;
};

/// Runs `work(n)` twice, the first time as a warm-up.
template <class Work>
void measured(const job& what, Work work) {
  work(what.warm_up);
  const bench::stretch all;
  work(what.operations);
  bench::report(what, all.end());
}

template <tickets Some>
void handshake(const job& what) {
  place here(Some);
  measured(what, [&](std::uint64_t n) {
    for (; n != 0; --n) {
      both_ends ends = here.connect();
      std::byte one{1};
      ends.server.write({&one, 1});
      ends.client.read({&one, 1});
      ends.client.finish();
      ends.server.expect_end();
      ends.server.finish();
      ends.client.expect_end();
    }
  });
}

void ask(both_ends& ends, std::uint64_t number) {
  message sent{};
  message got{};
  tls_load::put_number(sent, number);
  ends.client.write(sent);
  ends.server.read(got);
  ends.server.write(got);
  ends.client.read(got);
  require(got == sent, "an answer is not what was asked");
}

template <unsigned Connections>
void echo(const job& what) {
  place here(tickets::none);
  std::vector<both_ends> all;
  for (unsigned i = 0; i < Connections; ++i) all.push_back(here.connect());
  measured(what, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) ask(all[i % Connections], i);
  });
}

void bulk(const job& what) {
  place here(tickets::none);
  both_ends ends = here.connect();
  std::vector<std::byte> block(block_bytes);
  std::vector<std::byte> came(block_bytes);
  measured(what, [&](std::uint64_t n) {
    for (std::uint64_t left = n * tls_load::blocks_of_a_mib; left != 0; --left) {
      tls_load::put_number(block, left);
      ends.client.write(block);
      ends.server.read(came);
      require(tls_load::number_in(came) == left, "another block than was sent");
    }
  });
}

constexpr bench::one_case cases[] = {
    {"handshake", "ns", 3000, 600, handshake<tickets::none>},
    {"handshake_resumed", "ns", 4000, 800, handshake<tickets::some>},
    {"echo_1", "ns", 50'000, 10'000, echo<1>},
    {"echo_50", "ns", 100'000, 20'000, echo<50>},
    {"bulk", "ns", 1024, 128, bulk},
    {"handshake_1", "ns", 3000, 600, handshake<tickets::none>},
    {"handshake_resumed_1", "ns", 4000, 800, handshake<tickets::some>},
    {"echo_1_1", "ns", 50'000, 10'000, echo<1>},
    {"echo_50_1", "ns", 100'000, 20'000, echo<50>},
    {"bulk_1", "ns", 1024, 128, bulk},
};

}  // namespace

int main(int argc, char** argv) {
  // As in the runtimes: a broken connection must be an error, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  tls_load::choose_the_cipher();
  return bench::run_subject(argc, argv, cases);
}
