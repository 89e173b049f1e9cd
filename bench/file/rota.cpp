// QUESTION  What do operations on files in the page cache cost: large files from end to end, random pages,
//           small files as a whole?
// WHY       No disk hides the overhead that a runtime adds to a call: a frame, a closure, a thread that is
//           woken and wakes the task in turn.
// BASELINE  `loop`, one thread with direct calls; `threads`, as many as the pool may have, each with one call
//           at a time; Tokio. `rota_uring` is this program with ROTA_IO=uring, and is missing where there is
//           no ring.
// READ IT   ns per operation: a MiB of seq_ and copies, a page of random_, a file of the others. Every
//           subject sums up what it reads, and the time includes that. What was written is read and checked
//           afterwards. Two workers, 8 threads that may block.
#include "support/file_load.hpp"

#include <rota/fs/file.hpp>
#include <rota/fs/walk.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/io/copy.hpp>
#include <rota/join_set.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace {

using bench::job;
using file_load::chance;
using file_load::large_file;
using file_load::nothing_to_check;
using file_load::page_bytes;
using file_load::random_file;
using file_load::require;
using file_load::small_tree;
using rota::task;
using rota::fs::file;

template <class T>
T value(rota::io::result<T> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  return std::move(*got);
}

rota::runtime_options with_few_threads(const job& what) {
  rota::runtime_options options = bench::options_of(what);
  options.blocking.max_threads = file_load::threads;
  return options;
}

template <class On>
using loop_on = task<void> (*)(const On& on, std::uint64_t n);

template <class On>
task<bench::spent> measure(loop_on<On> work, const On& on, job what) {
  co_await work(on, what.warm_up);
  const bench::stretch measured;
  co_await work(on, what.operations);
  co_return measured.end();
}

/// Spawns the root, which runs on a worker. Prints nothing before `check` has checked the files.
template <class On, class Check>
void on_worker(loop_on<On> work, const On& on, const job& what, Check check) {
  rota::runtime runtime(with_few_threads(what));
  auto root = runtime.spawn(measure(work, on, what));
  const bench::spent sum = root.join();
  check();
  bench::report(what, sum);
}

/// One operation: a MiB, in reads of 64 KiB at the cursor.
task<void> read_all(const large_file& large, std::uint64_t n) {
  std::vector<std::byte> block(file_load::block_bytes);
  for (std::uint64_t pass = large.passes_of(n); pass != 0; --pass) {
    file from = value(co_await file::open(large.path()));
    std::uint64_t sum = 0;
    for (std::uint64_t left = large.bytes(); left != 0;) {
      const std::size_t got = value(co_await from.read(block));
      require(got != 0 && got <= left, "a file has not its length");
      sum += file_load::sum_of(std::span(block).first(got));
      left -= got;
    }
    file_load::check_sum(sum, large.pages(), 0);
  }
}

/// One operation: a MiB over the existing content, in writes of 64 KiB at the cursor.
task<void> write_all(const large_file& large, std::uint64_t n) {
  std::vector<std::byte> block = file_load::buffer_of(file_load::block_bytes);
  for (std::uint64_t pass = 1; pass <= large.passes_of(n); ++pass) {
    file to = value(co_await rota::fs::open_options().write().open(large.path()));
    for (std::uint64_t i = 0; i < large.blocks(); ++i) {
      file_load::stamp_pages(block, i * file_load::pages_of_a_block, pass);
      const std::size_t put = value(co_await to.write(block));
      require(put == block.size(), "a write took less than it was given");
    }
  }
}

void seq_read(const job& what) {
  const large_file large(what);
  on_worker(read_all, large, large.job(), nothing_to_check);
}

void seq_write(const job& what) {
  const large_file large(what);
  on_worker(write_all, large, large.job(), [&] { large.check_written(); });
}

task<void> read_pages(const file& from, chance pages, std::uint64_t n) {
  std::vector<std::byte> one(page_bytes);
  for (; n != 0; --n) {
    const std::uint64_t page = pages.next();
    const std::size_t got = value(co_await from.read_at(one, page * page_bytes));
    file_load::check_page(std::span(one).first(got), page);
  }
}

task<void> write_pages(file& to, chance pages, std::uint64_t n) {
  std::vector<std::byte> one = file_load::buffer_of(page_bytes);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t page = pages.next();
    file_load::stamp_pages(one, page, file_load::pass_of_write(n, i));
    const std::size_t put = value(co_await to.write_at(one, page * page_bytes));
    require(put == page_bytes, "a write took less than it was given");
  }
}

/// One operation: a random page. `Streams` streams have one operation in flight each.
template <auto Pages, unsigned Streams>
task<void> by_chance(const random_file& random, std::uint64_t n) {
  file which = value(co_await rota::fs::open_options().read().write().open(random.path()));
  if constexpr (Streams == 1) {
    co_await Pages(which, chance(0), n);
  } else {
    co_await rota::with_scope([&](rota::scope& all) -> task<void> {
      for (unsigned i = 0; i < Streams; ++i)
        all.fork(Pages(which, chance(i), file_load::share(n, Streams, i)));
      co_return;
    });
  }
}

template <unsigned Streams>
void random_read(const job& what) {
  const random_file random;
  on_worker(by_chance<read_pages, Streams>, random, what, nothing_to_check);
}

template <unsigned Streams>
void random_write(const job& what) {
  const random_file random;
  on_worker(by_chance<write_pages, Streams>, random, what, [&] { random.check_written(what, Streams); });
}

/// One operation: a whole file of 4 KiB. The files are read one after the other.
task<void> read_small(const small_tree& tree, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::string path = tree.path_of(i % file_load::small_files);
    const std::vector<std::byte> all = value(co_await rota::fs::read(path));
    small_tree::check(path, all);
  }
}

/// One operation: a whole file that a walk has found, and its share of the walk.
task<void> read_tree(const small_tree& tree, std::uint64_t n) {
  while (n != 0) {
    rota::fs::walk found(tree.root());
    unsigned files = 0;
    for (; n != 0;) {
      const std::optional<rota::fs::walk_entry> each = co_await found.next();
      if (!each.has_value()) break;
      require(!each->error, "a directory could not be read");
      if (each->type != rota::fs::file_type::regular) continue;
      const std::vector<std::byte> all = value(co_await rota::fs::read(each->path));
      small_tree::check(each->path, all);
      ++files;
      --n;
    }
    require(n == 0 || files == file_load::small_files, "a walk has not found all files");
  }
}

using names = std::vector<std::string>;

/// Reads files on a thread that may block, with direct system calls.
void read_batch(const names& batch) {
  std::vector<std::byte> one(file_load::page_bytes);
  for (const std::string& path : batch) {
    const file_load::descriptor from(path, O_RDONLY);
    small_tree::check(path, std::span(one).first(file_load::read_at(from, one, 0)));
  }
}

task<void> read_on_thread(names batch) {
  auto reading = rota::spawn_blocking([&batch] { read_batch(batch); });
  co_await reading;
}

task<void> read_found(rota::fs::walk& found, std::uint64_t most) {
  constexpr std::size_t files_of_a_batch = 64;
  constexpr std::size_t most_batches = 4;
  rota::join_set<void> under_way;
  std::uint64_t files = 0;
  names batch;
  for (bool is_over = false; !is_over;) {
    const std::optional<rota::fs::walk_entry> each = co_await found.next();
    if (each.has_value()) require(!each->error, "a directory could not be read");
    if (each.has_value() && each->type == rota::fs::file_type::regular) batch.push_back(each->path);
    is_over = !each.has_value() || files + batch.size() == most;
    if (batch.empty() || (batch.size() < files_of_a_batch && !is_over)) continue;
    files += batch.size();
    if (under_way.size() == most_batches) {
      auto ended = co_await under_way.next();
      std::move(*ended).value();
    }
    under_way.spawn(read_on_thread(std::exchange(batch, {})));
  }
  while (!under_way.empty()) {
    auto ended = co_await under_way.next();
    std::move(*ended).value();
  }
  require(files == most, "a walk has not found all files");
}

/// One operation: as above, with 64 files per closure and four closures at a time.
task<void> read_batches(const small_tree& tree, std::uint64_t n) {
  while (n != 0) {
    rota::fs::walk found(tree.root());
    const std::uint64_t files = std::min<std::uint64_t>(n, file_load::small_files);
    co_await read_found(found, files);
    n -= files;
  }
}

template <loop_on<small_tree> Work>
void in_tree(const job& what) {
  const small_tree tree;
  on_worker(Work, tree, what, nothing_to_check);
}

/// One operation: a MiB of a copy by file names.
task<void> copy_by_name(const large_file& large, std::uint64_t n) {
  for (std::uint64_t pass = large.passes_of(n); pass != 0; --pass) {
    const std::uint64_t copied = value(co_await rota::fs::copy(large.path(), large.target_of(n)));
    require(copied == large.bytes(), "a copy is shorter than its file");
  }
}

/// One operation: a MiB of a copy from one open file to another.
task<void> copy_open(const large_file& large, std::uint64_t n) {
  for (std::uint64_t pass = large.passes_of(n); pass != 0; --pass) {
    file from = value(co_await file::open(large.path()));
    file to = value(co_await file::create(large.target_of(n)));
    const std::uint64_t copied = value(co_await rota::io::copy(from, to));
    require(copied == large.bytes(), "a copy is shorter than its file");
  }
}

template <loop_on<large_file> Work>
void copies(const job& what) {
  const large_file large(what);
  on_worker(Work, large, large.job(), [&] { large.check_copy(); });
}

constexpr bench::one_case cases[] = {
    {"seq_read", "ns", 2048, 128, seq_read},
    {"seq_write", "ns", 2048, 128, seq_write},
    {"random_read_1", "ns", 100'000, 20'000, random_read<1>},
    {"random_read_32", "ns", 100'000, 20'000, random_read<32>},
    {"random_write_1", "ns", 100'000, 20'000, random_write<1>},
    {"random_write_32", "ns", 100'000, 20'000, random_write<32>},
    {"small_files", "ns", 20'000, 4000, in_tree<read_small>},
    {"tree_files", "ns", 20'000, 4000, in_tree<read_tree>},
    {"tree_batches", "ns", 20'000, 4000, in_tree<read_batches>},
    {"copy_file", "ns", 2048, 128, copies<copy_by_name>},
    {"copy_stream", "ns", 2048, 128, copies<copy_open>},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject_of_backend(argc, argv, cases); }
