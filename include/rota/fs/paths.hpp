// Operations on paths: test, remove, rename, link.
#pragma once

#include <string>

#include <rota/io/result.hpp>
#include <rota/task.hpp>

namespace rota::fs {

using io::result;

// Threads       Any task.
// Ownership     They keep their arguments.
// Failure       std::error_code of the system: ENOENT, EEXIST, ENOTEMPTY, EXDEV, EACCES, EROFS, ... A path
//               with a zero byte and a mode above 07777 are std::errc::invalid_argument. A call that is
//               cancelled before it begins has no effect; one that is cancelled later may have its effect.
//               Throws `std::bad_alloc`.
// Cost          One operation of the ring, if the ring has that call (not for read_link, canonicalize,
//               set_permissions), or one closure in the blocking pool.
// Example       examples/files.cpp

/// Returns whether `path` exists, following symbolic links. Returns an error if that cannot be determined
/// (EACCES, ELOOP, ...). The answer may be outdated when the caller reads it.
ROTA_API task<result<bool>> exists(std::string path);

/// Removes a file, a symbolic link or any other object that is no directory (EISDIR).
ROTA_API task<result<void>> remove_file(std::string path);
/// Removes an empty directory. Fails with ENOTEMPTY or ENOTDIR.
ROTA_API task<result<void>> remove_dir(std::string path);
/// Creates a directory with `mode` less the umask of the process.
ROTA_API task<result<void>> create_dir(std::string path, unsigned mode = 0777);

/// Renames `from` and atomically replaces `to`. EXDEV: `to` is on another file system.
ROTA_API task<result<void>> rename(std::string from, std::string to);
/// Renames `from` and fails with EEXIST if `to` exists. EINVAL: the file system does not support this.
ROTA_API task<result<void>> rename_new(std::string from, std::string to);
/// Creates another name for `from`. A symbolic link at `from` is not followed.
ROTA_API task<result<void>> hard_link(std::string from, std::string to);
/// Creates a symbolic link at `path` to `target`. `target` need not exist.
ROTA_API task<result<void>> symlink(std::string target, std::string path);
/// Returns the target of a symbolic link. EINVAL: `path` is no symbolic link.
ROTA_API task<result<std::string>> read_link(std::string path);
/// Returns the absolute path without symbolic links, "." and "..". Every component must exist.
ROTA_API task<result<std::string>> canonicalize(std::string path);
/// Changes the permissions of `path`. Follows symbolic links.
ROTA_API task<result<void>> set_permissions(std::string path, unsigned mode);

}  // namespace rota::fs
