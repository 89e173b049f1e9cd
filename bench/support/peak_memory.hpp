// The peak memory of this process. For rota's programs and for peers.
#pragma once

#include <cstdio>
#include <stdexcept>

namespace bench {

/// Returns the peak resident memory in MiB. Not getrusage's ru_maxrss: that one starts with the memory of the
/// program that started this one.
inline double peak_mib() {
  std::FILE* const file = std::fopen("/proc/self/status", "re");
  char line[256];
  unsigned long long kib = 0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "VmHWM: %llu", &kib) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  if (kib == 0) throw std::runtime_error("/proc/self/status does not say how much memory there was");
  return static_cast<double>(kib) / 1024;
}

}  // namespace bench
