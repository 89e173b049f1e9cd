// QUESTION  What do the cases of the suite `file` cost with plain threads that call pread and pwrite, as many
//           as rota's pool may have?
// WHY       A program without a runtime does this if it wants more than one call at a time.
// BASELINE  bench/file/rota.cpp, which says what one operation is.
// READ IT   As there. No work is handed over: each thread takes a number and makes its calls. So 32 in flight
//           are 8 at a time here, and one in flight is one thread. The blocks of seq_ are taken in turns by 8
//           threads at once: no single awaiting task does that.
#include "support/file_load.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace {

using bench::job;
using file_load::chance;
using file_load::descriptor;
using file_load::large_file;
using file_load::nothing_to_check;
using file_load::page_bytes;
using file_load::random_file;
using file_load::small_tree;

/// Runs `work(thread)` on `count` threads at once. Rethrows the first exception.
template <class Work>
void on_threads(unsigned count, Work work) {
  std::mutex guards;
  std::exception_ptr first;
  const auto run = [&](unsigned which) {
    try {
      work(which);
    } catch (...) {
      const std::lock_guard guard(guards);
      if (first == nullptr) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < count; ++i) all.emplace_back(run, i);
  }
  if (first != nullptr) std::rethrow_exception(first);
}

/// Distributes the numbers below `n` over the threads, each number once. Calls the function that `start()`
/// returns with each.
template <class Start>
void in_turns(std::uint64_t n, Start start) {
  std::atomic<std::uint64_t> next{0};
  on_threads(file_load::threads, [&](unsigned) {
    auto each = start();
    for (;;) {
      // relaxed: only the number itself matters; joining the threads publishes their results.
      const std::uint64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= n) return;
      each(i);
    }
  });
}

void read_block(const descriptor& from, std::span<std::byte> into, std::uint64_t block, std::uint64_t& sum) {
  for (std::uint64_t offset = block * into.size(); !into.empty();) {
    const std::size_t got = file_load::read_at(from, into, offset);
    sum += file_load::sum_of(into.first(got));
    into = into.subspan(got);
    offset += got;
  }
}

void seq_read(const job& what) {
  const large_file large(what);
  const auto work = [&](std::uint64_t n) {
    for (std::uint64_t pass = large.passes_of(n); pass != 0; --pass) {
      const descriptor from(large.path(), O_RDONLY);
      std::atomic<std::uint64_t> sum{0};
      in_turns(large.blocks(), [&] {
        return [&, block = std::vector<std::byte>(file_load::block_bytes)](std::uint64_t i) mutable {
          std::uint64_t mine = 0;
          read_block(from, block, i, mine);
          // relaxed: joining the threads publishes the sum.
          sum.fetch_add(mine, std::memory_order_relaxed);
        };
      });
      // relaxed: all threads have been joined.
      file_load::check_sum(sum.load(std::memory_order_relaxed), large.pages(), 0);
    }
  };
  file_load::measured(large.job(), work, nothing_to_check);
}

void seq_write(const job& what) {
  const large_file large(what);
  const auto work = [&](std::uint64_t n) {
    for (std::uint64_t pass = 1; pass <= large.passes_of(n); ++pass) {
      const descriptor to(large.path(), O_WRONLY);
      in_turns(large.blocks(), [&] {
        return [&, block = file_load::buffer_of(file_load::block_bytes)](std::uint64_t i) mutable {
          file_load::stamp_pages(block, i * file_load::pages_of_a_block, pass);
          file_load::write_at(to, block, i * file_load::block_bytes);
        };
      });
    }
  };
  file_load::measured(large.job(), work, [&] { large.check_written(); });
}

/// Each thread runs its share of the streams, one after the other.
template <unsigned Streams, class Each>
void by_chance(std::uint64_t n, Each each) {
  constexpr unsigned count = std::min(Streams, file_load::threads);
  on_threads(count, [&](unsigned which) {
    std::vector<std::byte> one = file_load::buffer_of(page_bytes);
    for (unsigned stream = which; stream < Streams; stream += count) {
      chance pages(stream);
      const std::uint64_t mine = file_load::share(n, Streams, stream);
      for (std::uint64_t i = 0; i < mine; ++i) each(one, pages.next(), file_load::pass_of_write(mine, i));
    }
  });
}

template <unsigned Streams>
void random_read(const job& what) {
  const random_file random;
  const descriptor from(random.path(), O_RDONLY);
  const auto each = [&](std::span<std::byte> one, std::uint64_t page, std::uint64_t /*pass*/) {
    file_load::read_page(from, one, page);
    file_load::check_page(one, page);
  };
  file_load::measured(what, [&](std::uint64_t n) { by_chance<Streams>(n, each); }, nothing_to_check);
}

template <unsigned Streams>
void random_write(const job& what) {
  const random_file random;
  const descriptor to(random.path(), O_WRONLY);
  const auto each = [&](std::span<std::byte> one, std::uint64_t page, std::uint64_t pass) {
    file_load::stamp_pages(one, page, pass);
    file_load::write_at(to, one, page * page_bytes);
  };
  file_load::measured(
      what,
      [&](std::uint64_t n) { by_chance<Streams>(n, each); },
      [&] { random.check_written(what, Streams); });
}

void small_files(const job& what) {
  const small_tree tree;
  const auto work = [&](std::uint64_t n) {
    in_turns(n, [&] {
      return [&, one = std::vector<std::byte>(page_bytes)](std::uint64_t i) mutable {
        const std::string path = tree.path_of(i % file_load::small_files);
        const descriptor from(path, O_RDONLY);
        small_tree::check(path, std::span(one).first(file_load::read_at(from, one, 0)));
      };
    });
  };
  file_load::measured(what, work, nothing_to_check);
}

constexpr bench::one_case cases[] = {
    {"seq_read", "ns", 2048, 128, seq_read},
    {"seq_write", "ns", 2048, 128, seq_write},
    {"random_read_1", "ns", 100'000, 20'000, random_read<1>},
    {"random_read_32", "ns", 100'000, 20'000, random_read<32>},
    {"random_write_1", "ns", 100'000, 20'000, random_write<1>},
    {"random_write_32", "ns", 100'000, 20'000, random_write<32>},
    {"small_files", "ns", 20'000, 4000, small_files},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
