// For models of the whole runtime.
#pragma once

#include "base/futex.hpp"
#include "model/exploring.hpp"

#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace rota::model {

/// All interleavings are too many, even of one preemption.
inline testing::options whole(std::string_view name) {
  testing::options o = by_priority(name, 1'000);
  o.steps = 100'000;
  o.variations = 3;
  return o;
}

/// All interleavings of few preemptions: of what does little.
inline testing::options whole_exhaustive(std::string_view name) {
  testing::options o = exhaustive(name, 1);
  o.steps = 100'000;
  return o;
}

inline runtime_options two_workers() {
  runtime_options o;
  o.workers = 2;
  o.blocking.max_threads = 5;
  o.watchdog = {};
  return o;
}

inline runtime_options one_worker() {
  runtime_options o = two_workers();
  o.workers = 1;
  return o;
}

/// For models in which thread starts may fail: a failure of the runtime's own makes its constructor throw.
template <class Body>
void with_few_threads(Body body) {
  try {
    body();
  } catch (const std::system_error& failed) {
    testing::check(failed.code() == std::errc::resource_unavailable_try_again, "it says why");
  }
}

/// In a frame: destroyed once.
class guest {
 public:
  guest() noexcept { testing::track_new(this, "a local of a task"); }
  guest(const guest&) = delete;
  guest& operator=(const guest&) = delete;
  ~guest() { testing::track_delete(this); }
};

/// One thread signals others.
class signal {
 public:
  void raise() {
    // release. Pairs with is_raised().
    word_.exchange(1, base::order::release);
    base::futex_wake(&word_, 100);
  }
  [[nodiscard]] bool is_raised() const {
    // acquire. Pairs with raise().
    return word_.load(base::order::acquire) != 0;
  }
  /// Blocks the thread.
  void wait(base::time_point deadline = base::never) {
    while (!is_raised()) {
      if (base::futex_wait(word_, 0, deadline) == base::wait_result::timed_out) return;
    }
  }

 private:
  base::atomic<std::uint32_t> word_{0};
};

/// One thread hands a value to another.
class handover {
 public:
  void leave(runtime_handle h) {
    handle_.emplace(std::move(h));
    is_there_.raise();
  }
  [[nodiscard]] runtime_handle take() {
    is_there_.wait();
    runtime_handle taken = *handle_;
    handle_.reset();
    return taken;
  }

 private:
  std::optional<runtime_handle> handle_;
  signal is_there_;
};

/// For executions that write to standard error: the output is dropped, except in a replay.
class quiet {
 public:
  quiet() {
    if (std::getenv("ROTA_MODEL_REPLAY") != nullptr) return;
    (void)std::fflush(stderr);
    kept_ = ::dup(2);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)::dup2(nowhere, 2);
    (void)::close(nowhere);
  }
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;
  ~quiet() {
    if (kept_ < 0) return;
    (void)std::fflush(stderr);
    (void)::dup2(kept_, 2);
    (void)::close(kept_);
  }

 private:
  int kept_ = -1;
};

}  // namespace rota::model
