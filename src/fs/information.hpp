// The results of statx.
#pragma once

#include "base/sys/files.hpp"
#include "fs/system_call.hpp"

#include <rota/fs/metadata.hpp>

#include <sys/stat.h>
#include <string>

namespace rota::fs::detail {

[[nodiscard]] file_type type_of_mode(unsigned mode) noexcept;
[[nodiscard]] file_info info_of(const struct statx& from) noexcept;
/// Blocks.
[[nodiscard]] result<file_info> look_at(int at, const char* path, int flags) noexcept;
/// With `path` "" and AT_EMPTY_PATH: the metadata of `at` itself.
[[nodiscard]] task<result<file_info>> information(int at, std::string path, int flags);

}  // namespace rota::fs::detail
