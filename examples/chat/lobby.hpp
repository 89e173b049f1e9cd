// The state of the lobby actor: the clients, their nicks, and the rooms.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <rota/gate/actor.hpp>

#include "chat/room.hpp"

namespace chat {

using room_ref = rota::gate::actor_ref<room>;

enum class [[nodiscard]] renamed : unsigned char { done, taken };

/// A room exists while it has a member or a client that is about to join. A client tells the room that it
/// leaves before it tells the lobby.
class lobby {
 public:
  lobby(rota::gate::executor& on, std::size_t most_rooms) : on_(&on), most_rooms_(most_rooms) {}

  /// Registers a client and returns its first nick, such as "guest1".
  [[nodiscard]] std::string enter(client_id who, contact to);
  void forget(client_id who);
  renamed rename(client_id who, const std::string& nick);
  /// Moves the client out of its room and into the named one, which is created if needed. Returns nullopt if
  /// there are too many rooms.
  [[nodiscard]] std::optional<room_ref> go_to(client_id who, const std::string& name);
  void leave_room(client_id who);
  void tell_all(const shared_line& text) const;
  [[nodiscard]] std::size_t rooms() const noexcept { return rooms_.size(); }

 private:
  struct place {
    rota::gate::actor<room> self;
    std::size_t count = 0;
  };
  using places = std::map<std::string, place>;  // by their folded names
  struct client {
    std::string nick;  // folded
    contact to;
    places::iterator where;
  };

  void leave_room(client& who);

  rota::gate::executor* on_;
  std::size_t most_rooms_;
  std::set<std::string> nicks_;  // folded
  std::uint64_t guests_ = 0;
  places rooms_;
  std::map<client_id, client> clients_;
};

}  // namespace chat
