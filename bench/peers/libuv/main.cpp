// QUESTION  What does an echo cost on the loop of libuv?
// WHY       It is the loop of Node.js: callbacks in one thread, without tasks.
// BASELINE  bench/echo/rota.cpp, which says what a server of the suite `echo` does.
// READ IT   As there, with one worker only. An answer is written at once; a write request sends what the
//           socket does not take, and nothing is read meanwhile. The buffer belongs to the connection.
#include <uv.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void checked(int result, const char* what) {
  if (result >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, uv_strerror(result));
  std::exit(1);
}

template <std::size_t Buffer>
struct connection {
  uv_tcp_t tcp;
  uv_write_t rest;
  std::array<char, Buffer> buffer;

  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp); }
  static connection& of(void* handle) {
    return *static_cast<connection*>(static_cast<uv_handle_t*>(handle)->data);
  }

  void close() {
    const auto freed = [](uv_handle_t* handle) { delete static_cast<connection*>(handle->data); };
    if (uv_is_closing(reinterpret_cast<uv_handle_t*>(&tcp)) == 0)
      uv_close(reinterpret_cast<uv_handle_t*>(&tcp), freed);
  }

  void read() {
    const auto room = [](uv_handle_t* handle, std::size_t, uv_buf_t* out) {
      *out = uv_buf_init(of(handle).buffer.data(), unsigned(Buffer));
    };
    const auto came = [](uv_stream_t* from, ssize_t got, const uv_buf_t*) {
      if (got < 0) of(from).close();
      if (got > 0) of(from).answer(std::size_t(got));
    };
    checked(uv_read_start(stream(), room, came), "uv_read_start");
  }

  void answer(std::size_t got) {
    uv_buf_t out = uv_buf_init(buffer.data(), unsigned(got));
    const int sent = uv_try_write(stream(), &out, 1);
    if (sent == int(got)) return;
    if (sent < 0 && sent != UV_EAGAIN) return close();
    const std::size_t begin = sent > 0 ? std::size_t(sent) : 0;
    out = uv_buf_init(buffer.data() + begin, unsigned(got - begin));
    uv_read_stop(stream());
    const auto done = [](uv_write_t* request, int status) {
      status < 0 ? of(request->handle).close() : of(request->handle).read();
    };
    checked(uv_write(&rest, stream(), &out, 1, done), "uv_write");
  }
};

template <std::size_t Buffer>
void accepted(uv_stream_t* listener, int status) {
  checked(status, "a connection was not accepted");
  auto* const one = new connection<Buffer>;
  checked(uv_tcp_init(listener->loop, &one->tcp), "uv_tcp_init");
  one->tcp.data = one;
  checked(uv_accept(listener, one->stream()), "uv_accept");
  checked(uv_tcp_nodelay(&one->tcp, 1), "uv_tcp_nodelay");
  one->read();
}

template <std::size_t Buffer>
void serve() {
  uv_loop_t* const loop = uv_default_loop();
  uv_tcp_t listener;
  sockaddr_in at;
  int size = sizeof at;
  checked(uv_ip4_addr("127.0.0.1", 0, &at), "uv_ip4_addr");
  checked(uv_tcp_init(loop, &listener), "uv_tcp_init");
  checked(uv_tcp_bind(&listener, reinterpret_cast<const sockaddr*>(&at), 0), "uv_tcp_bind");
  checked(uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 4096, accepted<Buffer>), "uv_listen");
  checked(uv_tcp_getsockname(&listener, reinterpret_cast<sockaddr*>(&at), &size), "uv_tcp_getsockname");
  std::printf("{\"port\":%u}\n", unsigned(ntohs(at.sin_port)));
  std::fflush(stdout);
  uv_run(loop, UV_RUN_DEFAULT);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const which = argc > 1 ? argv[1] : "";
  if (std::strcmp(which, "--list") == 0) {
    std::puts("echo_64_1\necho_16k_1");
  } else if (std::strcmp(which, "echo_64_1") == 0) {
    serve<128>();
  } else if (std::strcmp(which, "echo_16k_1") == 0) {
    serve<32768>();
  } else {
    std::fprintf(stderr, "there is no such case: %s; --list says which there are\n", which);
    return 2;
  }
}
