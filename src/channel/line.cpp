#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

std::uint64_t line::join(core::wait_section& section, core::wait_node& me) noexcept {
  if (me.state() != core::wait_state::called) {
    me.wanted = ++come_;
    section.link_back(me);
    return 0;
  }
  ROTA_ASSERT(put_back_ == nullptr || !put_back_->is_alone());  // L2
  std::uint64_t passed = 0;
  core::wait_node* behind = put_back_ == nullptr ? section.first() : put_back_;
  // Goes towards the front while the node before comes after the place of `me`.
  for (core::wait_node* before = section.before(behind); before != nullptr && before->wanted > me.wanted;
       ++passed) {
    behind = before;
    before = section.before(behind);
  }
  for (; behind != nullptr && behind->wanted < me.wanted; ++passed) behind = section.after(*behind);
  behind == nullptr ? section.link_back(me) : section.link_before(*behind, me);
  put_back_ = &me;
  return passed;
}

}  // namespace rota::channel::detail
