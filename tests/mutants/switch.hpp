// Included in front of every translation unit of a program that has all mutants: see README.md.
#pragma once

namespace rota::base {

enum class order : int;

/// The number of the mutant that the program has. No mutant and no order has the number 0.
extern unsigned mutant_number;
/// The number of the order that is weakened, and what it is instead.
extern unsigned weakened_number;
extern order weakened_order;
/// The numbers that have been asked for since this was last cleared.
extern unsigned char used_numbers[];

/// False in a constant expression: the mutants are not in force there.
constexpr bool mutant_is(unsigned number) noexcept {
  if (__builtin_is_constant_evaluated()) return false;
  used_numbers[number] = 1;
  return number == mutant_number;
}

/// In a constant expression it is the order itself.
constexpr order weakened(unsigned number, order o) noexcept {
  if (__builtin_is_constant_evaluated()) return o;
  used_numbers[number] = 1;
  return number == weakened_number ? weakened_order : o;
}

}  // namespace rota::base
