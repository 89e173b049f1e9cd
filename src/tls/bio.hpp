// The BIO through which OpenSSL reads and writes the buffers of a session.
#pragma once

struct bio_st;

namespace rota::tls::detail {

class session;

/// Makes the BIO of a session. Returns null if there is no memory.
[[nodiscard]] bio_st* make_bio(session& of) noexcept;

}  // namespace rota::tls::detail
