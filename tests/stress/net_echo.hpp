// What each connection of net_echo sends, and what the proxy does to it. All from the round's seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <system_error>
#include <vector>

namespace stress::echo {

/// What happens to a connection on its way.
enum class fate : unsigned char {
  whole,            // as it comes
  in_pieces,        // of any size
  late,             // in pieces, and some of them wait
  ends_early_up,    // the server is told that the client has finished, and the rest is dropped
  ends_early_down,  // the same, the other way
  reset_up,         // both connections are reset when so much of what the client says has passed
  reset_down        // the same, the other way
};
inline constexpr std::size_t fates = 7;

constexpr bool is_reset(fate f) noexcept { return f == fate::reset_up || f == fate::reset_down; }
constexpr bool is_cut_up(fate f) noexcept { return f == fate::ends_early_up || f == fate::reset_up; }
constexpr bool is_cut_down(fate f) noexcept { return f == fate::ends_early_down || f == fate::reset_down; }

inline constexpr std::size_t no_cut = std::numeric_limits<std::size_t>::max();

struct plan {
  fate what = fate::whole;
  std::size_t first = 0;  // of the words: where it begins
  std::size_t size = 0;   // at least 2
  std::size_t cut = 0;    // 1 to size - 1: after so many bytes
  std::uint64_t luck = 0;

  [[nodiscard]] std::size_t cut_up() const noexcept { return is_cut_up(what) ? cut : no_cut; }
  [[nodiscard]] std::size_t cut_down() const noexcept { return is_cut_down(what) ? cut : no_cut; }
};

/// Small and fast, since each connection has several.
class chance {
 public:
  explicit chance(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }
  /// `bound` is not 0.
  std::size_t below(std::size_t bound) noexcept { return next() % bound; }

 private:
  std::uint64_t state_;
};

/// The text of which each connection sends a part.
class words {
 public:
  explicit words(std::uint64_t seed) : all_(std::size_t{1} << 20U) {
    std::mt19937_64 random(seed);
    for (std::byte& each : all_) each = static_cast<std::byte>(random());
  }
  [[nodiscard]] std::span<const std::byte> all() const noexcept { return all_; }
  [[nodiscard]] std::span<const std::byte> of(const plan& p) const noexcept {
    return std::span(all_).subspan(p.first, p.size);
  }

 private:
  std::vector<std::byte> all_;
};

/// Most send little; some send more than the sockets between can hold.
inline plan plan_of(std::uint64_t round, std::size_t id, std::size_t words) {
  chance luck(round * 1'000'003 + id);
  plan made;
  made.what = static_cast<fate>(luck.below(fates));
  constexpr std::size_t mostly = 4'000;
  constexpr std::size_t seldom = 500'000;
  made.size = 2 + luck.below(luck.below(200) == 0 ? seldom : mostly);
  made.first = luck.below(words - made.size);
  made.cut = 1 + luck.below(made.size - 1);
  made.luck = luck.next();
  return made;
}

/// Bytes that passed one place: how many, and FNV-1a of them.
class passed {
 public:
  void add(std::span<const std::byte> some) noexcept {
    count_ += some.size();
    for (const std::byte each : some) hash_ = (hash_ ^ static_cast<std::uint64_t>(each)) * 0x100000001B3U;
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  friend bool operator==(const passed&, const passed&) = default;

 private:
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

/// One direction of one end. Its own task writes it; it is read when that has ended.
struct side {
  passed bytes;
  bool is_over = false;  // the other end has finished, or all is said
  std::error_code error;
};

struct account {
  side said;     // by the client
  side arrived;  // at the server
  side back;     // what the client receives
};

inline passed first_of(std::span<const std::byte> said, std::size_t count) {
  passed made;
  made.add(said.first(count));
  return made;
}

/// At each place the bytes that arrived are a prefix of those that were sent.
inline const char* fault_of_bytes(const account& a, std::span<const std::byte> said) {
  for (const side* const each : {&a.said, &a.arrived, &a.back}) {
    if (each->bytes.count() > said.size()) return "more bytes than were said";
    if (each->bytes != first_of(said, each->bytes.count())) return "other bytes than were said";
  }
  return nullptr;
}

inline const char* fault_of_whole(const plan& p, const account& a) {
  for (const side* const each : {&a.said, &a.arrived, &a.back}) {
    if (each->error) return "an error of a connection that was not reset";
    if (!each->is_over) return "a side that has not ended";
  }
  const std::size_t there = is_cut_up(p.what) ? p.cut : p.size;
  if (a.said.bytes.count() != p.size) return "the client has not said all";
  if (a.arrived.bytes.count() != there) return "not what has passed has arrived";
  if (a.back.bytes.count() != (is_cut_down(p.what) ? p.cut : there))
    return "not what has passed has come back";
  return nullptr;
}

/// One operation reports the reset; one of the other direction may report the end instead.
inline const char* fault_of_reset(const plan& p, const account& a) {
  for (const side* const each : {&a.said, &a.arrived, &a.back}) {
    const bool is_typed = each->error == std::errc::connection_reset || each->error == std::errc::broken_pipe;
    if (each->error && !is_typed) return "an error that does not say that the connection was reset";
  }
  if (!a.said.error && !a.back.error) return "a client that has heard of no reset";
  const bool is_up = p.what == fate::reset_up;
  if ((is_up ? a.arrived : a.back).bytes.count() > p.cut) return "more than has passed";
  if (a.arrived.error) return nullptr;
  // All had arrived, and the rest of the answer was on its way: the server had gone before.
  return is_up || a.arrived.bytes.count() != p.size ? "a server that has heard of no reset" : nullptr;
}

/// Returns the reason why this is no allowed end of the connection, or null.
inline const char* fault_of(const plan& p, const account& a, std::span<const std::byte> said) {
  if (const char* const why = fault_of_bytes(a, said)) return why;
  return is_reset(p.what) ? fault_of_reset(p, a) : fault_of_whole(p, a);
}

}  // namespace stress::echo
