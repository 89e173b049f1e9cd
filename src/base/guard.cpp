#include <rota/detail/config.hpp>

// The definition that guard.hpp refers to: its name carries the compiler and the kind of build.
extern "C" {
const char ROTA_DETAIL_GUARD = 0;
}
