// A file that grows, under a name that may be given to another one.
#pragma once

#include <rota/fs/file.hpp>
#include <rota/fs/watcher.hpp>

#include <cstddef>
#include <string>

namespace tail {

/// Prints what is written to it from now on, as long as it is awaited. The name may lead to another file (a log that is rotated): the old one is read to its end
/// first, and the new one from its start. It may be cut, and is read from its start then; and it may be missing for a while.
class follower {
 public:
  /// `lines`: so many of those that are there are printed first.
  follower(std::string path, std::size_t lines);

  /// Ends with an error alone, or cancelled.
  [[nodiscard]] rota::task<rota::fs::result<void>> run();

 private:
  [[nodiscard]] rota::task<rota::fs::result<void>> begin();
  /// Whatever has happened: what is there now?
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
  int watch_ = -1;  // of file_
};

}  // namespace tail
