#include "task/header.hpp"

#include <rota/error.hpp>
#include <rota/outcome.hpp>

#include <string>

namespace rota {

namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "rota"; }

  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::cancelled: return "the task was cancelled";
      case errc::timed_out: return "the deadline passed";
      case errc::already_joined: return "this handle was joined already, or is empty";
      case errc::would_deadlock: return "a task cannot wait for itself";
      case errc::nested_block_on: return "block_on inside a task: await instead, or use block_in_place";
      case errc::shield_overflow: return "more than 255 nested shields";
      case errc::no_runtime:
        return "this call needs a task of a rota::runtime: spawn it there, and await the handle";
      case errc::shut_down: return "the runtime is shutting down";
      case errc::forked: return "this process is a forked child: what it calls belongs to its parent";
      case errc::unsupported: return "not supported by this build or kernel";
      case errc::queue_full: return "the queue is full";
      case errc::cycle: return "the dependencies form a cycle";
      case errc::closed: return "the other side is closed";
      case errc::end_of_stream: return "the stream ended before it was complete";
      case errc::too_long: return "longer than its limit";
      case errc::too_many_works: return "too many works at the same time";
    }
    return "unknown rota error";
  }
};

/// Returns the site of the task that runs here. A child in place has awaited nothing yet: then this is the
/// site of the task around it.
std::source_location site_here() noexcept {
  const core::header* const me = core::task_around();
  return me == nullptr ? std::source_location() : core::site_of(*me);
}

}  // namespace

error::error(errc e) : std::system_error(make_error_code(e)), where_(site_here()) {}
error::error(errc e, const char* what) : std::system_error(make_error_code(e), what), where_(site_here()) {}

const std::error_category& error_category() noexcept {
  static const category instance;
  return instance;
}

// Out of line, so that the type information of each class is only in the library.
error::~error() = default;
cancelled_error::~cancelled_error() = default;
shield_overflow::~shield_overflow() = default;

namespace detail {

void throw_cancelled(cancel_reason reason) { throw cancelled_error(reason); }
void throw_no_value() { throw error(errc::already_joined, "the outcome was taken already"); }

}  // namespace detail

}  // namespace rota
