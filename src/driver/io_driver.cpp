#include "driver/io_driver.hpp"

#include <rota/error.hpp>

namespace rota::driver {

std::error_code io_driver::open(io_backend wanted) noexcept {
  if (wanted == io_backend::uring) return make_error_code(errc::unsupported);
  return epoll_.open();
}

std::expected<std::uint32_t, std::error_code> io_driver::add(int fd, interest what) noexcept {
  if (!is_own_process()) return std::unexpected(make_error_code(errc::forked));
  return epoll_.add(fd, what);
}

}  // namespace rota::driver
