// Who waits for a primitive, in the order in which they came: tasks and threads alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/base_mutex.hpp>
#include <rota/waker.hpp>

namespace rota::core {

// PROTOCOL: wait list
//   A primitive is a word, a wait_list, and a table of hooks, wait_rules. What can be decided without waiting is decided by the word
//   alone; the word also says that somebody waits, so that of {what is given, who waits} at least one side sees the other: both are
//   read-modify-writes of it. Everything else happens under the list's lock, in a wait_section.
//
//   state of a node   means                                        set by
//   idle              nobody knows of it: not begun, or done       its owner
//   waiting           in a ring of the list                        its owner, under the lock: wait_section::link_*()
//   called            in no ring: try again, it may be your turn   who gives, under the lock: call()
//   granted           in no ring: it has what it waited for        who gives, under the lock: grant()
//   closed            in no ring: there will be nothing            who closes, under the lock: grant()
//
//   The state is the upper byte of the node's word. A thread sleeps on that word; the lower bytes count how often it was told to look
//   whether it must go on waiting (a force stop). All changes of a thread's word are read-modify-writes, so none hides another. That of a
//   task is changed by its owner and under the lock, and by nobody else: a store will do.
//
//   W1  A node is in a ring exactly while it is `waiting`; its other fields are the lock's meanwhile, and else its owner's. Or it goes from one
//       list to another: then they are those of who has taken it out, and its owner waits for that.
//   W2  Whoever takes a node out of its ring by call() or grant() moves the waker out before, and the change of the state is his last
//       touch: the owner may see it at once, go on, and be gone. A wake that follows needs the waker alone.
//   W3  No waker is woken or dropped, no memory is asked for (but by a channel that grows: C9, or B8 by weight), no code of a user's runs
//       under the lock. Held by demand_unguarded() in builds with asserts: in every waker, in the flush of a section, and where a primitive says so.
//   W4  An owner that gives up asks under the lock: `waiting`, it unlinks itself and gives back what it had got; `called` or `granted`,
//       it hands that on to the next in line.
//   W5  A list is destroyed under its own lock: who was granted something may destroy the primitive at once, while the giver is still
//       inside of its section. A giver must therefore take the lock before it gives what lets another destroy the primitive.
//   W6  A section that breathes comes back, although nobody may be left who waits: those whom it let pass, and those who gave up meanwhile,
//       may destroy the primitive. So it says in away_, under the lock, that it is away, and the destruction waits until all have come
//       back, and then for the lock: W5. Those who still wait then have been served by them.
//
//   away_    31                                                2      1      0
//          +----------------------------------------------------+-------+------+
//          |             sections that are away                 |waited |begun |
//          +----------------------------------------------------+-------+------+
//            begun   a section was away once: the end looks under the lock. It never goes, so that the end needs one look at a free lock
//            waited  the end sleeps on this word
//   It is changed only under the lock.
//
//   W7  size_ counts the nodes that are in a ring of this list. It is read and written under the lock alone: insert() and unlink() change it, and
//       nothing else does. A node that goes to another list is unlinked in a section of the old list and taken over in a section of the new one.

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

/// One who waits. In its leaf, or on the stack of its thread.
struct wait_node : wait_links {
  wait_node() noexcept = default;
  wait_node(const wait_node&) = delete;
  wait_node& operator=(const wait_node&) = delete;
  ~wait_node() {
    base::note_write(this);
    ROTA_ASSERT(is_alone());
  }

  [[nodiscard]] wait_state state() const noexcept { return state_in(seen()); }
  /// The word as it is: for a thread that sleeps on it.
  [[nodiscard]] std::uint32_t seen() const noexcept {
    // acquire. Pairs with set(): what the giver did before is seen.
    return word.load(base::order::acquire);
  }
  [[nodiscard]] static wait_state state_in(std::uint32_t word) noexcept {
    return static_cast<wait_state>(word >> state_shift);
  }
  void set(wait_state to) noexcept {
    const std::uint32_t changed = static_cast<std::uint32_t>(to) << state_shift;
    if (!of_thread) {
      // release. Pairs with seen().
      word.store(changed, base::order::release);
      return;
    }
    // acq_rel. release: pairs with seen(). acquire: who told a thread to look has done what it will see.
    word.exchange(changed, base::order::acq_rel);
  }

  static constexpr unsigned state_shift = 24;

  waker wake;
  base::atomic<std::uint32_t> word{0};
  bool of_thread = true;  // written once, before it is linked
  bool was_last = false;  // when it was called: nobody was behind it
  // The primitive's own, to use as it likes.
  unsigned char kind = 0;
  unsigned char losses = 0;  // so often it was called and came too late
  std::uint64_t wanted = 0;
  std::uint64_t got = 0;  // of what it wanted, while it waits for the rest
};

class wait_section;

/// First in, first out: a primitive adds at the back, and who was called and came too late goes to the front, or, where several are called,
/// in front of those that came after it.
class ROTA_API wait_list {
 public:
  wait_list() noexcept = default;
  wait_list(const wait_list&) = delete;
  wait_list& operator=(const wait_list&) = delete;
  ~wait_list() { end("something was destroyed while somebody waits for it"); }

  /// First in a primitive's destructor: ends the program, with this sentence, if somebody waits. See W5 and W6.
  void end(const char* words) noexcept {
    // relaxed. Whoever let the last one pass set it before it gave the lock away, if it did, and the look at the lock has seen that.
    if (!lock_.is_free() || away_.load(base::order::relaxed) != 0 || !ring_.is_alone()) [[unlikely]]
      end_slowly(words);
  }

  /// Returns true if a thread is in a section of this list. A snapshot.
  [[nodiscard]] bool is_locked() const noexcept { return !lock_.is_free(); }
  /// How many are in a ring. A snapshot, taken under the lock.
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
  std::size_t size_ = 0;  // under the lock: of all rings of this list, that of a grant_all() included
};

/// The lock of a list, while this lives, and the wakes that come after it.
///
///   {
///     wait_section section(list_);
///     while (wait_node* const first = section.first()) {   // all who wait, in batches
///       if (section.is_full()) {
///         section.breathe();                               // gives the lock away: nothing read before holds any more
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

  /// Who has waited longest; null: nobody waits.
  [[nodiscard]] wait_node* first() const noexcept {
    return is_empty() ? nullptr : static_cast<wait_node*>(list_->ring_.next);
  }
  /// The one behind it; null: it is the last.
  [[nodiscard]] wait_node* after(const wait_node& node) const noexcept {
    return node.next == &list_->ring_ ? nullptr : static_cast<wait_node*>(node.next);
  }
  /// The one in front of it; null: it is the first, or nobody.
  [[nodiscard]] wait_node* before(const wait_node* node) const noexcept {
    return node == nullptr || node->before == &list_->ring_ ? nullptr : static_cast<wait_node*>(node->before);
  }
  [[nodiscard]] bool is_empty() const noexcept { return list_->ring_.is_alone(); }

  /// It waits from now on. Its waker is in it.
  void link_back(wait_node& node) noexcept { link_before(list_->ring_, node); }
  void link_front(wait_node& node) noexcept { link_before(*list_->ring_.next, node); }
  /// In front of one that waits.
  void link_before(wait_node& where, wait_node& node) noexcept {
    link_before(static_cast<wait_links&>(where), node);
  }
  /// It gives up: it is in no ring, and nobody else knows of it. Or it is on its way to another list, and is the caller's meanwhile.
  void unlink(wait_node& node) noexcept;
  /// It waits on in this list, after it has left another: its owner sees no difference.
  void take_over(wait_node& node) noexcept;

  /// Ends its wait, or lets it try again; it is woken after the lock. There must be room: see is_full().
  void grant(wait_node& node, wait_state how = wait_state::granted) noexcept;
  void call(wait_node& node) noexcept {
    base::note_write(&node);
    node.was_last = node.next == node.before;
    grant(node, wait_state::called);
  }
  /// Those who wait now, and nobody who comes later. Gives the lock away in between, if there are many.
  void grant_all(wait_state how = wait_state::granted) noexcept;

  /// As many as one section wakes. Full: breathe() before the next one.
  [[nodiscard]] bool is_full() const noexcept { return count_ == capacity; }
  /// Gives the lock away, wakes, and takes it again. Nobody can destroy the list meanwhile: see W6.
  void breathe() noexcept;

#if ROTA_MODEL
  // Three who wait are a crowd there.
  static constexpr unsigned capacity = 2;
#else
  // More of them would be zeroed on the stack by each section of a hardened build, and mostly one is woken, or nobody.
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

/// What a hook that was asked to wait has done.
enum class [[nodiscard]] on_join : unsigned char {
  done,    // it need not wait: it has what it wants
  closed,  // it need not wait: there will be nothing
  linked,  // it is in the list
};

/// What a primitive does when one waits for it in a certain way. `of`: what the wait_target says, mostly the primitive.
struct wait_rules {
  /// For reports: "mutex lock".
  const char* what;
  /// Without the lock, before anything else: true: done. What it gets it has got for good: see pass_on.
  bool (*try_now)(void* of, wait_node& me) noexcept;
  /// Under the lock: looks again, by a read-modify-write of the word, and links `me` otherwise. A node that was called and tries again
  /// has the state `called`.
  on_join (*join)(void* of, wait_section& section, wait_node& me) noexcept;
  /// Under the lock: `me` gives up. It was waiting, and is in no ring any more, or was called, and does not try again (its state says
  /// which): what it has got so far, or the call, goes to the next in line.
  void (*leave)(void* of, wait_section& section, wait_node& me) noexcept;
  /// Without the lock: `me` got what it wanted, and nobody will use it: the next in line gets it.
  void (*pass_on)(void* of, wait_node& me) noexcept;
  /// Asked if the wait is over and was not told `closed`: is what it ended with an end, or a signal, that a task which is unwound for
  /// the same cause need not see, and that is not lost then? Null: no, it gives something.
  bool (*is_end)(void* of) noexcept = nullptr;
  /// A task that was called, with nobody behind it, may take what it wants by try_now, and need not join.
  bool called_may_try = false;
};

/// For wait_rules::is_end.
inline constexpr auto always_an_end = [](void* /*of*/) noexcept { return true; };

/// Where and how one waits.
struct wait_target {
  wait_list* list;
  void* of;
  const wait_rules* rules;
};

/// Under the lock of `at`, with a waker in the node: the join hook, and the state that follows from it.
ROTA_API on_join join_list(const wait_target& at, wait_section& section, wait_node& me) noexcept;

enum class [[nodiscard]] on_give_up : unsigned char {
  left,   // it had not ended, or what it got was handed on: nobody knows of the node any more
  ended,  // it was granted or closed before, and that stands
};
enum class if_granted : unsigned char { pass_on, keep };
/// The owner gives up, in whatever state its node is.
ROTA_API on_give_up give_up(const wait_target& at, wait_node& me, if_granted then) noexcept;

}  // namespace rota::core
