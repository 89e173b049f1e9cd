// Shared by the subjects of the suite `file`: a folder of their own, files with content that can be checked,
// and system calls that throw on errors. bench/file/rota.cpp says what one operation is.
#pragma once

#include "support/subject.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace file_load {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t block_bytes = std::size_t{64} << 10U;
constexpr std::uint64_t pages_of_a_block = block_bytes / page_bytes;

constexpr unsigned threads = 8;                                // that may block: of a pool, or plain ones
constexpr std::uint64_t random_pages = 64 * mib / page_bytes;  // of the file of the random cases
constexpr std::uint64_t passes = 8;                            // over a large file, in a run
constexpr std::uint64_t largest_mib = 256;
constexpr unsigned small_files = 1000;
constexpr unsigned files_of_a_folder = 100;

[[noreturn]] inline void wrong(const char* what) { throw std::runtime_error(what); }

inline void require(bool right, const char* what) {
  if (!right) wrong(what);
}

/// Returns the result of a system call. Throws if it is an error.
template <class N>
N checked(N got, const char* what) {
  if (got < 0) throw std::system_error(errno, std::generic_category(), what);
  return got;
}

/// A folder below $TMPDIR. Its destructor removes it with its content.
class folder {
 public:
  folder() : path_((std::filesystem::temp_directory_path() / "rota_bench_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class descriptor {
 public:
  descriptor(const std::string& path, int flags)
      : fd_(checked(::open(path.c_str(), flags | O_CLOEXEC, 0600), path.c_str())) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { ::close(fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// A page: one word with the number of the page and of the pass that wrote it, and 511 constant words.
constexpr std::uint64_t filler = 0x9E37'79B9'7F4A'7C15;

[[nodiscard]] constexpr std::uint64_t stamp(std::uint64_t page, std::uint64_t pass) noexcept {
  return (page + 1) * 0xD134'2543'DE82'EF95 + pass * 0xAF25'1AF3'B0F0'25B5;
}

/// Returns the sum of a page's words.
[[nodiscard]] constexpr std::uint64_t sum_of_page(std::uint64_t page, std::uint64_t pass) noexcept {
  return stamp(page, pass) + (page_bytes / sizeof(filler) - 1) * filler;
}

[[nodiscard]] inline std::uint64_t sum_of(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof(sum) <= bytes.size(); at += sizeof(sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    sum += word;
  }
  return sum;
}

inline void check_sum(std::uint64_t sum, std::uint64_t pages, std::uint64_t pass) {
  for (std::uint64_t page = 0; page < pages; ++page) sum -= sum_of_page(page, pass);
  require(sum == 0, "what was read is not what was written");
}

inline void check_page(std::span<const std::byte> bytes, std::uint64_t page, std::uint64_t pass = 0) {
  require(bytes.size() == page_bytes && sum_of(bytes) == sum_of_page(page, pass),
          "a page is not what was written there");
}

[[nodiscard]] inline std::vector<std::byte> buffer_of(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t at = 0; at < bytes; at += sizeof(filler))
    std::memcpy(all.data() + at, &filler, sizeof(filler));
  return all;
}

/// Writes the stamps of the pages from `page` on into a buffer.
inline void stamp_pages(std::span<std::byte> buffer, std::uint64_t page, std::uint64_t pass) noexcept {
  for (std::size_t at = 0; at < buffer.size(); at += page_bytes) {
    const std::uint64_t first = stamp(page++, pass);
    std::memcpy(buffer.data() + at, &first, sizeof(first));
  }
}

/// Reads at least one byte.
inline std::size_t read_at(const descriptor& from, std::span<std::byte> into, std::uint64_t offset) {
  const ssize_t got =
      checked(::pread(from.get(), into.data(), into.size(), static_cast<off_t>(offset)), "pread");
  require(got != 0, "a file is shorter than it was made");
  return static_cast<std::size_t>(got);
}

inline void write_at(const descriptor& to, std::span<const std::byte> all, std::uint64_t offset) {
  const ssize_t put =
      checked(::pwrite(to.get(), all.data(), all.size(), static_cast<off_t>(offset)), "pwrite");
  require(static_cast<std::size_t>(put) == all.size(), "a write took less than it was given");
}

inline void read_page(const descriptor& from, std::span<std::byte> into, std::uint64_t page) {
  require(read_at(from, into, page * page_bytes) == page_bytes, "a page was read in part");
}

/// Creates a file of `pages` pages of pass 0.
inline void make_file(const std::string& path, std::uint64_t pages) {
  const descriptor to(path, O_WRONLY | O_CREAT | O_EXCL);
  std::vector<std::byte> some = buffer_of(block_bytes);
  for (std::uint64_t page = 0; page < pages; page += pages_of_a_block) {
    const std::span<std::byte> part =
        std::span(some).first(std::min(pages - page, pages_of_a_block) * page_bytes);
    stamp_pages(part, page, 0);
    write_at(to, part, page * page_bytes);
  }
}

/// Checks each page against `pass_of(page)`, and that there are no further pages.
template <class PassOf>
void check_file(const std::string& path, std::uint64_t pages, PassOf pass_of) {
  const descriptor from(path, O_RDONLY);
  struct stat info{};
  checked(::fstat(from.get(), &info), "fstat");
  require(static_cast<std::uint64_t>(info.st_size) == pages * page_bytes, "a file has not its length");
  std::vector<std::byte> one(page_bytes);
  for (std::uint64_t page = 0; page < pages; ++page) {
    read_page(from, one, page);
    check_page(one, page, pass_of(page));
  }
}

/// A large file, and the number of passes of a run. One operation is a MiB.
class large_file {
 public:
  explicit large_file(bench::job what)
      : job_(what), mib_(std::clamp<std::uint64_t>(what.operations / passes, 1, largest_mib)) {
    job_.operations = what.operations / mib_ * mib_;
    job_.warm_up = mib_;
    make_file(path(), pages());
  }
  /// The job, rounded to whole passes, with one pass as a warm-up.
  [[nodiscard]] const bench::job& job() const noexcept { return job_; }
  [[nodiscard]] std::string path() const { return where_.at("large"); }
  /// The target of the copies of a run. The warm-up has its own target.
  [[nodiscard]] std::string target_of(std::uint64_t operations) const {
    return where_.at("copy_" + std::to_string(passes_of(operations)));
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return mib_ * mib; }
  [[nodiscard]] std::uint64_t pages() const noexcept { return bytes() / page_bytes; }
  [[nodiscard]] std::uint64_t blocks() const noexcept { return bytes() / block_bytes; }
  [[nodiscard]] std::uint64_t passes_of(std::uint64_t operations) const noexcept { return operations / mib_; }

  /// Checks the content that the last pass of a run has written; passes count from 1.
  void check_written() const {
    check_file(path(), pages(), [&](std::uint64_t) { return passes_of(job_.operations); });
  }
  /// Checks that a copy equals the original file.
  void check_copy() const {
    check_file(target_of(job_.operations), pages(), [](std::uint64_t) { return std::uint64_t{0}; });
  }

 private:
  folder where_;
  bench::job job_;
  std::uint64_t mib_;
};

/// Random page numbers: the same for the same seed.
class chance {
 public:
  explicit chance(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ = state_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    return (state_ >> 33U) % random_pages;
  }

 private:
  std::uint64_t state_;
};

/// Returns the share of one of `streams` streams in `n` operations. The seed of a stream is its number.
[[nodiscard]] constexpr std::uint64_t share(std::uint64_t n, unsigned streams, unsigned which) noexcept {
  return n / streams + (which < n % streams ? 1 : 0);
}

/// Returns the stamp of the `i`th of a stream's `n` writes. It differs from those of all other runs.
[[nodiscard]] constexpr std::uint64_t pass_of_write(std::uint64_t n, std::uint64_t i) noexcept {
  return (n << 32U) + i + 1;
}

/// The file of the random cases.
class random_file {
 public:
  random_file() { make_file(path(), random_pages); }
  [[nodiscard]] std::string path() const { return where_.at("random"); }

  /// Checks each page: it is as the last write of one of the streams has left it (which stream wrote last is
  /// unknown), or, if no stream wrote it, as the warm-up or make_file() has left it.
  void check_written(const bench::job& what, unsigned streams) const {
    std::vector<std::vector<std::uint64_t>> last(random_pages);
    for (unsigned which = 0; which < streams; ++which) {
      std::vector<std::uint64_t> mine(random_pages);
      const std::uint64_t n = share(what.operations, streams, which);
      chance pages(which);
      for (std::uint64_t i = 0; i < n; ++i) mine[pages.next()] = pass_of_write(n, i);
      for (std::uint64_t page = 0; page < random_pages; ++page)
        if (mine[page] != 0) last[page].push_back(mine[page]);
    }
    check_last(last);
  }

 private:
  void check_last(const std::vector<std::vector<std::uint64_t>>& last) const {
    const descriptor from(path(), O_RDONLY);
    std::vector<std::byte> one(page_bytes);
    for (std::uint64_t page = 0; page < random_pages; ++page) {
      if (last[page].empty()) continue;
      read_page(from, one, page);
      const std::uint64_t sum = sum_of(one);
      require(
          std::ranges::any_of(last[page], [&](std::uint64_t pass) { return sum == sum_of_page(page, pass); }),
          "a page is not what was written there last");
    }
  }

  folder where_;
};

/// A thousand files of a page each in ten folders: `tree/3/342` has page 342.
class small_tree {
 public:
  small_tree() {
    for (unsigned i = 0; i < small_files; ++i) {
      if (i % files_of_a_folder == 0)
        std::filesystem::create_directories(std::filesystem::path(path_of(i)).parent_path());
      std::vector<std::byte> one = buffer_of(page_bytes);
      stamp_pages(one, i, 0);
      write_at(descriptor(path_of(i), O_WRONLY | O_CREAT | O_EXCL), one, 0);
    }
  }
  [[nodiscard]] std::string root() const { return where_.at("tree"); }
  [[nodiscard]] std::string path_of(std::uint64_t i) const {
    return root() + "/" + std::to_string(i / files_of_a_folder) + "/" + std::to_string(i);
  }
  /// Checks the bytes of a file by its name.
  static void check(const std::string& path, std::span<const std::byte> bytes) {
    check_page(bytes, std::strtoull(path.c_str() + path.rfind('/') + 1, nullptr, 10));
  }

 private:
  folder where_;
};

/// For plain threads and loops: runs `work(n)` twice, the first time as a warm-up. Prints nothing before
/// `check` has checked the files.
template <class Work, class Check>
void measured(const bench::job& what, Work work, Check check) {
  work(what.warm_up);
  const bench::stretch all;
  work(what.operations);
  const bench::spent sum = all.end();
  check();
  bench::report(what, sum);
}

constexpr auto nothing_to_check = [] {};

}  // namespace file_load
