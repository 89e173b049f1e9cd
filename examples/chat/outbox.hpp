// Lines on their way to a client: a bounded mailbox whose handler writes to its socket.
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

/// Made once, with its line feed, however many get it.
using shared_line = std::shared_ptr<const std::string>;
[[nodiscard]] inline shared_line make_line(std::string text) {
  return std::make_shared<const std::string>(std::move(text) + '\n');
}

/// How others reach a client. They may keep it longer than the client is there: then nothing happens.
class contact {
 public:
  contact(rota::gate::address<shared_line> to, std::shared_ptr<peer> who) noexcept
      : to_(std::move(to)), who_(std::move(who)) {}

  /// Never waits. With room for no more, the outbox drops its oldest line, or the client goes.
  void send(const shared_line& text) const {
    if (to_.send(text) == rota::gate::send_status::full) who_->cut(ending::too_slow);
  }

 private:
  rota::gate::address<shared_line> to_;
  std::shared_ptr<peer> who_;
};

/// Stays where it is: its handler refers to it.
class outbox {
 public:
  outbox(rota::gate::executor& on, std::shared_ptr<peer> to, const options& o);
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;
  ~outbox() = default;

  [[nodiscard]] contact whom() const { return {box_.address(), to_}; }
  /// What is in it is written, and nothing more comes in. If that takes too long the client is cut off.
  [[nodiscard]] rota::task<void> finish(std::chrono::milliseconds limit);
  /// So far.
  [[nodiscard]] std::uint64_t dropped() const { return box_.stats().dropped; }

 private:
  rota::task<void> write(shared_line text);

  std::shared_ptr<peer> to_;
  std::chrono::milliseconds patience_;
  std::uint64_t told_ = 0;  // of those that were dropped
  rota::gate::mailbox<shared_line> box_;
};

}  // namespace chat
