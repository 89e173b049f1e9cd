// Connects a TLS engine with the stream that carries its bytes.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/io/concepts.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/task.hpp>
#include <rota/timeout.hpp>

namespace rota::tls {

using io::result;

namespace detail {

/// Counts its owners; the last one deletes it.
class ROTA_API shared_part {
 public:
  shared_part(const shared_part&) = delete;
  shared_part& operator=(const shared_part&) = delete;

  void retain() noexcept {
    // relaxed: the caller owns a reference.
    const std::uint32_t before = references_.fetch_add(1, base::order::relaxed);
    if (before > ~std::uint32_t{0} / 2) [[unlikely]]
      ROTA_FATAL("too many owners of a part of a TLS connection", before);
  }
  void release() noexcept {
    // acq_rel: release: this owner's last use happens before the delete; acquire: the last owner sees every
    // other owner's use.
    if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
  }

 protected:
  shared_part() noexcept = default;
  virtual ~shared_part() = default;

 private:
  base::atomic<std::uint32_t> references_{1};
};

/// Owns a reference to a shared_part. Empty after a move; a use of an empty one ends the program with a
/// message.
template <class T>
class shared_ref {
 public:
  explicit shared_ref(T* owned) noexcept : part_(owned) {}  // takes over a reference
  shared_ref(const shared_ref& other) noexcept : part_(other.part_) {
    if (part_ != nullptr) part_->retain();
  }
  shared_ref(shared_ref&& other) noexcept : part_(std::exchange(other.part_, nullptr)) {}
  shared_ref& operator=(shared_ref other) noexcept {
    std::swap(part_, other.part_);
    return *this;
  }
  ~shared_ref() {
    if (part_ != nullptr) part_->release();
  }
  // Checked in every build: the user's object that contains it may have been moved from.
  [[nodiscard]] T& operator*() const noexcept { return *there(); }
  [[nodiscard]] T* operator->() const noexcept { return there(); }

 private:
  [[nodiscard]] T* there() const noexcept {
    if (part_ == nullptr) [[unlikely]]
      ROTA_FATAL("a tls::stream, a half of one, a client or a server was used after it was moved from", 0);
    return part_;
  }

  T* part_;
};

/// The result of an engine call.
enum class step : unsigned char {
  done,
  wants_bytes,  // it needs bytes of the stream below to go on
  wants_room,   // outgoing bytes must be sent first
  failed,       // error() returns the reason
};
struct [[nodiscard]] moved {
  step what = step::done;
  std::size_t bytes = 0;       // valid if `what` is done
  std::uint64_t arrivals = 0;  // the count of arrivals when it wanted bytes
};

// PROTOCOL: link
//   An engine turns the user's bytes into records and back; the link carries the records. One task reads, and
//   another one may write at the same time. Either may have to do a part of the other's work: bytes that the
//   reader receives may require an answer (KeyUpdate, an alert), and a writer may have to wait for bytes (the
//   first half of a message that is no data has come).
//
//   engine lock   base::mutex inside the engine, held for each of its calls: they never wait
//   sending_      the turn to write to the stream below. It is kept while the write waits. A write holds it
//                 from its beginning to its end
//   receiving_    the turn to read from the stream below. A task takes it only if it is free, and never waits
//                 for it
//   left_         notified when a task has left the turn receiving_. It stores the notification if no task
//                 waits
//
//   engine     in: bytes that have come, and the count of their arrivals. out: outgoing bytes, in the order
//              of the records. sending: bytes that were moved out of `out`, of which a part has been sent;
//              touched only in the turn sending_. unsettled: see K4
//   read       engine.read(); if that wants bytes: receive, then again. It never waits for the writing
//              direction, unless the outgoing bytes have reached the engine's limit: that needs a peer that
//              only asks and never reads.
//   receive    until bytes have come since the engine wanted bytes: in the turn receiving_, reads some and
//              passes them to the engine; if another task has the turn, waits for left_
//   write      in the turn sending_: flush; makes one record; flush
//   flush      in the turn sending_: writes the outgoing bytes until there are none
//
//   K1  The order of records is the order of engine calls: bytes go from out to sending as a whole, and from
//       there to the stream, both in one turn.
//   K2  A cancelled task loses no byte of the stream below: there is no cancellation point between the end of
//       a read and arrived(). Written bytes count as sent before the next cancellation point.
//   K3  Of two tasks that want bytes one reads. The other task must notice every arrival: it may have brought
//       all that the task needs, and no more bytes may come. So it checks for arrivals since it wanted bytes
//       before it waits, and the task that leaves the turn notifies left_ after that. Of {turn left, task
//       waits} at least one side sees the other, since notify stores the notification. At most one task
//       waits: there is one reader, and writers hold the turn sending_.
//   K4  A write that ends before its record has been sent completely (cancelled, timed out, or an error of
//       the stream below) has moved nothing, as far as its caller can tell. Its bytes are kept, *unsettled*.
//       The next write must begin with them, as a repeated write does, and returns that they have been sent.
//       If it begins with other bytes, the bytes that the peer should get are unknown: no write succeeds
//       after that.
//   K5  Bytes that are outgoing when a task leaves the turn sending_ are sent by the next task that has the
//       turn: a write, a flush or a finish. A reader, before it waits, gives the stream what it takes without
//       waiting: the rest of an abandoned write, or new bytes of its own. The reader does not wait for the
//       turn. The task that leaves the turn checks has_news() afterwards, and sends new bytes in the reader's
//       place. Of {new bytes, turn left} at least one side sees the other: each checks after its own step,
//       and the engine's lock orders the two.
//   K6  A reader that has the turn receiving_ waits for no other task. A writer may take receiving_ in its
//       turn sending_.
//   Checked: tests/model/tls_link_model.cpp, with an engine of one byte for each record.
template <class Engine, io::stream S>
class link final : public shared_part {
 public:
  template <class... Args>
  explicit link(S below, Args&&... args) : below_(std::move(below)), engine_(std::forward<Args>(args)...) {}
  ~link() override {
    // A socket that is closed with unread input resets the connection, and the peer may lose what was written
    // last. The input may be bytes of TLS itself: session tickets, a KeyUpdate, a close_notify. The last
    // owner runs this: no task reads. Bytes that come after the close still reset the connection: the kernel
    // answers bytes for a closed socket with a reset, and a destructor cannot wait for them. See finish() of
    // the stream.
    if constexpr (requires {
                    { below_.discard_received() } noexcept -> std::same_as<void>;
                  })
      below_.discard_received();
  }

  task<result<void>> handshake() {
    for (;;) {
      const moved m = engine_.handshake();
      if (m.what == step::failed) {
        co_await say_why();
        co_return std::unexpected(engine_.error());
      }
      if (m.what == step::done && !engine_.is_waited_for()) {
        give_what_it_takes();
        co_return result<void>();
      }
      const result<void> gone = co_await flush_in_turn();
      if (!gone.has_value()) co_return gone;
      if (m.what == step::done) co_return result<void>();
      if (m.what == step::wants_room) continue;
      const result<void> come = co_await receive(m.arrivals);
      if (!come.has_value()) co_return come;
    }
  }

  task<result<std::size_t>> read(std::span<std::byte> into) {
    if (into.empty()) co_return 0;
    for (;;) {
      const moved m = engine_.read(into);
      if (m.what == step::done) co_return m.bytes;
      if (m.what == step::failed) {
        co_await say_why();
        co_return std::unexpected(engine_.error());
      }
      task<result<void>> next = m.what == step::wants_room ? flush_in_turn() : receive(m.arrivals);
      const result<void> more = co_await std::move(next);
      if (!more.has_value()) co_return std::unexpected(more.error());
    }
  }

  task<result<std::size_t>> write(std::span<const std::byte> from) {
    if (from.empty()) co_return 0;
    static_cast<void>(co_await sending_.acquire());
    const sending_turn turn(*this);
    if (!engine_.may_write()) co_return std::unexpected(engine_.write_error());
    const result<void> before = co_await flush();
    if (!before.has_value()) co_return std::unexpected(before.error());
    const moved earlier = engine_.settle(from);
    if (earlier.what == step::failed) co_return std::unexpected(engine_.write_error());
    if (earlier.bytes != 0) co_return earlier.bytes;
    const result<std::size_t> made = co_await make_record(from);
    if (!made.has_value()) co_return made;
    unsettled until_gone(engine_, from.first(*made));
    const result<void> gone = co_await flush();
    if (!gone.has_value()) co_return std::unexpected(gone.error());
    until_gone.settle();
    co_return made;
  }
  task<result<std::size_t>> write_all(std::span<const std::byte> from) {
    std::size_t done = 0;
    while (done < from.size()) {
      const result<std::size_t> put = co_await write(from.subspan(done));
      if (!put.has_value()) co_return put;
      done += *put;
    }
    co_return done;
  }

  /// Sends the outgoing bytes.
  task<result<void>> flush_in_turn() {
    static_cast<void>(co_await sending_.acquire());
    const sending_turn turn(*this);
    co_return co_await flush();
  }

  /// Sends the last record, close_notify: this side writes no more data.
  task<result<void>> finish() {
    static_cast<void>(co_await sending_.acquire());
    const sending_turn turn(*this);
    for (;;) {
      const result<void> gone = co_await flush();
      if (!gone.has_value()) co_return gone;
      const moved m = engine_.finish();
      if (m.what == step::done) break;
      if (m.what == step::failed) co_return std::unexpected(engine_.write_error());
      if (m.what == step::wants_room) continue;
      const result<void> come = co_await receive(m.arrivals);
      if (!come.has_value()) co_return come;
    }
    co_return co_await flush();
  }

  [[nodiscard]] S& below() noexcept { return below_; }
  [[nodiscard]] Engine& engine() noexcept { return engine_; }

 private:
  static constexpr std::chrono::seconds patience{1};

  /// Releases sending_ in its destructor. See K5.
  class sending_turn {
   public:
    explicit sending_turn(link& of) noexcept : of_(&of) {}
    sending_turn(const sending_turn&) = delete;
    sending_turn& operator=(const sending_turn&) = delete;
    ~sending_turn() {
      of_->sending_.release();
      if (of_->engine_.has_news()) of_->give_what_it_takes();
    }

   private:
    link* of_;
  };

  /// Keeps the bytes of a write that ends early. See K4.
  class unsettled {
   public:
    unsettled(Engine& of, std::span<const std::byte> bytes) noexcept : of_(&of), bytes_(bytes) {}
    unsettled(const unsettled&) = delete;
    unsettled& operator=(const unsettled&) = delete;
    ~unsettled() {
      if (of_ != nullptr) of_->keep(bytes_);
    }
    void settle() noexcept { of_ = nullptr; }

   private:
    Engine* of_;
    std::span<const std::byte> bytes_;
  };

  /// Called in the turn sending_.
  task<result<void>> flush() {
    for (;;) {
      const std::span<const std::byte> rest = engine_.outgoing();
      if (rest.empty()) co_return result<void>();
      const result<std::size_t> put = co_await below_.write(rest);
      if (!put.has_value()) co_return std::unexpected(put.error());
      if (*put == 0) co_return io::detail::takes_nothing();
      engine_.sent(*put);
    }
  }

  /// Called in the turn sending_, with no outgoing bytes.
  task<result<std::size_t>> make_record(std::span<const std::byte> from) {
    for (;;) {
      const moved m = engine_.write(from);
      if (m.what == step::done) co_return m.bytes;
      if (m.what == step::failed) {
        static_cast<void>(co_await timeout(patience, flush()));
        co_return std::unexpected(engine_.write_error());
      }
      task<result<void>> next = m.what == step::wants_room ? flush() : receive(m.arrivals);
      const result<void> more = co_await std::move(next);
      if (!more.has_value()) co_return std::unexpected(more.error());
    }
  }

  /// Takes receiving_ if it is free. See K3.
  class receiving_turn {
   public:
    explicit receiving_turn(link& of) noexcept : of_(&of), has_it_(of.receiving_.try_acquire().has_value()) {}
    receiving_turn(const receiving_turn&) = delete;
    receiving_turn& operator=(const receiving_turn&) = delete;
    ~receiving_turn() {
      if (!has_it_) return;
      of_->receiving_.release();
      of_->left_.notify_one();
    }
    [[nodiscard]] explicit operator bool() const noexcept { return has_it_; }

   private:
    link* of_;
    bool has_it_;
  };

  /// Waits until bytes have come since `seen`.
  task<result<void>> receive(std::uint64_t seen) {
    while (!engine_.has_arrived_since(seen)) {
      const receiving_turn turn(*this);
      if (turn) co_return co_await receive_some(seen);
      co_await left_.wait();
    }
    co_return result<void>();
  }

  /// Called in the turn receiving_.
  task<result<void>> receive_some(std::uint64_t seen) {
    const std::span<std::byte> room = engine_.room(seen);
    if (room.empty()) co_return result<void>();
    give_what_it_takes();
    const result<std::size_t> got = co_await below_.read(room);
    if (!got.has_value()) co_return std::unexpected(got.error());
    engine_.arrived(*got);
    co_return result<void>();
  }

  /// Sends outgoing bytes that no task is sending, such as an answer or a rest, as far as the stream takes
  /// them at once. See K5.
  void give_what_it_takes() noexcept {
    // A try_write() of another signature means something else, and is not called.
    if constexpr (requires(std::span<const std::byte> s) {
                    { below_.try_write(s) } noexcept -> std::same_as<result<std::size_t>>;
                  }) {
      // A task that found the turn taken meanwhile has left its answer to this one.
      bool all = true;
      do {
        if (!sending_.try_acquire().has_value()) return;
        all = give_in_turn();
        sending_.release();
      } while (all && engine_.has_news());
    }
  }
  /// Returns false if the stream takes no more now.
  bool give_in_turn() noexcept {
    for (;;) {
      const std::span<const std::byte> rest = engine_.outgoing();
      if (rest.empty()) return true;
      const result<std::size_t> put = below_.try_write(rest);
      if (!put.has_value() || *put == 0) return false;
      engine_.sent(*put);
    }
  }

  /// After a failure: sends the alert that may be outgoing, once. If another task has the turn, that task
  /// sends it. The peer may never read: so the wait is limited.
  task<void> say_why() {
    if (has_said_why_ || !engine_.has_news()) co_return;
    has_said_why_ = true;
    if (!sending_.try_acquire().has_value()) co_return;
    const sending_turn turn(*this);
    static_cast<void>(co_await timeout(patience, flush()));
  }

  S below_;
  Engine engine_;
  sync::semaphore sending_{1};
  sync::semaphore receiving_{1};
  sync::notify left_;
  bool has_said_why_ = false;  // used by the reader only
};

}  // namespace detail
}  // namespace rota::tls
