// An open directory, shared by the walk and by the jobs that read its files.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "common/unique_fd.hpp"

namespace tree_hash {

using common::unique_fd;

/// Counts the open directories. Must outlive them.
using open_count = std::atomic<unsigned>;

class directory {
 public:
  directory(unique_fd fd, open_count& of) noexcept : fd_(std::move(fd)), of_(of) { of_.fetch_add(1); }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() { of_.fetch_sub(1); }

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  unique_fd fd_;
  open_count& of_;
};

using shared_directory = std::shared_ptr<const directory>;

}  // namespace tree_hash
