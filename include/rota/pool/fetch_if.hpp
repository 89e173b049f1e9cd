// Fetches stored results of a pool by a predicate.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/pool/thread_pool.hpp>

namespace rota::pool {

namespace detail {

/// Iterates over the works of a pool that are over and stored, and that have results of one type. No other
/// caller can fetch the current work or a chosen work.
class ROTA_API stored_works {
 public:
  /// `tag`: the address that identifies the type of the results.
  stored_works(thread_pool& pool, const void* tag);
  stored_works(const stored_works&) = delete;
  stored_works& operator=(const stored_works&) = delete;
  /// Works that were not chosen, or that were chosen and not forgotten, can be fetched again afterwards.
  ~stored_works();

  /// Moves to the next work. Returns false if there is none.
  [[nodiscard]] bool next() noexcept;
  [[nodiscard]] work_end end() const noexcept;
  void choose() noexcept;

  [[nodiscard]] std::size_t chosen() const noexcept { return chosen_; }
  [[nodiscard]] work_core& at(std::size_t position) const noexcept { return *all_[position]; }
  /// Returns the address of the outcome, if the work has one.
  [[nodiscard]] void* outcome_of(std::size_t position) const noexcept;
  /// Makes the pool drop the stored result.
  void forget(std::size_t position) noexcept;

 private:
  void let_go() noexcept;

  pool_core& pool_;
  std::vector<work_core*> all_;  // each owns a reference; the chosen ones come first
  std::size_t chosen_ = 0;
  std::size_t forgotten_ = 0;  // of the chosen ones
  std::size_t next_ = 0;
  bool is_at_one_ = false;  // `next_ - 1` is the current work, and it is not chosen
};

}  // namespace detail

/// Returns the outcomes of the works that are over and stored (work_options::store_result), have a result of
/// type T, and for which `want(const work_end&)` is true. They are in no order.
///
/// Threads       Any. Waits for no work. `want` may call the pool.
/// Ownership     The pool no longer keeps the fetched results. It keeps the others.
/// Failure       While `want` examines a work, and after it has chosen it, no other caller can fetch that
///               work. A fetch by its handle throws errc::already_joined, a fetch by its id returns nothing.
///               A function of submit_when() that begins at that moment gets errc::already_joined, too. If
///               `want` throws, the exception is passed on and all results stay. The same holds for
///               std::bad_alloc.
/// Cost          Visits every stored work.
/// Example       examples/pool_by_example.cpp
template <class T, class F>
  requires std::is_invocable_r_v<bool, F&, const work_end&>
[[nodiscard]] std::vector<std::pair<work_id, outcome<T>>> fetch_if(thread_pool& pool, F&& want) {
  detail::stored_works all(pool, &detail::type_tag<std::remove_cv_t<T>>);
  while (all.next()) {
    const work_end end = all.end();
    if (want(end)) all.choose();
  }
  std::vector<std::pair<work_id, outcome<T>>> found;
  found.reserve(all.chosen());
  for (std::size_t i = 0; i < all.chosen(); ++i) {
    found.emplace_back(detail::id_of(all.at(i)), detail::moved_outcome<T>(all.at(i), all.outcome_of(i)));
    all.forget(i);
  }
  return found;
}

}  // namespace rota::pool
