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

/// The pool need not keep its result any longer. False: it does not.
ROTA_API bool forget(work_core& work) noexcept;
/// Empty: somebody has it, or looks at it: see fetch_if().
template <class T>
std::optional<outcome<T>> take_and_forget(work_core& work) {
  std::optional<outcome<T>> taken = try_take_outcome<T>(work);
  if (taken.has_value()) forget(work);
  return taken;
}

/// Works whose outcomes are fetched together; each is kept as long as this is there.
class ROTA_API work_batch {
 public:
  /// Null where there is none that could be fetched by its id: one that is stored, or not over.
  work_batch(pool_core& pool, std::span<const work_id> ids);
  /// The same; also those that are over and that a handle keeps.
  enum class find_also : bool { finished };
  work_batch(pool_core& pool, std::span<const work_id> ids, find_also which);
  /// Of a group: those that are stored or not over, and whose result is of that type, as they were submitted.
  work_batch(pool_core& pool, std::string_view group, const void* tag);
  work_batch(const work_batch&) = delete;
  work_batch& operator=(const work_batch&) = delete;
  ~work_batch();

  /// Until all are over. Throws std::invalid_argument if the result of one is of another type.
  void wait(const void* tag) const;
  /// Of works that are over. Throws std::invalid_argument if the result of one is of another type.
  void demand_type(const void* tag) const;
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] work_core* at(std::size_t position) const noexcept { return all_[position]; }

 private:
  std::vector<work_core*> all_;
};

/// Of works that are over: their outcomes, in the order of the batch.
template <class T>
std::vector<std::optional<outcome<T>>> taken_in_order(const work_batch& all) {
  std::vector<std::optional<outcome<T>>> taken(all.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (all.at(i) != nullptr) taken[i] = take_and_forget<T>(*all.at(i));
  }
  return taken;
}
/// The same, with ids, and without those whose outcome another caller has.
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
