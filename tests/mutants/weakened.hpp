// Included in front of every translation unit in which the tool has written weakened(N, order) for an order: see README.md.
#pragma once

namespace rota::base {

enum class order : int;

/// The number of the order that is weakened, and what it is instead. No order has the number 0.
extern unsigned weakened_number;
extern order weakened_order;
/// Those that an operation has used since this was last cleared.
extern unsigned char used_orders[];

/// In a constant expression it is the order itself.
constexpr order weakened(unsigned number, order o) noexcept {
  if consteval {
    return o;
  } else {
    used_orders[number] = 1;
    return number == weakened_number ? weakened_order : o;
  }
}

}  // namespace rota::base
