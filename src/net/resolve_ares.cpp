// The only file that uses c-ares.
#include "net/resolve_ares.hpp"

#include <rota/error.hpp>
#include <rota/net/name_of.hpp>
#include <rota/net/resolve.hpp>

#if ROTA_HAS_CARES

#include "base/atomic.hpp"
#include "base/sys/events.hpp"
#include "base/sys/files.hpp"
#include "net/address_order.hpp"
#include "net/name_sources.hpp"
#include "net/socket.hpp"

#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <ares.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

// ---- sockets for c-ares. A child that is started at the moment could inherit c-ares' own, and writes to
// them may raise SIGPIPE

ares_socket_t make_socket(int family, int type, int protocol, void* /*data*/) {
  return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}
int close_socket(ares_socket_t fd, void* /*data*/) {
  sys::close(fd);
  return 0;
}
int connect_socket(ares_socket_t fd, const sockaddr* to, ares_socklen_t size, void* /*data*/) {
  return ::connect(fd, to, size);
}
// NOLINTNEXTLINE(readability-function-size): the signature that c-ares requires.
ares_ssize_t receive(ares_socket_t fd,
                     void* into,
                     size_t size,
                     int flags,
                     sockaddr* from,
                     ares_socklen_t* length,
                     void* /*data*/) {
  return ::recvfrom(fd, into, size, flags, from, length);
}
ares_ssize_t send_parts(ares_socket_t fd, const iovec* parts, int count, void* /*data*/) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<size_t>(count);
  const ares_ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  if (sent != -1 || errno != ECONNREFUSED) return sent;
  // The error belongs to an earlier datagram. If c-ares got it for this one, it would wait five seconds for
  // an answer to the earlier one. Sent again, this one meets the error, too, and the read reports both.
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

constexpr ares_socket_functions our_sockets{
    .asocket = make_socket,
    .aclose = close_socket,
    .aconnect = connect_socket,
    .arecvfrom = receive,
    .asendv = send_parts,
};

std::error_code reason(int said) noexcept {
  switch (said) {
    case ARES_ENOTFOUND:
    case ARES_ENONAME: return resolve_errc::not_found;
    case ARES_ENODATA: return resolve_errc::no_address;
    case ARES_ESERVFAIL:
    case ARES_ECONNREFUSED:
    case ARES_ETIMEOUT: return resolve_errc::try_again;
    case ARES_ENOTIMP:
    case ARES_EREFUSED: return resolve_errc::refused;
    case ARES_EBADNAME:
    case ARES_EBADSTR: return resolve_errc::bad_name;
    case ARES_ENOMEM: return std::make_error_code(std::errc::not_enough_memory);
    default: return resolve_errc::failed;
  }
}

bool library_is_there() noexcept {
  static const bool there = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  return there;
}

struct free_addresses {
  void operator()(ares_addrinfo* what) const noexcept { ares_freeaddrinfo(what); }
};

/// The answer of c-ares to one request. It calls note() exactly once, at the latest in ares_destroy().
struct answer {
  int status = ARES_SUCCESS;
  std::unique_ptr<ares_addrinfo, free_addresses> addresses{};
  bool is_open = false;

  static void note(void* me, int status, int /*timeouts*/, ares_addrinfo* all) noexcept {
    auto& mine = *static_cast<answer*>(me);
    mine.status = status;
    mine.addresses.reset(all);
    mine.is_open = false;
  }

  void ask(ares_channel channel, const std::string& host, int family) noexcept {
    *this = answer{.is_open = true};
    ares_addrinfo_hints hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel, host.c_str(), nullptr, &hints, note, this);
  }

  [[nodiscard]] bool has_addresses() const noexcept {
    return !is_open && status == ARES_SUCCESS && addresses != nullptr && addresses->nodes != nullptr;
  }
  [[nodiscard]] bool is_without() const noexcept {
    return status == ARES_SUCCESS || status == ARES_ENODATA || status == ARES_ENOTFOUND;
  }

  /// Returns each address once.
  [[nodiscard]] std::vector<endpoint> list(std::uint16_t port) const {
    std::vector<endpoint> all;
    if (!has_addresses()) return all;
    for (ares_addrinfo_node* each = addresses->nodes; each != nullptr; each = each->ai_next) {
      if (each->ai_family == AF_INET) reinterpret_cast<sockaddr_in*>(each->ai_addr)->sin_port = htons(port);
      if (each->ai_family == AF_INET6)
        reinterpret_cast<sockaddr_in6*>(each->ai_addr)->sin6_port = htons(port);
      const auto one = endpoint::from_native(each->ai_addr, each->ai_addrlen);
      if (one.has_value() && std::find(all.begin(), all.end(), *one) == all.end()) all.push_back(*one);
    }
    return all;
  }
};

/// An address in the form that c-ares takes.
class raw_address {
 public:
  explicit raw_address(const endpoint& of) noexcept { of.to_native(&native_); }

  [[nodiscard]] int family() const noexcept { return native_.ss_family; }
  [[nodiscard]] int size() const noexcept { return family() == AF_INET6 ? 16 : 4; }
  [[nodiscard]] const std::uint8_t* bytes() const noexcept {
    const void* const at =
        family() == AF_INET6
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(native_).sin6_addr)
            : &reinterpret_cast<const sockaddr_in&>(native_).sin_addr;
    return static_cast<const std::uint8_t*>(at);
  }
  /// Returns the name for which a server is asked (RFC 1035, section 3.5; RFC 3596, section 2.5).
  [[nodiscard]] std::string reversed() const {
    constexpr char digits[] = "0123456789abcdef";
    std::string name;
    for (int i = size() - 1; i >= 0; --i) {
      const unsigned each = bytes()[i];
      if (family() == AF_INET) {
        name += std::to_string(each) + ".";
      } else {
        for (const unsigned nibble : {each & 0xFU, each >> 4U}) name += {digits[nibble], '.'};
      }
    }
    return name + (family() == AF_INET ? "in-addr.arpa." : "ip6.arpa.");
  }

 private:
  sockaddr_storage native_{};
};

/// The name of an address, from a server or a file. c-ares calls note() or note_file() exactly once, at the
/// latest in ares_destroy(). Servers are asked by ares_query(): ares_gethostbyaddr() reports every failure of
/// a server as an address without a name.
struct name_answer {
  int status = ARES_SUCCESS;
  std::string name{};
  raw_address of{endpoint()};
  bool is_open = false;

  static void note(void* me, int status, int /*timeouts*/, unsigned char* text, int size) noexcept {
    auto& mine = *static_cast<name_answer*>(me);
    hostent* host = nullptr;
    if (status == ARES_SUCCESS)
      status = ares_parse_ptr_reply(text, size, mine.of.bytes(), mine.of.size(), mine.of.family(), &host);
    note_file(me, status, 0, host);
    if (host != nullptr) ares_free_hostent(host);
  }
  static void note_file(void* me, int status, int /*timeouts*/, hostent* host) noexcept {
    auto& mine = *static_cast<name_answer*>(me);
    mine.is_open = false;
    mine.status = status;
    try {
      if (status == ARES_SUCCESS && host != nullptr && host->h_name != nullptr) mine.name = host->h_name;
    } catch (const std::bad_alloc&) {
      mine.status = ARES_ENOMEM;
    }
  }

  void ask(ares_channel channel, const endpoint& address) {
    *this = name_answer{.of = raw_address(address), .is_open = true};
    constexpr int class_internet = 1;
    constexpr int type_ptr = 12;
    ares_query(channel, of.reversed().c_str(), class_internet, type_ptr, note, this);
  }

  [[nodiscard]] result<std::string> take() && {
    if (status == ARES_ENODATA || status == ARES_ENOTFOUND || (status == ARES_SUCCESS && name.empty()))
      return std::unexpected(make_error_code(resolve_errc::no_name));
    if (status != ARES_SUCCESS) return std::unexpected(reason(status));
    return std::move(name);
  }
};

/// The requests for one host, their sockets, and an epoll instance with the sockets. The driver watches the
/// instance: so there is one registration, whatever sockets c-ares opens and closes. In the instance they are
/// level-triggered, since c-ares may leave bytes in a socket. It is polled until nothing is ready, so the
/// next event is an edge for the driver.
class question {
 public:
  static result<std::unique_ptr<question>> make(const std::vector<endpoint>& servers, bool rotates) {
    if (!library_is_there()) return std::unexpected(make_error_code(resolve_errc::failed));
    const result<int> epoll = sys::epoll_create();
    if (!epoll.has_value()) return std::unexpected(epoll.error());
    result<socket_ref> watched = socket::adopt(*epoll);
    if (!watched.has_value()) return std::unexpected(watched.error());
    auto made = std::make_unique<question>(std::move(*watched));
    const int said = made->open(servers, rotates);
    if (said == ARES_EBADSTR || said == ARES_ENOTIMP)
      return std::unexpected(std::make_error_code(std::errc::invalid_argument));
    if (said != ARES_SUCCESS) return std::unexpected(reason(said));
    return made;
  }

  explicit question(socket_ref events) noexcept : events_(std::move(events)) {}
  question(const question&) = delete;
  question& operator=(const question&) = delete;
  ~question() {
    // Calls answer::note() for the open requests, and note_socket() for the sockets that it closes.
    if (channel_ != nullptr) ares_destroy(channel_);
  }

  void ask(const std::string& host, address_family family) noexcept {
    if (family != address_family::v4) six_.ask(channel_, host, AF_INET6);
    if (family != address_family::v6) four_.ask(channel_, host, AF_INET);
  }

  void ask_for_name(const endpoint& address) { name_.ask(channel_, address); }

  [[nodiscard]] bool is_answered() const noexcept {
    return !six_.is_open && !four_.is_open && !name_.is_open;
  }
  [[nodiscard]] bool has_addresses() const noexcept { return six_.has_addresses() || four_.has_addresses(); }
  /// Returns true if neither family has an address and no server has failed. Called once it is answered.
  [[nodiscard]] bool is_without() const noexcept {
    return !has_addresses() && six_.is_without() && four_.is_without();
  }

  /// Does what can be done now. Returns false if there may be more to do.
  [[nodiscard]] bool work() noexcept {
    constexpr unsigned most_rounds = 32;
    bool quiet = false;
    for (unsigned round = 0; round < most_rounds && !is_answered() && !quiet; ++round)
      quiet = !do_what_is_ready();
    // Requests that are late are repeated or given up.
    if (!is_answered()) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    return quiet || is_answered();
  }

  /// Returns a leaf that waits until a socket can be read or written.
  [[nodiscard]] ready_leaf ready() const noexcept { return {events_.get(), false}; }

  /// Returns how long c-ares waits for its servers.
  [[nodiscard]] std::chrono::nanoseconds patience() noexcept {
    timeval most{.tv_sec = 1, .tv_usec = 0};
    timeval left{};
    const timeval* const chosen = ares_timeout(channel_, &most, &left);
    // c-ares counts in milliseconds. One is added: it is better to wake once a little late than many times a
    // little early.
    return std::chrono::seconds(chosen->tv_sec) + std::chrono::microseconds(chosen->tv_usec) +
           std::chrono::milliseconds(1);
  }

  /// Returns the addresses that have come, in the order of RFC 6724, or the error if there are none.
  [[nodiscard]] result<std::vector<endpoint>> take(std::uint16_t port) const {
    std::vector<endpoint> all = in_one_order(six_.list(port), four_.list(port));
    if (all.empty()) return std::unexpected(why_none());
    return all;
  }

  /// Returns the name. Called once it is answered.
  [[nodiscard]] result<std::string> take_name() { return std::move(name_).take(); }

  /// Returns the sources to ask, and for which names. `has_servers`: no file is a source.
  [[nodiscard]] search_plan plan(const std::string& host, bool has_servers) const {
    ares_options known{};
    int mask = 0;
    if (ares_save_options(channel_, &known, &mask) != ARES_SUCCESS)
      return {.sources = has_servers ? "b" : "fb", .names = {host}};
    search_plan made{.sources = known.lookups == nullptr ? "fb" : known.lookups, .names = {}};
    const std::vector<std::string> domains(known.domains, known.domains + known.ndomains);
    made.names = search_names(host, domains, (mask & ARES_OPT_NDOTS) == 0 ? 1 : known.ndots);
    ares_destroy_options(&known);
    return made;
  }

 private:
  int open(const std::vector<endpoint>& servers, bool rotates) {
    static char no_files[] = "b";
    ares_options options{};
    options.sock_state_cb = note_socket;
    options.sock_state_cb_data = this;
    options.lookups = no_files;
    int mask = ARES_OPT_SOCK_STATE_CB | (servers.empty() ? 0 : ARES_OPT_LOOKUPS);
    if (servers.empty()) {
      const resolver_settings system = settings_of_system();
      mask |= add_patience(options, system);
      rotates = system.rotates;
    }
    const int said = ares_init_options(&channel_, &options, mask);
    if (said != ARES_SUCCESS) {
      channel_ = nullptr;
      return said;
    }
    ares_set_socket_functions(channel_, &our_sockets, this);
    if (!servers.empty()) {
      std::string list;
      for (const endpoint& each : servers) list += (list.empty() ? "" : ",") + each.to_string();
      const int set = ares_set_servers_ports_csv(channel_, list.c_str());
      if (set != ARES_SUCCESS) return set;
    }
    return rotates ? begin_with_next_server() : ARES_SUCCESS;
  }

  /// Rotates the list of servers. c-ares goes on to the next server within a channel, but begins each channel
  /// with the first one.
  int begin_with_next_server() noexcept {
    static base::atomic<std::uint32_t> questions{0};
    ares_addr_port_node* all = nullptr;
    const int said = ares_get_servers_ports(channel_, &all);
    if (said != ARES_SUCCESS || all == nullptr) return said;
    std::uint32_t count = 1;
    ares_addr_port_node* last = all;
    bool has_interface = is_link_local(*all);
    for (; last->next != nullptr; last = last->next) {
      ++count;
      has_interface = has_interface || is_link_local(*last->next);
    }
    // The list lacks the interface of a link-local server: setting it would lose the interface.
    if (has_interface) {
      ares_free_data(all);
      return ARES_SUCCESS;
    }
    last->next = all;
    // relaxed: it orders nothing: concurrent questions only need different numbers.
    const std::uint32_t steps = questions.fetch_add(1, base::order::relaxed) % count;
    for (std::uint32_t i = 0; i < steps; ++i) last = last->next;
    all = std::exchange(last->next, nullptr);
    const int set = ares_set_servers_ports(channel_, all);
    ares_free_data(all);
    return set;
  }

  static bool is_link_local(const ares_addr_port_node& server) noexcept {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&server.addr.addr6);
    return server.family == AF_INET6 && bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
  }

  /// Sets the timeouts, which c-ares before 1.22 does not read by itself. Returns the mask of the options
  /// that are set.
  static int add_patience(ares_options& options, const resolver_settings& of) noexcept {
    options.timeout = of.timeout.value_or(0) * 1000;
    options.tries = of.attempts.value_or(0);
    return (of.timeout.has_value() ? ARES_OPT_TIMEOUTMS : 0) | (of.attempts.has_value() ? ARES_OPT_TRIES : 0);
  }

  [[nodiscard]] std::error_code why_none() const noexcept {
    for (const answer* each : {&six_, &four_}) {
      if (!each->is_without()) return reason(each->status);
    }
    const bool is_known = six_.status == ARES_ENODATA || four_.status == ARES_ENODATA;
    return is_known ? resolve_errc::no_address : resolve_errc::not_found;
  }

  /// Handles the ready sockets. Returns false if there were none.
  bool do_what_is_ready() noexcept {
    std::array<epoll_event, 16> ready;
    const int fd = events_.descriptor();
    const result<unsigned> count =
        sys::epoll_wait(fd, ready.data(), static_cast<int>(ready.size()), base::time_point::min());
    if (!count.has_value() || *count == 0) return false;
    for (unsigned i = 0; i < *count; ++i) {
      // c-ares learns an error or an end by a read. It ignores a socket that it has closed meanwhile.
      const auto of = static_cast<ares_socket_t>(ready[i].data.u64);
      const bool only_writable = ready[i].events == EPOLLOUT;
      const bool writable = (ready[i].events & EPOLLOUT) != 0;
      ares_process_fd(channel_, only_writable ? ARES_SOCKET_BAD : of, writable ? of : ARES_SOCKET_BAD);
    }
    return true;
  }

  /// Called by c-ares with the directions in which it waits for a socket. Neither means that it is about to
  /// close the socket.
  static void note_socket(void* me, ares_socket_t fd, int for_reading, int for_writing) noexcept {
    const int events = static_cast<question*>(me)->events_.descriptor();
    // A socket that cannot be watched never answers, and counts as a server that does not answer.
    static_cast<void>(sys::epoll_set(events, fd, for_reading != 0, for_writing != 0));
  }

  socket_ref events_;
  ares_channel channel_ = nullptr;
  answer six_;
  answer four_;
  name_answer name_;
};

/// Returns the addresses of /etc/hosts for all wanted families, in one call: for a host with an entry no
/// server is asked, for neither family. Reads files.
std::vector<endpoint> search_files(const name_question& asked) {
  static char only_files[] = "f";
  ares_options options{};
  options.lookups = only_files;
  ares_channel channel = nullptr;
  if (ares_init_options(&channel, &options, ARES_OPT_LOOKUPS) != ARES_SUCCESS) return {};
  answer found;
  const int wanted = asked.family == address_family::v4   ? AF_INET
                     : asked.family == address_family::v6 ? AF_INET6
                                                          : AF_UNSPEC;
  found.ask(channel, asked.host, wanted);
  ares_destroy(channel);
  return found.list(asked.port);
}

/// Returns the name in /etc/hosts. Reads a file.
result<std::string> search_files_for_name(const endpoint& address) {
  static char only_files[] = "f";
  ares_options options{};
  options.lookups = only_files;
  ares_channel channel = nullptr;
  const auto none = std::unexpected(make_error_code(resolve_errc::no_name));
  if (ares_init_options(&channel, &options, ARES_OPT_LOOKUPS) != ARES_SUCCESS) return none;
  name_answer found;
  const raw_address of(address);
  found.is_open = true;
  ares_gethostbyaddr(channel, of.bytes(), of.size(), of.family(), name_answer::note_file, &found);
  ares_destroy(channel);
  if (found.status != ARES_SUCCESS || found.name.empty()) return none;
  return std::move(found.name);
}

enum class enough : std::uint8_t { all_answers, some_addresses };

task<result<void>> until(question& q, enough what) {
  const auto has_enough = [&q, what] {
    return q.is_answered() || (what == enough::some_addresses && q.has_addresses());
  };
  while (!has_enough()) {
    if (!q.work()) {
      co_await yield();
      continue;
    }
    if (has_enough()) break;
    const result<void> news = co_await timeout(q.patience(), q.ready());
    if (!news.has_value() && news.error() != errc::timed_out) co_return std::unexpected(news.error());
  }
  co_return result<void>();
}

/// Asks for one name after the other, until one has addresses or a server has failed. Both families of a name
/// are asked before the next name: so no list has addresses of two names.
task<result<void>> ask_for_each(question& q,
                                const std::vector<std::string>& names,
                                const name_question& asked) {
  for (const std::string& name : names) {
    q.ask(name, asked.family);
    const result<void> first = co_await until(q, enough::some_addresses);
    if (!first.has_value()) co_return first;
    if (!q.is_answered()) {
      auto other_family = until(q, enough::all_answers);
      const result<void> other = co_await timeout(asked.delay, std::move(other_family));
      if (!other.has_value() && other.error() != errc::timed_out) co_return other;
    }
    if (!q.is_without()) break;
  }
  co_return result<void>();
}

}  // namespace

bool can_ask_name_servers() noexcept { return true; }

task<result<std::vector<endpoint>>> ask_name_servers(name_question asked) {
  const result<std::unique_ptr<question>> made = question::make(asked.servers, asked.rotates);
  if (!made.has_value()) co_return std::unexpected(made.error());
  question& q = **made;
  const search_plan plan = q.plan(asked.host, !asked.servers.empty());
  result<std::vector<endpoint>> found = std::unexpected(make_error_code(resolve_errc::not_found));
  for (const char source : plan.sources) {
    if (source == 'f') {
      std::vector<endpoint> listed = search_files(asked);
      if (!listed.empty()) co_return listed;
      continue;
    }
    auto asking = ask_for_each(q, plan.names, asked);
    const result<void> end = co_await timeout(asked.limit, std::move(asking));
    found = q.take(asked.port);
    if (found.has_value()) co_return found;
    if (!end.has_value()) co_return std::unexpected(end.error());
  }
  co_return found;
}

task<result<std::string>> ask_name_servers_for_name(address_question asked) {
  const result<std::unique_ptr<question>> made = question::make(asked.servers, false);
  if (!made.has_value()) co_return std::unexpected(made.error());
  question& q = **made;
  const search_plan plan = q.plan("", !asked.servers.empty());
  result<std::string> found = std::unexpected(make_error_code(resolve_errc::no_name));
  for (const char source : plan.sources) {
    if (source == 'f') {
      found = search_files_for_name(asked.address);
    } else {
      q.ask_for_name(asked.address);
      auto asking = until(q, enough::all_answers);
      const result<void> end = co_await timeout(asked.limit, std::move(asking));
      if (!end.has_value()) co_return std::unexpected(end.error());
      found = q.take_name();
    }
    if (found.has_value() || found.error() != resolve_errc::no_name) co_return found;
  }
  co_return found;
}

}  // namespace rota::net::detail

#else

namespace rota::net::detail {

bool can_ask_name_servers() noexcept { return false; }

task<io::result<std::vector<endpoint>>> ask_name_servers(name_question /*asked*/) {
  co_return std::unexpected(std::make_error_code(std::errc::not_supported));
}

task<io::result<std::string>> ask_name_servers_for_name(address_question /*asked*/) {
  co_return std::unexpected(std::make_error_code(std::errc::not_supported));
}

}  // namespace rota::net::detail

#endif
