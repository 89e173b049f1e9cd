// A queue that lacks one of the calls is refused where it is named, and the message says which call.
// EXPECT: queue_of_works
// EXPECT: queue\.discard\(\)
#include <rota/pool/custom_queue.hpp>

struct no_discard {
  void set(rota::pool::queued_work);
  std::optional<rota::pool::queued_work> get();
  std::optional<rota::pool::queued_work> steal();
  std::size_t size() const;
};

rota::pool::custom_queue chosen() { return rota::pool::custom_queue::of<no_discard>(); }
