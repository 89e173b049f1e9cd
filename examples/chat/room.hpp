// A room: who is in it. An actor's state, so only one at a time touches it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "chat/outbox.hpp"

namespace chat {

/// Never used twice.
using client_id = std::uint64_t;

/// Of one who is not in it, all do nothing.
class room {
 public:
  explicit room(std::string name) : name_(std::move(name)) {}

  void join(client_id who, std::string nick, contact to);
  /// Nobody hears of it if the server is ending.
  void leave(client_id who, ending why);
  void rename(client_id who, std::string nick);
  /// Everybody gets the same lines in the same order; so the speaker hears itself.
  void say(client_id who, std::string_view text) const;
  /// Tells `who` who is here.
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
