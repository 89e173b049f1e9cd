// The operations on one datagram, or on a batch of them.
#include <rota/detail/net_datagram.hpp>

#include "net/socket.hpp"

#include <rota/error.hpp>
#include <rota/net/udp_socket.hpp>
#include <rota/net/unix_endpoint.hpp>

#include <algorithm>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

/// The most datagrams of a batch.
constexpr std::size_t most_datagrams = 64;

iovec part_of(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// The arguments of the system calls for several datagrams.
struct batch {
  mmsghdr messages[most_datagrams];
  iovec parts[most_datagrams];
  sockaddr_storage addresses[most_datagrams];

  void set(std::size_t i, std::span<const std::byte> bytes, std::size_t address_size) noexcept {
    parts[i] = part_of(bytes);
    messages[i] = {};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_name = address_size == 0 ? nullptr : &addresses[i];
    messages[i].msg_hdr.msg_namelen = static_cast<socklen_t>(address_size);
  }
};

bool is_connected(int fd) noexcept {
  sockaddr_storage peer;
  socklen_t length = sizeof peer;
  return sys::peer_address(fd, &peer, &length).has_value();
}

}  // namespace

socket_leaf::attempt receive_leaf::try_once() noexcept {
  sockaddr_storage from;
  iovec part = part_of(into_);
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  result_ = sys::receive_message(descriptor(), message, then_ == read_leaf::what_then::stays ? MSG_PEEK : 0);
  if (sys::would_block(result_)) return attempt::would_block;
  charge(result_.value_or(0));
  if (result_.has_value()) note_sender(&from, message.msg_namelen);
  return attempt::done;
}

template <class Endpoint>
void receive_from_leaf<Endpoint>::note_sender(const void* address, std::size_t size) noexcept {
  const auto from = Endpoint::from_native(address, size);
  *from_ = from.has_value() ? *from : Endpoint();
}
template class receive_from_leaf<endpoint>;
template class receive_from_leaf<unix_endpoint>;

socket_leaf::attempt send_leaf::try_once() noexcept {
  sockaddr_storage to;
  iovec part = part_of(from_);
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (const std::size_t size = write_receiver(&to); size != 0) {
    message.msg_name = &to;
    message.msg_namelen = static_cast<socklen_t>(size);
  }
  result_ = sys::send_message(descriptor(), message);
  charge(result_.value_or(0));
  return sys::would_block(result_) ? attempt::would_block : attempt::done;
}

template <class Endpoint>
std::size_t send_to_leaf<Endpoint>::write_receiver(void* address) const noexcept {
  return to_->to_native(address);
}
template class send_to_leaf<endpoint>;

std::size_t unix_send_to_leaf::write_receiver(void* address) const noexcept {
  return to_->to_native(address);
}

socket_leaf::attempt unix_send_to_leaf::try_once() noexcept {
  constexpr std::chrono::milliseconds longest(64);
  const attempt did = send_leaf::try_once();
  if (did != attempt::would_block) return did;
  timer_.arm(task(), timing::now_for(task()) + wait_, make_waker());
  wait_ = std::min(2 * wait_, longest);
  return attempt::paused;
}

socket_leaf::attempt receive_batch_leaf::try_once() noexcept {
  const std::size_t count = std::min(into_.size(), most_datagrams);
  if (count == 0) return attempt::done;
  batch all;
  for (std::size_t i = 0; i < count; ++i) all.set(i, into_[i].bytes, sizeof all.addresses[i]);
  result_ = sys::receive_messages(descriptor(), all.messages, count);
  if (sys::would_block(result_)) return attempt::would_block;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < result_.value_or(0); ++i) {
    moved += all.messages[i].msg_len;
    const msghdr& each = all.messages[i].msg_hdr;
    into_[i].size = all.messages[i].msg_len;
    into_[i].is_cut = (each.msg_flags & MSG_TRUNC) != 0;
    into_[i].peer = endpoint::from_native(&all.addresses[i], each.msg_namelen).value_or(endpoint());
  }
  charge(moved);
  return attempt::done;
}

socket_leaf::attempt send_batch_leaf::try_once() noexcept {
  const std::size_t count = std::min(from_.size(), most_datagrams);
  if (count == 0) return attempt::done;
  const bool has_peer = is_connected(descriptor());
  batch all;
  for (std::size_t i = 0; i < count; ++i) {
    all.set(i, from_[i].bytes, has_peer ? 0 : from_[i].peer.to_native(&all.addresses[i]));
  }
  result_ = sys::send_messages(descriptor(), all.messages, count);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < result_.value_or(0); ++i) moved += from_[i].bytes.size();
  charge(moved);
  return sys::would_block(result_) ? attempt::would_block : attempt::done;
}

result<std::size_t> try_receive(const socket_ref& s, std::span<std::byte> into) noexcept {
  if (s && s.get()->is_closed()) return std::unexpected(make_error_code(errc::closed));
  return sys::receive(s.descriptor(), into.data(), into.size());
}

result<std::size_t> try_send(const socket_ref& s, std::span<const std::byte> from) noexcept {
  if (s && s.get()->is_closed()) return std::unexpected(make_error_code(errc::closed));
  return sys::send(s.descriptor(), from.data(), from.size());
}

}  // namespace rota::net::detail
