#include "process/starter.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace rota::process {

command::command(std::string program) { recipe_.program = std::move(program); }

command command::shell(std::string text) {
  command made("/bin/sh");
  made.arg("-c").arg("--").arg(std::move(text));
  return made;
}

command& command::arg(std::string value) {
  recipe_.arguments.push_back(std::move(value));
  return *this;
}

command& command::args(std::span<const std::string> values) {
  recipe_.arguments.insert(recipe_.arguments.end(), values.begin(), values.end());
  return *this;
}

namespace {

void change(detail::recipe& of, std::string name, std::optional<std::string> value) {
  for (detail::environment_change& each : of.changes) {
    if (each.name != name) continue;
    each.value = std::move(value);
    return;
  }
  of.changes.push_back({std::move(name), std::move(value)});
}

}  // namespace

command& command::env(std::string name, std::string value) {
  change(recipe_, std::move(name), std::move(value));
  return *this;
}

command& command::env_remove(std::string name) {
  change(recipe_, std::move(name), std::nullopt);
  return *this;
}

command& command::env_clear() noexcept {
  recipe_.clears_environment = true;
  return *this;
}

command& command::current_dir(std::string path) {
  recipe_.directory = std::move(path);
  return *this;
}

command& command::in(stdio from) noexcept {
  recipe_.files[0] = from;
  return *this;
}

command& command::out(stdio to) noexcept {
  recipe_.files[1] = to;
  return *this;
}

command& command::err(stdio to) noexcept {
  recipe_.files[2] = to;
  return *this;
}

command& command::merge_err_into_out() noexcept {
  recipe_.merges_errors = true;
  return *this;
}

// A negative number has another meaning for the system, or for a recipe.
command& command::process_group(int group) {
  if (group < 0)
    throw std::invalid_argument("process::command::process_group: group is " + std::to_string(group) +
                                ", and must be 0.." + std::to_string(std::numeric_limits<int>::max()));
  recipe_.group = group;
  return *this;
}

command& command::new_session() noexcept {
  recipe_.leads_session = true;
  return *this;
}

command& command::dropped(on_drop what) noexcept {
  recipe_.dropped = what;
  return *this;
}

// None of them is a coroutine: the command may be destroyed before the task begins.
task<result<child>> command::spawn() const { return detail::spawn(recipe_); }
task<result<exit_status>> command::run() const { return detail::run(recipe_); }
task<result<captured>> command::output(output_options how) const { return detail::output(recipe_, how); }

}  // namespace rota::process
