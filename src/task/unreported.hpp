// Marks frames that the library destroys, and not the program.
#pragma once

#include "base/tls_slot.hpp"

namespace rota::core {

/// While one exists, this thread reports no task that was never awaited. The library destroys frames because
/// of a cancellation, a failure or a refusal, and the program did not forget the tasks in these frames.
class unreported {
 public:
  unreported() noexcept : locals_(&base::this_thread_locals()) { ++locals_->dropping; }
  unreported(const unreported&) = delete;
  unreported& operator=(const unreported&) = delete;
  ~unreported() { --locals_->dropping; }

 private:
  base::thread_locals* locals_;  // a frame's destruction does not change its thread
};

}  // namespace rota::core
