#include "log_analyzer/analyse.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include <rota/gate/mailbox.hpp>

namespace log_analyzer {
namespace {

/// Calls `each` with every line of `text`.
template <class Each>
void for_each_line(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    each(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

constexpr std::size_t partitions = 32;
/// How many requests a reader sends to a partition at a time.
constexpr std::size_t batch_size = 512;
using batch = std::vector<request>;
using batch_mailbox = rota::gate::mailbox<batch>;

/// The clients of one partition. Only the handler of its mailbox accesses them.
struct partition {
  clients mine;
  batch_mailbox box;
};

/// Reads blocks. Its unsent batches need no lock, because its handler runs for one block at a time.
class reader {
 public:
  reader(rota::gate::executor& threads, std::deque<partition>& to)
      : to_(to),
        box_(threads.make_mailbox<std::string_view>(
            [this](std::string_view block) { read(block); },
            {.capacity = 2, .on_full = rota::gate::overflow::wait, .band = rota::gate::priority_band::low})) {
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;
  ~reader() = default;

  /// Sends a block to the reader. Blocks the caller while the mailbox is full.
  void take(std::string_view block) { static_cast<void>(box_.send(block)); }

  /// Call it after all blocks: sends the incomplete batches, and adds the counts to `all`.
  void finish(totals& all) {
    box_.drain();
    for (std::size_t p = 0; p < partitions; ++p) flush(p);
    all.lines += lines_;
    all.malformed += malformed_;
  }

 private:
  void read(std::string_view block) {
    for_each_line(block, [this](std::string_view line) {
      ++lines_;
      request r;
      if (!parse(line, r)) {
        ++malformed_;
        return;
      }
      const std::size_t p = std::hash<std::string_view>()(r.client) % partitions;
      if (found_.at(p).capacity() == 0) found_.at(p).reserve(batch_size);
      found_.at(p).push_back(r);
      if (found_.at(p).size() == batch_size) flush(p);
    });
  }
  void flush(std::size_t p) {
    if (!found_.at(p).empty()) static_cast<void>(to_[p].box.send(std::exchange(found_.at(p), {})));
  }

  std::deque<partition>& to_;
  std::array<batch, partitions> found_;
  std::uint64_t lines_ = 0;
  std::uint64_t malformed_ = 0;
  rota::gate::mailbox<std::string_view> box_;  // destroyed first: its handler uses the other members
};

/// Removes and returns the first `size` bytes and the rest of their last line.
std::string_view take_block(std::string_view& log, std::size_t size) {
  std::size_t end = log.size() <= size ? std::string_view::npos : log.find('\n', size);
  end = end == std::string_view::npos ? log.size() : end + 1;
  const std::string_view block = log.substr(0, end);
  log.remove_prefix(end);
  return block;
}

}  // namespace

totals analyse_plainly(std::string_view log) {
  totals all;
  for_each_line(log, [&all](std::string_view line) {
    ++all.lines;
    request r;
    if (parse(line, r)) {
      all.by_client[r.client].add(r);
    } else {
      ++all.malformed;
    }
  });
  return all;
}

totals analyse(std::string_view log, unsigned threads, std::size_t block) {
  totals all;
  std::deque<partition> parts(partitions);
  {
    rota::gate::executor workers(threads);
    // In a higher band than the readers, so that batches do not pile up.
    for (partition& each : parts) {
      each.box = workers.make_mailbox<batch>(
          [&mine = each.mine](const batch& found) {
            for (const request& r : found) mine[r.client].add(r);
          },
          {.band = rota::gate::priority_band::high});
    }
    std::deque<reader> readers;
    for (unsigned i = 0; i < threads; ++i) readers.emplace_back(workers, parts);
    for (std::size_t next = 0; !log.empty(); ++next) readers[next % threads].take(take_block(log, block));
    for (reader& each : readers) each.finish(all);
    workers.drain();
    readers.clear();
    for (partition& each : parts) each.box = {};
  }
  for (partition& each : parts) merge(all, std::move(each.mine));
  return all;
}

}  // namespace log_analyzer
