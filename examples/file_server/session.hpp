// One connection: reads requests, sends answers, keeps deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

#include "connections.hpp"
#include "input_buffer.hpp"
#include "request_parser.hpp"
#include "responder.hpp"
#include "server.hpp"
#include "transport.hpp"

namespace file_server {

class session {
 public:
  session(server& s, transport over, connections::place here);

  /// Serves until the client, an error, a deadline or the drain ends it.
  rota::task<void> serve();

  /// After serve(), however that has ended: close_notify, unless an answer was cut. Then the client shall see that something is missing.
  rota::task<void> say_goodbye();

 private:
  enum class next : unsigned char { read_on, close };
  class record;

  rota::task<next> fill();
  rota::task<next> answer_pending();
  rota::task<next> answer_one(const request& r);
  rota::task<next> send(const request& r, answer& a);
  rota::task<next> refuse(parsed why);

  // session_send.cpp
  rota::task<next> send_listing(const request& r, answer& a);
  rota::task<next> send_text(std::string_view text);
  rota::task<next> send_parts(const answer& a);
  rota::task<next> send_part(int file, byte_range part);
  rota::task<next> send_file(int file, byte_range part);
  rota::task<next> copy_file(int file, byte_range part);
  rota::task<next> flush();
  [[nodiscard]] bool read_part(int file, byte_range part);
  [[nodiscard]] bool push_out() noexcept;

  [[nodiscard]] answer make_answer(const request& r);
  [[nodiscard]] std::span<char> room();
  [[nodiscard]] persistence offered() const noexcept;
  void log(std::string_view line, const answer& a) noexcept;

  server& server_;
  transport over_;
  connections::place here_;
  input_buffer in_;
  request_parser parser_;
  responder responder_;
  std::vector<char> out_;
  std::size_t out_used_ = 0;
  bool has_answered_ = false;
  bool is_midway_ = false;    // an answer has begun, and may not have gone whole
  const std::string client_;  // taken at once: that of a client that has reset is not known
  std::chrono::steady_clock::time_point head_until_{};  // of the request that has begun; the epoch: none has
};

/// Files up to this size are read and sent together with their head: one system call to send.
inline constexpr std::size_t inline_size = std::size_t{32} * 1024;

}  // namespace file_server
