// The promise of every rota coroutine, and the memory around its frame.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>
#if __has_include(<bits/uses_allocator.h>)
// <bits/uses_allocator.h>: std::allocator_arg_t without <memory>, which costs a fifth of a translation unit.
#include <bits/uses_allocator.h>
#else
#include <tuple>
#endif

#include <rota/detail/activation.hpp>
#include <rota/detail/await_site.hpp>
#include <rota/detail/base_frames.hpp>
#include <rota/leaf.hpp>
#include <rota/outcome.hpp>

namespace rota {

template <class T>
class task;

namespace core {

// One allocation per coroutine:
//
//   | result | header_room | frame_tag | coroutine frame: resume, destroy, promise, parameters, locals |
//   ^ block                             ^ what the compiler sees
//
// So a root's parameters and promise can be destroyed at its end while header and result stay. Only a root's
// header is constructed.

/// The bytes reserved for a header. Checked against the real header in task/header.hpp.
inline constexpr std::size_t header_room = 208;

/// Where a promise begins in its frame, after the two function pointers: the layout that clang and g++ share.
inline constexpr std::size_t promise_offset = 16;

struct result_vtable;

struct alignas(16) frame_tag {
  base::atomic<const result_vtable*> result;  // of a task: not null says that its header is constructed
  std::uint32_t bytes;                        // of the whole block
  std::uint16_t lead;                         // bytes before the frame, in units of lead_unit
  std::uint8_t list;                          // of a block from base::allocate_frame: base::list_of_frame()
  std::uint8_t lent : 1;                      // the block came from a user's allocator
  std::uint8_t keep : 1;                      // of a root: the block outlives the frame
  // it begins even if it is cancelled before
  std::uint8_t must_begin : 1;
  std::uint8_t unused : 5;
};
static_assert(sizeof(frame_tag) == 16);
inline constexpr std::size_t lead_unit = 16;
inline constexpr std::size_t largest_lead = 0xFFFF * lead_unit;

[[nodiscard]] inline frame_tag& tag_of(void* frame) noexcept {
  return *std::launder(reinterpret_cast<frame_tag*>(static_cast<std::byte*>(frame) - sizeof(frame_tag)));
}
[[nodiscard]] inline void* header_room_of(void* frame) noexcept {
  return static_cast<std::byte*>(frame) - sizeof(frame_tag) - header_room;
}
[[nodiscard]] inline void* frame_of_room(void* room) noexcept {
  return static_cast<std::byte*>(room) + header_room + sizeof(frame_tag);
}
inline void release_block(void* frame) noexcept {
  const frame_tag& tag = tag_of(frame);
  void* const block = static_cast<std::byte*>(frame) - tag.lead * lead_unit;
  if (tag.lent != 0) {
    // The function that frees the block is stored at its end.
    using releaser = void (*)(void* block, std::size_t bytes) noexcept;
    auto* const end = static_cast<std::byte*>(block) + tag.bytes;
    (*std::launder(reinterpret_cast<releaser*>(end - sizeof(releaser))))(block, tag.bytes);
  } else {
    base::free_frame(block, tag.bytes);
  }
}

/// The bytes for a result in front of a header. Coroutine frames are aligned to 16; result_at() rejects a
/// type with a stricter alignment.
template <class T>
inline constexpr std::size_t result_room = (sizeof(outcome<T>) + 15) / 16 * 16;

template <class T>
[[nodiscard]] outcome<T>* result_at(void* header) noexcept {
  static_assert(alignof(outcome<T>) <= 16,
                "a task's result may be aligned to at most 16: return it by pointer");
  return std::launder(reinterpret_cast<outcome<T>*>(static_cast<std::byte*>(header) - result_room<T>));
}

/// An awaiter of rota: a leaf, or a wrapper of one.
template <class A>
concept bindable = requires(A& a, activation& task) { a.bind(task); };
/// An object that returns such an awaiter: a join_handle.
template <class A>
concept gives_awaiter = requires(A&& a) {
  { std::forward<A>(a).operator co_await() } -> bindable;
};

/// Awaits the object that it refers to: a temporary lives until the co_await is done. g++ 12 would copy an
/// awaiter that is passed to it by reference, and rota's awaiters cannot be copied.
template <class A>
class by_reference {
 public:
  explicit by_reference(A& awaited) noexcept : awaited_(&awaited) {}

  [[nodiscard, gnu::always_inline]] bool await_ready() const
      noexcept(noexcept(std::declval<A&>().await_ready())) {
    return awaited_->await_ready();
  }
  template <class Promise>
  [[gnu::always_inline]] auto await_suspend(std::coroutine_handle<Promise> frame) const {
    return awaited_->await_suspend(frame);
  }
  decltype(auto) await_resume() const { return awaited_->await_resume(); }

 private:
  A* awaited_;
};

template <class A>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// Ends the program with a message if the task is empty. Without the check it would crash.
[[gnu::always_inline]] inline void demand_work(bool is_there) noexcept {
  if (!is_there) [[unlikely]]
    ROTA_FATAL("an empty task: moved from, awaited or spawned before", 0);
}

/// Ends the program if the task is being unwound: then a destructor threw the exception.
ROTA_API void thrown_in(const strand& running) noexcept;

class fork_group;
/// Ends a child that ran in place. Returns the coroutine that goes on.
template <class Promise>
[[nodiscard]] std::coroutine_handle<> end_in_place(std::coroutine_handle<Promise> frame) noexcept;
/// Awaitables that fork. The awaiting frames need not be a task yet.
template <class A>
concept forks = requires(A& a, std::source_location where) { a.awaited_at(where); };

/// True for awaitables that may run frames inside of the awaiting one. A leaf never does; a limit around a
/// task does.
template <class A>
inline constexpr bool may_run_frames = !std::is_base_of_v<leaf, std::remove_cvref_t<A>>;
template <class A>
  requires gives_awaiter<A>
inline constexpr bool may_run_frames<A> = may_run_frames<decltype(std::declval<A>().operator co_await())>;

/// Returns the site to report for a co_await in the library's coroutine `frame`: that of the innermost frame
/// around it that belongs to the program; `own` if there is none. Called by the task's owner.
[[nodiscard]] ROTA_API std::source_location site_around(const promise_base& frame,
                                                        std::source_location own) noexcept;

/// The part of a promise that does not depend on the result.
class alignas(16) promise_base {
 public:
  promise_base() = default;
  promise_base(const promise_base&) = delete;
  promise_base& operator=(const promise_base&) = delete;

  [[nodiscard]] std::coroutine_handle<> handle() noexcept {
    return std::coroutine_handle<promise_base>::from_promise(*this);
  }
  /// Returns the address of the header. Before clang has split the coroutine, the promise looks to it like a
  /// local variable, and an access in front of it like an error. So the compiler must not know the origin of
  /// this pointer.
  [[nodiscard]] void* room() noexcept {
    void* here = this;
    asm("" : "+r"(here));
    return header_room_of(static_cast<std::byte*>(here) - promise_offset);
  }

  static std::suspend_always initial_suspend() noexcept { return {}; }

  struct final_awaiter {
    final_awaiter() noexcept {}
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[gnu::always_inline]] std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> frame) noexcept {
      promise_base& self = frame.promise();
      if (self.parent != nullptr) return transfer(*self.root, *self.parent);
      if (self.root->in_place) return end_in_place(frame);
      self.root->innermost.set(&self);
      self.root->why = stop_reason::finished;
      return std::noop_coroutine();
    }
    static void await_resume() noexcept {}
  };
  static final_awaiter final_suspend() noexcept { return {}; }

  template <class A>
  decltype(auto) await_transform(A&& awaited, await_site where = std::source_location::current()) noexcept {
    using awaited_type = std::remove_reference_t<A>;
    if constexpr (is_task<std::remove_cv_t<awaited_type>>) {
      static_assert(!std::is_lvalue_reference_v<A>, "a task is awaited once: co_await std::move(it)");
      keep_site(where);
      return std::forward<A>(awaited);
    } else if constexpr (forks<awaited_type>) {
      awaited.awaited_at(reported(where));
#if defined(__clang__)
      return std::forward<A>(awaited);
#else
      return by_reference<awaited_type>(awaited);
#endif
    } else if constexpr (bindable<awaited_type>) {
      activation& me = task_of(*root);
      me.note_site(reported(where));
      if constexpr (may_run_frames<awaited_type>) keep_site(where);
      awaited.bind(me);
      return by_reference<awaited_type>(awaited);
    } else {
      static_assert(gives_awaiter<A>,
                    "rota tasks await rota's awaitables, or a class derived from rota::leaf");
      task_of(*root).note_site(reported(where));
      if constexpr (may_run_frames<A>) keep_site(where);
      return std::forward<A>(awaited);
    }
  }

  /// Returns the co_await of the program's coroutine that waits for the frames inside it. Null for the
  /// library's coroutines, and for one that has not awaited such an awaitable. Before the start: the place of
  /// the coroutine, if its file was compiled with asserts.
  [[nodiscard]] const void* kept_site() const noexcept { return site_; }

  // the task that this frame belongs to, or the strand that may become one; null until it starts
  strand* root = nullptr;
  // the frame that awaits this one; null for a root, and for a child of a group
  promise_base* parent = nullptr;
  union {
    // with a parent: the pointer in the owning task object, which the unwinder empties
    promise_base** owner = nullptr;
    // without a parent: the group that forked it, if it may run in place
    fork_group* group;
  };

 protected:
  ~promise_base() = default;

 private:
  // Await sites. Reports name a line of the program, but rota has coroutines of its own: these report the
  // site of the frame around them. A coroutine of the program keeps its site in its frame while it awaits an
  // awaitable that may run such a coroutine. Only the thread that runs the task reads and writes it. dump()
  // and the watchdog read activation::where.
  [[nodiscard, gnu::always_inline]] std::source_location reported(await_site where) const noexcept {
    if (!where.is_in_library()) return where.location();
    if (parent != nullptr && parent->site_ != nullptr)
      return __builtin_bit_cast(std::source_location, parent->site_);
    return site_around(*this, where.location());
  }

  const void* site_ = nullptr;  // a std::source_location, as its one pointer

 protected:
  [[gnu::always_inline]] void keep_site(await_site where) noexcept {
    if (!where.is_in_library()) site_ = __builtin_bit_cast(const void*, where.location());
  }

  static void* allocate(std::size_t frame_bytes, std::size_t lead) {
    const std::size_t bytes = checked(lead + frame_bytes);
    auto* const frame = static_cast<std::byte*>(base::allocate_frame(bytes)) + lead;
    make_tag(frame, bytes, lead, base::list_of_frame(bytes));
    return frame;
  }
  static frame_tag& make_tag(std::byte* frame,
                             std::size_t bytes,
                             std::size_t lead,
                             std::uint8_t list) noexcept {
    // The zero members are listed too, so that the whole tag is one store.
    return *::new (static_cast<void*>(frame - sizeof(frame_tag))) frame_tag{
        .result{},
        .bytes = static_cast<std::uint32_t>(bytes),
        .lead = static_cast<std::uint16_t>(lead / lead_unit),
        .list = list,
        .lent = 0,
        .keep = 0,
        .must_begin = 0,
        .unused = 0,
    };
  }
  /// Checks that a tag can hold the size. The memory of a larger frame could not be freed.
  static std::size_t checked(std::size_t bytes) {
    if (bytes > 0x7FFF'FFFFU) throw std::bad_alloc();
    return bytes;
  }
};

/// What a header must know of its result's type.
struct result_vtable {
  void (*destroy)(void* header) noexcept;
  std::exception_ptr (*exception)(void* header) noexcept;
  void (*set_cancelled)(void* header, cancel_reason reason) noexcept;
  // returns none if the task was not cancelled, or if the outcome was taken
  cancel_reason (*cancelled)(void* header) noexcept;
};

template <class T>
inline constexpr result_vtable result_vtable_of{
    [](void* header) noexcept {
      base::note_write(result_at<T>(header));
      result_at<T>(header)->~outcome<T>();
    },
    [](void* header) noexcept {
      base::note_read(result_at<T>(header));
      return result_at<T>(header)->exception();
    },
    [](void* header, cancel_reason reason) noexcept {
      base::note_write(result_at<T>(header));
      result_at<T>(header)->set_cancelled(reason);
    },
    [](void* header) noexcept {
      base::note_read(result_at<T>(header));
      return result_at<T>(header)->reason();
    },
};

template <class T>
class typed_promise : public promise_base {
 public:
  /// True if no parameter has a destructor that does something.
  static constexpr bool ends_by_itself = true;

  static constexpr std::size_t lead = result_room<T> + header_room + sizeof(frame_tag);
  static_assert(lead <= largest_lead && lead % lead_unit == 0,
                "a task's result is larger than a megabyte: return it by pointer");

  typed_promise() noexcept { ::new (static_cast<void*>(result_at<T>(room()))) outcome<T>(); }
  typed_promise(const typed_promise&) = delete;
  typed_promise& operator=(const typed_promise&) = delete;
  ROTA_DETAIL_PASSES_ON task<T> get_return_object(
      await_site coroutine = std::source_location::current()) noexcept;
  /// Destroys the result. A root's result belongs to its header from now on and stays.
  ~typed_promise() {
    if (!tag_of(frame_of_room(room())).keep) result().~outcome<T>();
  }

  [[nodiscard]] outcome<T>& result() noexcept { return *result_at<T>(room()); }

  void unhandled_exception() noexcept {
    thrown_in(*root);
    base::note_write(&result());
    result().set_exception(std::current_exception());
  }

  static void* operator new(std::size_t frame_bytes) { return allocate(frame_bytes, lead); }
  /// Allocates the frame by `allocator`, if the first two parameters are `std::allocator_arg, allocator`.
  template <class Allocator, class... Args>
  static void* operator new(std::size_t frame_bytes,
                            std::allocator_arg_t,
                            const Allocator& allocator,
                            const Args&...) {
    return allocate_with(frame_bytes, allocator);
  }
  template <class Self, class Allocator, class... Args>
  static void* operator new(std::size_t frame_bytes,
                            const Self&,
                            std::allocator_arg_t,
                            const Allocator& allocator,
                            const Args&...) {
    return allocate_with(frame_bytes, allocator);
  }
  static void operator delete(void* frame, std::size_t frame_bytes) noexcept {
    const frame_tag& tag = tag_of(frame);
    if (tag.keep != 0) return;
    if (tag.lent != 0) return release_block(frame);
    // The same sizes as in the tag, but known at compile time.
    base::free_frame(static_cast<std::byte*>(frame) - lead, lead + frame_bytes);
  }

 private:
  /// Allocates a block by the user's allocator. The allocator is kept at the end of the block, followed by
  /// the function that frees the block.
  template <class Allocator>
  static void* allocate_with(std::size_t frame_bytes, const Allocator& allocator) {
    struct alignas(16) granule {
      std::byte bytes[16];
    };
    using rebound = typename std::allocator_traits<Allocator>::template rebind_alloc<granule>;
    using traits = std::allocator_traits<rebound>;
    static_assert(alignof(rebound) <= 16);
    constexpr std::size_t tail = (sizeof(rebound) + sizeof(void*) + 15) / 16 * 16;
    const std::size_t bytes = promise_base::checked(lead + (frame_bytes + 15) / 16 * 16 + tail);
    rebound mine(allocator);
    std::byte* const block =
        reinterpret_cast<std::byte*>(std::to_address(traits::allocate(mine, bytes / 16)));
    ::new (static_cast<void*>(block + bytes - tail)) rebound(std::move(mine));
    frame_tag& tag = promise_base::make_tag(block + lead, bytes, lead, 0);
    tag.lent = 1;
    using releaser = void (*)(void* raw, std::size_t size) noexcept;
    constexpr releaser release = [](void* raw, std::size_t size) noexcept {
      auto* const stored =
          std::launder(reinterpret_cast<rebound*>(static_cast<std::byte*>(raw) + size - tail));
      rebound last(std::move(*stored));
      stored->~rebound();
      traits::deallocate(last, static_cast<typename traits::pointer>(static_cast<granule*>(raw)), size / 16);
    };
    ::new (static_cast<void*>(block + bytes - sizeof(releaser))) releaser(release);
    return block + lead;
  }
};

template <class T>
class promise : public typed_promise<T> {
 public:
  template <class U = T>
    requires(!std::is_scalar_v<T> && std::is_convertible_v<U &&, T>)
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U&&>) {
    base::note_write(&this->result());
    this->result().construct(std::forward<U>(value));
  }
  /// Numbers and pointers are converted at the co_return, as at a return statement: a literal 4 does not
  /// arrive here as an int and convert to unsigned inside.
  void return_value(T value) noexcept
    requires std::is_scalar_v<T>
  {
    base::note_write(&this->result());
    this->result().construct(value);
  }
};

template <>
class promise<void> : public typed_promise<void> {
 public:
  void return_void() noexcept { result().construct(); }
};

/// The promise of a coroutine that has parameters with destructors that do something. It adds no member: a
/// promise<T> and this class find the frame at the same place.
template <class T>
class promise_with_parameters final : public promise<T> {
 public:
  static constexpr bool ends_by_itself = false;
};

}  // namespace core
}  // namespace rota

/// The parameter types of a coroutine are known only here. The object of a lambda is one of the parameters,
/// by reference.
template <class T, class... Parameters>
struct std::coroutine_traits<rota::task<T>, Parameters...> {
  using promise_type = std::conditional_t<(std::is_trivially_destructible_v<Parameters> && ...),
                                          rota::core::promise<T>,
                                          rota::core::promise_with_parameters<T>>;
};
