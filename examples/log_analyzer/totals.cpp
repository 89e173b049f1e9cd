#include "log_analyzer/totals.hpp"

#include <algorithm>
#include <cinttypes>
#include <utility>
#include <vector>

namespace log_analyzer {

void client_totals::add(const request& r) noexcept {
  ++requests;
  bytes += r.bytes;
  errors += r.status >= 400 ? 1 : 0;
  largest = std::max(largest, r.bytes);
}

void merge(totals& into, clients&& part) { into.by_client.merge(std::move(part)); }

void print(const totals& all, std::size_t top, std::FILE* to) {
  using row = std::pair<std::string_view, const client_totals*>;
  client_totals sum;
  std::vector<row> rows;
  rows.reserve(all.by_client.size());
  for (const auto& [name, one] : all.by_client) {
    rows.emplace_back(name, &one);
    sum.requests += one.requests;
    sum.bytes += one.bytes;
    sum.errors += one.errors;
  }
  const auto more = [](const row& a, const row& b) {
    if (a.second->requests != b.second->requests) return a.second->requests > b.second->requests;
    return a.first < b.first;
  };
  const std::size_t shown = std::min(top, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(shown), rows.end(), more);

  std::fprintf(to,
               "lines %" PRIu64 ", malformed %" PRIu64 ", clients %zu, requests %" PRIu64 ", bytes %" PRIu64
               ", errors %" PRIu64 "\n",
               all.lines,
               all.malformed,
               rows.size(),
               sum.requests,
               sum.bytes,
               sum.errors);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, one] = rows[i];
    std::fprintf(to,
                 "%.*s requests %" PRIu64 " bytes %" PRIu64 " errors %" PRIu64 " largest %" PRIu64 "\n",
                 static_cast<int>(name.size()),
                 name.data(),
                 one->requests,
                 one->bytes,
                 one->errors,
                 one->largest);
  }
}

}  // namespace log_analyzer
