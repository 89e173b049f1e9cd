// Tasks that receive from a watch and a broadcast, beside plain models of them. Values lie in nodes, or are
// plain bytes.
#include <optional>
#include <string_view>
#include <type_traits>

#include "item.hpp"
#include "news_beside.hpp"
#include "sequence.hpp"

namespace {

using namespace fuzz;

template <class T>
class news {
 public:
  /// With one thing, or with both.
  news(scene& in, number shape)
      : in_(&in), focus_(shape / 256 % 4), watch_(in), broadcast_(in, 1 + shape / 2 % 4) {}

  void step(const operation& next) {
    in_->note("step", next.what, next.which);
    const operation then{next.what / 4 % 10, next.which, next.how, next.then};
    if (focus_ != 1 && next.what % 4 == 0) return watch_.step(then);
    if (focus_ != 0 && next.what % 4 != 2) return broadcast_.step(then);
    focus_ == 0 ? watch_.step(then) : focus_ == 1 ? broadcast_.step(then) : select(next);
  }
  void compare() {
    watch_.compare();
    broadcast_.compare();
    if constexpr (std::is_same_v<T, copied>)
      in_->check(item::alive == watch_.alive() + broadcast_.alive(), "no more values than are kept");
  }
  [[nodiscard]] number state() {
    return few(broadcast_.alive()) | few(broadcast_.should(0).behind()) << 2U | few(watch_.unseen()) << 4U;
  }
  void drain() {
    watch_.drain();
    broadcast_.drain();
  }

 private:
  void select(const operation& next) {
    auto* const a = watch_.free_receiver(next.which);
    auto* const b = broadcast_.free_receiver(next.which / 4);
    if (a == nullptr || b == nullptr) return;
    plan how = select_plan_of(next.how);
    how.stakes[0] = {&watch_.should(next.which), 0};
    how.stakes[1] = {&broadcast_.should(next.which / 4), 0};
    start_select(*in_, how, change_wait<T>{a}, news_wait<T>{b});
  }

  scene* in_;
  number focus_;
  watch_beside<T> watch_;
  broadcast_beside<T> broadcast_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const bool in_nodes = text.size() < 2 || static_cast<unsigned char>(text[1]) % 2 == 0;
  in_nodes ? play<news<copied>>(text) : play<news<bytes>>(text);
  return 0;
}
