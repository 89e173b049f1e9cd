// Skips every test, with the reason, if ROTA_IO asks for a backend that is not available.
#include <rota/runtime.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace rota::test {
namespace {

class second_pass final : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* const said = std::getenv("ROTA_IO");
    if (said == nullptr || std::string_view(said) != "uring") return;
    const int why = why_not();
    if (why == 0) return;
    const std::string reason = std::error_code(why, std::system_category()).message();
    // GoogleTest would count them as passed; this line tells CTest that they were skipped.
    std::printf("[  SKIPPED ] every test: %s\n", reason.c_str());
    GTEST_SKIP() << reason;
  }

 private:
  /// In a child: the tests find a process in which there was no runtime yet.
  static int why_not() {
    const pid_t child = ::fork();
    if (child == -1) return errno;
    if (child == 0) ::_exit(try_it());
    int status = 0;
    while (::waitpid(child, &status, 0) == -1) {
      if (errno != EINTR) return errno;
    }
    // Any other error is left to the tests.
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }
  static int try_it() {
    runtime_options wanted;
    wanted.workers = 1;
    wanted.backend = io_backend::uring;
    try {
      const runtime tried(wanted);
    } catch (const std::system_error& e) {
      return e.code().value();
    }
    return 0;
  }
};

[[maybe_unused]] const auto* const added = ::testing::AddGlobalTestEnvironment(new second_pass);

}  // namespace
}  // namespace rota::test
