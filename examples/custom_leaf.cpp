// A custom leaf: a task waits for a number that any thread may deliver.
#include <rota/leaf.hpp>
#include <rota/runtime.hpp>

#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace {

/// One task waits; one thread delivers.
class mailslot {
 public:
  void deliver(int value) {
    rota::waker waiting;
    {
      const std::lock_guard lock(mutex_);
      value_ = value;
      waiting = std::move(waiting_);
    }
    waiting.wake();  // outside of the critical section
  }

  class wait_leaf final : public rota::leaf {
   public:
    explicit wait_leaf(mailslot& from) noexcept : from_(from) {}

    bool is_ready() noexcept override {
      const std::lock_guard lock(from_.mutex_);
      return from_.value_.has_value();
    }
    rota::cancel_progress try_cancel(rota::cancel_reason /*reason*/) noexcept override {
      rota::waker dropped;
      const std::lock_guard lock(from_.mutex_);
      dropped = std::move(from_.waiting_);
      return rota::cancel_progress::ended;
    }
    const char* what() const noexcept override { return "mailslot"; }
    int await_resume() {
      const std::lock_guard lock(from_.mutex_);
      return *std::exchange(from_.value_, std::nullopt);
    }

   protected:
    bool start() override {
      rota::waker mine = make_waker();
      const std::lock_guard lock(from_.mutex_);
      if (from_.value_.has_value()) return true;
      from_.waiting_ = std::move(mine);
      return false;
    }

   private:
    mailslot& from_;
  };

  [[nodiscard]] wait_leaf wait() noexcept { return wait_leaf(*this); }

 private:
  std::mutex mutex_;
  std::optional<int> value_;
  rota::waker waiting_;
};

rota::task<int> receive(mailslot& slot) {
  const int value = co_await slot.wait();
  co_return value;
}

}  // namespace

int main() {
  mailslot slot;
  std::thread sender([&slot] { slot.deliver(42); });
  const int got = rota::run(receive(slot));
  sender.join();
  std::printf("received %d\n", got);
  return got == 42 ? 0 : 1;
}
