// A client, from its first line to its last.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rota/gate/actor.hpp>
#include <rota/outcome.hpp>
#include <rota/task.hpp>

#include "chat/command.hpp"
#include "chat/line_buffer.hpp"
#include "chat/lobby.hpp"
#include "chat/options.hpp"
#include "chat/outbox.hpp"
#include "chat/peer.hpp"

namespace chat {

/// Sums over all clients that have gone.
struct totals {
  std::atomic<std::uint64_t> clients{0};
  std::atomic<std::uint64_t> said{0};
  std::atomic<std::uint64_t> dropped{0};
};

/// What all sessions share.
struct surroundings {
  const options& settings;
  rota::gate::executor& executor;
  rota::gate::actor_ref<lobby> hall;
  totals& sums;
};

/// Asks the lobby and its room for one thing at a time and waits until that is done. So nothing that it asked for is under way when it
/// leaves, and a room's queue is never longer than its clients are many, however fast one of them talks.
class session {
 public:
  session(surroundings all, rota::net::tcp_stream stream, client_id id);

  /// Cancelled, it says goodbye: what is in its outbox is written first, for as long as that may take.
  [[nodiscard]] rota::task<void> serve();

 private:
  enum class [[nodiscard]] next : unsigned char { go_on, leave };

  rota::task<ending> talk();
  rota::task<void> say_goodbye(const rota::outcome<ending>& end);
  rota::task<next> obey(command asked);
  rota::task<void> change_nick(std::string_view name);
  rota::task<void> join(std::string_view name);
  rota::task<void> leave(ending why);
  rota::task<void> linger();
  void reply(std::string text) const { outbox_.whom().send(make_line(std::move(text))); }

  surroundings all_;
  client_id id_;
  std::string nick_;
  std::optional<room_ref> room_;
  std::uint64_t said_ = 0;
  line_buffer lines_;
  std::shared_ptr<peer> peer_;
  outbox outbox_;
};

}  // namespace chat
