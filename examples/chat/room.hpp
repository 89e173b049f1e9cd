// The state of a room actor: its members. Only one function at a time accesses it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "chat/outbox.hpp"

namespace chat {

/// Identifies a client. An id is never used twice.
using client_id = std::uint64_t;

/// All functions do nothing for a client that is not in the room.
class room {
 public:
  explicit room(std::string name) : name_(std::move(name)) {}

  void join(client_id who, std::string nick, contact to);
  /// Tells the other members, except when the server shuts down.
  void leave(client_id who, ending why);
  void rename(client_id who, std::string nick);
  /// Sends the line to all members, also to the speaker. All members get the same lines in the same order.
  void say(client_id who, std::string_view text) const;
  /// Sends the list of members to this client.
  void list(client_id who) const;

 private:
  struct member {
    std::string nick;
    contact to;
  };

  void tell_all(std::string text) const;

  std::string name_;
  std::map<client_id, member> members_;
};

}  // namespace chat
