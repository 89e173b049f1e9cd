// The operations on words: a scheduling point, the rules of the memory, a line in the trace.
#include "task/header.hpp"
#include "testing/machine.hpp"

#include <algorithm>
#include <utility>

namespace rota::testing::detail {

namespace {

constexpr std::uint64_t plain_accesses_per_step = 64;

event_kind kind_of(modification how) noexcept {
  switch (how) {
    case modification::exchange: return event_kind::exchange;
    case modification::add: return event_kind::fetch_add;
    case modification::bit_or: return event_kind::fetch_or;
    case modification::bit_and: return event_kind::fetch_and;
  }
  return event_kind::exchange;
}

event_kind kind_of(access how) noexcept {
  switch (how) {
    case access::cell_read: return event_kind::cell_read;
    case access::cell_write: return event_kind::cell_write;
    case access::plain_read: return event_kind::plain_read;
    case access::plain_write: return event_kind::plain_write;
  }
  return event_kind::plain_read;
}

bool writes(access how) noexcept { return how == access::cell_write || how == access::plain_write; }

/// Cuts the value to the width of the word: a subtraction carries beyond it.
std::uint64_t cut(std::uint64_t bits, std::size_t size) noexcept {
  return size >= sizeof bits ? bits : bits & ((std::uint64_t{1} << (8 * size)) - 1);
}

}  // namespace

/// Reads the id once for each task: an ended task may be freed while it still is the current task of the
/// thread.
std::uint64_t machine::task_here() noexcept {
  fibre& f = me();
  if (f.task_seen == f.locals.task) return f.task_id;
  f.task_seen = f.locals.task;
  f.task_id = f.task_seen == nullptr ? 0 : static_cast<const core::header*>(f.task_seen)->id;
  return f.task_id;
}

void machine::record(event_kind kind,
                     const void* address,
                     std::uint64_t before,
                     std::uint64_t after,
                     base::order o,
                     place where) {
  if (trace_.events().size() > plain_accesses_per_step * options_.steps) {
    fail("livelock: a loop of plain accesses without an atomic operation");
  }
  trace_.add({kind, static_cast<std::uint8_t>(current_), o, task_here(), address, before, after, where});
}

void machine::record(event_kind kind, const void* address, std::uint64_t value) {
  record(kind, address, value, 0, base::order::relaxed, me().where);
}

void machine::require(verdict v, const void* address, const char* does, place where) {
  if (v == verdict::fine) return;
  const std::string here = full_name(me(), current_) + ' ' + does + ' ';
  const std::string at = where.line() == 0 ? "" : " (" + to_string(where) + ')';
  const std::string word = trace_.name_of(address);
  if (v == verdict::used_after_free) fail("use after free: " + here + word + at);
  if (v == verdict::used_after_end)
    fail("use after end of life: " + here + word + ", which was destroyed" + at);
  const conflict& c = memory_.last_conflict();
  const std::string there = c.where.line() == 0 ? "" : " (" + to_string(c.where) + ')';
  fail("data race: " + here + word + at + " that " + full_name(fibres_[c.fibre], c.fibre) +
       (c.write ? " wrote" : " used") + there + ", and nothing orders the two");
}

location& machine::open(word w, place where) {
  location* l = memory_.open(w.address, by(where));
  if (l == nullptr) require(memory_.failure(), w.address, "uses", where);
  if (!std::exchange(l->opened, true) && l->life == lifetime::unknown)
    kept_words_.push_back({w, read_word(w)});
  return *l;
}

/// Forgets words that are older than the execution, and end in it.
void machine::forget_kept(const void* begin, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(begin);
  std::erase_if(kept_words_, [&](const kept_word& k) {
    return k.where.address >= first && k.where.address < first + std::max<std::size_t>(size, 1);
  });
}

void machine::begin_lifetime(const void* address) { memory_.begin_lifetime(address, by(me().where)); }

void machine::end_lifetime(const void* address) {
  drop_stores(address, 0);
  forget_kept(address, 0);
  const verdict v = memory_.end_lifetime(address, by(me().where));
  if (v == verdict::fine) return;
  record(event_kind::end_of_life, address, 0);
  require(v, address, "destroys", me().where);
}

std::uint64_t machine::load(word w, base::order o, place where) {
  point(where);
  location& l = open(w, where);
  if (buffering_ != 0) {
    if (const buffered_store* const mine = settle_for_load(w.address); mine != nullptr) {
      record(event_kind::load_own, w.address, mine->bits, mine->bits, o, where);
      return mine->bits;
    }
  }
  if (is_stale(l, w, o, where)) {
    const std::uint64_t older = memory::load_older(l, o, by(where));
    record(event_kind::load_stale, w.address, older, older, o, where);
    return older;
  }
  const std::uint64_t value = memory::load(l, w, o, by(where));
  memory::note_newest_seen(l, by(where));
  record(event_kind::load, w.address, value, value, o, where);
  return value;
}

bool machine::is_stale(const location& l, word w, base::order o, place where) {
  return stale_reads_.left != 0 && memory::may_be_stale(l, w, o, by(where)) && fault(stale_reads_);
}

/// Called before a write. The write itself reads the last value.
void machine::keep_value(location& l, word w, base::order o, place where) {
  if (options_.stale_reads != 0) memory::keep_value(l, w, o, by(where));
}

void machine::store(word w, std::uint64_t bits, base::order o, place where) {
  point(where);
  location& l = open(w, where);
  if (options_.memory == memory_mode::tso && o != base::order::seq_cst) {
    record(event_kind::store_buffered, w.address, bits, 0, o, where);
    return buffer_store(w, bits, o, where);
  }
  settle(w.address);
  record(event_kind::store, w.address, read_word(w), bits, o, where);
  keep_value(l, w, o, where);
  memory::store(l, w, bits, o, by(where));
}

std::uint64_t machine::modify(word w, modification how, std::uint64_t operand, base::order o, place where) {
  ++done_.modifications;
  point(where);
  location& l = open(w, where);
  settle(w.address);
  keep_value(l, w, o, where);
  const std::uint64_t before = memory::modify(l, w, how, operand, by(where), o);
  record(kind_of(how), w.address, before, cut(modified(how, before, operand), w.size), o, where);
  return before;
}

bool machine::compare_exchange(word w, exchange_request& request, place where) {
  ++done_.modifications;
  point(where);
  location& l = open(w, where);
  settle(w.address);
  if (request.weak && weak_failures_.left != 0 && read_word(w) == request.expected && fault(weak_failures_)) {
    request.expected = memory::load(l, w, request.failure, by(where));
    record(event_kind::compare_exchange_weakly, w.address, request.expected, 0, request.failure, where);
    return false;
  }
  if (read_word(w) == request.expected) keep_value(l, w, request.success, where);
  if (memory::compare_exchange(l, w, request, by(where))) {
    record(
        event_kind::compare_exchange, w.address, request.expected, request.desired, request.success, where);
    return true;
  }
  memory::note_newest_seen(l, by(where));
  record(event_kind::compare_exchange_failed, w.address, request.expected, 0, request.failure, where);
  return false;
}

/// Makes the buffered stores of every thread arrive. No later load misses them.
void machine::heavy_barrier(place where) {
  point(where);
  record(event_kind::heavy_barrier, nullptr, 0, 0, base::order::seq_cst, where);
  drain_all();
  memory_.forget_older();
}

void machine::touch(const void* address, access how, std::uint64_t bits, place where) {
  me().where = where;
  record(kind_of(how), address, bits, bits, base::order::relaxed, where);
  require(memory_.plain(address, how, by(where)), address, writes(how) ? "writes" : "reads", where);
}

void machine::forget(const void* address, std::size_t size, place where) {
  record(event_kind::free, address, size, 0, base::order::relaxed, where);
  drop_stores(address, size);
  forget_kept(address, size);
  require(memory_.free(address, size, by(where)), address, "frees", where);
}

void machine::allocated(const heap::block& b) {
  heap_.add(b);
  record(event_kind::allocate, b.begin, b.size);
}

void machine::freed(const void* address, std::size_t size) {
  record(event_kind::free, address, size);
  if (size != 0) {
    drop_stores(address, size);
    forget_kept(address, size);
  }
  switch (heap_.remove(address, size)) {
    case heap::verdict::fine: break;
    case heap::verdict::twice:
      fail("double free: " + trace_.name_of(address) + " by " + full_name(me(), current_));
    case heap::verdict::unknown: fail("free of what was never allocated: by " + full_name(me(), current_));
    case heap::verdict::wrong_size: fail("free with another size: " + trace_.name_of(address));
  }
  if (size != 0) require(memory_.free(address, size, by(me().where)), address, "frees", me().where);
}

}  // namespace rota::testing::detail
