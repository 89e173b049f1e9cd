#include <rota/io/duplex.hpp>

#include <rota/detail/base_frames.hpp>
#include <rota/error.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace rota::io {

namespace detail {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

duplex_pipe& self(void* of) noexcept { return *static_cast<duplex_pipe*>(of); }

/// Reports the accesses of memcpy to the model, which does not see them.
void note_touched([[maybe_unused]] const std::byte* from,
                  [[maybe_unused]] std::byte* to,
                  [[maybe_unused]] std::size_t size) noexcept {
#if ROTA_MODEL
  for (std::size_t i = 0; i < size; ++i) {
    base::note_read(from + i);
    base::note_write(to + i);
  }
#endif
}

void move_bytes(const std::byte* from, std::byte* to, std::size_t size) noexcept {
  note_touched(from, to, size);
  std::memcpy(to, from, size);
}

constexpr core::wait_rules rules_of_nothing{
    .what = "duplex",
    .try_now = [](void*, wait_node&) noexcept { return true; },
    .join = [](void*, wait_section&, wait_node&) noexcept { return on_join::done; },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
};

}  // namespace

result<std::size_t> duplex_pipe::read(std::span<std::byte> into) noexcept {
  const std::uint64_t seen = state();
  if ((seen & gone) != 0) return std::unexpected(make_error_code(errc::closed));
  const std::size_t size = std::min(count_in(seen), into.size());
  if (size == 0) {
    if ((seen & ended) == 0) ROTA_FATAL("two tasks read from one end of a duplex", 0);
    return 0;
  }
  const std::size_t straight = std::min(size, capacity_ - first_);
  move_bytes(bytes_ + first_, into.data(), straight);
  move_bytes(bytes_, into.data() + straight, size - straight);
  first_ = (first_ + size) % capacity_;
  // release: pairs with the acquire in the writer's state(): these bytes have been read. Same word as the
  // writer's join: of {space, writer waits} at least one side sees the other.
  const std::uint64_t before = word_.fetch_sub(size, base::order::release);
  if ((before & writes) != 0) call(writers_, writes);
  return size;
}

result<std::size_t> duplex_pipe::write(std::span<const std::byte> from, unsigned char found) noexcept {
  const std::uint64_t seen = state();
  if ((seen & left) != 0) return std::unexpected(make_error_code(errc::closed));
  if ((seen & ended) != 0 || found == is_over)
    return std::unexpected(std::make_error_code(std::errc::broken_pipe));
  const std::size_t size = std::min(capacity_ - count_in(seen), from.size());
  if (size == 0) ROTA_FATAL("two tasks write to one end of a duplex", 0);
  const std::size_t straight = std::min(size, capacity_ - next_);
  move_bytes(from.data(), bytes_ + next_, straight);
  move_bytes(from.data() + straight, bytes_, size - straight);
  next_ = (next_ + size) % capacity_;
  // release: pairs with the acquire in the reader's state(): the bytes are there. Same word as the reader's
  // join: of {bytes, reader waits} at least one side sees the other.
  const std::uint64_t before = word_.fetch_add(size, base::order::release);
  if ((before & reads) != 0) call(readers_, reads);
  return size;
}

void duplex_pipe::say(std::uint64_t what) noexcept {
  // release: pairs with the acquire in state(): what was done before. Same word as both joins: of {closed, a
  // task waits} at least one side sees the other.
  const std::uint64_t before = word_.fetch_or(what, base::order::release);
  if ((before & reads) != 0) call(readers_, reads);
  if ((before & writes) != 0) call(writers_, writes);
}

void duplex_pipe::call(core::wait_list& line, std::uint64_t bit) noexcept {
  wait_section section(line);
  wait_node* const first = section.first();
  if (first == nullptr) return;
  // relaxed: it changes under the lock of its list; the woken task re-checks the word.
  word_.fetch_and(~bit, base::order::relaxed);
  section.call(*first);
}

template <class Ready>
on_join duplex_pipe::join(wait_section& section, wait_node& me, std::uint64_t bit, Ready is_ready) noexcept {
  if (!section.is_empty()) ROTA_FATAL("two tasks read from, or write to, one end of a duplex", 0);
  std::uint64_t seen = state();
  for (;;) {
    if (is_ready(seen)) return on_join::done;
    // acquire: no weaker than on failure. Same word as the updates of the other side: at least one side sees
    // the other. failure: acquire: same reason as in state().
    if (word_.compare_exchange_weak(seen, seen | bit, base::order::acquire, base::order::acquire)) break;
  }
  section.link_back(me);
  return on_join::linked;
}

void duplex_pipe::leave(std::uint64_t bit) noexcept {
  // relaxed: it only says that the task no longer waits.
  word_.fetch_and(~bit, base::order::relaxed);
}

const core::wait_rules duplex_pipe::rules_of_reader{
    .what = "duplex read",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).can_read(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          return self(of).join(
              section, me, reads, [](std::uint64_t seen) noexcept { return is_readable(seen); });
        },
    .leave = [](void* of, wait_section&, wait_node&) noexcept { self(of).leave(reads); },
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = [](void* of) noexcept { return self(of).has_ended_for_reader(); },
};
const core::wait_rules duplex_pipe::rules_of_writer{
    .what = "duplex write",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).can_write(me); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          const duplex_pipe& in = self(of);
          return self(of).join(section, me, writes, [&in, &me](std::uint64_t seen) noexcept {
            return in.find_room(seen, me);
          });
        },
    .leave = [](void* of, wait_section&, wait_node&) noexcept { self(of).leave(writes); },
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = [](void* of) noexcept { return self(of).has_ended_for_writer(); },
};

core::wait_target duplex_pipe::to_read(bool empty) noexcept {
  return {&readers_, this, empty ? &rules_of_nothing : &rules_of_reader};
}
core::wait_target duplex_pipe::to_write(bool empty) noexcept {
  return {&writers_, this, empty ? &rules_of_nothing : &rules_of_writer};
}

duplex_core* duplex_core::make(std::size_t capacity) {
  void* const memory = base::allocate_frame(sizeof(duplex_core) + 2 * capacity);
  auto* const bytes = static_cast<std::byte*>(memory) + sizeof(duplex_core);
  return ::new (memory) duplex_core(bytes, capacity);
}

void duplex_core::close(unsigned end) noexcept {
  read_by(end).close_reader();
  read_by(1 - end).close_writer();
}

void duplex_core::leave(unsigned end) noexcept {
  close(end);
  // acq_rel: release: what this end did comes before the delete; acquire: so does what the other end did.
  if (ends_.fetch_sub(1, base::order::acq_rel) != 1) return;
  const std::size_t size = sizeof(duplex_core) + 2 * size_;
  this->~duplex_core();
  base::free_frame(this, size);
}

}  // namespace detail

void duplex_end::end_empty() noexcept {
  ROTA_FATAL("an end of an io::duplex was used after it was moved from", 0);
}

result<std::size_t> duplex_end::try_read(std::span<std::byte> into) noexcept {
  if (into.empty()) return 0;
  detail::duplex_pipe& from = core().read_by(end_);
  if (!from.can_read()) return std::unexpected(std::make_error_code(std::errc::operation_would_block));
  return from.read(into);
}

result<std::size_t> duplex_end::try_write(std::span<const std::byte> from) noexcept {
  if (from.empty()) return 0;
  detail::duplex_pipe& to = core().read_by(1 - end_);
  core::wait_node me;
  if (!to.can_write(me)) return std::unexpected(std::make_error_code(std::errc::operation_would_block));
  return to.write(from, me.kind);
}

std::pair<duplex_end, duplex_end> duplex(std::size_t capacity) {
  constexpr std::size_t most = std::size_t{1} << 30U;
  if (capacity == 0 || capacity > most) {
    throw std::invalid_argument("io::duplex: capacity is " + std::to_string(capacity) + ": must be 1.." +
                                std::to_string(most));
  }
  detail::duplex_core& made = *detail::duplex_core::make(capacity);
  return {duplex_end(made, 0), duplex_end(made, 1)};
}

}  // namespace rota::io
