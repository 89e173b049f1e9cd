#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

/// The line is in the order of the numbers. Whoever stands in front of its place was called before it, and is back already: so it passes
/// as many as are called at a time and come in vain, at most.
void join_line(core::wait_section& section, core::wait_node& me, std::uint64_t& come) noexcept {
  if (me.state() != core::wait_state::called) {
    me.wanted = ++come;
    return section.link_back(me);
  }
  core::wait_node* behind = section.first();
  while (behind != nullptr && behind->wanted < me.wanted) behind = section.after(*behind);
  behind == nullptr ? section.link_back(me) : section.link_before(*behind, me);
}

}  // namespace rota::channel::detail
