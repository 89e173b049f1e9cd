#include <rota/fs/walk.hpp>

#include "fs/information.hpp"
#include "fs/tree.hpp"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <deque>
#include <new>

namespace rota::fs {

namespace {

using detail::awaiting_task;
using detail::identity;
using detail::tree;

constexpr std::size_t most_at_a_time = 256;
constexpr std::size_t most_followed = 40;  // as the kernel's, in one path

std::error_code system(int error) noexcept { return {error, std::generic_category()}; }

}  // namespace

/// `found` and `below` are used by one thread at a time: that of the closure, or that of the waiting task.
struct walk::state {
  state(std::string at, walk_options o) : root(std::move(at)), how(o) {}

  /// Finds some more entries. None: the end, or `by` has given up.
  void advance(const awaiting_task& by);
  /// Skips entries below that depth, found already or not.
  void skip_below(std::size_t depth);

  const std::string root;
  const walk_options how;
  std::deque<walk_entry> found;
  std::size_t given = 0;  // the depth of the last returned entry
  bool was_directory = false;

 private:
  // Each of these functions either throws bad_alloc before it has changed anything, and can be called again,
  // or completes.
  void start(const awaiting_task& by);
  void step(const awaiting_task& by);
  /// Returns false if `by` has given up; the entry is then not visited.
  [[nodiscard]] bool visit(const dir_entry& each, const awaiting_task& by);
  /// Records an entry, and enters it if it is a directory. An entered directory is found before its contents.
  /// Returns false as above; the entry is not found then.
  [[nodiscard]] bool find(walk_entry entry,
                          const std::string& name,
                          tree::links links,
                          const awaiting_task& by);
  [[nodiscard]] bool enter(walk_entry& into,
                           const std::string& name,
                           tree::links links,
                           const awaiting_task& by);
  void leave();
  void prune();
  void sort();

  tree place;
  std::string path;                   // of the open directory
  std::vector<std::size_t> lengths;   // lengths of `path` for its ancestors
  std::optional<std::size_t> pruned;  // deeper entries are skipped, by the thread
  bool started = false;
};

void walk::state::advance(const awaiting_task& by) {
  if (!started) start(by);
  if (pruned.has_value()) prune();
  while (place.depth() != 0 && found.size() < most_at_a_time && !by.has_given_up()) step(by);
}

void walk::state::start(const awaiting_task& by) {
  walk_entry entry{.path = root, .depth = 0, .type = file_type::unknown, .inode = 0, .error = {}};
  const result<file_info> info =
      detail::has_zero(root) ? detail::bad_argument() : detail::look_at(AT_FDCWD, root.c_str(), 0);
  if (info.has_value()) {
    entry.type = info->type;
    entry.inode = info->inode;
  } else {
    entry.error = info.error();
  }
  started = find(std::move(entry), root, tree::links::followed, by);
}

void walk::state::step(const awaiting_task& by) {
  if (place.left().empty()) return leave();
  dir_entry each = std::move(place.left().back());
  place.left().pop_back();
  try {
    if (visit(each, by)) return;
  } catch (const std::bad_alloc&) {
    place.left().push_back(std::move(each));  // its old place is still allocated
    throw;
  }
  place.left().push_back(std::move(each));
}

bool walk::state::visit(const dir_entry& each, const awaiting_task& by) {
  walk_entry entry{.path = path + (path.ends_with('/') ? "" : "/") + each.name,
                   .depth = place.depth(),
                   .type = each.type,
                   .inode = each.inode,
                   .error = {}};
  tree::links links = tree::links::refused;
  if (each.type == file_type::symlink && how.follow_links) {
    const result<file_info> target = detail::look_at(place.here(), each.name.c_str(), 0);
    if (target.has_value()) {
      entry.type = target->type;
      entry.inode = target->inode;
      links = tree::links::followed;
      if (target->is_directory() &&
          (place.is_inside({target->device, target->inode}) || place.followed() > most_followed))
        entry.error = system(ELOOP);
    }
  }
  return find(std::move(entry), each.name, links, by);
}

bool walk::state::find(walk_entry entry,
                       const std::string& name,
                       tree::links links,
                       const awaiting_task& by) {
  const bool enters = entry.type == file_type::directory && !entry.error && entry.depth < how.max_depth;
  found.push_back(std::move(entry));
  if (!enters) return true;
  try {
    if (enter(found.back(), name, links, by)) return true;
  } catch (const std::bad_alloc&) {
    found.pop_back();
    throw;
  }
  found.pop_back();
  return false;
}

bool walk::state::enter(walk_entry& into,
                        const std::string& name,
                        tree::links links,
                        const awaiting_task& by) {
  std::string inside = into.path;
  if (lengths.size() == lengths.capacity()) lengths.reserve(2 * lengths.size() + 16);
  const result<void> entered = place.enter(AT_FDCWD, name, links, &by);
  if (!entered.has_value()) {
    if (entered.error() == errc::cancelled) return false;
    into.error = entered.error();
    return true;
  }
  lengths.push_back(path.size());
  path = std::move(inside);
  if (how.stay_on_device && place.which().device != place.root().device) place.left().clear();
  sort();
  return true;
}

void walk::state::leave() {
  // The place for an error is allocated before there is one.
  found.push_back(
      {.path = path, .depth = place.depth() - 1, .type = file_type::directory, .inode = 0, .error = {}});
  path.resize(lengths.back());
  lengths.pop_back();
  const result<void> left = place.leave();
  if (left.has_value()) return found.pop_back();
  found.back().error = left.error();
  lengths.clear();
}

/// The last one is the next.
void walk::state::sort() {
  if (!how.sorted) return;
  std::sort(place.left().begin(), place.left().end(), [](const dir_entry& a, const dir_entry& b) {
    return a.name > b.name;
  });
}

void walk::state::skip_below(std::size_t depth) {
  while (!found.empty() && found.front().depth > depth) found.pop_front();
  // If nothing came after it, the walk is still in that directory.
  if (found.empty()) pruned = depth;
}

void walk::state::prune() {
  const std::size_t depth = *pruned;
  while (place.depth() > depth + 1) leave();
  if (place.depth() == depth + 1) place.left().clear();
  pruned.reset();
}

walk::walk(std::string root, walk_options how) : state_(new state(std::move(root), how)) {}
walk::~walk() { delete state_; }

task<std::optional<walk_entry>> walk::next() {
  if (state_ == nullptr) co_return std::nullopt;
  if (state_->found.empty()) {
    const auto more = [this](const awaiting_task& by) -> result<void> {
      state_->advance(by);
      return {};
    };
    const result<void> advanced = co_await detail::on_thread(more);
    if (!advanced.has_value())
      co_return walk_entry{
          .path = state_->root, .depth = 0, .type = {}, .inode = 0, .error = advanced.error()};
  }
  if (state_->found.empty()) co_return std::nullopt;
  std::optional<walk_entry> entry(std::move(state_->found.front()));
  state_->found.pop_front();
  state_->given = entry->depth;
  state_->was_directory = entry->type == file_type::directory;
  co_return entry;
}

void walk::skip() {
  if (state_ == nullptr || !std::exchange(state_->was_directory, false)) return;
  state_->skip_below(state_->given);
}

}  // namespace rota::fs
