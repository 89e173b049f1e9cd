// The reference of a half to its channel.
#pragma once

#include <rota/detail/config.hpp>

namespace rota::channel::detail {

/// Ends the program with a message: a member of an empty half was called.
[[noreturn, gnu::cold]] ROTA_API void end_empty_half() noexcept;

/// The pointer of a half to what all halves of a channel share; null after a move. The use of a null pointer
/// ends the program with a message, in every build.
template <class Shared>
class held {
 public:
  // Implicit: a half assigns null, and compares with null.
  held(Shared* to) noexcept : to_(to) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] Shared& operator*() const noexcept {
    if (to_ == nullptr) [[unlikely]]
      end_empty_half();
    return *to_;
  }
  [[nodiscard]] Shared* operator->() const noexcept { return &**this; }
  friend bool operator==(const held&, const held&) = default;

 private:
  Shared* to_;
};

}  // namespace rota::channel::detail
