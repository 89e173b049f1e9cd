// Where OpenSSL reads from and writes to: the buffers of a session.
#pragma once

struct bio_st;

namespace rota::tls::detail {

class session;

/// Null: there is no memory.
[[nodiscard]] bio_st* make_bio(session& of) noexcept;

}  // namespace rota::tls::detail
