#include <cstring>

#include "subject.hpp"

namespace {

[[noreturn]] void misuse(const char* what, const char* which) {
  std::fprintf(stderr, "%s: %s\n", what, which);
  std::exit(2);
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*end != '\0' || value == 0) misuse("not a number above 0", text);
  return value;
}

peer::job parse(int argc, char** argv, const peer::one_case& chosen) {
  peer::job what{.test_case = chosen.name, .operations = chosen.full};
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--workers") == 0) {
      what.workers = unsigned(number(argv[i + 1]));
    } else if (std::strcmp(argv[i], "--scale") == 0) {
      if (std::strcmp(argv[i + 1], "quick") == 0) what.operations = chosen.quick;
    } else if (std::strcmp(argv[i], "--operations") == 0) {
      what.operations = number(argv[i + 1]);
    } else {
      misuse("unknown option", argv[i]);
    }
  }
  what.warm_up = what.operations / 10;
  return what;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) misuse("usage", "CASE [--workers N] [--scale quick|full], or --list");
  const bool lists = std::strcmp(argv[1], "--list") == 0;
  for (const auto& cases : {peer::task_cases,
                            peer::timer_cases,
                            peer::waiting_cases,
                            peer::pool_cases,
                            peer::echo_cases,
                            peer::tls_cases}) {
    for (const peer::one_case& each : cases) {
      if (lists) {
        std::puts(each.name);
      } else if (std::strcmp(argv[1], each.name) == 0) {
        each.run(parse(argc, argv, each));
        return 0;
      }
    }
  }
  if (!lists) misuse("there is no such case", argv[1]);
}
