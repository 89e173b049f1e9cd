#include "testing/search.hpp"

#include "base/bits.hpp"

#include <algorithm>
#include <functional>

namespace rota::testing::detail {

unsigned alternatives::fibre(unsigned index) const noexcept {
  fibre_mask rest = ready;
  if (can_stay) {
    if (index == 0) return current;
    rest &= ~(fibre_mask{1} << current);
    --index;
  }
  for (; rest != 0 && index > 0; --index) rest &= rest - 1;
  return rest == 0 ? max_fibres : base::lowest_bit(rest);
}

search::search(const options& o, unsigned bound)
    : options_(o), bound_(o.search == search_kind::dfs ? bound : unbounded), random_(o.seed) {}

void search::begin() noexcept {
  position_ = 0;
  preemptions_ = 0;
  misfit_ = false;
  if (following_ || options_.search == search_kind::dfs) return;
  path_.clear();
  ++begun_;
  if (goes_by_priority()) shuffle_priorities();
  if (options_.search == search_kind::few) shuffle_change_points(options_.preemptions);
}

bool search::goes_by_priority() const noexcept {
  return options_.search == search_kind::pct || (options_.search == search_kind::mixed && begun_ % 2 == 0);
}

bool search::next() { return options_.search != search_kind::dfs || backtrack(); }

// Advances the last decision that has an untried alternative, and forgets the decisions after it.
bool search::backtrack() noexcept {
  path_.resize(position_);
  while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

unsigned search::next_thread(const alternatives& a) {
  if (a.can_stay && bound_reached()) {
    was_cut_off_ = true;
    return 0;
  }
  longest_ = std::max(longest_, a.step);
  unsigned taken = 0;
  if (position_ < path_.size()) {
    taken = followed(a.count);
  } else if (following_ || options_.search == search_kind::dfs) {
    taken = record(0, a.count);
  } else if (goes_by_priority()) {
    taken = record(by_priority(a), a.count);
  } else if (options_.search == search_kind::few) {
    taken = record(seldom(a), a.count);
  } else {
    taken = record(random_.below(a.count), a.count);
  }
  if (a.can_stay && taken != 0) ++preemptions_;
  return taken;
}

unsigned search::value(unsigned count, value_kind kind) {
  if (position_ < path_.size()) return followed(count);
  if (following_ || options_.search == search_kind::dfs) return record(0, count);
  // One fault in four places: a fault at every place would use up the budget of an execution at its
  // beginning.
  if (kind == value_kind::fault && random_.below(4) != 0) return record(0, count);
  return record(kind == value_kind::fault ? 1 : random_.below(count), count);
}

unsigned search::followed(unsigned count) noexcept {
  decision& d = path_[position_++];
  if (d.count == 0) d.count = static_cast<std::uint8_t>(count);
  if (d.count == count && d.taken < count) return d.taken;
  if (!tolerant_) misfit_ = true;
  d = {static_cast<std::uint8_t>(d.taken < count ? d.taken : 0), static_cast<std::uint8_t>(count)};
  return d.taken;
}

unsigned search::record(unsigned taken, unsigned count) {
  path_.push_back({static_cast<std::uint8_t>(taken), static_cast<std::uint8_t>(count)});
  ++position_;
  return taken;
}

std::vector<decision> search::path() const {
  return {path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(position_)};
}

void search::follow(std::vector<decision> path) {
  path_ = std::move(path);
  following_ = true;
}

// Priorities of new threads are above those of the change points, which are the numbers below `depth`.
void search::shuffle_priorities() noexcept {
  for (auto& p : priorities_) p = 0x8000'0000U | static_cast<std::uint32_t>(random_.next());
  shuffle_change_points(options_.depth - 1);
}

void search::shuffle_change_points(unsigned count) noexcept {
  change_points_.clear();
  for (unsigned i = 0; i < count; ++i) {
    change_points_.push_back(1 + random_.below(static_cast<std::uint32_t>(longest_)));
  }
  std::sort(change_points_.begin(), change_points_.end(), std::greater<>());
}

unsigned search::seldom(const alternatives& a) noexcept {
  if (!a.can_stay) return random_.below(a.count);
  if (change_points_.empty() || change_points_.back() > a.step) return 0;
  change_points_.pop_back();
  return 1 + random_.below(a.count - 1);
}

unsigned search::by_priority(const alternatives& a) noexcept {
  while (!change_points_.empty() && change_points_.back() <= a.step) {
    change_points_.pop_back();
    priorities_[a.current] = static_cast<std::uint32_t>(change_points_.size());
  }
  unsigned best = 0;
  for (unsigned i = 1; i < a.count; ++i) {
    if (priorities_[a.fibre(i)] > priorities_[a.fibre(best)]) best = i;
  }
  return best;
}

namespace {

constexpr std::string_view digits = "0123456789abcdef";

constexpr unsigned no_bound = 255;  // in text

void put_byte(std::string& out, unsigned value) {
  out += digits[(value >> 4U) & 15U];
  out += digits[value & 15U];
}

/// FNV-1a, folded to 16 bits: enough to distinguish the explorations of one program.
unsigned hash(std::string_view name) noexcept {
  std::uint32_t h = 2'166'136'261U;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return (h ^ (h >> 16U)) & 0xFFFFU;
}

}  // namespace

std::string to_hex(std::string_view name, unsigned bound, const std::vector<decision>& path) {
  std::string out;
  put_byte(out, hash(name) >> 8U);
  put_byte(out, hash(name) & 255U);
  put_byte(out, std::min(bound, no_bound));
  std::size_t length = path.size();
  while (length > 0 && path[length - 1].taken == 0) --length;
  for (std::size_t i = 0; i < length; ++i) put_byte(out, path[i].taken);
  return out;
}

recording_error from_hex(std::string_view name, std::string_view text, recording& out) {
  if (text.size() < 6 || text.size() % 2 != 0) return recording_error::malformed;
  std::vector<unsigned> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = digits.find(text[i]);
    const auto low = digits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return recording_error::malformed;
    bytes.push_back(static_cast<unsigned>(high * 16 + low));
  }
  if (bytes[0] * 256 + bytes[1] != hash(name)) return recording_error::other_name;
  out.bound = bytes[2] == no_bound ? search::unbounded : bytes[2];
  out.path.clear();
  for (std::size_t i = 3; i < bytes.size(); ++i) out.path.push_back({static_cast<std::uint8_t>(bytes[i]), 0});
  return recording_error::none;
}

}  // namespace rota::testing::detail
