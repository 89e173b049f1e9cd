// A random tree of constructs, drawn from bytes, and the oracle: how each node may end. The oracle is the law
// of one cause (docs/cancel-safety.md) as a table over the shape of the tree. It does not use the library.
#pragma once

#include "fuzz/fuzz.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace compositions {

enum class construct : unsigned char {
  // leaves
  value,
  yields,
  sleeps,
  hour,  // never ends by itself
  throws,
  throws_late,
  closure,  // spawn_blocking
  job,      // a job of a pool, awaited
  // one child
  catches,
  spawned,
  result,
  cancelled_handle,  // result() of a handle that is cancelled
  cancelled_join,    // co_await of such a handle
  linked,            // to a stop token that fires
  limit,             // timeout or with_deadline, the limit passes or not
  limit_of_handle,   // the same around the name of a handle
  shielded,
  shielded_briefly,
  clean_up,  // finally; its second child is the clean-up
  generator,
  end_as_data,  // an event is set by the destructor of a local of the child
  sent_once,    // oneshot
  repeats,      // it lasts: until a cause comes from outside
  // several
  chain,
  all,
  settled,
  any,
  any_success,
  in_scope,
  in_cancelled_scope,
  awaited_in_scope,  // one child of a scope awaits another one
  in_async_scope,
  in_cancelled_async_scope,
  in_set,
  in_closed_set,
  selected,
  // books of their own, no children
  items,   // bounded channel
  news,    // broadcast
  latest,  // watch
  locks,
  permits,
  gave_up,   // notifications of a condition variable, beside a wait with a limit
  notified,  // the same of a notify
  meets,     // barrier
  count
};

struct shape {
  const char* name;
  unsigned least;  // children
  unsigned most;
};
inline constexpr std::array<shape, static_cast<std::size_t>(construct::count)> shapes{{
    {"value", 0, 0},
    {"yields", 0, 0},
    {"sleeps", 0, 0},
    {"hour", 0, 0},
    {"throws", 0, 0},
    {"throws_late", 0, 0},
    {"closure", 0, 0},
    {"job", 0, 0},
    {"catches", 1, 1},
    {"spawned", 1, 1},
    {"result", 1, 1},
    {"cancelled_handle", 1, 1},
    {"cancelled_join", 1, 1},
    {"linked", 1, 1},
    {"limit", 1, 1},
    {"limit_of_handle", 1, 1},
    {"shielded", 1, 1},
    {"shielded_briefly", 1, 1},
    {"clean_up", 2, 2},
    {"generator", 1, 1},
    {"end_as_data", 1, 1},
    {"sent_once", 1, 1},
    {"repeats", 1, 1},
    {"chain", 2, 3},
    {"all", 2, 3},
    {"settled", 2, 3},
    {"any", 2, 3},
    {"any_success", 2, 3},
    {"in_scope", 1, 3},
    {"in_cancelled_scope", 1, 3},
    {"awaited_in_scope", 1, 1},
    {"in_async_scope", 1, 3},
    {"in_cancelled_async_scope", 1, 3},
    {"in_set", 1, 3},
    {"in_closed_set", 1, 3},
    {"selected", 2, 2},
    {"items", 0, 0},
    {"news", 0, 0},
    {"latest", 0, 0},
    {"locks", 0, 0},
    {"permits", 0, 0},
    {"gave_up", 0, 0},
    {"notified", 0, 0},
    {"meets", 0, 0},
}};

/// The possible ends of a node if no cause comes from outside of it.
struct ends {
  bool value = false;
  bool cancelled = false;    // cancelled_error, or a cancelled outcome
  bool never = false;        // it may wait until a cause comes from outside
  std::uint64_t throws = 0;  // a bit for each node with an exception that may arrive
};

/// How a when_* is given its children.
enum class given : unsigned char { tasks, range, handles, task_and_name, names, task_and_job, count };

struct node {
  construct what = construct::value;
  unsigned id = 0;           // its place in the tree
  std::uint32_t micros = 0;  // 0: at once
  bool lasts = false;        // limits: an hour, not `micros`
  given as = given::tasks;
  std::vector<unsigned> children;
  ends may;

  [[nodiscard]] bool is_single() const noexcept {
    return shapes[static_cast<std::size_t>(what)].most == 1 &&
           shapes[static_cast<std::size_t>(what)].least == 1;
  }
};

/// The cause that ends the tree from outside.
enum class cause : unsigned char {
  none,
  timeout,
  handle,
  scope,
  sibling_wins,
  sibling_fails,
  stop_token,
  shutdown,
  late_shutdown,
  count
};
inline constexpr std::array<const char*, static_cast<std::size_t>(cause::count)> names_of_causes{
    "none",
    "timeout",
    "handle",
    "scope",
    "sibling_wins",
    "sibling_fails",
    "stop_token",
    "shutdown",
    "late_shutdown"};

struct tree {
  static constexpr std::size_t most_nodes = 48;

  std::vector<node> nodes;  // the root is the first one
  cause from_outside = cause::none;
  std::uint32_t micros = 0;  // until the cause comes
  unsigned workers = 1;
  bool in_block_on = false;  // not if a thread makes the cause

  [[nodiscard]] const node& root() const { return nodes.front(); }
  [[nodiscard]] bool refuses() const {
    return from_outside == cause::shutdown || from_outside == cause::late_shutdown;
  }
  [[nodiscard]] const node& child(const node& of, std::size_t position) const {
    return nodes[of.children[position]];
  }
};

// ---- the oracle

inline ends both_in_turn(ends first, ends then) {
  if (!first.value) return first;
  return {
      then.value, first.cancelled || then.cancelled, first.never || then.never, first.throws | then.throws};
}
/// All of them run side by side, and the first failure is the end of the others.
inline ends all_of(const std::vector<ends>& each) {
  ends made{.value = true};
  for (const ends& e : each) {
    made.value = made.value && e.value;
    made.cancelled = made.cancelled || e.cancelled;
    made.never = made.never || e.never;
    made.throws |= e.throws;
  }
  return made;
}
/// The first end decides.
inline ends any_of(const std::vector<ends>& each) {
  ends made{.never = true};
  for (const ends& e : each) {
    made.value = made.value || e.value;
    made.cancelled = made.cancelled || e.cancelled;
    made.never = made.never && e.never;
    made.throws |= e.throws;
  }
  return made;
}
inline bool any_never(const std::vector<ends>& each) { return all_of(each).never; }

/// Computes the end of a parent from that of its only child. `refuses`: a shutdown ends the tree and refuses
/// new tasks. A refused task counts as cancelled, also if it is shielded from the shutdown.
inline ends of_one_child(const node& n, const ends& of, bool refuses) {
  ends made = of;
  // Behind a shield a refused task ends its parent, whatever the parent's other children would have done.
  const bool ends_somehow = of.value || of.cancelled || of.throws != 0 || refuses;
  switch (n.what) {
    case construct::catches:
    case construct::end_as_data:
    case construct::sent_once: return {.value = ends_somehow, .never = of.never};
    case construct::repeats:
      made.value = of.value && !n.lasts;
      made.never = of.never || (of.value && n.lasts);
      return made;
    case construct::cancelled_handle:
    case construct::linked: return {.value = true, .throws = of.throws};
    case construct::cancelled_join: return {.value = of.value, .cancelled = true, .throws = of.throws};
    case construct::limit:
    case construct::limit_of_handle:
      made.value = of.value || !n.lasts;
      made.never = of.never && n.lasts;
      return made;
    case construct::shielded:
    case construct::shielded_briefly: made.cancelled = of.cancelled || refuses; return made;
    default: return of;
  }
}

inline ends of_several(construct what, const std::vector<ends>& of) {
  ends made = all_of(of);
  switch (what) {
    case construct::chain:
      made = of.front();
      for (std::size_t i = 1; i < of.size(); ++i) made = both_in_turn(made, of[i]);
      return made;
    case construct::clean_up: return of.front();
    case construct::settled:
    case construct::in_set: return {.value = true, .never = made.never};
    case construct::in_closed_set: return {.value = true};
    case construct::in_cancelled_scope:
    case construct::in_cancelled_async_scope:
      return {.value = true, .cancelled = made.cancelled, .throws = made.throws};
    case construct::selected:
    case construct::any: return any_of(of);
    case construct::any_success: {
      ends first = any_of(of);
      first.never = made.never;
      return first;
    }
    default: return made;
  }
}

inline ends ends_of(const tree& t, const node& n) {
  std::vector<ends> of;
  of.reserve(n.children.size());
  for (const unsigned each : n.children) of.push_back(t.nodes[each].may);
  if (n.what == construct::hour) return {.never = true};
  if (n.what == construct::throws || n.what == construct::throws_late)
    return {.throws = std::uint64_t{1} << n.id};
  if (of.empty()) return {.value = true};
  if (n.is_single()) return of_one_child(n, of.front(), t.refuses());
  return of_several(n.what, of);
}

// ---- drawing

/// Where a tree runs. The model has no pool and no outside shutdown; an unseen exception is a fault there.
enum class machine : bool { threads, model };

/// Draws a tree from the bytes of an input. Zeros follow its end, and make the smallest tree.
class drawing {
 public:
  drawing(std::string_view bytes, machine on) : from_(bytes), on_(on) {}

  tree draw(unsigned depth) {
    tree made;
    made.workers = 1U << from_.below(3);
    made.in_block_on = from_.below(2) == 0;
    made.micros = from_.below(400);
    const auto causes = static_cast<unsigned>(on_ == machine::model ? cause::shutdown : cause::count);
    made.from_outside = static_cast<cause>(from_.below(causes));
    grow(made, depth, {.must_end = made.from_outside == cause::none, .is_repeated = false});
    for (std::size_t i = made.nodes.size(); i-- > 0;) made.nodes[i].may = ends_of(made, made.nodes[i]);
    return made;
  }

 private:
  /// Restrictions on a node by the nodes around it.
  struct demands {
    bool must_end;
    bool is_repeated;  // then it must leave no task alone, which would run beside its next run
  };

  unsigned grow(tree& t, unsigned depth, demands from_around) {
    node n;
    n.what = draw_construct(t, depth, from_around);
    n.id = static_cast<unsigned>(t.nodes.size());
    n.micros = from_.below(3) == 0 ? 0 : from_.below(250);
    n.lasts = from_.below(2) == 0;
    if (n.what == construct::repeats) n.lasts = n.lasts && !from_around.must_end && on_ == machine::threads;
    n.as = static_cast<given>(from_.below(static_cast<unsigned>(given::count)));
    const shape& of = shapes[static_cast<std::size_t>(n.what)];
    const unsigned count = of.least + (of.most > of.least ? from_.below(of.most - of.least + 1) : 0);
    t.nodes.push_back(n);
    for (unsigned i = 0; i < count; ++i) {
      demands inside = from_around;
      const bool is_clean_up = n.what == construct::clean_up && i == 1;
      inside.must_end = inside.must_end || is_clean_up || n.what == construct::shielded;
      inside.is_repeated = inside.is_repeated || n.what == construct::repeats;
      const unsigned child = grow(t, depth - 1, inside);
      t.nodes[n.id].children.push_back(child);
    }
    return n.id;
  }

  /// A construct without children when there is no room for more.
  construct draw_construct(const tree& t, unsigned depth, demands from_around) {
    const bool has_room = depth > 1 && t.nodes.size() + 3 * depth < tree::most_nodes;
    constexpr auto leaves = static_cast<unsigned>(construct::catches);
    constexpr auto all = static_cast<unsigned>(construct::count);
    const bool is_leaf = !has_room || from_.below(8) == 0;
    auto drawn = static_cast<construct>(is_leaf ? from_.below(leaves) : leaves + from_.below(all - leaves));
    if (drawn == construct::hour && from_around.must_end) drawn = construct::sleeps;
    if (from_around.is_repeated) drawn = without_loose_tasks(drawn);
    return on_ == machine::model ? without_failure(drawn) : drawn;
  }

  static construct without_loose_tasks(construct drawn) {
    switch (drawn) {
      case construct::end_as_data:
      case construct::sent_once: return construct::result;
      case construct::in_set:
      case construct::in_closed_set: return construct::in_scope;
      default: return drawn;
    }
  }
  static construct without_failure(construct drawn) {
    switch (drawn) {
      case construct::job:
      case construct::throws:
      case construct::throws_late: return construct::yields;
      case construct::cancelled_join: return construct::cancelled_handle;
      default: return drawn;
    }
  }

  fuzz::numbers from_;
  machine on_;
};

// ---- what a report says

inline std::string text_of(const tree& t, const node& n, unsigned indent) {
  std::string made(indent * 2, ' ');
  made += shapes[static_cast<std::size_t>(n.what)].name;
  made += " #" + std::to_string(n.id) + ", " + std::to_string(n.micros) + " us";
  if (n.lasts) made += ", lasts";
  if (!n.children.empty()) made += ", given " + std::to_string(static_cast<unsigned>(n.as));
  made += "; may end with:";
  if (n.may.value) made += " value";
  if (n.may.cancelled) made += " cancelled";
  if (n.may.throws != 0) made += " exception";
  if (n.may.never) made += " nothing";
  made += "\n";
  for (const unsigned each : n.children) made += text_of(t, t.nodes[each], indent + 1);
  return made;
}
inline std::string text_of(const tree& t) {
  return std::to_string(t.workers) + " workers, " + (t.in_block_on ? "in block_on" : "spawned") + ", cause " +
         names_of_causes[static_cast<std::size_t>(t.from_outside)] + " after " + std::to_string(t.micros) +
         " us\n" + text_of(t, t.root(), 0);
}

}  // namespace compositions
