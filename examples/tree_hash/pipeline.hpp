// Turns the tree into lines: one task starts blocking jobs and puts their results in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <system_error>
#include <variant>
#include <vector>

#include <rota/join_set.hpp>
#include <rota/task.hpp>

#include "tree_hash/counts.hpp"
#include "tree_hash/entry.hpp"
#include "tree_hash/report.hpp"
#include "tree_hash/screen.hpp"
#include "tree_hash/walk.hpp"

namespace tree_hash {

/// At most one job walks, one prints, and `threads` jobs read files. The task of `run` owns everything else,
/// so there are no locks.
///
///   walk --> window_ ---------------------------------> report --> screen
///              unread files --> read_file, in batches
///
/// Ownership  A reading job refers to its entries in `window_`. They do not move, and no other job accesses
///            them, until the job has ended.
/// Failure    `run` throws std::system_error for the standard output. Files that cannot be read are counted.
class pipeline {
 public:
  pipeline(walk& tree, report& lines, screen& to, counts& done, unsigned threads) noexcept
      : walk_(tree), report_(lines), screen_(to), counts_(done), threads_(threads) {}

  /// Runs until all is printed. If it is cancelled, it waits for its jobs, which end soon unless the disk
  /// hangs. Call it once.
  rota::task<void> run();

 private:
  using batch = std::vector<entry*>;
  struct files_read {
    batch files;
  };
  struct tree_walked {
    std::vector<entry> found;
  };
  struct text_printed {
    std::error_code failed;
  };
  using job_end = std::variant<files_read, tree_walked, text_printed>;
  enum class reported : std::uint8_t { all, some };

  rota::task<void> close_jobs();
  rota::task<void> pump();
  void start_jobs();
  [[nodiscard]] bool may_walk() const noexcept;
  [[nodiscard]] batch next_batch();
  rota::task<job_end> walk_on();
  rota::task<job_end> read(batch files);
  void read_batch(const batch& files);
  rota::task<job_end> print(texts lines);
  void take(files_read end);
  void take(tree_walked end);
  void take(text_printed end);
  [[nodiscard]] reported report_ready();

  walk& walk_;
  report& report_;
  screen& screen_;
  counts& counts_;
  unsigned threads_;
  unsigned reading_ = 0;
  bool is_walking_ = false;
  bool is_printing_ = false;
  std::deque<entry> window_;   // entries that are not reported yet
  std::deque<entry*> unread_;  // the files among them that no job has taken
  rota::join_set<job_end> jobs_;
};

}  // namespace tree_hash
