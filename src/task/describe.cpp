#include "task/describe.hpp"

#include <cstdio>
#include <cstring>

namespace rota::core {

namespace {

const char* state_of(snapshot word) noexcept {
  if (word.has(unwinding)) return "unwinding";
  switch (word.phase()) {
    case lifecycle::idle: return "waiting";
    case lifecycle::scheduled: return "runnable";
    case lifecycle::running: return "running";
    case lifecycle::complete: return "complete";
  }
  return "unknown";
}

}  // namespace

std::string to_string(const std::source_location& where) {
  if (where.line() == 0) return {};
  return std::string(file_of(where)) + ":" + std::to_string(where.line());
}

std::string place_of(const header& task) { return to_string(site_of(task)); }

/// The end of a path that is longer than that says more than its beginning.
constexpr std::size_t longest_path = 240;

place_clause::place_clause(const char* words,
                           const char* file,
                           unsigned line,
                           const char* if_unknown) noexcept {
  if (line == 0) {
    std::snprintf(text_, sizeof text_, "%s", if_unknown);
    return;
  }
  const std::size_t length = std::strlen(file);
  if (length > longest_path) file += length - longest_path;
  std::snprintf(text_, sizeof text_, "%s%s:%u", words, file, line);
}

void describe(std::string& text, const birth::seen& task) {
  text += "  task " + std::to_string(task.id);
  text += task.has_begun ? ": running" : ": queued, never ran";
  if (const std::string where = to_string(task.site); !where.empty() && !is_in_library(task.site))
    text += ", spawned at " + where;
  text += '\n';
}

void describe(std::string& text, const header& task) {
  const snapshot word = task.word.load();
  text += "  task " + std::to_string(task.id);
  if (const char* const name = task.label.name()) text += std::string(" '") + name + "'";
  text += ": ";
  text += state_of(word);
  // relaxed: only for a report.
  const char* const waits_for = task.waits_for.load(base::order::relaxed);
  if (word.is(lifecycle::idle) && waits_for != nullptr) text += std::string(" for ") + waits_for;
  if (const std::string where = to_string(spawn_site_of(task)); !where.empty())
    text += ", spawned at " + where;
  if (const std::string where = place_of(task); !where.empty()) text += ", awaits at " + where;
  if (word.has(cancelled)) text += ", cancelled";
  if (word.shields() != 0) text += ", " + std::to_string(word.shields()) + " shields";
  if (task.parent_id != 0) text += ", spawned by " + std::to_string(task.parent_id);
  text += '\n';
}

}  // namespace rota::core
