// Results that a pool keeps, fetched by what they are.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/pool/thread_pool.hpp>

namespace rota::pool {

namespace detail {

/// Works that are over and stored, and whose results are of one type. The one that it is at, and those that were
/// chosen, can be fetched by nobody else.
class ROTA_API stored_works {
 public:
  /// `tag`: the address that stands for the type of the results.
  stored_works(thread_pool& pool, const void* tag);
  stored_works(const stored_works&) = delete;
  stored_works& operator=(const stored_works&) = delete;
  /// Those that were not chosen, or not forgotten, can be fetched again.
  ~stored_works();

  /// False: there is no other.
  [[nodiscard]] bool next() noexcept;
  [[nodiscard]] work_end end() const noexcept;
  void choose() noexcept;

  [[nodiscard]] std::size_t chosen() const noexcept { return chosen_; }
  [[nodiscard]] work_core& at(std::size_t position) const noexcept { return *all_[position]; }
  /// Where its outcome lies, if it came to one.
  [[nodiscard]] void* outcome_of(std::size_t position) const noexcept;
  /// The pool keeps it no longer.
  void forget(std::size_t position) noexcept;

 private:
  void let_go() noexcept;

  pool_core& pool_;
  std::vector<work_core*> all_;  // each owns a reference; those that were chosen come first
  std::size_t chosen_ = 0;
  std::size_t forgotten_ = 0;  // of these
  std::size_t next_ = 0;
  bool is_at_one_ = false;  // the one before `next_`, and it is not chosen
};

}  // namespace detail

/// Of the works of a pool that are over and stored (work_options::store_result), and whose result is a T: the outcomes of those for
/// which `want(const work_end&)` is true, in no order.
///
/// Threads       Any. Waits for no work, and `want` may call the pool.
/// Ownership     The pool keeps no longer what was fetched; the rest stays.
/// Failure       Nobody else can fetch what `want` looks at or has chosen: by the handle errc::already_joined, by the id nothing; the
///               same holds for a function of submit_when() that would begin at that moment. What `want` throws is thrown, and all
///               stay. std::bad_alloc: the same.
/// Cost          Goes through all that is stored.
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
