// An outbox: a bounded mailbox of lines for one client. Its handler writes them to the socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <rota/gate/mailbox.hpp>
#include <rota/task.hpp>

#include "chat/options.hpp"
#include "chat/peer.hpp"

namespace chat {

/// A line with its line feed. It is allocated once and shared by all its receivers.
using shared_line = std::shared_ptr<const std::string>;
[[nodiscard]] inline shared_line make_line(std::string text) {
  return std::make_shared<const std::string>(std::move(text) + '\n');
}

/// Lets other objects reach a client. It may outlive the client: then its functions do nothing.
class contact {
 public:
  contact(rota::gate::address<shared_line> to, std::shared_ptr<peer> who) noexcept
      : to_(std::move(to)), who_(std::move(who)) {}

  /// Never blocks. If the outbox is full, it drops its oldest line, or the client is disconnected, by the
  /// policy.
  void send(const shared_line& text) const {
    if (to_.send(text) == rota::gate::send_status::full) who_->cut(ending::too_slow);
  }

 private:
  rota::gate::address<shared_line> to_;
  std::shared_ptr<peer> who_;
};

/// Must not move: its handler refers to it.
class outbox {
 public:
  outbox(rota::gate::executor& on, std::shared_ptr<peer> to, const options& o);
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;
  ~outbox() = default;

  [[nodiscard]] contact whom() const { return {box_.address(), to_}; }
  /// Closes the outbox and waits until all queued lines are written. After `limit` the client is cut off.
  [[nodiscard]] rota::task<void> finish(std::chrono::milliseconds limit);
  /// Returns the number of lines that have been dropped so far.
  [[nodiscard]] std::uint64_t dropped() const { return box_.stats().dropped; }

 private:
  rota::task<void> write(shared_line text);

  std::shared_ptr<peer> to_;
  std::chrono::milliseconds patience_;
  std::uint64_t told_ = 0;  // dropped lines that the client has been told of
  rota::gate::mailbox<shared_line> box_;
};

}  // namespace chat
