// The two-level bitmap against std::set, every operation, one thread.
#include "../unit/queue/bitmap_duel.hpp"
#include "fuzz.hpp"

namespace {

using rota::queue::bitmap;
using rota::queue::bitmap_duel;

/// One step of an input: an operation and its number.
void step(bitmap_duel& duel, fuzz::numbers& input) {
  const std::uint32_t what = input.below(7);
  const std::uint32_t i = input.below(duel.size());
  switch (what) {
    case 0: return duel.set(i);
    case 1: return duel.clear(i);
    case 2: return duel.take_lowest();
    case 3: return duel.take_next(i);
    case 4: return duel.set_word(i / 64, std::uint64_t{1} << (i % 64));
    case 5: return duel.set_word(i / 64, input.of_bytes(8));
    default: return duel.take_word(i / 64);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::numbers input(fuzz::text_of(data, size));
  bitmap_duel duel(1 + input.below(bitmap::max_size));
  while (input.any_left() && duel.broken().empty()) step(duel, input);
  fuzz::check(duel.broken().empty(), duel.broken().c_str());
  return 0;
}
