// The results of a script of operations on sockets, pipes and files, to compare two backends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "fuzz.hpp"

#include <rota/io/result.hpp>

namespace fuzz {

/// The result of one operation.
struct said {
  const char* what = "";
  std::uint64_t of = 0;       // which thing
  const char* category = "";  // of an error, or how it ended otherwise; empty: a value
  std::uint64_t value = 0;    // or the error's
  std::uint64_t hash = 0;     // of bytes that were read

  friend bool operator==(const said& a, const said& b) {
    return std::string_view(a.what) == b.what && a.of == b.of && std::string_view(a.category) == b.category &&
           a.value == b.value && a.hash == b.hash;
  }
};

inline std::uint64_t hash_of(std::span<const std::byte> some) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const std::byte each : some) hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x100000001B3U;
  return hash;
}

/// Bytes that encode their position and their operation.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t by) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 31 + i / 251 + by * 17);
  return made;
}

/// Of one run of the script.
class journal {
 public:
  void note(const char* what, std::uint64_t of, std::uint64_t value, std::span<const std::byte> bytes = {}) {
    all_.push_back({what, of, "", value, hash_of(bytes)});
  }
  void note_error(const char* what, std::uint64_t of, const std::error_code& e) {
    all_.push_back({what, of, e.category().name(), static_cast<std::uint64_t>(e.value()), 0});
  }
  void note_cancelled(const char* what, std::uint64_t of) { all_.push_back({what, of, "cancelled", 0, 0}); }

  void note(const char* what, std::uint64_t of, const rota::io::result<void>& r) {
    r.has_value() ? note(what, of, std::uint64_t{1}) : note_error(what, of, r.error());
  }
  void note(const char* what, std::uint64_t of, const rota::io::result<std::size_t>& r) {
    r.has_value() ? note(what, of, std::uint64_t{*r}) : note_error(what, of, r.error());
  }
  /// Bytes that were read into `buffer`.
  void note(const char* what,
            std::uint64_t of,
            const rota::io::result<std::size_t>& r,
            std::span<const std::byte> buffer) {
    r.has_value() ? note(what, of, *r, buffer.first(*r)) : note_error(what, of, r.error());
  }

  /// The first difference ends the program.
  static void compare(const journal& one, const char* name, const journal& other, const char* other_name) {
    const std::size_t most = std::max(one.all_.size(), other.all_.size());
    for (std::size_t i = 0; i < most; ++i) {
      const bool are_both = i < one.all_.size() && i < other.all_.size();
      if (are_both && one.all_[i] == other.all_[i]) continue;
      one.show(name, i);
      other.show(other_name, i);
      check(false, "both backends give the same");
    }
  }

 private:
  /// The operation, and those that led to it.
  void show(const char* name, std::size_t at) const {
    for (std::size_t i = at < 8 ? 0 : at - 8; i <= at && i < all_.size(); ++i) {
      const said& s = all_[i];
      std::fprintf(stderr,
                   "%s %zu: %s of %llu: %s %llu (%016llx)\n",
                   name,
                   i,
                   s.what,
                   static_cast<unsigned long long>(s.of),
                   s.category,
                   static_cast<unsigned long long>(s.value),
                   static_cast<unsigned long long>(s.hash));
    }
  }

  std::vector<said> all_;
};

}  // namespace fuzz
