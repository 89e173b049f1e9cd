// Serves a connection from its beginning to its end.
#pragma once

#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

#include "connections.hpp"
#include "server.hpp"

namespace file_server {

/// Does the handshake, if the server has a certificate; serves the requests; then leaves `here`.
rota::task<void> serve_connection(server& s, rota::net::tcp_stream stream, connections::place here);

}  // namespace file_server
