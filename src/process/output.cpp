#include "process/starter.hpp"

#include <rota/error.hpp>
#include <rota/finally.hpp>
#include <rota/scope.hpp>
#include <rota/time.hpp>

namespace rota::process::detail {

namespace {

using namespace std::chrono_literals;

/// How long `run` and `output` wait for a killed process: it ends when the kernel lets it.
constexpr auto patience = 1s;

/// Reads until the other side is closed.
task<void> fill(pipe_reader& from, std::string& into, std::size_t most, std::error_code& failed, scope& all) {
  constexpr std::size_t piece = std::size_t{64} << 10U;  // the capacity of a pipe
  std::size_t size = 0;
  for (;;) {
    // One more byte than allowed, to detect too much output.
    const std::size_t left = most - size;
    const std::size_t room = piece <= left ? piece : left + 1;
    into.resize(size + room);
    const std::span<char> rest(into.data() + size, room);
    const auto got = co_await from.read(std::as_writable_bytes(rest));
    if (got.has_value()) size += *got;
    into.resize(size);
    if (!got.has_value()) failed = got.error();
    if (size > most) failed = make_error_code(errc::too_long);
    if (failed) all.cancel();
    if (failed || *got == 0) break;
  }
  from.close();
}

task<void> feed(pipe_writer& to, std::span<const std::byte> input) {
  // A process that closes its input does not want the rest.
  static_cast<void>(co_await to.write_all(input));
  to.close();
}

/// The output, and why it is not complete.
struct talk {
  captured got;
  std::error_code out_failed;
  std::error_code err_failed;
};

task<void> begin_talk(child& of, output_options how, talk& into, scope& all) {
  if (of.out()) all.fork(fill(of.out(), into.got.out, how.most, into.out_failed, all));
  if (of.err()) all.fork(fill(of.err(), into.got.err, how.most, into.err_failed, all));
  if (of.in()) all.fork(feed(of.in(), how.input));
  co_return;
}

task<result<captured>> gather(starter& of, output_options how) {
  talk all;
  const auto body = [&](scope& s) { return begin_talk(of.made(), how, all, s); };
  co_await with_scope(body);
  if (all.out_failed || all.err_failed)
    co_return std::unexpected(all.out_failed ? all.out_failed : all.err_failed);
  const auto status = co_await of.wait();
  if (!status.has_value()) co_return std::unexpected(status.error());
  all.got.status = *status;
  co_return std::move(all.got);
}

task<result<captured>> start_and_gather(starter& all, output_options how) {
  const std::error_code failed = co_await all.start();
  if (failed) co_return std::unexpected(failed);
  co_return co_await gather(all, how);
}

task<result<captured>> gather_in_time(starter& all, output_options how) {
  auto work = start_and_gather(all, how);
  co_return co_await timeout(how.limit, std::move(work));
}

task<result<exit_status>> start_and_wait(starter& all) {
  const std::error_code failed = co_await all.start();
  if (failed) co_return std::unexpected(failed);
  co_return co_await all.wait();
}

recipe for_output(recipe what, bool has_input) {
  const auto unless_said = [](stdio& file, stdio otherwise) noexcept {
    if (file.what() == stdio::kind::unset) file = otherwise;
  };
  unless_said(what.files[0], has_input ? stdio::pipe() : stdio::null());
  unless_said(what.files[1], stdio::pipe());
  if (!what.merges_errors) unless_said(what.files[2], stdio::pipe());
  return what;
}

}  // namespace

task<result<exit_status>> run(recipe what) {
  starter all(std::move(what));
  auto body = start_and_wait(all);
  const auto last = [&all]() -> task<void> { return all.end(); };
  auto whole = finally(std::move(body), last, patience);
  co_return co_await std::move(whole);
}

task<result<captured>> output(recipe what, output_options how) {
  starter all(for_output(std::move(what), !how.input.empty()));
  auto body = gather_in_time(all, how);
  const auto last = [&all]() -> task<void> { return all.end(); };
  auto whole = finally(std::move(body), last, patience);
  co_return co_await std::move(whole);
}

}  // namespace rota::process::detail
