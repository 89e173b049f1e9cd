#include "testing/memory.hpp"

#include <cstring>

namespace rota::testing::detail {

namespace {

constexpr std::size_t first_capacity = 1024;  // a power of two

[[nodiscard]] bool acquires(base::order o) noexcept {
  return o == base::order::acquire || o == base::order::acq_rel || o == base::order::seq_cst;
}

[[nodiscard]] bool releases(base::order o) noexcept {
  return o == base::order::release || o == base::order::acq_rel || o == base::order::seq_cst;
}

void remember(location& l, const actor& by) noexcept {
  l.seen.at[by.fibre] = by.clock.at[by.fibre];
  l.seen_where[by.fibre] = by.where;
}

// The word carries what the thread knows now, but not what the thread does from here on.
void publish(location& l, const actor& by) noexcept {
  l.release.join(by.clock);
  ++by.clock.at[by.fibre];
}

void write_here(location& l, const actor& by) noexcept {
  l.writer = by.fibre;
  l.written = by.clock.at[by.fibre];
  l.written_where = by.where;
}

template <class T>
std::uint64_t read_as(const void* address) noexcept {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <class T>
void write_as(void* address, std::uint64_t bits) noexcept {
  const auto value = static_cast<T>(bits);
  std::memcpy(address, &value, sizeof value);
}

}  // namespace

memory::memory(const heap& h) : heap_(h), slots_(first_capacity), locations_(first_capacity / 2) {}

void memory::clear() noexcept {
  used_ = 0;
  failure_ = verdict::fine;
  if (++execution_ != 0) return;
  slots_.assign(slots_.size(), {});
  execution_ = 1;
}

std::size_t memory::find(const void* address) const noexcept {
  const auto mixed = reinterpret_cast<std::uintptr_t>(address) * 0x9E37'79B9'7F4A'7C15U;
  const std::size_t last = slots_.size() - 1;
  std::size_t index = static_cast<std::size_t>(mixed >> 40U) & last;
  while (slots_[index].execution == execution_ && slots_[index].address != address)
    index = (index + 1) & last;
  return index;
}

location& memory::at(const void* address) {
  const std::size_t index = find(address);
  if (slots_[index].execution == execution_) return locations_[slots_[index].index];
  return insert(index, address);
}

location& memory::insert(std::size_t slot_index, const void* address) {
  if (used_ == locations_.size()) {
    grow();
    slot_index = find(address);
  }
  slots_[slot_index] = {address, execution_, static_cast<std::uint32_t>(used_)};
  location& l = locations_[used_++];
  l.address = address;
  l.life = heap_.is_quarantined(address) ? lifetime::quarantined : lifetime::unknown;
  l.opened = false;
  l.writer = 0;
  l.written = 0;
  l.release = {};
  l.seen = {};
  l.older.exists = false;
  return l;
}

// Half of the slots stay empty.
void memory::grow() {
  locations_.resize(2 * locations_.size());
  slots_.assign(2 * slots_.size(), {});
  for (std::size_t i = 0; i < used_; ++i) {
    slots_[find(locations_[i].address)] = {locations_[i].address, execution_, static_cast<std::uint32_t>(i)};
  }
}

verdict memory::check_writer(const location& l, const actor& by) {
  if (by.clock.covers(l.writer, l.written)) return verdict::fine;
  conflict_ = {l.address, l.writer, l.written_where, true};
  return verdict::race;
}

verdict memory::check_everyone(const location& l, const actor& by) {
  if (const auto v = check_writer(l, by); v != verdict::fine) return v;
  const unsigned other = by.clock.first_beyond(l.seen);
  if (other == max_fibres) return verdict::fine;
  conflict_ = {l.address, other, l.seen_where[other], false};
  return verdict::race;
}

void memory::begin_lifetime(const void* address, const actor& by) {
  location& l = at(address);
  if (l.life == lifetime::quarantined) return;  // the first use reports it
  l.life = lifetime::alive;
  l.release = {};
  l.seen = {};
  l.older.exists = false;
  write_here(l, by);
}

verdict memory::end_lifetime(const void* address, const actor& by) {
  location& l = at(address);
  if (l.life == lifetime::quarantined) return verdict::used_after_free;
  if (l.life == lifetime::ended) return verdict::used_after_end;
  if (const auto v = check_everyone(l, by); v != verdict::fine) return v;
  l.life = lifetime::ended;
  return verdict::fine;
}

verdict memory::free(const void* address, std::size_t size, const actor& by) {
  const auto* begin = static_cast<const std::byte*>(address);
  for (std::size_t i = 0; i < used_; ++i) {
    location& l = locations_[i];
    if (l.address < begin || l.address >= begin + size || l.life == lifetime::quarantined) continue;
    if (const auto v = l.life == lifetime::ended ? verdict::fine : check_everyone(l, by); v != verdict::fine)
      return v;
    l.life = heap_.is_quarantined(l.address) ? lifetime::quarantined : lifetime::unknown;
    l.written = 0;
    l.release = {};
    l.seen = {};
    l.older.exists = false;
  }
  return verdict::fine;
}

location* memory::open(const void* address, const actor& by) {
  location& l = at(address);
  failure_ = verdict::fine;
  if (l.life == lifetime::quarantined) failure_ = verdict::used_after_free;
  if (l.life == lifetime::ended) failure_ = verdict::used_after_end;
  if (failure_ == verdict::fine) failure_ = check_writer(l, by);
  if (failure_ != verdict::fine) return nullptr;
  remember(l, by);
  return &l;
}

std::uint64_t memory::load(location& l, word w, base::order o, const actor& by) {
  if (acquires(o)) by.clock.join(l.release);
  return read_word(w);
}

// A plain store ends the release sequence before it: an acquire of it learns nothing of older releases
// (C++20).
void memory::store(location& l, word w, std::uint64_t bits, base::order o, const actor& by) {
  l.release = {};
  if (releases(o)) publish(l, by);
  write_word(w, bits);
}

// A read-modify-write continues the release sequence that it reads from, whatever its order.
std::uint64_t memory::modify(
    location& l, word w, modification how, std::uint64_t operand, const actor& by, base::order o) {
  const std::uint64_t before = read_word(w);
  if (acquires(o)) by.clock.join(l.release);
  if (releases(o)) publish(l, by);
  write_word(w, modified(how, before, operand));
  return before;
}

bool memory::compare_exchange(location& l, word w, exchange_request& request, const actor& by) {
  const std::uint64_t found = load(l, w, base::order::relaxed, by);
  if (found != request.expected) {
    request.expected = load(l, w, request.failure, by);
    return false;
  }
  (void)modify(l, w, modification::exchange, request.desired, by, request.success);
  return true;
}

void memory::stamp(vector_clock& release, base::order o, const actor& by) {
  if (!releases(o)) return;
  release = by.clock;
  ++by.clock.at[by.fibre];
}

void memory::arrive(word w, std::uint64_t bits, const vector_clock& release) {
  at(w.address).release = release;
  write_word(w, bits);
}

void memory::keep_value(location& l, word w, base::order o, const actor& by) {
  l.older.exists = true;
  l.older.replaced_seq_cst = o == base::order::seq_cst;
  l.older.bits = read_word(w);
  l.older.release = l.release;
  l.older.newer_seen = {};
  note_newest_seen(l, by);
}

bool memory::may_be_stale(const location& l, word w, base::order o, const actor& by) noexcept {
  if (!l.older.exists || l.older.bits == read_word(w)) return false;
  if (l.older.replaced_seq_cst && o == base::order::seq_cst) return false;
  for (unsigned i = 0; i < max_fibres; ++i) {
    const std::uint32_t seen = l.older.newer_seen.at[i];
    if (seen != 0 && by.clock.covers(i, seen - 1)) return false;
  }
  return true;
}

void memory::forget_older() noexcept {
  for (std::size_t i = 0; i < used_; ++i) locations_[i].older.exists = false;
}

std::uint64_t memory::load_older(const location& l, base::order o, const actor& by) {
  if (acquires(o)) by.clock.join(l.older.release);
  return l.older.bits;
}

void memory::note_newest_seen(location& l, const actor& by) noexcept {
  std::uint32_t& mine = l.older.newer_seen.at[by.fibre];
  if (l.older.exists && mine == 0) mine = by.clock.at[by.fibre] + 1;
}

verdict memory::plain(const void* address, access how, const actor& by) {
  location& l = at(address);
  if (l.life == lifetime::quarantined) return verdict::used_after_free;
  const bool is_cell = how == access::cell_read || how == access::cell_write;
  if (l.life == lifetime::ended && is_cell) return verdict::used_after_end;
  if (l.life == lifetime::ended) begin_lifetime(address, by);  // a new object; only this note is known of it
  const bool write = how == access::cell_write || how == access::plain_write;
  const verdict v = write ? check_everyone(l, by) : check_writer(l, by);
  if (v != verdict::fine) return v;
  if (write) {
    write_here(l, by);
  } else {
    remember(l, by);
  }
  return verdict::fine;
}

std::uint64_t read_word(word w) noexcept {
  switch (w.size) {
    case 1: return read_as<std::uint8_t>(w.address);
    case 2: return read_as<std::uint16_t>(w.address);
    case 4: return read_as<std::uint32_t>(w.address);
    default: return read_as<std::uint64_t>(w.address);
  }
}

void write_word(word w, std::uint64_t bits) noexcept {
  switch (w.size) {
    case 1: return write_as<std::uint8_t>(w.address, bits);
    case 2: return write_as<std::uint16_t>(w.address, bits);
    case 4: return write_as<std::uint32_t>(w.address, bits);
    default: return write_as<std::uint64_t>(w.address, bits);
  }
}

std::uint64_t modified(modification how, std::uint64_t before, std::uint64_t operand) noexcept {
  switch (how) {
    case modification::exchange: return operand;
    case modification::add: return before + operand;
    case modification::bit_or: return before | operand;
    case modification::bit_and: return before & operand;
  }
  return before;
}

}  // namespace rota::testing::detail
