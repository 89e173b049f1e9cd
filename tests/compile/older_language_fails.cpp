// Another standard than C++23 is refused with a sentence.
// FLAGS: -std=c++20
// EXPECT: rota needs C.*23: compile with -std=c..23
#include <rota/task.hpp>
