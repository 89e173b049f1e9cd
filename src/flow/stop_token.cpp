#include <rota/stop_token.hpp>

#include "task/header.hpp"

#include <rota/error.hpp>

namespace rota {

namespace {

struct stop_node final : core::cancel_hook {
  stop_node() : cancel_hook{.cancelled = on_cancelled, .destroy = on_destroy} {}

  static void on_cancelled(cancel_hook& self) noexcept {
    static_cast<stop_node&>(self).source.request_stop();
  }
  static void on_destroy(cancel_hook* self) noexcept { delete static_cast<stop_node*>(self); }

  std::stop_source source;
};

core::header* demand_task() {
  core::header* const me = core::current_task();
  if (me == nullptr) throw error(errc::no_runtime);
  return me;
}

}  // namespace

std::stop_token this_task::stop_token() {
  core::header* const me = core::current_task();
  if (me == nullptr) return {};
  // relaxed: only the task itself, which calls this, sets it.
  if (core::cancel_hook* const known = me->hook.load(base::order::relaxed)) {
    return static_cast<stop_node*>(known)->source.get_token();
  }
  auto* const made = new stop_node;
  core::set_cancel_hook(*me, *made);
  return made->source.get_token();
}

stop_link::stop_link(std::stop_token token) : callback_(std::move(token), canceller{demand_task()}) {}

/// The task cannot end meanwhile: the destruction of its frame waits for this call.
void stop_link::canceller::operator()() const noexcept {
  static_cast<void>(core::cancel(*task, cancel_reason::user));
}

}  // namespace rota
