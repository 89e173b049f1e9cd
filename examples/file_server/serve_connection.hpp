// A connection from its beginning to its end.
#pragma once

#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

#include "connections.hpp"
#include "server.hpp"

namespace file_server {

/// Shakes hands, if the server has a certificate; serves what the client asks for; leaves `here`.
rota::task<void> serve_connection(server& s, rota::net::tcp_stream stream, connections::place here);

}  // namespace file_server
