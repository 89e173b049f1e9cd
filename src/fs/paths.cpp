#include <rota/fs/paths.hpp>

#include "base/sys/files.hpp"
#include "base/sys/paths.hpp"
#include "fs/system_call.hpp"

#include <rota/fs/metadata.hpp>

#include <fcntl.h>
#include <cstdio>

namespace rota::fs {

namespace {

using detail::bad_argument;
using detail::ended;
using detail::has_zero;
using detail::number;
using detail::system_call;
namespace sys = detail::sys;

task<result<void>> remove_it(std::string path, int flags) {
  if (has_zero(path)) co_return bad_argument();
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_unlink(r, AT_FDCWD, path.c_str(), flags);
  };
  const auto make = [&]() noexcept { return sys::remove_name(AT_FDCWD, path.c_str(), flags); };
  const system_call call("file remove", sys::ring_call::unlink, prepare, make);
  const number done = co_await perform(call);
  co_return ended(done);
}

task<result<void>> rename_it(std::string from, std::string to, unsigned flags) {
  if (has_zero(from) || has_zero(to)) co_return bad_argument();
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_rename(r, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
  };
  const auto make = [&]() noexcept {
    return sys::rename_path(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
  };
  const system_call call("file rename", sys::ring_call::rename, prepare, make);
  const number done = co_await perform(call);
  co_return ended(done);
}

}  // namespace

task<result<bool>> exists(std::string path) {
  const result<file_info> found = co_await metadata(std::move(path));
  if (found.has_value()) co_return true;
  if (found.error() == std::errc::no_such_file_or_directory || found.error() == std::errc::not_a_directory)
    co_return false;
  co_return std::unexpected(found.error());
}

task<result<void>> remove_file(std::string path) { return remove_it(std::move(path), 0); }

task<result<void>> remove_dir(std::string path) { return remove_it(std::move(path), AT_REMOVEDIR); }

task<result<void>> create_dir(std::string path, unsigned mode) {
  if (has_zero(path) || mode > detail::most_mode) co_return bad_argument();
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_make_directory(r, AT_FDCWD, path.c_str(), mode);
  };
  const auto make = [&]() noexcept { return sys::make_folder(AT_FDCWD, path.c_str(), mode); };
  const system_call call("directory create", sys::ring_call::make_directory, prepare, make);
  const number done = co_await perform(call);
  co_return ended(done);
}

task<result<void>> rename(std::string from, std::string to) {
  return rename_it(std::move(from), std::move(to), 0);
}

task<result<void>> rename_new(std::string from, std::string to) {
  return rename_it(std::move(from), std::move(to), RENAME_NOREPLACE);
}

task<result<void>> hard_link(std::string from, std::string to) {
  if (has_zero(from) || has_zero(to)) co_return bad_argument();
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_link(r, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0);
  };
  const auto make = [&]() noexcept {
    return sys::make_link(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0);
  };
  const system_call call("file link", sys::ring_call::link, prepare, make);
  const number done = co_await perform(call);
  co_return ended(done);
}

task<result<void>> symlink(std::string target, std::string path) {
  if (has_zero(target) || has_zero(path)) co_return bad_argument();
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_symlink(r, target.c_str(), AT_FDCWD, path.c_str());
  };
  const auto make = [&]() noexcept { return sys::make_symlink(target.c_str(), AT_FDCWD, path.c_str()); };
  const system_call call("file symlink", sys::ring_call::symlink, prepare, make);
  const number done = co_await perform(call);
  co_return ended(done);
}

task<result<std::string>> read_link(std::string path) {
  if (has_zero(path)) co_return bad_argument();
  const auto read = [&] { return sys::read_symlink(AT_FDCWD, path.c_str()); };
  co_return co_await detail::on_thread(read);
}

task<result<std::string>> canonicalize(std::string path) {
  if (has_zero(path)) co_return bad_argument();
  const auto find = [&] { return sys::real_path(path.c_str()); };
  co_return co_await detail::on_thread(find);
}

task<result<void>> set_permissions(std::string path, unsigned mode) {
  if (has_zero(path) || mode > detail::most_mode) co_return bad_argument();
  const auto set = [&]() noexcept { return sys::set_path_mode(path.c_str(), mode); };
  co_return co_await detail::on_thread(set);
}

}  // namespace rota::fs
