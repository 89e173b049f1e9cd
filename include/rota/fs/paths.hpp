// Names: looked for, removed, renamed, linked.
#pragma once

#include <string>

#include <rota/io/result.hpp>
#include <rota/task.hpp>

namespace rota::fs {

using io::result;

// Threads       Any task.
// Ownership     They keep what they are given.
// Failure       std::error_code of the system: ENOENT, EEXIST, ENOTEMPTY, EXDEV, EACCES, EROFS, ... A path with a zero byte and a mode above 07777 are
//               std::errc::invalid_argument. Cancelled before it was begun, nothing has happened; later, it may have. Throws
//               `std::bad_alloc`.
// Cost          One operation of the ring, if it has that call (not: read_link, canonicalize, set_permissions), or one closure in the blocking pool.
// Example       examples/files.cpp

/// Whether `path` leads to something. An error: it cannot be known (EACCES, ELOOP, ...). It may change until the answer is looked at.
ROTA_API task<result<bool>> exists(std::string path);

/// A file, a symbolic link, whatever is no directory (EISDIR).
ROTA_API task<result<void>> remove_file(std::string path);
/// An empty directory: ENOTEMPTY, ENOTDIR.
ROTA_API task<result<void>> remove_dir(std::string path);
/// `mode`: less the process's umask.
ROTA_API task<result<void>> create_dir(std::string path, unsigned mode = 0777);

/// What was at `to` is replaced, at once, for all who look. EXDEV: another file system.
ROTA_API task<result<void>> rename(std::string from, std::string to);
/// There must be nothing at `to`: EEXIST. EINVAL: the file system cannot say so.
ROTA_API task<result<void>> rename_new(std::string from, std::string to);
/// Another name for `from`, which is not followed if it is a symbolic link.
ROTA_API task<result<void>> hard_link(std::string from, std::string to);
/// At `path` is a symbolic link to `target` then, whether that is there or not.
ROTA_API task<result<void>> symlink(std::string target, std::string path);
/// Where a symbolic link leads to. EINVAL: it is none.
ROTA_API task<result<std::string>> read_link(std::string path);
/// Absolute, without symbolic links, "." and "..". All of it must be there.
ROTA_API task<result<std::string>> canonicalize(std::string path);
/// Of what `path` leads to.
ROTA_API task<result<void>> set_permissions(std::string path, unsigned mode);

}  // namespace rota::fs
