#include "testing/trace.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace rota::testing::detail {

namespace {

constexpr std::size_t longest = 500;  // lines of a trace that are all printed
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

std::string number(std::uint64_t value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(),
                      text.size(),
                      value < 10'000'000 ? "%llu" : "0x%llx",
                      static_cast<unsigned long long>(value));
  return text.data();
}

void pad(std::string& line, std::size_t width) {
  line.append(line.size() < width ? width - line.size() : 1, ' ');
}

std::string name_in(const std::vector<const void*>& addresses, const void* address) {
  const auto found = std::find(addresses.begin(), addresses.end(), address);
  return "word " + std::to_string(found - addresses.begin() + 1);
}

std::string details(const event& e, const std::vector<const void*>& addresses) {
  const auto& [name, what, has_order] = describe(e.kind);
  std::string text = name;
  if (what == shape::number) return text + ' ' + number(e.before);
  if (what == shape::bare) return text;
  text += ' ' + name_in(addresses, e.address);
  if (what == shape::value) text += ": " + number(e.before);
  if (what == shape::change) text += ": " + number(e.before) + " -> " + number(e.after);
  if (has_order) text += std::string(", ") + name_of(e.memory_order);
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

std::vector<const void*> trace::addresses() const {
  std::vector<const void*> all;
  for (const event& e : events_) {
    if (e.address != nullptr && std::find(all.begin(), all.end(), e.address) == all.end())
      all.push_back(e.address);
  }
  return all;
}

std::string trace::name_of(const void* address) const { return name_in(addresses(), address); }

std::string trace::line(std::size_t index,
                        const std::vector<std::string>& fibre_names,
                        const std::vector<const void*>& addresses) const {
  const event& e = events_[index];
  std::string line = std::to_string(index + 1);
  line.insert(0, line.size() < 5 ? 5 - line.size() : 0, ' ');
  line += "  " + fibre_names[e.fibre];
  pad(line, 20);
  line += to_string(e.where);
  pad(line, 52);
  return line + details(e, addresses) + '\n';
}

std::string trace::print(const std::vector<std::string>& fibre_names) const {
  const auto names = addresses();
  std::string text;
  const bool cut = events_.size() > longest;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (cut && i == shown_first) {
      i = events_.size() - shown_last;
      text += "       .. " + std::to_string(i - shown_first) + " steps\n";
    }
    text += line(i, fibre_names, names);
  }
  return text;
}

}  // namespace rota::testing::detail
