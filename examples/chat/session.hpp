// The session of one client, from its first line to its last.
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

/// Sums over all clients that are gone.
struct totals {
  std::atomic<std::uint64_t> clients{0};
  std::atomic<std::uint64_t> said{0};
  std::atomic<std::uint64_t> dropped{0};
};

/// References that all sessions share.
struct surroundings {
  const options& settings;
  rota::gate::executor& executor;
  rota::gate::actor_ref<lobby> hall;
  totals& sums;
};

/// Sends the lobby and its room one request at a time and waits for the reply. So no request of a client is
/// pending when the client leaves, and the queue of a room is never longer than its number of clients.
class session {
 public:
  session(surroundings all, rota::net::tcp_stream stream, client_id id);

  /// Serves the client. If it is cancelled, it first writes what is in the outbox, within a time limit.
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
