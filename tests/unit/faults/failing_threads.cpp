#include "unit/faults/failing_threads.hpp"

#include <dlfcn.h>
#include <pthread.h>

namespace rota::test::call {

constinit failing_call create_thread;

}  // namespace rota::test::call

#if ROTA_TEST_STANDS_IN

extern "C" int pthread_create(pthread_t* made,
                              const pthread_attr_t* with,
                              void* (*run)(void*),
                              void* argument) {
  if (const int error = rota::test::call::create_thread.next_error(); error != 0) return error;
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(made, with, run, argument);
}

#endif
