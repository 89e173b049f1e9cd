#include <rota/detail/config.hpp>

#include "base/atomic.hpp"
#include "base/last_words.hpp"

#include <cstdio>
#include <cstdlib>

namespace rota::base {

namespace {

using last_words = void (*)() noexcept;
constinit atomic<last_words> words{nullptr};

}  // namespace

void say_before_abort(last_words say) noexcept {
  // release: pairs with the exchange in fatal(): what `say` needs is there.
  words.store(say, order::release);
}

void fatal(const char* what, std::uint64_t value, const char* file, unsigned line) noexcept {
  std::fprintf(stderr,
               "rota: fatal: %s (value %#llx) at %s:%u\n",
               what,
               static_cast<unsigned long long>(value),
               file,
               line);
  // acq_rel: pairs with say_before_abort(). If two threads come here, one of them finds it.
  if (const last_words say = words.exchange(nullptr, order::acq_rel); say != nullptr) say();
  std::fflush(stderr);
  std::abort();
}

}  // namespace rota::base
