// All that a custom queue needs, and both ways to choose it.
#include <rota/pool/custom_queue.hpp>

struct enough {
  explicit enough(int most = 10);
  void set(rota::pool::queued_work);
  std::optional<rota::pool::queued_work> get();
  std::optional<rota::pool::queued_work> steal();
  std::optional<rota::pool::queued_work> discard();
  std::size_t size() const;
};
struct made_only : enough {
  explicit made_only(int most);
};

rota::pool::custom_queue none() { return {}; }
rota::pool::custom_queue by_default() { return rota::pool::custom_queue::of<enough>(); }
rota::pool::custom_queue by_a_function() {
  return rota::pool::custom_queue::of<made_only>([] { return made_only(3); });
}
