// Where the system looks names of hosts up.
#pragma once

#include <string_view>

namespace rota::net::detail {

/// Of the text of nsswitch.conf: do names of hosts come from files and name servers, and from nothing else? Only then does asking those say what the
/// system's resolver would say. A source that has an [ACTION] is one that we do not know.
[[nodiscard]] bool only_files_and_name_servers(std::string_view nsswitch) noexcept;

/// The same of this system, as it is now. Reads a small file.
[[nodiscard]] bool system_has_only_files_and_name_servers();

}  // namespace rota::net::detail
