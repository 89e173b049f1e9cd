// Several works of a pool, fetched together.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/detail/chrono.hpp>
#include <rota/pool/work.hpp>

namespace rota::pool::detail {

/// Makes the pool drop the stored result. Returns false if the pool does not keep it.
ROTA_API bool forget(work_core& work) noexcept;
/// Takes the outcome, and makes the pool drop it. Returns nothing if another caller has fetched it or
/// currently examines it: see fetch_if().
template <class T>
std::optional<outcome<T>> take_and_forget(work_core& work) {
  std::optional<outcome<T>> taken = try_take_outcome<T>(work);
  if (taken.has_value()) forget(work);
  return taken;
}

/// Works that are fetched together. The batch keeps each of them as long as it exists.
class ROTA_API work_batch {
 public:
  /// Finds the works that can be fetched by their id: those that are stored, or not over. A position is null
  /// if there is none.
  work_batch(pool_core& pool, std::span<const work_id> ids);
  /// The same, and also works that are over and that only a handle keeps.
  enum class find_also : bool { finished };
  work_batch(pool_core& pool, std::span<const work_id> ids, find_also which);
  /// Finds the works of a group that are stored or not over, and that have a result of that type, in the
  /// order in which they were submitted.
  work_batch(pool_core& pool, std::string_view group, const void* tag);
  work_batch(const work_batch&) = delete;
  work_batch& operator=(const work_batch&) = delete;
  ~work_batch();

  /// Blocks until all works are over. Throws std::invalid_argument if the result of one is of another type.
  void wait(const void* tag) const;
  /// For works that are over. Throws std::invalid_argument if the result of one is of another type.
  void demand_type(const void* tag) const;
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] work_core* at(std::size_t position) const noexcept { return all_[position]; }

 private:
  std::vector<work_core*> all_;
};

/// Returns the outcomes of works that are over, in the order of the batch.
template <class T>
std::vector<std::optional<outcome<T>>> taken_in_order(const work_batch& all) {
  std::vector<std::optional<outcome<T>>> taken(all.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (all.at(i) != nullptr) taken[i] = take_and_forget<T>(*all.at(i));
  }
  return taken;
}
/// The same, with ids, and without works that another caller has fetched.
template <class T>
std::vector<std::pair<work_id, outcome<T>>> taken_by_id(const work_batch& all) {
  std::vector<std::pair<work_id, outcome<T>>> taken;
  taken.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (auto one = take_and_forget<T>(*all.at(i))) taken.emplace_back(id_of(*all.at(i)), *std::move(one));
  }
  return taken;
}

template <class Duration>
using steady_time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

}  // namespace rota::pool::detail
