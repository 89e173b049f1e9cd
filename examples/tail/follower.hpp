// Follows a file that grows, and a name that may be given to another file.
#pragma once

#include <rota/fs/file.hpp>
#include <rota/fs/watcher.hpp>

#include <cstddef>
#include <string>

namespace tail {

/// Prints what is written to the file while run() is awaited. If the name leads to another file (a rotated
/// log), the old file is read to its end and the new one from its start. If the file is truncated, it is read
/// from its start. It may be missing for a while.
class follower {
 public:
  /// `lines`: how many of the existing lines are printed first.
  follower(std::string path, std::size_t lines);

  /// Runs until an error occurs or the task is cancelled.
  [[nodiscard]] rota::task<rota::fs::result<void>> run();

 private:
  [[nodiscard]] rota::task<rota::fs::result<void>> begin();
  /// Called after any event: checks the current state of the file and the name.
  [[nodiscard]] rota::task<rota::fs::result<void>> look();
  [[nodiscard]] rota::task<rota::fs::result<void>> open();
  [[nodiscard]] rota::task<rota::fs::result<void>> print_rest();
  void leave();

  std::string path_;
  std::string folder_;
  std::size_t lines_;
  rota::fs::watcher changes_;
  rota::fs::file file_;
  rota::fs::file_info known_;
  int watch_ = -1;  // the watch of file_
};

}  // namespace tail
