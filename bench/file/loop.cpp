// QUESTION  What do the cases of the suite `file` cost in one thread, with direct system calls?
// WHY       `cat` and `cp` work like this. It is the lower limit for any program that makes one call after
//           the other.
// BASELINE  bench/file/rota.cpp, which says what one operation is.
// READ IT   As there. A runtime's task that awaits each of its calls can come close to this, but not below
//           it, unless it makes fewer calls.
#include "support/file_load.hpp"

namespace {

using bench::job;
using file_load::checked;
using file_load::descriptor;
using file_load::large_file;
using file_load::nothing_to_check;
using file_load::require;
using file_load::small_tree;

std::size_t read_some(const descriptor& from, std::span<std::byte> into) {
  return static_cast<std::size_t>(checked(::read(from.get(), into.data(), into.size()), "read"));
}

void write_whole(const descriptor& to, std::span<const std::byte> all) {
  const ssize_t put = checked(::write(to.get(), all.data(), all.size()), "write");
  require(static_cast<std::size_t>(put) == all.size(), "a write took less than it was given");
}

void seq_read(const job& what) {
  const large_file large(what);
  std::vector<std::byte> block(file_load::block_bytes);
  const auto work = [&](std::uint64_t n) {
    for (std::uint64_t pass = large.passes_of(n); pass != 0; --pass) {
      const descriptor from(large.path(), O_RDONLY);
      std::uint64_t sum = 0;
      for (std::uint64_t left = large.bytes(); left != 0;) {
        const std::size_t got = read_some(from, block);
        require(got != 0 && got <= left, "a file has not its length");
        sum += file_load::sum_of(std::span(block).first(got));
        left -= got;
      }
      file_load::check_sum(sum, large.pages(), 0);
    }
  };
  file_load::measured(large.job(), work, nothing_to_check);
}

void seq_write(const job& what) {
  const large_file large(what);
  std::vector<std::byte> block = file_load::buffer_of(file_load::block_bytes);
  const auto work = [&](std::uint64_t n) {
    for (std::uint64_t pass = 1; pass <= large.passes_of(n); ++pass) {
      const descriptor to(large.path(), O_WRONLY);
      for (std::uint64_t i = 0; i < large.blocks(); ++i) {
        file_load::stamp_pages(block, i * file_load::pages_of_a_block, pass);
        write_whole(to, block);
      }
    }
  };
  file_load::measured(large.job(), work, [&] { large.check_written(); });
}

void read_whole(const std::string& path, std::span<std::byte> into) {
  const descriptor from(path, O_RDONLY);
  const std::size_t got = read_some(from, into);
  small_tree::check(path, into.first(got));
}

/// Knows the size of the files, so it makes three calls: open, read, close.
void small_files(const job& what) {
  const small_tree tree;
  std::vector<std::byte> one(file_load::page_bytes);
  const auto work = [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) read_whole(tree.path_of(i % file_load::small_files), one);
  };
  file_load::measured(what, work, nothing_to_check);
}

void tree_files(const job& what) {
  const small_tree tree;
  std::vector<std::byte> one(file_load::page_bytes);
  const auto walk = [&](std::uint64_t most) {
    std::uint64_t files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(tree.root())) {
      if (files == most) break;
      if (!each.is_regular_file()) continue;
      read_whole(each.path().string(), one);
      ++files;
    }
    require(files == most, "a walk has not found all files");
  };
  const auto work = [&](std::uint64_t n) {
    for (; n > file_load::small_files; n -= file_load::small_files) walk(file_load::small_files);
    walk(n);
  };
  file_load::measured(what, work, nothing_to_check);
}

/// Copies as cp does: in the kernel.
void copy_file(const job& what) {
  const large_file large(what);
  const auto work = [&](std::uint64_t n) {
    for (std::uint64_t pass = large.passes_of(n); pass != 0; --pass) {
      const descriptor from(large.path(), O_RDONLY);
      const descriptor to(large.target_of(n), O_WRONLY | O_CREAT | O_TRUNC);
      for (std::uint64_t left = large.bytes(); left != 0;) {
        const auto got = checked(::copy_file_range(from.get(), nullptr, to.get(), nullptr, large.bytes(), 0),
                                 "copy_file_range");
        require(got != 0, "a copy is shorter than its file");
        left -= static_cast<std::uint64_t>(got);
      }
    }
  };
  file_load::measured(large.job(), work, [&] { large.check_copy(); });
}

/// Copies as cat does: through a buffer.
void copy_stream(const job& what) {
  const large_file large(what);
  std::vector<std::byte> block(file_load::block_bytes);
  const auto work = [&](std::uint64_t n) {
    for (std::uint64_t pass = large.passes_of(n); pass != 0; --pass) {
      const descriptor from(large.path(), O_RDONLY);
      const descriptor to(large.target_of(n), O_WRONLY | O_CREAT | O_TRUNC);
      for (std::size_t got = read_some(from, block); got != 0; got = read_some(from, block))
        write_whole(to, std::span(block).first(got));
    }
  };
  file_load::measured(large.job(), work, [&] { large.check_copy(); });
}

constexpr bench::one_case cases[] = {
    {"seq_read", "ns", 2048, 128, seq_read},
    {"seq_write", "ns", 2048, 128, seq_write},
    {"small_files", "ns", 20'000, 4000, small_files},
    {"tree_files", "ns", 20'000, 4000, tree_files},
    {"tree_batches", "ns", 20'000, 4000, tree_files},
    {"copy_file", "ns", 2048, 128, copy_file},
    {"copy_stream", "ns", 2048, 128, copy_stream},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
