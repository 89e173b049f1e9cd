// Formats the output: a line for each file, digests of directories from those of their children, and
// messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree_hash/entry.hpp"
#include "tree_hash/sha256.hpp"

namespace tree_hash {

/// Which digests of directories are printed, as comments, which `sha256sum -c` ignores.
enum class directories : std::uint8_t { none, root, all };

struct texts {
  std::string out;
  std::string errors;
  [[nodiscard]] std::size_t size() const noexcept { return out.size() + errors.size(); }
};

/// Takes the entries of the walk, in order and with all digests. It tracks the path, because entries have
/// only names.
///
/// The digest of a directory is the SHA-256 of "<type> <hex> <name>\0" for each child in the order of the
/// walk. Type is `file`, `link`, `directory`, `fifo`, `socket` or `device`; the last three have "-" as their
/// digest. A directory with a failed child has no digest.
class report {
 public:
  report(std::string root, directories shown) : path_(std::move(root)), shown_(shown) {}

  void add(const entry& e);

  /// Returns the text that has not been taken yet.
  [[nodiscard]] const texts& pending() const noexcept { return texts_; }
  [[nodiscard]] texts take() { return std::exchange(texts_, {}); }
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

 private:
  enum class content : std::uint8_t { whole, incomplete };
  struct folder {
    sha256 sum{};
    std::size_t parent_length = 0;  // length of the parent's path
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
  std::vector<folder> folders_;  // from the root to the current directory of the walk
  texts texts_;
  std::uint64_t failures_ = 0;
};

}  // namespace tree_hash
