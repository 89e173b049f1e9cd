#include "pool/failed_works.hpp"

#include "pool/extras.hpp"
#include "pool/pool_core.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace rota::pool::detail {

namespace {

/// Names and errors may have any length.
[[nodiscard]] std::string shortened(std::string_view text) {
  return std::string(text.substr(0, failed_work::longest_text));
}

[[nodiscard]] std::string error_of(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return {};
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return shortened(e.what());
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

failed_work note_of_failure(work_core& w, std::uint64_t root) {
  failed_work one;
  one.id = {w.id};
  one.root = {root};
  one.error = error_of(w.type->exception(w.body));
  if (pool_core::may_be_in_groups(w)) one.group = shortened(w.pool->circles.name_of(w));
  if (w.extras != nullptr) one.name = shortened(w.extras->name);
  return one;
}

void failed_list::add(failed_work&& one) noexcept {
  try {
    all_.push_back(std::move(one));
  } catch (...) {
    return;
  }
  if (all_.size() > failed_work::most_kept) all_.pop_front();
}

bool failed_list::forget(work_id id) noexcept {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [id](const failed_work& e) { return e.id == id; });
  if (found == all_.end()) return false;
  all_.erase(found);
  return true;
}

std::size_t failed_list::clear() noexcept {
  const std::size_t count = all_.size();
  all_.clear();
  return count;
}

}  // namespace rota::pool::detail
