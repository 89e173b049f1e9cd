#include "chat/session.hpp"

#include <cstddef>
#include <cstdio>

#include <rota/finally.hpp>
#include <rota/time.hpp>

#include "chat/text.hpp"

namespace chat {
namespace {

/// Limit for draining what the client may still send. Closing the socket with unread bytes would reset the
/// connection, and the last lines could be lost.
constexpr std::chrono::seconds linger_limit{1};
/// Limit for the steps that normally take no time.
constexpr std::chrono::seconds slack{5};

}  // namespace

session::session(surroundings all, rota::net::tcp_stream stream, client_id id)
    : all_(std::move(all)),
      id_(id),
      lines_(all_.settings.max_line),
      peer_(std::make_shared<peer>(std::move(stream))),
      outbox_(all_.executor, peer_, all_.settings) {}

rota::task<void> session::serve() {
  const auto goodbye = [this](const rota::outcome<ending>& end) { return say_goodbye(end); };
  const auto limit = all_.settings.flush_timeout + linger_limit + slack;
  const ending why = co_await rota::finally(talk(), goodbye, limit);
  static_cast<void>(why);
}

rota::task<ending> session::talk() {
  nick_ = co_await all_.hall.ask([&](lobby& hall) { return hall.enter(id_, outbox_.whom()); });
  reply("-- you are " + nick_ + "; " + std::string(usage));
  for (;;) {
    std::string_view text;
    const found what = lines_.next(text);
    if (what == found::too_long) {
      reply("!! a line has at most " + std::to_string(all_.settings.max_line) + " bytes");
      co_return ending::too_long;
    }
    if (what == found::line) {
      const std::string clean = cleaned(text);
      const next after = co_await obey(parse(clean));
      if (after == next::leave || peer_->is_cut()) co_return peer_->why();
      continue;
    }
    const std::span<std::byte> space = lines_.room();
    const rota::net::result<std::size_t> got = co_await peer_->stream().read(space);
    if (peer_->is_cut()) co_return peer_->why();
    if (!got.has_value()) co_return ending::broken;
    if (*got == 0) co_return ending::left;
    lines_.commit(*got);
  }
}

rota::task<session::next> session::obey(command asked) {
  switch (asked.what) {
    case verb::nothing: break;
    case verb::nick: co_await change_nick(asked.argument); break;
    case verb::join: co_await join(asked.argument); break;
    case verb::quit: co_return next::leave;
    case verb::help: reply("-- " + std::string(usage)); break;
    case verb::unknown:
      reply("!! " + std::string(asked.argument) + " is none of " + std::string(usage));
      break;
    case verb::leave:
    case verb::who:
    case verb::say:
      if (!room_.has_value()) {
        reply("!! you are in no room: /join ROOM");
      } else if (asked.what == verb::leave) {
        co_await leave(ending::left);
      } else if (asked.what == verb::who) {
        co_await room_->ask([&](room& here) { here.list(id_); });
      } else {
        co_await room_->ask([&](const room& here) {
          here.say(id_, asked.argument);
          // counted in the room, so that a line that was said counts even if this session is cancelled right
          // then
          ++said_;
        });
      }
  }
  co_return next::go_on;
}

rota::task<void> session::change_nick(std::string_view name) {
  const name_fault fault = check_name(name);
  if (fault != name_fault::none) {
    reply("!! /nick NAME: " + describe(fault));
    co_return;
  }
  const std::string wanted(name);
  const renamed how = co_await all_.hall.ask([&](lobby& hall) { return hall.rename(id_, wanted); });
  if (how == renamed::taken) {
    reply("!! /nick NAME: " + wanted + " is taken");
    co_return;
  }
  nick_ = wanted;
  if (room_.has_value()) {
    co_await room_->ask([&](room& here) { here.rename(id_, nick_); });
  } else {
    reply("-- you are " + nick_);
  }
}

rota::task<void> session::join(std::string_view name) {
  const name_fault fault = check_name(name);
  if (fault != name_fault::none) {
    reply("!! /join ROOM: " + describe(fault));
    co_return;
  }
  co_await leave(ending::left);
  const std::string wanted(name);
  room_ = co_await all_.hall.ask([&](lobby& hall) { return hall.go_to(id_, wanted); });
  if (!room_.has_value()) {
    reply("!! /join ROOM: there are too many rooms");
    co_return;
  }
  co_await room_->ask([&](room& here) { here.join(id_, nick_, outbox_.whom()); });
}

rota::task<void> session::leave(ending why) {
  if (!room_.has_value()) co_return;
  co_await room_->ask([&](room& here) { here.leave(id_, why); });
  room_.reset();
  co_await all_.hall.ask([&](lobby& hall) { hall.leave_room(id_); });
}

rota::task<void> session::say_goodbye(const rota::outcome<ending>& end) {
  ending why = ending::broken;
  if (end.is_cancelled()) why = ending::shutdown;
  if (end.has_value()) why = end.value();
  co_await leave(why);
  co_await all_.hall.ask([&](lobby& hall) { hall.forget(id_); });
  co_await outbox_.finish(all_.settings.flush_timeout);
  if (!peer_->is_cut()) co_await linger();
  const std::uint64_t dropped = outbox_.dropped();
  all_.sums.said += said_;
  all_.sums.dropped += dropped;
  std::printf("%s %s: %llu lines said, %llu dropped\n",
              nick_.c_str(),
              std::string(describe(peer_->is_cut() ? peer_->why() : why)).c_str(),
              static_cast<unsigned long long>(said_),
              static_cast<unsigned long long>(dropped));
}

rota::task<void> session::linger() { static_cast<void>(co_await peer_->stream().finish(linger_limit)); }

}  // namespace chat
