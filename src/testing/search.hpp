// Makes the decisions: every decision of an execution is one number, and their sequence is the execution.
#pragma once

#include <rota/testing/explore.hpp>
#include "base/random.hpp"
#include "testing/vector_clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::testing::detail {

using fibre_mask = std::uint32_t;

/// The alternatives at a scheduling point. Alternative 0 is to stay, if that is possible; then come the other
/// threads, by number; then, if there is one more, the clock.
struct alternatives {
  fibre_mask ready;
  unsigned current;
  unsigned count;
  bool can_stay;
  std::uint64_t step;

  /// Returns the thread of alternative `index`; max_fibres: the clock.
  [[nodiscard]] unsigned fibre(unsigned index) const noexcept;
};

enum class value_kind : std::uint8_t {
  free,   // all values are equivalent
  fault,  // 0: no fault
};

struct decision {
  std::uint8_t taken;
  std::uint8_t count;  // 0: unknown (from a replay string)
};

/// Follows a recorded path to its end, and decides by its own rule from there on.
class search {
 public:
  static constexpr unsigned unbounded = ~0U;

  search(const options& o, unsigned bound);

  /// Called before each execution.
  void begin() noexcept;
  /// Called after each execution. Returns true if another one is to follow.
  [[nodiscard]] bool next();

  /// The decisions. `next_thread` is called only if there is more than one alternative.
  [[nodiscard]] unsigned next_thread(const alternatives& a);
  [[nodiscard]] unsigned value(unsigned count, value_kind kind);

  /// Returns true if a thread that can stay must stay.
  [[nodiscard]] bool bound_reached() const noexcept { return preemptions_ >= bound_; }
  /// Records that the bound has cut something off since the search began.
  void cut_off() noexcept { was_cut_off_ = true; }
  [[nodiscard]] bool was_cut_off() const noexcept { return was_cut_off_; }

  [[nodiscard]] unsigned preemptions() const noexcept { return preemptions_; }
  [[nodiscard]] unsigned bound() const noexcept { return bound_; }

  /// Returns the decisions of the last execution.
  [[nodiscard]] std::vector<decision> path() const;
  /// Makes the next execution take these decisions, and beyond them always the first alternative.
  void follow(std::vector<decision> path);
  /// Makes the search take the first alternative, instead of failing, if the followed path does not fit the
  /// program.
  void tolerate_misfits() noexcept { tolerant_ = true; }
  [[nodiscard]] bool misfit() const noexcept { return misfit_; }

 private:
  [[nodiscard]] unsigned followed(unsigned count) noexcept;
  unsigned record(unsigned taken, unsigned count);
  [[nodiscard]] bool goes_by_priority() const noexcept;
  [[nodiscard]] unsigned by_priority(const alternatives& a) noexcept;
  [[nodiscard]] unsigned seldom(const alternatives& a) noexcept;
  void shuffle_priorities() noexcept;
  void shuffle_change_points(unsigned count) noexcept;
  [[nodiscard]] bool backtrack() noexcept;

  options options_;
  unsigned bound_;
  bool following_ = false;
  bool tolerant_ = false;
  bool misfit_ = false;
  bool was_cut_off_ = false;
  unsigned preemptions_ = 0;
  std::vector<decision> path_;
  std::size_t position_ = 0;

  base::random random_;
  std::array<std::uint32_t, max_fibres + 1> priorities_{};  // of the threads, and of the clock
  std::vector<std::uint64_t> change_points_;
  std::uint64_t longest_ = 1;
  std::uint64_t begun_ = 0;
};

/// Returns a path as text: the name of the exploration (hashed), the bound, two hex digits for each decision.
[[nodiscard]] std::string to_hex(std::string_view name, unsigned bound, const std::vector<decision>& path);

struct recording {
  unsigned bound;
  std::vector<decision> path;
};
enum class recording_error : std::uint8_t { none, other_name, malformed };

[[nodiscard]] recording_error from_hex(std::string_view name, std::string_view text, recording& out);

}  // namespace rota::testing::detail
