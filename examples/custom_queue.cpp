// A custom queue for the workers of a pool. The program tests the queue before a pool uses it.
#include <rota/pool/custom_queue.hpp>
#include <rota/testing/queue_contract.hpp>

#include <cstdio>
#include <iterator>
#include <optional>
#include <set>

namespace {

using rota::pool::queued_work;

/// Orders jobs by priority, the largest first, and then by id, the smallest first. A job that is queued
/// again keeps its place.
class by_id {
 public:
  void set(queued_work work) { works_.insert(work); }
  std::optional<queued_work> get() { return take(works_.begin()); }
  std::optional<queued_work> steal() { return get(); }
  std::optional<queued_work> discard() {
    return take(works_.empty() ? works_.end() : std::prev(works_.end()));
  }
  [[nodiscard]] std::size_t size() const { return works_.size(); }

 private:
  struct before {
    bool operator()(const queued_work& a, const queued_work& b) const {
      return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
    }
  };
  using works = std::set<queued_work, before>;

  std::optional<queued_work> take(works::iterator which) {
    if (which == works_.end()) return std::nullopt;
    const queued_work work = *which;
    works_.erase(which);
    return work;
  }

  works works_;
};

}  // namespace

int main() {
  const auto report = rota::testing::check_queue<by_id>();
  std::printf("by_id has %zu faults\n%s", report.faults.size(), to_string(report).c_str());
  return report.faults.empty() ? 0 : 1;
}
