// A task may co_return what a function may return, also with more warnings: constants, null pointers, braces.
// FLAGS: -Wsign-conversion
#include <rota/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

enum class colour : unsigned char { red, green };
struct point {
  int x = 0;
  int y = 0;
};

rota::task<unsigned> a_number() { co_return 4; }
rota::task<std::size_t> a_size(bool any) {
  if (any) co_return 1;
  co_return 0;
}
rota::task<std::uint8_t> a_byte() { co_return 200; }
rota::task<float> a_fraction() { co_return 0.5; }
rota::task<double> a_whole_one() { co_return 1; }
rota::task<bool> a_bool() { co_return true; }
rota::task<const char*> a_text() { co_return "text"; }
rota::task<point*> a_null() { co_return nullptr; }
rota::task<colour> a_colour() { co_return colour::green; }
rota::task<int point::*> a_member() { co_return &point::x; }
rota::task<int> none() { co_return {}; }
rota::task<const int> a_const() { co_return 4; }
rota::task<int&> a_reference(int& to) { co_return to; }
rota::task<point> two() { co_return {1, 2}; }
rota::task<std::string> words() { co_return "words"; }
rota::task<std::optional<unsigned>> perhaps() { co_return 4U; }
rota::task<std::unique_ptr<point>> a_place() { co_return nullptr; }
rota::task<std::unique_ptr<point>> a_moved_one(std::unique_ptr<point> p) { co_return p; }
rota::task<std::nullptr_t> nothing() { co_return nullptr; }
