// Shared by the tests of this folder.
#pragma once

#include "unit/runtime/runtime_support.hpp"

#include <rota/process.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rota::test {

using process::captured;
using process::child;
using process::command;
using process::exit_status;
using process::stdio;

inline command shell(std::string script) { return command::shell(std::move(script)); }

template <class T>
T demand(std::expected<T, std::error_code> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  return std::move(*got);
}

/// Returns the output of a command that must succeed.
inline task<std::string> said_by(command what) {
  auto got = co_await what.output();
  const captured all = demand(std::move(got));
  EXPECT_TRUE(all.status.is_success()) << all.status.to_string() << ": " << all.err;
  co_return all.out;
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Reads a line, without its end, or the rest if the input ends first.
inline task<std::string> line_from(process::pipe_reader& from) {
  std::string line;
  for (;;) {
    std::array<std::byte, 1> one{};
    const auto got = co_await from.read(one);
    if (!got.has_value() || *got == 0 || one[0] == std::byte{'\n'}) co_return line;
    line.push_back(static_cast<char>(one[0]));
  }
}

/// Returns true if the process does not exist, not even as a zombie.
inline bool is_gone(int id) { return ::kill(id, 0) == -1 && errno == ESRCH; }

inline bool has_children() { return ::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0; }

}  // namespace rota::test
