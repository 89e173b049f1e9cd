#include <rota/sync/barrier.hpp>

#include <stdexcept>
#include <string>

namespace rota::sync {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

barrier& self(void* at) noexcept { return *static_cast<barrier*>(at); }

}  // namespace

const core::wait_rules barrier::rules{
    .what = "barrier",
    .try_now = [](void* at, wait_node& me) noexcept { return self(at).pass_alone(me); },
    .join =
        [](void* at, wait_section& section, wait_node& me) noexcept { return self(at).join(section, me); },
    .leave = [](void* at, wait_section&, wait_node& me) noexcept { self(at).leave(me); },
    .pass_on = [](void*, wait_node& me) noexcept { me.kind |= passed; },
    .is_end = core::always_an_end,
};

const core::wait_rules barrier::passing_rules{
    .what = "barrier",
    .try_now = [](void*, wait_node&) noexcept { return false; },  // only the lock orders what the others did
    .join =
        [](void* at, wait_section& section, wait_node& me) noexcept {
          if (self(at).has_passed(me.wanted)) return on_join::done;
          section.link_back(me);
          return on_join::linked;
        },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = core::always_an_end,
};

barrier::barrier(count participants) : word_(pack({0, participants, 0})) {
  if (participants == 0 || participants > max_participants)
    throw std::invalid_argument("sync::barrier: participants is " + std::to_string(participants) +
                                ": must be 1.." + std::to_string(max_participants));
}

barrier::passage barrier::blocking_arrive_and_wait() {
  wait_node me;
  static_cast<void>(core::block(target(), me));
  return passage_of(me);
}

/// Lets the only participant pass without the lock. Returns false if there are others, or if the word has
/// changed.
bool barrier::pass_alone(wait_node& me) noexcept {
  state s = now();
  if (s.participants != 1 || s.arrived != 0) return false;
  std::uint64_t seen = pack(s);
  me.wanted = s.generation++;
  me.kind = leads;
  // acquire: pairs with arrive_and_drop(). failure: relaxed: join() decides.
  return word_.compare_exchange_strong(seen, pack(s), base::order::acquire, base::order::relaxed);
}

/// Counts one arrival. Called under the lock.
barrier::arrival barrier::count_in() noexcept {
  // relaxed: a guess; the exchange decides.
  std::uint64_t seen = word_.load(base::order::relaxed);
  state s;
  std::uint32_t generation = 0;
  do {
    s = unpack(seen);
    if (s.participants == 0) ROTA_FATAL("arriving at a sync::barrier from which all have dropped out", 0);
    generation = s.generation;
    if (++s.arrived == s.participants) s = {s.generation + 1, s.participants, 0};
    // relaxed: the lock and the grants order what was done before. failure: relaxed: again a guess.
  } while (!word_.compare_exchange_weak(seen, pack(s), base::order::relaxed, base::order::relaxed));
  return {generation, s.arrived == 0};
}

on_join barrier::join(wait_section& section, wait_node& me) noexcept {
  const arrival mine = count_in();
  begin(me, mine);
  if (!mine.is_leader_) {
    section.link_back(me);
    return on_join::linked;
  }
  section.grant_all();
  return on_join::done;
}

barrier::arrival barrier::arrive() noexcept {
  wait_section section(list_);
  const arrival mine = count_in();
  if (mine.is_leader_) section.grant_all();
  return mine;
}

bool barrier::try_wait(const arrival& from) noexcept {
  const wait_section section(list_);
  return has_passed(from.generation_);
}

barrier::passage barrier::blocking_wait(const arrival& from) {
  wait_node me;
  begin(me, from);
  static_cast<void>(core::block(to_pass(), me));
  return passage_of(me);
}

void barrier::leave(wait_node& me) noexcept {
  // relaxed: a guess; the exchange decides.
  std::uint64_t seen = word_.load(base::order::relaxed);
  state s;
  do {
    s = unpack(seen);
    if (s.generation != me.wanted) {
      me.kind |= passed;
      return;
    }
    --s.arrived;
    // relaxed: the arrival is undone and publishes nothing. failure: relaxed: again a guess.
  } while (!word_.compare_exchange_weak(seen, pack(s), base::order::relaxed, base::order::relaxed));
}

void barrier::arrive_and_drop() noexcept {
  wait_section section(list_);
  // relaxed: a guess; the exchange decides.
  std::uint64_t seen = word_.load(base::order::relaxed);
  state s;
  bool completes = false;
  do {
    s = unpack(seen);
    if (s.participants == 0) ROTA_FATAL("dropping out of a sync::barrier from which all have dropped out", 0);
    completes = s.arrived == --s.participants;
    if (completes) s = {s.generation + 1, s.participants, 0};
    // release: pairs with pass_alone(), which takes no lock. failure: relaxed: again a guess.
  } while (!word_.compare_exchange_weak(seen, pack(s), base::order::release, base::order::relaxed));
  if (!completes) return;
  if (wait_node* const first = section.first()) first->kind = leads;
  section.grant_all();
}

}  // namespace rota::sync
