// Durations, time points and clocks, without calendars and formatting: the whole of <chrono> is four times as
// much text as this, and would be most of every rota header. Code that needs the rest includes <chrono>.
#pragma once

#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
