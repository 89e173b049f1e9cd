#include "testing/trace.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <string_view>
#include <unordered_map>

namespace rota::testing::detail {

namespace {

constexpr std::size_t longest = 500;  // a trace of at most so many lines is printed whole
constexpr std::size_t shown_first = 120;
constexpr std::size_t shown_last = 280;

enum class shape : std::uint8_t { bare, address, value, change, number };

struct description {
  const char* name;
  shape what;
  bool has_order;
};

constexpr std::array descriptions{
    description{"load", shape::value, true},
    description{"load (stale)", shape::value, true},
    description{"load (own store)", shape::value, true},
    description{"store", shape::change, true},
    description{"store (buffered)", shape::value, true},
    description{"-- store arrives", shape::change, true},
    description{"exchange", shape::change, true},
    description{"fetch_add", shape::change, true},
    description{"fetch_or", shape::change, true},
    description{"fetch_and", shape::change, true},
    description{"compare_exchange", shape::change, true},
    description{"compare_exchange: differs", shape::value, true},
    description{"compare_exchange_weak: spurious failure", shape::value, true},
    description{"get", shape::value, false},
    description{"set", shape::value, false},
    description{"reads plain memory", shape::address, false},
    description{"writes plain memory", shape::address, false},
    description{"cpu_relax", shape::bare, false},
    description{"barrier_heavy", shape::bare, false},
    description{"lock", shape::address, false},
    description{"lock: waits", shape::address, false},
    description{"try_lock: held", shape::address, false},
    description{"unlock", shape::address, false},
    description{"futex_wait: sleeps", shape::value, false},
    description{"futex_wait: changed", shape::value, false},
    description{"futex_wait: spurious return", shape::address, false},
    description{"futex_wait: woken", shape::address, false},
    description{"futex_wait: timed out", shape::address, false},
    description{"futex_wake", shape::value, false},
    description{"thread::start", shape::number, false},
    description{"thread::start: EAGAIN", shape::bare, false},
    description{"thread::join", shape::number, false},
    description{"ends", shape::bare, false},
    description{"-- is preempted --", shape::bare, false},
    description{"-- the clock moves to, ns:", shape::number, false},
    description{"allocates", shape::address, false},
    description{"frees", shape::address, false},
    description{"destroys", shape::address, false},
};
static_assert(descriptions.size() == static_cast<std::size_t>(event_kind::end_of_life) + 1);

const description& describe(event_kind kind) noexcept { return descriptions[static_cast<std::size_t>(kind)]; }

const char* name_of(base::order o) noexcept {
  switch (o) {
    case base::order::relaxed: return "relaxed";
    case base::order::acquire: return "acquire";
    case base::order::release: return "release";
    case base::order::acq_rel: return "acq_rel";
    case base::order::seq_cst: return "seq_cst";
  }
  return "?";
}

void pad(std::string& line, std::size_t width) {
  line.append(line.size() < width ? width - line.size() : 1, ' ');
}

/// Names for addresses, in the order of their appearance: addresses of words, and values that look like
/// addresses.
class names {
 public:
  explicit names(const std::vector<event>& events) {
    for (const event& e : events) {
      if (e.address != nullptr)
        words_.try_emplace(std::bit_cast<std::uintptr_t>(e.address), words_.size() + 1);
    }
  }

  [[nodiscard]] std::string of(const void* address) const {
    const auto found = words_.find(std::bit_cast<std::uintptr_t>(address));
    return "word " + std::to_string(found == words_.end() ? words_.size() + 1 : found->second);
  }

  [[nodiscard]] std::string of(std::uint64_t value) {
    if (value >= lowest_address && value < highest_address) return of_address(value);
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(),
                        text.size(),
                        value < 10'000'000 ? "%llu" : "0x%llx",
                        static_cast<unsigned long long>(value));
    return text.data();
  }

 private:
  // The address ranges in which Linux places a program, its heap and its stacks. On aarch64 their width
  // depends on the kernel.
#if defined(__aarch64__)
  static constexpr std::uint64_t lowest_address = 0x55'0000'0000;
  static constexpr std::uint64_t highest_address = 0x1'0000'0000'0000;
#else
  static constexpr std::uint64_t lowest_address = 0x5000'0000'0000;
  static constexpr std::uint64_t highest_address = 0x8000'0000'0000;
#endif

  [[nodiscard]] std::string of_address(std::uint64_t value) {
    const auto found = words_.find(value);
    if (found != words_.end()) return "&word " + std::to_string(found->second);
    const auto [entry, is_new] = others_.try_emplace(value, others_.size() + 1);
    return '@' + std::to_string(entry->second);
  }

  std::unordered_map<std::uintptr_t, std::size_t> words_;
  std::unordered_map<std::uint64_t, std::size_t> others_;
};

std::string details(const event& e, names& known) {
  const auto& [name, what, has_order] = describe(e.kind);
  std::string text = name;
  if (what == shape::number) return text + ' ' + known.of(e.before);
  if (what == shape::bare) return text;
  text += ' ' + known.of(e.address);
  if (what == shape::value) text += ": " + known.of(e.before);
  if (what == shape::change) text += ": " + known.of(e.before) + " -> " + known.of(e.after);
  if (has_order) text += std::string(", ") + name_of(e.memory_order);
  return text;
}

/// The source folder of rota's modules, as this compiler names it.
std::string_view rooms() noexcept {
  constexpr std::string_view own = "testing/trace.cpp";
  std::string_view here = place::current().file_name();
  here.remove_suffix(here.ends_with(own) ? own.size() : 0);
  return here;
}

bool is_of_rota(place where) noexcept {
  const std::string_view file = where.file_name();
  return file.empty() || file.starts_with(rooms()) || file.find("include/rota/") != std::string_view::npos;
}

bool concerns_everybody(event_kind kind) noexcept {
  return kind == event_kind::preempted || kind == event_kind::clock_advance ||
         kind == event_kind::thread_end || kind == event_kind::thread_start_failed;
}

std::string begin_line(std::size_t index, const std::string& fibre) {
  std::string line = std::to_string(index + 1);
  line.insert(0, line.size() < 5 ? 5 - line.size() : 0, ' ');
  line += "  " + fibre;
  pad(line, 22);
  return line;
}

/// Joins lines of text; omits the middle if there are many.
std::string join(const std::vector<std::string>& lines) {
  std::string text;
  const bool cut = lines.size() > longest;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (cut && i == shown_first) {
      i = lines.size() - shown_last;
      text += "       .. " + std::to_string(i - shown_first) + " lines\n";
    }
    text += lines[i] + '\n';
  }
  return text;
}

}  // namespace

const char* name_of(event_kind kind) noexcept { return describe(kind).name; }

std::string to_string(place where) {
  std::string_view file = where.file_name();
  if (file.empty()) return {};
  const auto slash = file.rfind('/');
  const auto before = slash == std::string_view::npos || slash == 0 ? slash : file.rfind('/', slash - 1);
  if (before != std::string_view::npos) file.remove_prefix(before + 1);
  return std::string(file) + ':' + std::to_string(where.line());
}

std::string trace::name_of(const void* address) const { return names(events_).of(address); }

std::string trace::print(const std::vector<std::string>& fibre_names, view v) const {
  names known(events_);
  std::vector<std::string> lines;
  std::vector<std::uint64_t> task_of(fibre_names.size());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const event& e = events_[i];
    if (e.task != task_of[e.fibre]) {
      task_of[e.fibre] = e.task;
      const std::string what = e.task == 0 ? "-- no task" : "-- task " + std::to_string(e.task);
      if (v == view::program) lines.push_back(begin_line(i, fibre_names[e.fibre]) + what);
    }
    if (v == view::program && is_of_rota(e.where) && !concerns_everybody(e.kind)) continue;
    std::string line = begin_line(i, fibre_names[e.fibre]) + to_string(e.where);
    pad(line, 54);
    lines.push_back(line + details(e, known));
  }
  return join(lines);
}

}  // namespace rota::testing::detail
