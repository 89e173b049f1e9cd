#include "tree_hash/report.hpp"

#include "tree_hash/lines.hpp"

namespace tree_hash {

void report::add(const entry& e) {
  switch (e.what) {
    case kind::begin: return begin(e);
    case kind::end: return end();
    case kind::file: return add_file(e);
    case kind::link: return add_child("link", to_hex(e.sum), e.name);
    case kind::fifo: return skip(e, "fifo");
    case kind::socket: return skip(e, "socket");
    case kind::device: return skip(e, "device");
    case kind::failure: return fail(e);
  }
}

std::string report::path_of(std::string_view name) const {
  std::string path = path_;
  if (!name.empty() && !path.ends_with('/')) path += '/';
  return path += name;
}

void report::begin(const entry& e) {
  folder next;
  next.parent_length = path_.size();
  if (!folders_.empty()) {
    if (!path_.ends_with('/')) path_ += '/';
    next.name_at = path_.size();
    path_ += e.name;
  }
  folders_.push_back(std::move(next));
}

void report::end() {
  folder last = std::move(folders_.back());
  folders_.pop_back();
  const bool is_whole = last.is == content::whole;
  const digest sum = last.sum.finish();
  if (is_whole) {
    print_folder(sum);
  } else if (folders_.empty()) {
    complain(path_, "no digest of the directory, since something in it could not be read");
  }
  if (folders_.empty()) return;
  const std::string name = path_.substr(last.name_at);
  path_.resize(last.parent_length);
  if (is_whole) {
    add_child("directory", to_hex(sum), name);
  } else {
    folders_.back().is = content::incomplete;
  }
}

void report::add_file(const entry& e) {
  if (e.error) return fail(e);
  texts_.out += digest_line(e.sum, path_of(e.name));
  add_child("file", to_hex(e.sum), e.name);
}

void report::add_child(std::string_view type, std::string_view hex, std::string_view name) {
  std::string line(type);
  ((line += ' ') += hex) += ' ';
  (line += name) += '\0';
  folders_.back().sum.add(line);
}

void report::skip(const entry& e, const char* type) {
  complain(path_of(e.name), std::string("skipped: a ") + type);
  add_child(type, "-", e.name);
}

void report::fail(const entry& e) {
  ++failures_;
  folders_.back().is = content::incomplete;
  complain(path_of(e.name), e.error.message());
}

void report::complain(std::string_view path, std::string_view what) {
  ((texts_.errors += "tree_hash: ") += printable(path)) += ": ";
  (texts_.errors += what) += '\n';
}

void report::print_folder(const digest& sum) {
  const bool is_root = folders_.empty();
  if (shown_ == directories::none || (shown_ == directories::root && !is_root)) return;
  (texts_.out += "# directory ") += digest_line(sum, path_);
}

}  // namespace tree_hash
