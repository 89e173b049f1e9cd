// Each writer takes a text.
#include <rota/fs/file.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_writer.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/process.hpp>

#include <string>

rota::task<> writes(rota::net::tcp_stream& tcp,
                    rota::net::unix_stream& local,
                    rota::process::pipe_writer& pipe,
                    rota::fs::file& file,
                    const std::string& text) {
  const auto literal = co_await tcp.write_all("literal");
  const auto whole = co_await local.write_all(text);
  const auto temporary = co_await pipe.write_all(text + "more");
  const auto placed = co_await file.write_all_at(text, 0);
  rota::io::buffered_writer out(tcp);
  const auto kept = co_await out.write_all("pending");
  const auto any_writer = co_await rota::io::write_all(file, text);
  static_cast<void>(literal.has_value() && whole.has_value() && temporary.has_value() && placed.has_value());
  static_cast<void>(kept.has_value() && any_writer.has_value());
}
