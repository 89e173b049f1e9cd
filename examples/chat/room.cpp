#include "chat/room.hpp"

namespace chat {
namespace {

constexpr std::size_t most_listed = 50;

}  // namespace

void room::tell_all(std::string text) const {
  const shared_line shared = make_line(std::move(text));
  for (const auto& [id, each] : members_) each.to.send(shared);
}

void room::join(client_id who, std::string nick, contact to) {
  std::string text = "-- " + nick + " joined " + name_;
  members_.try_emplace(who, std::move(nick), std::move(to));
  tell_all(std::move(text));
  list(who);
}

void room::leave(client_id who, ending why) {
  const auto found = members_.find(who);
  if (found == members_.end()) return;
  std::string text = "-- " + found->second.nick + " " + std::string(describe(why));
  if (why == ending::left) found->second.to.send(make_line("-- you left " + name_));
  members_.erase(found);
  if (why != ending::shutdown) tell_all(std::move(text));
}

void room::rename(client_id who, std::string nick) {
  const auto found = members_.find(who);
  if (found == members_.end()) return;
  std::string text = "-- " + found->second.nick + " is now " + nick;
  found->second.nick = std::move(nick);
  tell_all(std::move(text));
}

void room::say(client_id who, std::string_view text) const {
  const auto found = members_.find(who);
  if (found != members_.end()) tell_all(found->second.nick + ": " + std::string(text));
}

void room::list(client_id who) const {
  const auto found = members_.find(who);
  if (found == members_.end()) return;
  std::string text = "-- in " + name_ + ":";
  std::size_t count = 0;
  for (const auto& [id, each] : members_) {
    if (count == most_listed) break;
    text += (count++ == 0 ? " " : ", ") + each.nick;
  }
  if (members_.size() > count) text += " and " + std::to_string(members_.size() - count) + " more";
  found->second.to.send(make_line(std::move(text)));
}

}  // namespace chat
