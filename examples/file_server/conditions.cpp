#include "file_server/conditions.hpp"

#include "file_server/entity_tag.hpp"
#include "file_server/http_date.hpp"

namespace file_server {

condition evaluate_conditions(const request& r, const validators& v, std::int64_t now) noexcept {
  if (!r.if_match.is_absent()) {
    if (!lists(r.if_match, v.tag, comparison::strong)) return condition::failed;
  } else if (const auto date = parse_http_date(r.if_unmodified_since, now)) {
    if (v.modified > *date) return condition::failed;
  }
  if (!r.if_none_match.is_absent()) {
    if (lists(r.if_none_match, v.tag, comparison::weak)) return condition::not_modified;
  } else if (const auto date = parse_http_date(r.if_modified_since, now)) {
    if (v.modified <= *date) return condition::not_modified;
  }
  return condition::holds;
}

bool range_applies(const request& r, const validators& v, std::int64_t now) noexcept {
  if (r.if_range.empty() || r.if_range == v.tag) return true;
  const auto date = parse_http_date(r.if_range, now);
  return date && *date == v.modified && v.modified < now;
}

}  // namespace file_server
