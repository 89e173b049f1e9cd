#include "chat/lobby.hpp"

#include "chat/text.hpp"

namespace chat {

std::string lobby::enter(client_id who, contact to) {
  std::string nick;
  // Terminates: there are fewer clients than numbers.
  do {
    nick = "guest" + std::to_string(++guests_);
  } while (!nicks_.insert(nick).second);
  clients_.try_emplace(who, nick, std::move(to), rooms_.end());
  return nick;
}

void lobby::forget(client_id who) {
  const auto found = clients_.find(who);
  if (found == clients_.end()) return;
  leave_room(found->second);
  nicks_.erase(found->second.nick);
  clients_.erase(found);
}

renamed lobby::rename(client_id who, const std::string& nick) {
  client& it = clients_.at(who);
  std::string wanted = folded(nick);
  if (wanted == it.nick) return renamed::done;
  if (!nicks_.insert(wanted).second) return renamed::taken;
  nicks_.erase(it.nick);
  it.nick = std::move(wanted);
  return renamed::done;
}

std::optional<room_ref> lobby::go_to(client_id who, const std::string& name) {
  client& it = clients_.at(who);
  leave_room(it);
  const std::string key = folded(name);
  auto found = rooms_.find(key);
  if (found == rooms_.end()) {
    if (rooms_.size() >= most_rooms_) return std::nullopt;
    place made{rota::gate::actor<room>(*on_, [name] { return room(name); })};
    found = rooms_.try_emplace(key, std::move(made)).first;
  }
  it.where = found;
  ++found->second.count;
  return found->second.self.ref();
}

void lobby::leave_room(client_id who) {
  const auto found = clients_.find(who);
  if (found != clients_.end()) leave_room(found->second);
}

/// When the last member leaves, the mailbox of the room is empty, because each member has waited for the
/// reply to each of its messages.
void lobby::leave_room(client& who) {
  if (who.where == rooms_.end()) return;
  if (--who.where->second.count == 0) rooms_.erase(who.where);
  who.where = rooms_.end();
}

void lobby::tell_all(const shared_line& text) const {
  for (const auto& [id, each] : clients_) each.to.send(text);
}

}  // namespace chat
