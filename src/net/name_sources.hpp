// Where the system looks names of hosts up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::net::detail {

/// Of the text of nsswitch.conf: do names of hosts come from files and name servers, and from nothing else? Only then does asking those say what the
/// system's resolver would say. A source that has an [ACTION] is one that we do not know.
[[nodiscard]] bool only_files_and_name_servers(std::string_view nsswitch) noexcept;

/// The same of this system, as it is now. Reads a small file.
[[nodiscard]] bool system_has_only_files_and_name_servers();

/// `options timeout:` (seconds, at most 30), `options attempts:` (at most 5), with the bounds of the system's resolver, and `options rotate` of resolv.conf.
struct resolver_settings {
  std::optional<int> timeout;
  std::optional<int> attempts;
  bool rotates = false;
};
[[nodiscard]] resolver_settings read_settings(std::string_view resolv_conf) noexcept;

/// The same of this system, as it is now. Reads a small file.
[[nodiscard]] resolver_settings settings_of_system();

/// The names that servers are asked for in place of `host`, in order, each with the dot of the root. One with fewer than `ndots` dots is looked for in
/// the search list first, and as it is at last; with as many, as it is first. One that ends with a dot is complete.
[[nodiscard]] std::vector<std::string> search_names(const std::string& host,
                                                    const std::vector<std::string>& domains,
                                                    int ndots);

struct search_plan {
  std::string sources;             // in order: 'f' is /etc/hosts, 'b' the name servers
  std::vector<std::string> names;  // see search_names()
};

}  // namespace rota::net::detail
