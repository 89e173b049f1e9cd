// A strand stays where it is: those in its line refer to it.
// EXPECT: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function).*strand
#include <rota/sync/strand.hpp>

#include <utility>

rota::sync::strand moved(rota::sync::strand& line) { return std::move(line); }
