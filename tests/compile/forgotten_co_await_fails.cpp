// A condition that forgets the co_await does not compile: a task is no answer.
// EXPECT: (could not convert|not contextually convertible|value of type).*(task|bool)
#include <rota/fs/paths.hpp>
#include <rota/task.hpp>

rota::task<int> size_of_config() {
  if (rota::fs::exists("config")) co_return 1;
  co_return 0;
}
