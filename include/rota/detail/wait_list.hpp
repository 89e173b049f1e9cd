// The tasks and threads that wait for a primitive, in the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/base_mutex.hpp>
#include <rota/waker.hpp>

namespace rota::core {

// PROTOCOL: wait list
//   A primitive is a word, a wait_list, and a table of hooks: wait_rules. The word alone decides what can be
//   decided without waiting. The word also says whether the list has waiters (a `waiting` bit).
//   The giver and the waiter both change the word by read-modify-writes. So at least one of them sees the
//   change of the other, and no wakeup is lost. Everything else happens under the list's lock, in a
//   wait_section.
//
//   state of a node   means                                          set by
//   idle              only its owner knows it: not begun, or done    its owner
//   waiting           in a ring of the list                          its owner, under the lock: link_*()
//   called            in no ring: the owner must try again           the giver, under the lock: call()
//   granted           in no ring: it has what it waited for          the giver, under the lock: grant()
//   closed            in no ring: it will get nothing                the closer, under the lock: grant()
//
//   The state is the upper byte of the node's word. A thread sleeps on that word. The lower bytes count how
//   often the thread was told to check whether it must go on waiting (a force stop). All changes of a
//   thread's word are read-modify-writes, so none hides another. The word of a task is changed only by its
//   owner and under the lock, so a store is enough.
//
//   W1  A node is in a ring exactly while it is `waiting`. Meanwhile its other fields belong to the lock; at
//       other times they belong to its owner. Exception: while a node moves from one list to another, its
//       fields belong to the thread that took it out, and its owner waits for that.
//   W2  call() and grant() first move the waker out of the node, and then change its state. The change of
//       state is their last access to the node: its owner may see it at once, go on, and destroy the node.
//       The wake that follows needs only the waker.
//   W3  Under the lock no waker is woken or dropped, no user code runs, and no memory is allocated
//       (exception: a channel that grows: C9, or B8 by weight). demand_unguarded() checks this in builds with
//       asserts: in every waker, in the flush of a section, and at each call of it in a primitive.
//   W4  An owner that gives up reads its state under the lock. `waiting`: it unlinks itself and gives back
//       what it had got. `called`: it hands the call on to the next in line. `granted` does not change any
//       more: after the lock the owner hands on what it was granted (pass_on), or keeps it.
//   W5  A list is destroyed under its own lock. Reason: a waiter that was granted something may destroy the
//       primitive at once, while the giver is still inside its section. So a giver must take the lock before
//       it gives what allows another thread to destroy the primitive.
//   W6  breathe() unlocks and locks the list again, although no waiter may be left: waiters that passed, or
//       that gave up meanwhile, may destroy the primitive. So the section records in away_, under the lock,
//       that it is away. The destruction waits until all sections have come back, and then for the lock: W5.
//       By then those sections have served the remaining waiters.
//
//   away_    31                                                2      1      0
//          +----------------------------------------------------+-------+------+
//          |             sections that are away                 |waited |begun |
//          +----------------------------------------------------+-------+------+
//            begun   a section was away once, so the end must take the lock. The bit never goes: one check of
//                    a free lock is enough for the end
//            waited  the end sleeps on this word
//   away_ is changed only under the lock.
//
//   W7  size_ counts the nodes that are in a ring of this list. It is read and written only under the lock,
//       and only insert() and unlink() change it. A node that goes to another list is unlinked in a section
//       of the old list and taken over in a section of the new one.

struct wait_links {
  wait_links* next = this;
  wait_links* before = this;

  wait_links() noexcept = default;
  wait_links(const wait_links&) = delete;
  wait_links& operator=(const wait_links&) = delete;
  ~wait_links() = default;

  [[nodiscard]] bool is_alone() const noexcept { return next == this; }
};

enum class wait_state : std::uint32_t { idle, waiting, called, granted, closed };

/// One waiter. It lies in its leaf, or on the stack of its thread.
struct wait_node : wait_links {
  wait_node() noexcept = default;
  wait_node(const wait_node&) = delete;
  wait_node& operator=(const wait_node&) = delete;
  ~wait_node() {
    base::note_write(this);
    ROTA_ASSERT(is_alone());
  }

  [[nodiscard]] wait_state state() const noexcept { return state_in(seen()); }
  /// Returns the whole word, for a thread that sleeps on it.
  [[nodiscard]] std::uint32_t seen() const noexcept {
    // acquire: pairs with the release in set(). What the giver did before is seen.
    return word.load(base::order::acquire);
  }
  [[nodiscard]] static wait_state state_in(std::uint32_t word) noexcept {
    return static_cast<wait_state>(word >> state_shift);
  }
  void set(wait_state to) noexcept {
    const std::uint32_t changed = static_cast<std::uint32_t>(to) << state_shift;
    if (!of_thread) {
      // release: pairs with the acquire in seen().
      word.store(changed, base::order::release);
      return;
    }
    // acq_rel: the release pairs with seen(). The acquire reads the change of a thread that told this one to
    // check: what that thread did before is passed on to the reader in seen().
    word.exchange(changed, base::order::acq_rel);
  }

  static constexpr unsigned state_shift = 24;

  waker wake;
  base::atomic<std::uint32_t> word{0};
  bool of_thread = true;  // written once, before it is linked
  bool was_last = false;  // when it was called, it was the only node in the ring
  // For the primitive to use.
  unsigned char kind = 0;
  unsigned char losses = 0;  // how often it was called and came too late
  std::uint64_t wanted = 0;
  std::uint64_t got = 0;  // the part of `wanted` that it has, while it waits for the rest
};

class wait_section;

/// First in, first out. A primitive adds at the back. A waiter that was called and came too late goes to the
/// front; where several are called, it goes in front of those that came after it.
class ROTA_API wait_list {
 public:
  wait_list() noexcept = default;
  wait_list(const wait_list&) = delete;
  wait_list& operator=(const wait_list&) = delete;
  ~wait_list() { end("something was destroyed while a task or a thread waits for it"); }

  /// Ends the program with this sentence if the list has waiters. First statement of a primitive's
  /// destructor. See W5 and W6.
  void end(const char* words) noexcept {
    // relaxed: the thread that let the last waiter pass wrote away_ before its unlock, and the check of the
    // lock has seen that unlock.
    if (!lock_.is_free() || away_.load(base::order::relaxed) != 0 || !ring_.is_alone()) [[unlikely]]
      end_slowly(words);
  }

  /// Returns true if a thread is in a section of this list. A snapshot.
  [[nodiscard]] bool is_locked() const noexcept { return !lock_.is_free(); }
  /// Returns how many nodes are in a ring. A snapshot, taken under the lock.
  [[nodiscard]] std::size_t size() noexcept;

 private:
  friend class wait_section;
  static constexpr std::uint32_t begun = 1;
  static constexpr std::uint32_t waited = 2;
  static constexpr std::uint32_t one_away = 4;

  void end_slowly(const char* words) noexcept;
  void lock_after_all() noexcept;
  void go_away() noexcept;
  void come_back() noexcept;

  base::mutex lock_;
  base::atomic<std::uint32_t> away_{0};
  wait_links ring_;
  // Under the lock: the nodes in all rings of this list, the ring of a grant_all() included.
  std::size_t size_ = 0;
};

/// Holds the lock of a list while it lives, and wakes after the unlock.
///
///   {
///     wait_section section(list_);
///     while (wait_node* const first = section.first()) {   // all waiters, in batches
///       if (section.is_full()) {
///         section.breathe();                               // unlocks and locks: earlier reads are stale
///         continue;
///       }
///       section.grant(*first);
///     }
///   }                                                      // unlocks, and then wakes
class ROTA_API wait_section {
 public:
  explicit wait_section(wait_list& list) noexcept;
  wait_section(const wait_section&) = delete;
  wait_section& operator=(const wait_section&) = delete;
  ~wait_section();

  /// Returns the node that has waited longest, or null if none waits.
  [[nodiscard]] wait_node* first() const noexcept {
    return is_empty() ? nullptr : static_cast<wait_node*>(list_->ring_.next);
  }
  /// Returns the node behind this one, or null if this one is the last.
  [[nodiscard]] wait_node* after(const wait_node& node) const noexcept {
    return node.next == &list_->ring_ ? nullptr : static_cast<wait_node*>(node.next);
  }
  /// Returns the node in front of this one, or null if this one is the first or null.
  [[nodiscard]] wait_node* before(const wait_node* node) const noexcept {
    return node == nullptr || node->before == &list_->ring_ ? nullptr : static_cast<wait_node*>(node->before);
  }
  [[nodiscard]] bool is_empty() const noexcept { return list_->ring_.is_alone(); }

  /// Links a node: it is `waiting` from now on. The caller has put its waker into it.
  void link_back(wait_node& node) noexcept { link_before(list_->ring_, node); }
  void link_front(wait_node& node) noexcept { link_before(*list_->ring_.next, node); }
  /// Links `node` in front of `where`, which waits.
  void link_before(wait_node& where, wait_node& node) noexcept {
    link_before(static_cast<wait_links&>(where), node);
  }
  /// Takes a node out of its ring. Its owner gives up, and no other thread knows the node; or it goes to
  /// another list, and belongs to the caller meanwhile.
  void unlink(wait_node& node) noexcept;
  /// Links a node that has left another list and goes on waiting in this one. Its owner sees no difference.
  void take_over(wait_node& node) noexcept;

  /// Ends the wait of a node (grant), or lets it try again (call). It is woken after the unlock. is_full()
  /// must be false.
  void grant(wait_node& node, wait_state how = wait_state::granted) noexcept;
  void call(wait_node& node) noexcept {
    base::note_write(&node);
    node.was_last = node.next == node.before;
    grant(node, wait_state::called);
  }
  /// Grants all nodes that wait now, and none that comes later. Unlocks and locks again in between if there
  /// are many.
  void grant_all(wait_state how = wait_state::granted) noexcept;

  /// Returns true if the section holds as many wakers as it can. Then breathe() before the next grant.
  [[nodiscard]] bool is_full() const noexcept { return count_ == capacity; }
  /// Unlocks, wakes, and locks again. The list cannot be destroyed meanwhile: see W6.
  void breathe() noexcept;

#if ROTA_MODEL
  // Small, so that three waiters already need two batches.
  static constexpr unsigned capacity = 2;
#else
  // Each section of a hardened build zeroes this array on the stack, and mostly one waiter or none is woken.
  static constexpr unsigned capacity = 8;
#endif

 private:
  void insert(wait_links& where, wait_node& node) noexcept;
  void link_before(wait_links& where, wait_node& node) noexcept;
  void close() noexcept;

  wait_list* list_;
  unsigned count_ = 0;
  union {
    waker woken_[capacity];  // the first `count_`
  };
};

/// What a join hook has done.
enum class [[nodiscard]] on_join : unsigned char {
  done,    // it need not wait: it has what it wants
  closed,  // it need not wait: it will get nothing
  linked,  // it is in the list
};

/// What a primitive does for one kind of wait. `of` is the `of` of the wait_target: mostly the primitive.
struct wait_rules {
  /// The name for reports: "mutex lock".
  const char* what;
  /// Tries without the lock, before anything else. Returns true if the wait is over. What it then has got is
  /// final: see pass_on.
  bool (*try_now)(void* of, wait_node& me) noexcept;
  /// Called under the lock. Checks again, by a read-modify-write of the word, and links `me` if it must wait.
  /// A node that was called and tries again has the state `called`.
  on_join (*join)(void* of, wait_section& section, wait_node& me) noexcept;
  /// Called under the lock: `me` gives up. It is in no ring. Either it was waiting, or it was called and does
  /// not try again; its state says which. What it has got so far, or the call, goes to the next in line.
  void (*leave)(void* of, wait_section& section, wait_node& me) noexcept;
  /// Called without the lock: `me` got what it wanted and will not use it. The next in line gets it.
  void (*pass_on)(void* of, wait_node& me) noexcept;
  /// Called if the wait is over and the node is not `closed`. Returns true if the result is only an end or a
  /// signal: a task that is unwound for the same cause need not see it, and it is not lost then. Null means
  /// false: the wait gives something.
  bool (*is_end)(void* of) noexcept = nullptr;
  /// True: a task that was called as the last in line may take what it wants by try_now, and need not join.
  bool called_may_try = false;
};

/// For wait_rules::is_end.
inline constexpr auto always_an_end = [](void* /*of*/) noexcept { return true; };

/// The list, the primitive and the rules of one wait.
struct wait_target {
  wait_list* list;
  void* of;
  const wait_rules* rules;
};

/// Calls the join hook and sets the state that follows from it. Called under the lock of `at`, with a waker
/// in the node.
ROTA_API on_join join_list(const wait_target& at, wait_section& section, wait_node& me) noexcept;

enum class [[nodiscard]] on_give_up : unsigned char {
  left,   // it had not ended, or what it got was handed on: no other thread knows the node any more
  ended,  // it was granted or closed before, and that stays
};
enum class if_granted : unsigned char { pass_on, keep };
/// Gives up a wait, in whatever state its node is. Called by its owner.
ROTA_API on_give_up give_up(const wait_target& at, wait_node& me, if_granted then) noexcept;

}  // namespace rota::core
