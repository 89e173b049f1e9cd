#include "pool/failure_texts.hpp"

#include <exception>
#include <utility>

namespace rota::pool::detail {

void failure_texts::note(std::uint64_t id, std::string text) noexcept {
  if (all_.empty()) {
    try {
      all_.resize(places);
    } catch (...) {
      return;
    }
  }
  all_[next_] = {.id = id, .text = std::move(text)};
  next_ = (next_ + 1) % places;
}

std::string failure_texts::find(std::uint64_t id) const {
  for (const entry& each : all_) {
    if (each.id == id) return each.text;
  }
  return {};
}

namespace {

/// An error may have a text of any length.
constexpr std::size_t longest_error = 200;

std::string text_of_error(const std::exception_ptr& error) {
  if (error == nullptr) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return ": " + std::string(e.what()).substr(0, longest_error);
  } catch (...) {
    return ": an exception that is no std::exception";
  }
}

}  // namespace

std::string text_of_failure(work_core& w, work_status how) noexcept {
  try {
    std::string text = "work " + std::to_string(w.id);
    if (w.extras != nullptr && !w.extras->name.empty()) text += " \"" + std::string(w.extras->name) + "\"";
    if (how == work_status::failed) return text + " failed" + text_of_error(w.type->exception(w.body));
    return text + " ended as " + to_string(how);
  } catch (...) {
    return {};
  }
}

}  // namespace rota::pool::detail
