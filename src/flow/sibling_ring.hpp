// Rings of tasks, linked through the fields that every header has for its family.
#pragma once

#include "task/header.hpp"

namespace rota::core {

/// A ring with a node of its own. So a task can leave it without knowing which ring it is in. Guarded by the
/// family's lock.
class sibling_ring {
 public:
  sibling_ring() noexcept {
    self_.before.set(&self_);
    self_.after.set(&self_);
  }
  sibling_ring(const sibling_ring&) = delete;
  sibling_ring& operator=(const sibling_ring&) = delete;
  ~sibling_ring() = default;

  [[nodiscard]] bool is_empty() const noexcept { return self_.after.get() == &self_; }
  [[nodiscard]] header& first() noexcept { return static_cast<header&>(*self_.after.get()); }
  void append(sibling_links& node) noexcept {
    sibling_links& last = *self_.before.get();
    node.before.set(&last);
    node.after.set(&self_);
    last.after.set(&node);
    self_.before.set(&node);
  }
  template <class Visit>
  void for_each(Visit visit) noexcept {
    for (sibling_links* at = self_.after.get(); at != &self_; at = at->after.get())
      visit(static_cast<header&>(*at));
  }
  static void remove(sibling_links& node) noexcept {
    node.before.get()->after.set(node.after.get());
    node.after.get()->before.set(node.before.get());
    node.before.set(nullptr);
    node.after.set(nullptr);
  }
  [[nodiscard]] static bool is_in_one(const sibling_links& node) noexcept {
    return node.after.get() != nullptr;
  }

 private:
  sibling_links self_;
};

}  // namespace rota::core
