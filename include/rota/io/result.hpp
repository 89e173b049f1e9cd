// What an operation of I/O comes to.
#pragma once

#include <expected>
#include <system_error>

namespace rota::io {

/// A value, or why there is none: what the system says (std::generic_category), or one of rota's own reasons (errc). net::result is this one.
template <class T>
using result = std::expected<T, std::error_code>;

}  // namespace rota::io
