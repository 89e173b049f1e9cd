#include <rota/this_task.hpp>

#include "task/header.hpp"
#include "task/unwinder.hpp"

#include <rota/detail/limit_region.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace rota {

namespace core {

bool checkpoint_leaf::is_ready() noexcept { return !unwinder::is_due(header_of(task())); }

}  // namespace core

namespace this_task {

task_id id() noexcept {
  const core::header* const me = core::task_in_sight();
  return {me == nullptr ? 0 : me->id};
}

void set_name(std::string_view name) {
  constexpr std::size_t longest = 255;
  core::header* const me = core::current_task();
  if (me == nullptr) return;
  const std::size_t length = name.size() < longest ? name.size() : longest;
  void* const block = core::task_label::make_block(length);
  if (block == nullptr) throw std::bad_alloc();
  char* const copy = core::task_label::text_of(block);
  // A name may come from any source, and reports go to terminals and logs.
  std::transform(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(length), copy, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  });
  copy[length] = '\0';
  // A report may be reading the old name: it holds the lock under which the owner changes the name.
  me->owner->ops->rename(*me->owner, *me, block);
}

bool cancel_requested() noexcept {
  core::header* const me = core::task_in_sight();
  return me != nullptr && (me->word.load().has(core::cancelled) || core::unwinder::has_passed_deadline(*me));
}

bool unwinding() noexcept {
  const core::header* const me = core::task_in_sight();
  return me != nullptr && me->word.load().has(core::unwinding);
}

std::chrono::steady_clock::time_point deadline() noexcept {
  core::header* const me = core::task_in_sight();
  return me == nullptr ? base::never
         : me->limited ? core::limit_region::deadline_in(*me)
                       : me->deadline.get();
}

}  // namespace this_task
}  // namespace rota
