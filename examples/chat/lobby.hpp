// Who is here, under which nick, and which rooms there are. An actor's state, too.
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

/// A room is there as long as somebody is in it, or on the way. Who leaves it has said so to the room before.
class lobby {
 public:
  lobby(rota::gate::executor& on, std::size_t most_rooms) : on_(&on), most_rooms_(most_rooms) {}

  /// Returns the nick that it has until it chooses one.
  [[nodiscard]] std::string enter(client_id who, contact to);
  void forget(client_id who);
  renamed rename(client_id who, const std::string& nick);
  /// Out of the room where it is, and into another. Nothing: there are too many.
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
