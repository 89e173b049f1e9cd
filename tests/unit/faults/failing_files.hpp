// Calls on files that fail on demand.
#pragma once

#include "unit/faults/failing_calls.hpp"

namespace rota::test::call {

extern constinit failing_call open_at;
extern constinit failing_call read_at;         // pread
extern constinit failing_call read_in_memory;  // preadv2
extern constinit failing_call write_at;        // pwrite
extern constinit failing_call write_to_pipe;   // write, if the descriptor is a pipe's
extern constinit failing_call sync_file;       // fsync, fdatasync
extern constinit failing_call copy_range;
extern constinit failing_call rename_at;
extern constinit failing_call unlink_at;

}  // namespace rota::test::call
