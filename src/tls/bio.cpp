#include "tls/bio.hpp"

#include <rota/detail/tls_session.hpp>

#include "base/atomic.hpp"
#include "tls/openssl.hpp"

namespace rota::tls::detail {

namespace {

session& session_of(BIO* bio) noexcept { return *static_cast<session*>(BIO_get_data(bio)); }

int read_from(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  const int got = session_of(bio).give_to_openssl(into, size);
  if (got > 0) return got;
  BIO_set_retry_read(bio);
  return -1;
}

int write_to(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  const int put = session_of(bio).take_from_openssl(from, size);
  if (put != 0) return put;
  BIO_set_retry_write(bio);
  return -1;
}

long control(BIO* /*bio*/, int what, long /*number*/, void* /*pointer*/) {
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

/// Returns the index of the BIO type, or -1 if there is none. OpenSSL has few of them, so an index is kept
/// once it was allocated.
int index_of_method() noexcept {
  static constinit base::atomic<int> kept{-1};
  // relaxed, both: the index is a plain number; two concurrent calls may allocate two.
  int index = kept.load(base::order::relaxed);
  if (index != -1) return index;
  index = BIO_get_new_index();
  if (index != -1) kept.store(index, base::order::relaxed);
  return index;
}

BIO_METHOD* make_method() noexcept {
  const int index = index_of_method();
  BIO_METHOD* const made = index == -1 ? nullptr : BIO_meth_new(index | BIO_TYPE_SOURCE_SINK, "rota session");
  if (made == nullptr) return nullptr;
  BIO_meth_set_read(made, read_from);
  BIO_meth_set_write(made, write_to);
  BIO_meth_set_ctrl(made, control);
  return made;
}

/// Returns the BIO method, which lives to the end of the program, since sessions may. Returns null if there
/// is no memory now.
const BIO_METHOD* method() noexcept {
  static constinit base::atomic<const BIO_METHOD*> instance{nullptr};
  // acquire: pairs with the release in the exchange below: the object that it points to is constructed.
  const BIO_METHOD* there = instance.load(base::order::acquire);
  if (there != nullptr) return there;
  BIO_METHOD* const made = make_method();
  if (made == nullptr) return nullptr;
  // acq_rel: release: other threads that find the pointer see the object; acquire: of two threads that make
  // one, the second uses the first's.
  // failure: acquire: same reason: the second thread uses the object of the first.
  if (instance.compare_exchange_strong(there, made, base::order::acq_rel, base::order::acquire)) return made;
  BIO_meth_free(made);
  return there;
}

}  // namespace

bio_st* make_bio(session& of) noexcept {
  BIO* const made = method() == nullptr ? nullptr : BIO_new(method());
  if (made == nullptr) return nullptr;
  BIO_set_data(made, &of);
  BIO_set_init(made, 1);
  return made;
}

}  // namespace rota::tls::detail
