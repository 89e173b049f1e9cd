#include "net/resolve_system.hpp"

#include "task/scheduler_here.hpp"

#include <rota/error.hpp>
#include <rota/net/resolve.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <algorithm>
#include <optional>
#include <utility>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

int native(address_family family) noexcept {
  if (family == address_family::v4) return AF_INET;
  return family == address_family::v6 ? AF_INET6 : AF_UNSPEC;
}

void set_port(sys::found_address& of, std::uint16_t port) noexcept {
  if (of.address.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(of.address).sin_port = htons(port);
  if (of.address.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(of.address).sin6_port = htons(port);
}

struct system_answer {
  std::vector<endpoint> addresses;  // not empty
  std::string name;                 // the canonical one; empty: not asked for
};

/// Blocks. May run when the question is over: so it refers to nothing of the question.
result<system_answer> call_system(decltype(&sys::look_up) look_up,
                                  const std::string& host,
                                  std::uint16_t port,
                                  int family) {
  std::vector<sys::found_address> found;
  system_answer made;
  std::error_code system;
  std::string* const name = family == AF_UNSPEC ? nullptr : &made.name;
  const int said = look_up(host.c_str(), family, found, name, system);
  if (said != 0) return std::unexpected(reason_of_system(said, system));
  std::vector<endpoint>& all = made.addresses;
  for (sys::found_address& each : found) {
    set_port(each, port);
    const auto one = endpoint::from_native(&each.address, each.length);
    if (!one.has_value()) continue;
    if (std::find(all.begin(), all.end(), *one) == all.end()) all.push_back(*one);
  }
  if (all.empty()) return std::unexpected(make_error_code(resolve_errc::no_address));
  return made;
}

/// One call of the system's resolver, and its answer.
class system_call {
 public:
  system_call(const system_question& asked, int family)
      : handle_(spawn_blocking(&call_system, asked.look_up, asked.host, asked.port, family)),
        may_be_refused_(family != AF_UNSPEC) {}
  system_call(const system_call&) = delete;
  system_call& operator=(const system_call&) = delete;
  /// Cancels the call: if it still waits for a thread, it never begins.
  ~system_call() { static_cast<void>(handle_.cancel()); }

  /// Returns a leaf. If the wait is given up, the call goes on.
  [[nodiscard]] auto wait() noexcept { return handle_.detached_wait(); }

  task<void> until_over() {
    try {
      answer_ = co_await handle_.detached_wait();
    } catch (const cancelled_error&) {
      // The pool had no place for the call, so it has no answer. The call for both families has one. If that
      // one is refused, so is the question.
      if (!may_be_refused_) throw;
      was_refused_ = true;
    }
  }

  [[nodiscard]] bool is_open() const noexcept { return !answer_.has_value() && !was_refused_; }
  [[nodiscard]] const std::optional<result<system_answer>>& answer() const noexcept { return answer_; }
  [[nodiscard]] bool has_addresses() const noexcept { return answer_.has_value() && answer_->has_value(); }

 private:
  join_handle<result<system_answer>> handle_;
  std::optional<result<system_answer>> answer_;
  bool may_be_refused_;
  bool was_refused_ = false;
};

bool is_without(const std::error_code& why) noexcept {
  return why == resolve_errc::not_found || why == resolve_errc::no_address;
}

/// The call for both families, and one for each family. If the pool has one thread left, the call for IPv4
/// gets it: the questions that servers ignore are those for AAAA.
class system_race {
 public:
  system_race(const system_question& asked, system_call& both)
      : both_(both), four_(asked, AF_INET), six_(asked, AF_INET6) {}

  task<void> until_enough(std::chrono::nanoseconds delay) {
    while (!has_enough()) {
      auto next = until_one_is_over();
      co_await std::move(next);
    }
    if (!four_.has_addresses() && !six_.has_addresses()) co_return;
    first_ = four_.has_addresses() ? &four_ : &six_;
    auto rest = until_all_are_over();
    static_cast<void>(co_await timeout(delay, std::move(rest)));
  }

  /// Returns the addresses that have come, or the error if there are none.
  [[nodiscard]] result<std::vector<endpoint>> take() const {
    if (both_.has_addresses()) return both_.answer()->value().addresses;
    std::vector<endpoint> all = joined();
    if (!all.empty()) return all;
    if (both_.answer().has_value()) return std::unexpected(both_.answer()->error());
    if (!has_both_families()) return std::unexpected(make_error_code(errc::timed_out));
    return std::unexpected(why_none());
  }

 private:
  [[nodiscard]] bool has_both_families() const noexcept {
    return four_.answer().has_value() && six_.answer().has_value();
  }
  [[nodiscard]] bool has_enough() const noexcept {
    return !both_.is_open() || four_.has_addresses() || six_.has_addresses() || has_both_families();
  }

  /// Waits until one more call is over. Requires that one is open.
  task<void> until_one_is_over() {
    std::vector<task<void>> waits;
    for (system_call* each : {&both_, &four_, &six_}) {
      if (each->is_open()) waits.push_back(each->until_over());
    }
    co_await when_any(std::move(waits));
  }
  /// Waits for the call for both even if both families have addresses: it knows better which addresses belong
  /// together.
  task<void> until_all_are_over() {
    while (!both_.has_addresses() && (both_.is_open() || four_.is_open() || six_.is_open())) {
      auto next = until_one_is_over();
      co_await std::move(next);
    }
  }

  /// Joins the families if they have the same name. Two names mean that each family was found in another
  /// domain of the search list, or in another source.
  [[nodiscard]] std::vector<endpoint> joined() const {
    if (four_.has_addresses() && six_.has_addresses() &&
        four_.answer()->value().name == six_.answer()->value().name)
      return in_one_order(six_.answer()->value().addresses, four_.answer()->value().addresses);
    const system_call* const one = first_ != nullptr ? first_ : four_.has_addresses() ? &four_ : &six_;
    if (!one->has_addresses()) return {};
    return one->answer()->value().addresses;
  }

  /// Returns the error for both families: that of a call that failed, else the one that name servers would
  /// lead to.
  [[nodiscard]] std::error_code why_none() const noexcept {
    for (const system_call* each : {&six_, &four_}) {
      if (!is_without(each->answer()->error())) return each->answer()->error();
    }
    const bool is_known = six_.answer()->error() == resolve_errc::no_address ||
                          four_.answer()->error() == resolve_errc::no_address;
    return is_known ? resolve_errc::no_address : resolve_errc::not_found;
  }

  system_call& both_;
  system_call four_;
  system_call six_;
  const system_call* first_ = nullptr;  // which family had addresses first
};

}  // namespace

std::error_code reason_of_system(int said, std::error_code system) noexcept {
  switch (said) {
    case EAI_NONAME: return resolve_errc::not_found;
    case EAI_NODATA:
    case EAI_ADDRFAMILY: return resolve_errc::no_address;
    case EAI_AGAIN: return resolve_errc::try_again;
    case EAI_MEMORY: return std::make_error_code(std::errc::not_enough_memory);
    case EAI_SYSTEM: return system;
    default: return resolve_errc::failed;
  }
}

task<result<std::vector<endpoint>>> ask_system(system_question asked) {
  if (!core::can_spawn_blocking()) co_return std::unexpected(make_error_code(errc::no_runtime));
  const bool is_for_both = asked.family == address_family::any;
  const std::chrono::nanoseconds alone =
      is_for_both ? std::min(asked.head_start, asked.limit / 4) : asked.limit;
  system_call first(asked, native(asked.family));
  result<system_answer> answer = co_await timeout(alone, first.wait());
  if (answer.has_value()) co_return std::move(answer->addresses);
  const std::chrono::nanoseconds left = asked.limit - alone;
  if (answer.error() != errc::timed_out || left <= std::chrono::nanoseconds(0))
    co_return std::unexpected(answer.error());
  system_race race(asked, first);
  auto racing = race.until_enough(asked.delay);
  // What has come by then is the result.
  static_cast<void>(co_await timeout(left, std::move(racing)));
  co_return race.take();
}

}  // namespace rota::net::detail
