// A barrier of two unequal halves: one thread pays for all.
//
//   frequent thread             rare thread
//   write x                     write y
//   barrier_light()             barrier_heavy()
//   read y                      read x             one of the two sees what the other wrote
//
// The light half is no instruction. The heavy one makes every processor that runs a thread of this process pass a full
// barrier, wherever that thread is: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED, Linux 4.14. Where the kernel, or a
// filter, refuses it, has_heavy_barrier() says so, and the frequent thread must do a read-modify-write instead.
#pragma once

#include <rota/detail/base.hpp>

namespace rota::base {

/// The same answer every time. Its first call registers the process with the kernel: some microseconds while it has one
/// thread, milliseconds when it has many.
[[nodiscard]] bool has_heavy_barrier() noexcept;

/// Only where has_heavy_barrier() says yes. 0.2 us where no other thread of the process runs, else 16 us and more.
#if ROTA_MODEL
void barrier_heavy(std::source_location where = std::source_location::current()) noexcept;
#else
void barrier_heavy() noexcept;
#endif

}  // namespace rota::base
