// What is printed: a line for each file, digests of directories from those of their children, and messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree_hash/entry.hpp"
#include "tree_hash/sha256.hpp"

namespace tree_hash {

/// Which digests of directories are printed, as comments: `sha256sum -c` takes no notice of them.
enum class directories : std::uint8_t { none, root, all };

struct texts {
  std::string out;
  std::string errors;
  [[nodiscard]] std::size_t size() const noexcept { return out.size() + errors.size(); }
};

/// Takes what the walk found, in its order and with all digests. It knows the path: entries have names only.
///
/// The digest of a directory is the SHA-256 of "<type> <hex> <name>\0" for each child in the order of the walk. Type is
/// `file`, `link`, `directory`, `fifo`, `socket` or `device`; the last three have "-" for their digest. A directory with a
/// child that failed has none.
class report {
 public:
  report(std::string root, directories shown) : path_(std::move(root)), shown_(shown) {}

  void add(const entry& e);

  /// What was not taken yet.
  [[nodiscard]] const texts& pending() const noexcept { return texts_; }
  [[nodiscard]] texts take() { return std::exchange(texts_, {}); }
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

 private:
  enum class content : std::uint8_t { whole, incomplete };
  struct folder {
    sha256 sum{};
    std::size_t parent_length = 0;  // of the path
    std::size_t name_at = 0;
    content is = content::whole;
  };

  [[nodiscard]] std::string path_of(std::string_view name) const;
  void begin(const entry& e);
  void end();
  void add_file(const entry& e);
  void add_child(std::string_view type, std::string_view hex, std::string_view name);
  void skip(const entry& e, const char* type);
  void fail(const entry& e);
  void complain(std::string_view path, std::string_view what);
  void print_folder(const digest& sum);

  std::string path_;
  directories shown_;
  std::vector<folder> folders_;  // from the root to where the walk is
  texts texts_;
  std::uint64_t failures_ = 0;
};

}  // namespace tree_hash
