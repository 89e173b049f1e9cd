#include "driver/io_driver.hpp"

#include <rota/error.hpp>

namespace rota::driver {

std::error_code io_driver::open(io_backend wanted) noexcept {
  if (wanted == io_backend::uring) return make_error_code(errc::unsupported);
  return epoll_.open();
}

}  // namespace rota::driver
