// Makes the contexts of clients and servers, for code that makes sessions without a stream.
#pragma once

#include <rota/detail/tls_session.hpp>

namespace rota::tls::detail {

[[nodiscard]] ROTA_API shared_ref<context> make_client_context(const client_config& from);
[[nodiscard]] ROTA_API shared_ref<context> make_server_context(const server_config& from);

}  // namespace rota::tls::detail
