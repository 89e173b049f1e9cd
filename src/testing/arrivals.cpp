// Buffered stores: memory_mode::tso.
//
// PROTOCOL: store buffers (Owens, Sarkar, Sewell, "A better x86 memory model: x86-TSO", 2009)
//   buffer     of a thread: its stores that are not seq_cst, oldest first, until they arrive in memory. Its
//              own loads read them.
//   drained    by the thread itself, before it performs a read-modify-write, a seq_cst store, a lock
//              operation, a system call or the start of a thread; by the thread that joins it; and all
//              buffers by barrier_heavy(), whenever the clock moves, when a spinner spins again, and at the
//              end. A thread that has ended may have stores left.
//   arrival    is not a step of the scheduler. A thread can observe that a store has arrived only when it
//              uses that word itself, or reads a later store of the same thread: so it is decided then.
//              Before a word is used, by an operation or by an arriving store, each other thread with a
//              buffered store to it is offered, one after the other, in any order; "no more of them" is one
//              alternative. An arriving store brings those before it. A thread that loads what it has stored
//              itself reads that store; or the store has arrived, and another thread's store after it.
//
// Every execution of TSO is found so, except those of a loop that spins a limited number of times (see
// README). Proof: take an execution, and move each arrival to just before the first use of that word, or of a
// word that a later store of the same buffer went to; no operation in between has used it. checker_litmus
// compares the outcomes of many programs with those of the machine of the paper, where each arrival is a
// step.
//
// The race check does not know the buffers: a release store carries what its thread knew when it stored.
#include "testing/machine.hpp"

#include "base/bits.hpp"

#include <algorithm>
#include <array>

namespace rota::testing::detail {

void machine::buffer_store(word w, std::uint64_t bits, base::order o, place where) {
  buffered_store one{w, bits, o, {}, task_here(), where};
  memory::stamp(one.release, o, by(where));
  buffers_[current_].push_back(one);
  buffering_ |= bit(current_);
}

const buffered_store* machine::own_store(const void* address) const noexcept {
  const auto& mine = buffers_[current_];
  const auto newest = std::find_if(
      mine.rbegin(), mine.rend(), [&](const buffered_store& s) { return s.to.address == address; });
  return newest == mine.rend() ? nullptr : &*newest;
}

bool machine::has_store(unsigned index, const void* address) const noexcept {
  return std::any_of(buffers_[index].begin(), buffers_[index].end(), [&](const buffered_store& s) {
    return s.to.address == address;
  });
}

// `busy`: threads with stores that are arriving already.
void machine::let_arrive(const void* address, fibre_mask busy) {
  for (;;) {
    std::array<unsigned, max_fibres> owners{};
    unsigned count = 0;
    for (fibre_mask rest = buffering_ & ~busy; rest != 0; rest &= rest - 1) {
      const unsigned index = base::lowest_bit(rest);
      if (has_store(index, address)) owners[count++] = index;
    }
    if (count == 0) return;
    const unsigned taken = decide(count + 1, value_kind::free);
    if (taken == count) return;
    while (has_store(owners[taken], address)) {
      const bool last = buffers_[owners[taken]].front().to.address == address;
      arrive_first(owners[taken], busy);
      if (last) break;
    }
  }
}

void machine::arrive_first(unsigned index, fibre_mask busy) {
  let_arrive(buffers_[index].front().to.address, busy | bit(index));
  commit_first(index);
}

void machine::commit_first(unsigned index) {
  const buffered_store s = buffers_[index].front();
  buffers_[index].erase(buffers_[index].begin());
  if (buffers_[index].empty()) buffering_ &= ~bit(index);
  trace_.add({event_kind::arrival,
              static_cast<std::uint8_t>(index),
              s.how,
              s.task,
              s.to.address,
              read_word(s.to),
              s.bits,
              s.where});
  memory_.arrive(s.to, s.bits, s.release);
}

/// Called before an operation of this thread that waits for all of its stores.
void machine::drain() {
  while ((buffering_ & bit(current_)) != 0) arrive_first(current_, 0);
}

void machine::drain_all() {
  while (buffering_ != 0) {
    const unsigned index = base::lowest_bit(buffering_);
    arrive_first(index, 0);
  }
}

/// Called before a read-modify-write, or before a store that acts as one.
void machine::settle(const void* address) {
  if (buffering_ == 0) return;
  drain();
  let_arrive(address, 0);
}

bool machine::others_store(const void* address) const noexcept {
  for (fibre_mask rest = buffering_ & ~bit(current_); rest != 0; rest &= rest - 1) {
    if (has_store(base::lowest_bit(rest), address)) return true;
  }
  return false;
}

/// Returns the thread's own store that a load reads, or null: it reads memory. A store of its own may have
/// arrived, and then another thread's.
const buffered_store* machine::settle_for_load(const void* address) {
  const buffered_store* const mine = own_store(address);
  if (mine != nullptr && (!others_store(address) || decide(2, value_kind::free) == 0)) return mine;
  while (has_store(current_, address)) arrive_first(current_, 0);
  let_arrive(address, 0);
  return nullptr;
}

/// The words have ended. Arrivals of this thread's stores there would not be observed.
void machine::drop_stores(const void* begin, std::size_t size) {
  if ((buffering_ & bit(current_)) == 0) return;
  const auto* first = static_cast<const std::byte*>(begin);
  std::erase_if(buffers_[current_], [&](const buffered_store& s) {
    return s.to.address >= first && s.to.address < first + std::max<std::size_t>(size, 1);
  });
  if (buffers_[current_].empty()) buffering_ &= ~bit(current_);
}

}  // namespace rota::testing::detail
