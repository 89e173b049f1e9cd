// An asymmetric barrier: the rare thread pays for both sides.
//
//   frequent thread             rare thread
//   write x                     write y
//   barrier_light()             barrier_heavy()
//   read y                      read x             at least one of the two reads what the other thread wrote
//
// The light half is no instruction. The heavy half makes every processor that runs a thread of this process
// execute a full barrier, wherever that thread is: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED, Linux
// 4.14. If the kernel or a filter refuses it, has_heavy_barrier() returns false, and the frequent thread must
// do a read-modify-write instead.
#pragma once

#include <rota/detail/base.hpp>

namespace rota::base {

/// Returns the same answer every time. The first call registers the process with the kernel. That takes some
/// microseconds while the process has one thread, and milliseconds when it has many.
[[nodiscard]] bool has_heavy_barrier() noexcept;

/// Call it only if has_heavy_barrier() returns true. It costs 0.2 us if no other thread of the process runs,
/// otherwise 16 us and more.
#if ROTA_MODEL
void barrier_heavy(std::source_location where = std::source_location::current()) noexcept;
#else
void barrier_heavy() noexcept;
#endif

}  // namespace rota::base
