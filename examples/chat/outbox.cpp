#include "chat/outbox.hpp"

#include <span>

#include <rota/time.hpp>

namespace chat {

outbox::outbox(rota::gate::executor& on, std::shared_ptr<peer> to, const options& o)
    : to_(std::move(to)),
      patience_(o.write_timeout),
      box_(on.make_mailbox<shared_line>(
          [this](shared_line text) { return write(std::move(text)); },
          {.capacity = o.outbox,
           .on_full = o.slow == slow_policy::drop ? rota::gate::overflow::drop_oldest
                                                  : rota::gate::overflow::reject})) {}

rota::task<void> outbox::write(shared_line text) {
  if (to_->is_cut()) co_return;
  // The dropped lines were older than this one, except for a few that may have been dropped just now.
  const std::uint64_t lost = dropped() - told_;
  told_ += lost;
  std::string both;
  if (lost != 0)
    both = "-- " + std::to_string(lost) + (lost == 1 ? " line" : " lines") + " dropped\n" + *text;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(lost != 0 ? both : *text));
  const rota::net::result<std::size_t> sent =
      co_await rota::timeout(patience_, to_->stream().write_all(bytes));
  if (sent.has_value()) co_return;
  to_->cut(sent.error() == rota::errc::timed_out ? ending::stuck : ending::broken);
}

rota::task<void> outbox::finish(std::chrono::milliseconds limit) {
  box_.close();
  const auto written = co_await rota::timeout(limit, box_.async_join());
  if (!written.has_value()) to_->cut(ending::stuck);
}

}  // namespace chat
