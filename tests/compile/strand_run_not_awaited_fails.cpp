// Without co_await it does not run.
// EXPECT: (ignoring return value|nodiscard)
#include <rota/sync/strand.hpp>

void forgets(rota::sync::strand& line) {
  line.run([] {});
}
