// One file and its digest, and files that change meanwhile.
#include "tree_hash/read_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "scratch_tree.hpp"

namespace tree_hash::testing::read_file_test {
namespace {

constexpr const char* sum_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class a_file : public ::testing::Test {
 protected:
  /// Returns the entry that a walk would find, with that size.
  entry found(const char* name, std::uint64_t size) {
    counts_.found(size);
    unique_fd folder(::open(tree_.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return {.what = kind::file,
            .is = state::unread,
            .name = name,
            .size = size,
            .in = std::make_shared<const directory>(std::move(folder), open_)};
  }
  void read(entry& file) { read_file(file, buffer_, counts_); }

  scratch_tree tree_;
  counts counts_;
  open_count open_{0};
  std::array<std::byte, 2> buffer_{};  // smaller than any file
};

TEST_F(a_file, is_read_in_pieces) {
  tree_.write("abc", "abc");
  entry file = found("abc", 3);
  read(file);
  EXPECT_FALSE(file.error);
  EXPECT_EQ(to_hex(file.sum), sum_of_abc);
  EXPECT_EQ(counts_.now(), (tally{1, 1, 3, 3}));
}

TEST_F(a_file, releases_its_directory_after_the_read) {
  tree_.write("abc", "abc");
  entry file = found("abc", 3);
  EXPECT_EQ(open_.load(), 1U);
  read(file);
  EXPECT_EQ(open_.load(), 0U);
}

TEST_F(a_file, may_be_empty) {
  tree_.write("empty", "");
  entry file = found("empty", 0);
  read(file);
  EXPECT_EQ(to_hex(file.sum), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_F(a_file, that_has_shrunk_counts_with_what_was_read) {
  tree_.write("abc", "abc");
  entry file = found("abc", 100);
  read(file);
  EXPECT_EQ(to_hex(file.sum), sum_of_abc);
  EXPECT_EQ(counts_.now(), (tally{1, 1, 3, 3}));
}

TEST_F(a_file, that_has_grown_counts_with_what_was_read) {
  tree_.write("abc", "abc");
  entry file = found("abc", 1);
  read(file);
  EXPECT_EQ(counts_.now(), (tally{1, 1, 3, 3}));
}

TEST_F(a_file, that_has_gone_does_not_count) {
  entry file = found("gone", 3);
  read(file);
  EXPECT_EQ(file.error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(counts_.now(), tally{});
}

TEST_F(a_file, that_became_a_fifo_is_not_waited_for) {
  ASSERT_EQ(::mkfifo(tree_.at("fifo").c_str(), 0600), 0);
  entry file = found("fifo", 3);
  read(file);
  EXPECT_TRUE(file.error);
}

TEST_F(a_file, that_became_a_link_is_not_followed) {
  tree_.write("abc", "abc");
  std::filesystem::create_symlink("abc", tree_.at("link"));
  entry file = found("link", 3);
  read(file);
  EXPECT_EQ(file.error, std::errc::too_many_symbolic_link_levels);
}

}  // namespace
}  // namespace tree_hash::testing::read_file_test
