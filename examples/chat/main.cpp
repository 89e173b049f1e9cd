// A chat server with mailboxes: see README.md beside this file.
#include <csignal>
#include <cstdio>
#include <exception>

#include <rota/runtime.hpp>

#include "chat/options.hpp"
#include "chat/server.hpp"

namespace {

rota::task<int> run(chat::server& all) {
  const auto at = co_await all.open();
  if (!at.has_value()) {
    std::fprintf(stderr, "chat: cannot listen: %s\n", at.error().message().c_str());
    co_return 1;
  }
  std::printf("listening on %s\n", at->to_string().c_str());
  co_await all.serve();
  std::printf("stopped: %llu clients came, %llu lines were said, %llu dropped\n",
              static_cast<unsigned long long>(all.sums().clients.load()),
              static_cast<unsigned long long>(all.sums().said.load()),
              static_cast<unsigned long long>(all.sums().dropped.load()));
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = chat::parse_options(argc, argv);
  if (!parsed.has_value()) {
    std::fputs(parsed.error().text.c_str(), parsed.error().exit_code == 0 ? stdout : stderr);
    return parsed.error().exit_code;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGPIPE, SIG_IGN);  // standard output may be a closed pipe
  try {
    rota::runtime runtime(rota::runtime_options{.workers = parsed->workers});
    chat::server all(runtime, *parsed);
    return runtime.spawn(run(all)).join();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "chat: %s\n", e.what());
    return 1;
  }
}
