// What the walk finds, in which order, and with how many descriptors.
#include "tree_hash/walk.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <rota/runtime.hpp>
#include <rota/this_task.hpp>

#include "scratch_tree.hpp"
#include "tree_hash/descriptors.hpp"

namespace tree_hash::testing::walk_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const entry& e) {
  switch (e.what) {
    case kind::begin: return "(" + e.name + " ";
    case kind::end: return ") ";
    case kind::file: return e.name + " ";
    case kind::link: return e.name + "@ ";
    case kind::fifo: return e.name + "| ";
    case kind::socket: return e.name + "= ";
    case kind::device: return e.name + "% ";
    case kind::failure: return e.name + "! ";
  }
  return "?";
}

/// Walks one entry after the other and drops each file at once.
std::string walked(const std::string& root, unsigned directories = 16, std::size_t most = 1) {
  counts found;
  walk w(root, directories, found);
  std::string text;
  while (!w.is_over()) {
    for (const entry& e : w.next(most)) text += text_of(e);
  }
  return text;
}

TEST(a_walk, goes_in_the_order_of_sorted_paths) {
  const scratch_tree tree;
  for (const char* name : {"b", "a/x", "a/b/y", "a.txt", "a-b/z", "a0", "B"}) tree.write(name, "");
  fs::create_directory(tree.at("empty"));
  const std::string expected = "( B (a-b z ) a.txt (a (b y ) x ) a0 b (empty ) ) ";
  EXPECT_EQ(walked(tree.root()), expected);
  EXPECT_EQ(walked(tree.root(), 16, 1'000), expected);
}

TEST(a_walk, follows_no_link_and_opens_nothing_special) {
  const scratch_tree tree;
  tree.write("inside/file", "");
  fs::create_symlink("inside", tree.at("link"));
  fs::create_symlink("nowhere", tree.at("broken"));
  ASSERT_EQ(::mkfifo(tree.at("fifo").c_str(), 0600), 0);
  const unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  tree.at("sock").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(walked(tree.root()), "( broken@ fifo| (inside file ) link@ sock= ) ");
}

TEST(a_walk, follows_a_link_at_its_root) {
  const scratch_tree tree;
  tree.write("inside/file", "");
  fs::create_symlink("inside", tree.at("link"));
  EXPECT_EQ(walked(tree.at("link")), "( file ) ");
}

TEST(a_walk, hashes_the_target_of_a_link) {
  const scratch_tree tree;
  fs::create_symlink("abc", tree.at("link"));
  counts found;
  walk w(tree.root(), 16, found);
  const auto entries = w.next(10);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(to_hex(entries[1].sum), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(a_walk, counts_files_and_their_bytes) {
  const scratch_tree tree;
  tree.write("a", "12345");
  tree.write("b/c", "678");
  counts found;
  walk w(tree.root(), 16, found);
  static_cast<void>(w.next(100));
  EXPECT_EQ(found.now(), (tally{.files_found = 2, .bytes_found = 8}));
}

TEST(a_walk, says_what_it_cannot_read_and_goes_on) {
  const scratch_tree tree;
  tree.write("a/x", "");
  tree.write("b", "");
  fs::permissions(tree.at("a"), fs::perms::none);
  {
    const unprivileged user;
    EXPECT_EQ(walked(tree.root()), "( a! b ) ");
  }
  fs::permissions(tree.at("a"), fs::perms::owner_all);
}

rota::task<std::size_t> walk_once_cancelled(walk& w, std::atomic<bool>& has_begun) {
  has_begun = true;
  while (!rota::this_task::cancel_requested()) std::this_thread::yield();
  co_return w.next(100).size();
}

TEST(a_walk, stops_when_its_task_is_cancelled) {
  const scratch_tree tree;
  for (int i = 0; i < 50; ++i) tree.write("f" + std::to_string(i), "");
  counts found;
  walk w(tree.root(), 16, found);
  rota::runtime runtime(rota::runtime_options{.workers = 1});
  std::atomic<bool> has_begun{false};
  auto walker = runtime.spawn(walk_once_cancelled(w, has_begun));
  while (!has_begun) std::this_thread::yield();
  walker.cancel();
  EXPECT_EQ(walker.join(), 1U);  // the begin of the root, which was found before
  EXPECT_EQ(found.now(), tally{});
}

TEST(a_walk, throws_for_a_root_that_is_no_directory) {
  const scratch_tree tree;
  tree.write("file", "");
  counts found;
  EXPECT_THROW(walk(tree.at("file"), 16, found), std::system_error);
  EXPECT_THROW(walk(tree.at("nothing"), 16, found), std::system_error);
}

/// A chain of directories, longer than any path may be.
class deep_chain {
 public:
  static constexpr int depth = 500;

  explicit deep_chain(const scratch_tree& tree) : top_(::open(tree.root().c_str(), O_PATH | O_CLOEXEC)) {
    unique_fd here(::openat(top_.get(), ".", O_PATH | O_CLOEXEC));
    for (int i = 0; i < depth; ++i) {
      EXPECT_EQ(::mkdirat(here.get(), "directory", 0700), 0);
      for (const char* name : {"a", "z"}) {
        const unique_fd file(::openat(here.get(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        EXPECT_TRUE(file.is_open());
      }
      here = unique_fd(::openat(here.get(), "directory", O_PATH | O_CLOEXEC));
    }
  }

 private:
  unique_fd top_;
};

TEST(a_walk, goes_deeper_than_the_longest_path_with_few_descriptors) {
  const scratch_tree tree;
  const deep_chain chain(tree);
  unsigned most = 0;
  counts found;
  walk w(tree.root(), fewest_directories, found);
  std::string text;
  for (int n = 0; !w.is_over(); ++n) {
    for (const entry& e : w.next(1)) text += text_of(e);
    if (n % 16 == 0) most = std::max(most, open_below(tree.root()));
  }
  EXPECT_EQ(found.now().files_found, 2U * deep_chain::depth);
  EXPECT_EQ(text.find('!'), std::string::npos);
  EXPECT_LE(most, fewest_directories);
}

TEST(a_walk, does_not_leave_its_tree_when_a_directory_is_moved) {
  const scratch_tree tree;
  const scratch_tree elsewhere;
  tree.write("r/1/2/3/4/5/6/7/8/x", "");
  for (const char* name : {"r/1/z", "r/1/2/z", "r/1/2/3/z", "r/1/2/3/4/z"}) tree.write(name, "");
  elsewhere.write("secret", "");
  counts found;
  walk w(tree.at("r"), fewest_directories, found);
  std::string text;
  while (text.find('x') == std::string::npos) {
    for (const entry& e : w.next(1)) text += text_of(e);
  }
  fs::rename(tree.at("r/1/2/3/4"), elsewhere.at("4"));
  while (!w.is_over()) {
    for (const entry& e : w.next(1)) text += text_of(e);
  }
  EXPECT_EQ(text, "( (1 (2 (3 (4 (5 (6 (7 (8 x ) ) ) ) z ) ! ) ! ) ! ) ) ");
}

TEST(a_walk, waits_while_too_many_directories_have_unread_files) {
  const scratch_tree tree;
  for (int i = 0; i < 30; ++i) tree.write("d" + std::to_string(10 + i) + "/file", "");
  counts found;
  walk w(tree.root(), fewest_directories, found);
  std::vector<entry> kept = w.next(1'000);
  EXPECT_FALSE(w.has_room());
  EXPECT_FALSE(w.is_over());
  EXPECT_EQ(found.now().files_found, fewest_directories - 2U);
  kept.clear();
  EXPECT_TRUE(w.has_room());
}

TEST(descriptors, limit_the_number_of_open_directories) {
  EXPECT_EQ(directories_within(1024, 2), 256U);
  EXPECT_EQ(directories_within(64, 2), 38U);
  EXPECT_EQ(directories_within(descriptors_beside + 2 + fewest_directories, 2), fewest_directories);
  EXPECT_EQ(directories_within(descriptors_beside + 1 + fewest_directories, 2), std::nullopt);
  EXPECT_EQ(directories_within(~std::uint64_t{0}, 256), 256U);
}

}  // namespace
}  // namespace tree_hash::testing::walk_test
