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

/// What getaddrinfo says: 0 or EAI_*, and of EAI_SYSTEM why. Blocks, for as long as it likes. `family`: AF_UNSPEC, AF_INET, AF_INET6. `name`: gets the
/// canonical name of the host; null: that is not asked for. Throws std::bad_alloc.
int look_up(
    const char* host, int family, std::vector<found_address>& found, std::string* name, std::error_code& why);
/// What getnameinfo says of the name of an address: 0 or EAI_*, and of EAI_SYSTEM why. Blocks, for as long as it likes. Throws std::bad_alloc.
int look_up_name(const found_address& of, std::string& name, std::error_code& why);

}  // namespace rota::base::sys
