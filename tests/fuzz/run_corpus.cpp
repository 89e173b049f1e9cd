// A main() for a fuzz target without libFuzzer: runs every file of the given folders once. Prints the name of
// an input that ends the program.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

std::string current;

void name_input(int number) {
  static_cast<void>(!::write(STDERR_FILENO, current.data(), current.size()));
  std::signal(number, SIG_DFL);
  std::raise(number);
}

int run_file(const std::filesystem::path& name) {
  std::ifstream in(name, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  current = "input: " + name.string() + "\n";
  return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, name_input);
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      if (run_file(entry.path()) != 0) return 1;
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count == 0 ? 1 : 0;
}
