#include "pool/failure_texts.hpp"

#include <exception>
#include <utility>

namespace rota::pool::detail {
namespace {

/// The text of an error may have any length.
constexpr std::size_t longest_error = 200;

std::string text_of_error(const std::exception_ptr& error) {
  if (error == nullptr) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return std::string(e.what()).substr(0, longest_error);
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

std::string text_of(std::uint64_t id, const failure_parts& parts) {
  std::string text = "work " + std::to_string(id);
  if (!parts.name.empty()) text += " \"" + parts.name + "\"";
  if (parts.how != work_status::failed) return text + " ended as " + to_string(parts.how);
  text += " failed";
  return parts.error.empty() ? text : text + ": " + parts.error;
}

}  // namespace

failure_parts parts_of_failure(work_core& w, work_status how) noexcept {
  failure_parts parts;
  parts.how = how;
  try {
    if (w.extras != nullptr) parts.name = w.extras->name;
    if (how == work_status::failed) parts.error = text_of_error(w.type->exception(w.body));
  } catch (...) {  // std::bad_alloc
  }
  return parts;
}

void failure_texts::note(std::uint64_t id, failure_parts parts) noexcept {
  if (all_.empty()) {
    try {
      all_.resize(places);
    } catch (...) {
      return;
    }
  }
  all_[next_] = {.id = id, .parts = std::move(parts)};
  next_ = (next_ + 1) % places;
}

std::string failure_texts::find(std::uint64_t id) const {
  for (const entry& each : all_) {
    if (each.id == id) return text_of(id, each.parts);
  }
  return {};
}

}  // namespace rota::pool::detail
