#include "base/sys/names.hpp"

#include "base/linux/call.hpp"

#include <netdb.h>
#include <cstring>
#include <memory>

namespace rota::base::sys {

int look_up(const char* host,
            int family,
            std::vector<found_address>& found,
            std::string* name,
            std::error_code& why) {
  addrinfo wanted{};
  if (name != nullptr) wanted.ai_flags = AI_CANONNAME;
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_STREAM;  // each address once, not once for each kind of socket
  addrinfo* list = nullptr;
  before_system_call();
  const int said = ::getaddrinfo(host, nullptr, &wanted, &list);
  if (said == EAI_SYSTEM) why = last_error();
  if (said != 0) return said;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  if (name != nullptr && list->ai_canonname != nullptr) *name = list->ai_canonname;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    found_address one{};
    if (each->ai_addrlen > sizeof one.address) continue;
    std::memcpy(&one.address, each->ai_addr, each->ai_addrlen);
    one.length = each->ai_addrlen;
    found.push_back(one);
  }
  return 0;
}

int look_up_name(const found_address& of, std::string& name, std::error_code& why) {
  char text[NI_MAXHOST];
  before_system_call();
  const int said = ::getnameinfo(
      reinterpret_cast<const sockaddr*>(&of.address), of.length, text, sizeof text, nullptr, 0, NI_NAMEREQD);
  if (said == EAI_SYSTEM) why = last_error();
  if (said == 0) name = text;
  return said;
}

}  // namespace rota::base::sys
