// What the model knows about words in memory: their last writers and readers, and what their releases have
// published.
#pragma once

#include "testing/heap.hpp"
#include "testing/vector_clock.hpp"

#include <rota/detail/base.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::testing::detail {

/// The thread that performs an operation, and the place.
struct actor {
  unsigned fibre;
  vector_clock& clock;
  place where;
};

enum class lifetime : std::uint8_t { unknown, alive, ended, quarantined };

/// The value before the last write of a word, and the threads that must not read it any more. Kept only if
/// loads may be stale.
struct older_value {
  bool exists;
  bool replaced_seq_cst;
  std::uint64_t bits;
  vector_clock release;
  vector_clock newer_seen;  // per thread, one more than the time of its first use of the last value; 0: none
};

/// One address. `written` is the beginning of its life or the last write of plain data; `seen` has the other
/// accesses.
struct location {
  const void* address;
  lifetime life;
  bool opened;  // there was an atomic operation on it in this execution
  unsigned writer;
  std::uint32_t written;
  place written_where;
  vector_clock release;  // what an acquire of this word learns
  vector_clock seen;
  std::array<place, max_fibres> seen_where;
  older_value older;
};

/// A store that only its own thread reads so far.
struct buffered_store {
  word to;
  std::uint64_t bits;
  base::order how;
  vector_clock release;
  std::uint64_t task;  // the task of the store; 0: none
  place where;
};

enum class verdict : std::uint8_t { fine, race, used_after_end, used_after_free };

/// The earlier of two unordered accesses.
struct conflict {
  const void* address;
  unsigned fibre;
  place where;
  bool write;
};

/// The modelled memory: values, and the happens-before relation of the orders in the code. Values are
/// sequentially consistent, except for the stale reads that an exploration may request.
///
/// The values are stored in the words themselves. Every operation on a word goes through load, store, modify
/// or compare_exchange.
class memory {
 public:
  explicit memory(const heap& h);

  /// Starts a new execution: forgets everything, in constant time.
  void clear() noexcept;

  void begin_lifetime(const void* address, const actor& by);
  [[nodiscard]] verdict end_lifetime(const void* address, const actor& by);
  /// [address, address + size) is freed: a new object may begin there, unless the memory is in quarantine.
  [[nodiscard]] verdict free(const void* address, std::size_t size, const actor& by);

  /// Prepares an atomic operation. Returns null if it is an error; failure() then has the reason.
  [[nodiscard]] location* open(const void* address, const actor& by);

  [[nodiscard]] static std::uint64_t load(location& l, word w, base::order o, const actor& by);
  static void store(location& l, word w, std::uint64_t bits, base::order o, const actor& by);
  static std::uint64_t modify(
      location& l, word w, modification how, std::uint64_t operand, const actor& by, base::order o);
  static bool compare_exchange(location& l, word w, exchange_request& request, const actor& by);

  /// A store in two parts: what it publishes and, later, its arrival.
  static void stamp(vector_clock& release, base::order o, const actor& by);
  void arrive(word w, std::uint64_t bits, const vector_clock& release);

  /// Keeps the current value before a write replaces it.
  static void keep_value(location& l, word w, base::order o, const actor& by);
  /// Returns true if a load of this order may miss the last write: neither that write nor any use of its
  /// value happens before the load, and the total order of the seq_cst operations does not contain both.
  [[nodiscard]] static bool may_be_stale(const location& l, word w, base::order o, const actor& by) noexcept;
  [[nodiscard]] static std::uint64_t load_older(const location& l, base::order o, const actor& by);
  static void note_newest_seen(location& l, const actor& by) noexcept;
  /// Makes all later loads of every word read its last value.
  void forget_older() noexcept;

  [[nodiscard]] verdict plain(const void* address, access how, const actor& by);

  [[nodiscard]] verdict failure() const noexcept { return failure_; }
  [[nodiscard]] const conflict& last_conflict() const noexcept { return conflict_; }

 private:
  struct slot {
    const void* address = nullptr;
    std::uint32_t execution = 0;
    std::uint32_t index = 0;
  };

  [[nodiscard]] std::size_t find(const void* address) const noexcept;
  [[nodiscard]] location& at(const void* address);
  [[nodiscard]] location& insert(std::size_t slot_index, const void* address);
  void grow();
  [[nodiscard]] verdict check_writer(const location& l, const actor& by);
  [[nodiscard]] verdict check_everyone(const location& l, const actor& by);

  const heap& heap_;
  std::vector<slot> slots_;
  std::vector<location> locations_;
  std::size_t used_ = 0;
  std::uint32_t execution_ = 1;
  verdict failure_ = verdict::fine;
  conflict conflict_{};
};

[[nodiscard]] std::uint64_t read_word(word w) noexcept;
void write_word(word w, std::uint64_t bits) noexcept;
[[nodiscard]] std::uint64_t modified(modification how, std::uint64_t before, std::uint64_t operand) noexcept;

}  // namespace rota::testing::detail
