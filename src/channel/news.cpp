#include <rota/detail/channel_news.hpp>

#include "base/tls_slot.hpp"

#include <rota/error.hpp>

#include <utility>

namespace rota::channel::detail {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

const hearing& who(void* of) noexcept { return *static_cast<const hearing*>(of); }

news& of_senders(void* of) noexcept { return *static_cast<news*>(of); }

}  // namespace

void news::add_half() noexcept {
  // relaxed: the caller holds a half, so the count cannot become 0.
  if (halves_.fetch_add(1, base::order::relaxed) >= most) ROTA_FATAL("a channel has too many halves", most);
}

void news::add_sender() noexcept {
  add_half();
  // relaxed: same reason as in add_half().
  senders_.fetch_add(1, base::order::relaxed);
}

void news::drop_sender() noexcept {
  // acq_rel: the release orders what this sender sent before the close; the acquire lets the last sender
  // close for all.
  if (senders_.fetch_sub(1, base::order::acq_rel) == 1) close();
}

std::uint64_t news::add_receiver() noexcept {
  add_half();
  const wait_section section(line_);
  // relaxed: under the lock.
  receivers_.fetch_add(1, base::order::relaxed);
  return state().count();
}

bool news::drop_receiver() noexcept {
  {
    const wait_section section(line_);
    // release: pairs with is_unwanted(), which asks without this lock.
    if (receivers_.fetch_sub(1, base::order::release) != 1) return true;
  }
  tell_unwanted();
  return false;
}

void news::close() noexcept {
  {
    wait_section section(line_);
    // acq_rel: the release pairs with state(); the acquire orders the second of two closes after the first.
    word_.fetch_or(closed, base::order::acq_rel);
    section.grant_all(core::wait_state::closed);
  }
  tell_unwanted();
}

void news::tell_unwanted() noexcept {
  wait_section section(closers_);
  if (is_unwanted()) section.grant_all();
}

void news::throw_if_modifying() const {
  const base::thread_locals& here = base::this_thread_locals();
  for (const auto* at = static_cast<const modification*>(here.modifier); at != nullptr; at = at->outer_) {
    if (at->of_ == this && at->task_ == here.task)
      throw error(errc::would_deadlock, "the function of a send_modify sends to the same watch");
  }
}

modification::modification(news& of) : of_(&of) {
  of.throw_if_modifying();
  base::thread_locals& here = base::this_thread_locals();
  task_ = here.task;
  outer_ = static_cast<modification*>(std::exchange(here.modifier, this));
  // relaxed: see demand_unmodified().
  if (!of.was_modified_.load(base::order::relaxed)) of.was_modified_.store(true, base::order::relaxed);
}
modification::~modification() { base::this_thread_locals().modifier = outer_; }

constexpr core::wait_rules news::rules_called(const char* what) noexcept {
  return {
      .what = what,
      .try_now = [](void* of, wait_node&) noexcept { return is_news_for(who(of)); },
      .join =
          [](void* of, wait_section& section, wait_node& me) noexcept {
            if (is_news_for(who(of))) return on_join::done;
            section.link_back(me);
            return on_join::linked;
          },
      .leave = [](void*, wait_section&, wait_node&) noexcept {},
      .pass_on = [](void*, wait_node&) noexcept {},
      .is_end = [](void* of) noexcept { return is_the_end_for(who(of)); },
  };
}
constinit const core::wait_rules news::watch_rules = rules_called("watch change");
constinit const core::wait_rules news::broadcast_rules = rules_called("broadcast receive");
constinit const core::wait_rules news::close_rules{
    .what = "receivers to go",
    .try_now = [](void* of, wait_node&) noexcept { return of_senders(of).is_unwanted(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          if (of_senders(of).is_unwanted()) return on_join::done;
          section.link_back(me);
          return on_join::linked;
        },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = core::always_an_end,
};

}  // namespace rota::channel::detail
