// Checks of options. Each exception names the field.
#pragma once

#include "base/clock.hpp"

#include <stdexcept>

namespace rota::pool::detail {

inline void demand(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}
inline void demand_not_negative(base::nanoseconds span, const char* otherwise) {
  demand(span >= base::nanoseconds(0), otherwise);
}
inline void demand_nice(int nice, const char* otherwise) { demand(nice >= -20 && nice <= 19, otherwise); }

}  // namespace rota::pool::detail
