// EXPECT: weigh must be callable as const, with a const T&, and noexcept
// EXPECT: weigh must return an unsigned integer: a weight is never negative
// EXPECT: weigh is a pointer to a member, and must be a function
#include <rota/channel/bounded_by_weight.hpp>

#include <string>

void makes() {
  static_cast<void>(rota::channel::bounded_by_weight<std::string>(
      4, 100, [](const std::string& text) { return text.size(); }));
  static_cast<void>(rota::channel::bounded_by_weight<std::string>(
      4, 100, [](const std::string& text) noexcept { return static_cast<int>(text.size()); }));
  static_cast<void>(rota::channel::bounded_by_weight<std::string>(4, 100, &std::string::size));
}
