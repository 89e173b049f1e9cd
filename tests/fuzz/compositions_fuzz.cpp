// Random trees of constructs (composition_tree.hpp) on real threads, checked against the law of one cause. A
// tree may run differently each time: tests/stress/compositions.cpp repeats it from a seed.
#include "fuzz/composition_on_threads.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rota::pool::thread_pool jobs(rota::pool::pool_options{.max_threads = 4});
  const auto tree = compositions::drawing(fuzz::text_of(data, size), compositions::machine::threads).draw(5);
  // Of an input that breaks something, libFuzzer and run_corpus.cpp print the name.
  const std::string again = "build/dev/tests/libfuzzer/libfuzzer_compositions -runs=100 INPUT";
  compositions::run_tree(tree, jobs, again, [](rota::runtime& /*rt*/) { return 0; });
  return 0;
}
