// The sources in which the system looks up host names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::net::detail {

/// Returns true if, by the text of nsswitch.conf, host names come from files and name servers, and from no
/// other source. Only then does asking those give the result of the system's resolver. A source with an
/// [ACTION] counts as unknown.
[[nodiscard]] bool only_files_and_name_servers(std::string_view nsswitch) noexcept;

/// Returns the same for this system, as it is now. Reads a small file.
[[nodiscard]] bool system_has_only_files_and_name_servers();

/// Options of resolv.conf: `timeout:` (seconds, at most 30) and `attempts:` (at most 5), with the bounds of
/// the system's resolver, and `rotate`.
struct resolver_settings {
  std::optional<int> timeout;
  std::optional<int> attempts;
  bool rotates = false;
};
[[nodiscard]] resolver_settings read_settings(std::string_view resolv_conf) noexcept;

/// Returns the same for this system, as it is now. Reads a small file.
[[nodiscard]] resolver_settings settings_of_system();

/// Returns the names that servers are asked for in place of `host`, in order, each with the dot of the root.
/// A host with fewer than `ndots` dots is tried in the search list first, and as it is last. A host with
/// `ndots` dots or more is tried as it is first. A host that ends with a dot is complete.
[[nodiscard]] std::vector<std::string> search_names(const std::string& host,
                                                    const std::vector<std::string>& domains,
                                                    int ndots);

struct search_plan {
  std::string sources;             // in order: 'f' is /etc/hosts, 'b' the name servers
  std::vector<std::string> names;  // see search_names()
};

}  // namespace rota::net::detail
