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

  /// Sends close_notify, after serve(), however that has ended. Sends none if an answer was cut, so that the
  /// client notices that something is missing.
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
  bool is_midway_ = false;    // an answer has begun, and may not have been sent completely
  const std::string client_;  // read once at the start: the address is unknown after the client has reset
  // deadline of the head that has begun; the epoch: none
  std::chrono::steady_clock::time_point head_until_{};
};

/// Files up to this size are read and sent together with their head, in one system call.
inline constexpr std::size_t inline_size = std::size_t{32} * 1024;

}  // namespace file_server
