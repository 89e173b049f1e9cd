// A select over a list, the length of which is known when the program runs.
#pragma once

#include <array>
#include <cstddef>
#include <expected>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <rota/channel/selected.hpp>
#include <rota/detail/awaited.hpp>
#include <rota/detail/config.hpp>
#include <rota/detail/select_cases.hpp>
#include <rota/detail/select_core.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/timeout.hpp>

namespace rota::channel::detail {

/// A list that a std::span can refer to, and that can be changed through it.
template <class List>
concept list_of_cases = requires(List& list) { std::span(list); };
template <list_of_cases List>
using element_of = typename decltype(std::span(std::declval<List&>()))::element_type;

/// A span may be a temporary: it refers to elements that live elsewhere.
template <class List>
inline constexpr bool is_span = false;
template <class T, std::size_t N>
inline constexpr bool is_span<std::span<T, N>> = true;

/// How an element of a list is awaited without a function: a handle by itself, and a receiver by its recv().
struct await_element {
  template <class E>
    requires core::gives_awaiter<E&>
  auto operator()(E& element) const {
    return element.operator co_await();
  }
  template <class E>
    requires(!core::gives_awaiter<E&>) && requires(E& element) { element.recv(); }
  auto operator()(E& element) const {
    return element.recv();
  }
};

/// Throws `std::invalid_argument` if `count` is more than the cases that a select can have.
ROTA_API void demand_few_cases(std::size_t count);

/// The leaves of a list, in one allocation: a leaf cannot be moved.
template <class L>
class leaves_of_list {
 public:
  template <class E, class Make>
  leaves_of_list(std::span<E> list, Make& make) : leaves_(allocate(list.size())) {
    try {
      for (E& element : list) {
        L* const one = ::new (static_cast<void*>(leaves_ + count_)) L(make(element));
        cases_[count_++] = one;
      }
    } catch (...) {
      destroy();
      throw;
    }
  }
  leaves_of_list(const leaves_of_list&) = delete;
  leaves_of_list& operator=(const leaves_of_list&) = delete;
  ~leaves_of_list() { destroy(); }

  [[nodiscard]] std::span<leaf* const> cases() const noexcept { return std::span(cases_).first(count_); }
  [[nodiscard]] L& leaf_at(std::size_t i) noexcept { return leaves_[i]; }

 private:
  static L* allocate(std::size_t count) {
    demand_few_cases(count);
    return static_cast<L*>(::operator new(count * sizeof(L), std::align_val_t(alignof(L))));
  }
  void destroy() noexcept {
    while (count_ != 0) leaves_[--count_].~L();
    ::operator delete(static_cast<void*>(leaves_), std::align_val_t(alignof(L)));
  }

  L* leaves_;
  std::size_t count_ = 0;
  std::array<leaf*, select_core::most_cases> cases_;
};

/// The awaitable of select() of a list.
template <class L>
class ROTA_DETAIL_AWAIT_IT select_list_leaf final : private leaves_of_list<L>, public select_core {
  using value = decltype(std::declval<L&>().await_resume());

 public:
  template <class E, class Make>
  select_list_leaf(order_of_cases order, std::span<E> list, Make& make)
      : leaves_of_list<L>(list, make), select_core(this->cases(), order) {}
  select_list_leaf(const select_list_leaf&) = delete;
  select_list_leaf& operator=(const select_list_leaf&) = delete;
  ~select_list_leaf() = default;

  chosen<value> await_resume() {
    const std::size_t won = winner();
    const auto take = [this, won]() -> decltype(auto) { return this->leaf_at(won).await_resume(); };
    return chosen<value>(won, take);
  }
};

/// The same for a thread.
template <class L>
class thread_select_list : private leaves_of_list<L> {
  static_assert(std::is_base_of_v<core::wait_leaf, L>,
                "a thread can wait for channels and for what is in rota/sync, with a limit by "
                "blocking_select_for; for all others co_await select() in a task");
  using value = decltype(std::declval<L&>().await_resume());

 public:
  template <class E, class Make>
  thread_select_list(std::span<E> list, Make& make) : leaves_of_list<L>(list, make) {
    demand_a_case(!this->cases().empty());
    for (std::size_t i = 0; i < this->cases().size(); ++i) {
      core::wait_of_thread one(this->leaf_at(i));
      waits_[i] = {&one.at(), &one.me()};
    }
    // A thread does not start a leaf. Throws what a start would.
    if constexpr (requires(L& one) { one.prepare(); }) {
      for (std::size_t i = 0; i < this->cases().size(); ++i) this->leaf_at(i).prepare();
    }
  }
  thread_select_list(const thread_select_list&) = delete;
  thread_select_list& operator=(const thread_select_list&) = delete;
  ~thread_select_list() = default;

  [[nodiscard]] std::optional<chosen<value>> try_now() {
    const std::size_t won = core::try_any(waits(), core::draw_of_thread());
    if (won == core::no_case) return std::nullopt;
    return std::optional<chosen<value>>(std::in_place, won, taker{*this, won});
  }
  chosen<value> block() {
    const std::size_t won =
        core::block_any(waits(), core::draw_of_thread(), std::chrono::steady_clock::time_point::max());
    return chosen<value>(won, taker{*this, won});
  }
  std::expected<chosen<value>, timed_out> block_until(std::chrono::steady_clock::time_point deadline) {
    const std::size_t won = core::block_any(waits(), core::draw_of_thread(), deadline);
    if (won == core::no_case) return std::unexpected(timed_out{});
    return std::expected<chosen<value>, timed_out>(std::in_place, won, taker{*this, won});
  }

 private:
  struct taker {
    thread_select_list& of;
    std::size_t won;
    decltype(auto) operator()() const { return of.leaf_at(won).await_resume(); }
  };
  [[nodiscard]] std::span<const core::wait_case> waits() const noexcept {
    return std::span(waits_).first(this->cases().size());
  }

  std::array<core::wait_case, select_core::most_cases> waits_;
};

/// Checks the arguments of a select of a list. Each fault has its own message.
template <class List, class Make>
struct list_case {
  static_assert(std::is_lvalue_reference_v<List> || is_span<std::remove_cvref_t<List>>,
                "the list of a select must have a name: its handles and halves are used after the select");
  using element = element_of<std::remove_reference_t<List>>;
  using elements = std::span<element>;
  static_assert(std::is_invocable_v<Make&, element&>,
                "no list of cases: its elements are neither handles nor receivers, or are const; say by a "
                "function what is to be awaited of each, as [](auto& each) { return each.recv(); }");
  using leaf_type = std::invoke_result_t<Make&, element&>;
  static_assert(
      !std::is_reference_v<leaf_type> && leaf_that_may_lose<leaf_type>,
      "no case of a select: the function must return a leaf that may lose, as recv(), send(), lock(), "
      "wait(), or result() of a handle");
  using type = select_list_leaf<leaf_type>;
  using of_thread = thread_select_list<leaf_type>;
};

}  // namespace rota::channel::detail
