#include <rota/waker.hpp>

#include <utility>

void take(rota::waker one);

rota::waker moved(rota::waker one) { return one; }
rota::waker cloned(const rota::waker& one) { return one.clone(); }
void given(rota::waker one) { take(std::move(one)); }
