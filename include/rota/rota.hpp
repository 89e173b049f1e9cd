// Includes the headers of this folder except graceful_shutdown.hpp, process.hpp and stop_token.hpp, and none
// of its subfolders.
#pragma once

#include <rota/async_generator.hpp>
#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/error.hpp>
#include <rota/finally.hpp>
#include <rota/inplace_vector.hpp>
#include <rota/join_handle.hpp>
#include <rota/join_set.hpp>
#include <rota/leaf.hpp>
#include <rota/outcome.hpp>
#include <rota/parallel.hpp>
#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/stream.hpp>
#include <rota/task.hpp>
#include <rota/task_local.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>
#include <rota/time_limit.hpp>
#include <rota/unix_signal.hpp>
#include <rota/waker.hpp>
#include <rota/when.hpp>
