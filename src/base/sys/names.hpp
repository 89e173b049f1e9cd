// The system's resolver.
#pragma once

#include <sys/socket.h>
#include <string>
#include <system_error>
#include <vector>

namespace rota::base::sys {

struct found_address {
  sockaddr_storage address;
  socklen_t length;
};

/// Returns the result of getaddrinfo: 0 or EAI_*. For EAI_SYSTEM `why` is the reason. Blocks, for an
/// unbounded time. `family`: AF_UNSPEC, AF_INET, AF_INET6. `name` gets the canonical name of the host, unless
/// it is null. Throws std::bad_alloc.
int look_up(
    const char* host, int family, std::vector<found_address>& found, std::string* name, std::error_code& why);
/// Returns the result of getnameinfo for an address: 0 or EAI_*. For EAI_SYSTEM `why` is the reason. Blocks,
/// for an unbounded time. Throws std::bad_alloc.
int look_up_name(const found_address& of, std::string& name, std::error_code& why);

}  // namespace rota::base::sys
