#include "testing/fibre.hpp"

#include <algorithm>
#include <cstring>

namespace rota::testing::detail {

void fibre::reset(const char* its_name, bool is_daemon) noexcept {
  const std::size_t length = its_name == nullptr ? 0 : std::min(std::strlen(its_name), name.size() - 1);
  std::copy_n(its_name, length, name.data());
  name[length] = '\0';
  job.abandon();
  clock = {};
  locals = {};
  exceptions = {};
  where = {};
  task_seen = nullptr;
  task_id = 0;
  why = waiting::start;
  wants = nullptr;
  deadline = base::never;
  timed_out = false;
  daemon = is_daemon;
  chosen = true;
  behind = 0;
  last_yield = 0;
  last_run = 0;
  ready_since = 0;
  watches = false;
  vain_looks = 0;
  progress_seen = 0;
}

std::string full_name(const fibre& f, unsigned index) {
  if (index == 0) return "main";
  const std::string number = 'T' + std::to_string(index);
  return f.name[0] == '\0' ? number : number + ' ' + f.name.data();
}

}  // namespace rota::testing::detail
