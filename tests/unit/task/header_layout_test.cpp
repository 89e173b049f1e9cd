// The layout of the fields that a poll of a task reads or writes: src/task/README.md, "What it costs". A new
// field in front of them or between them fails here.
#include "task/header.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace {

using rota::core::header;

// A header has bases with fields, so offsetof is conditionally supported: clang and g++ support it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

constexpr std::size_t line = 64;

TEST(header_layout, a_header_takes_three_lines_and_a_quarter) {
  static_assert(sizeof(header) == 3 * line + 16);
  static_assert(alignof(header) <= 16, "blocks of frames are aligned to 16");
}

TEST(header_layout, the_fields_of_a_resume_are_in_the_first_64_bytes) {
  static_assert(offsetof(header, innermost) == 0x08);
  static_assert(offsetof(header, why) == 0x10 && offsetof(header, budget) == 0x13);
  static_assert(offsetof(header, waiting) == 0x18);
  static_assert(offsetof(header, where) == 0x20);
  static_assert(offsetof(header, regions) == 0x28);
  static_assert(offsetof(header, shard) == 0x3a);
  static_assert(offsetof(header, announced) == 0x3d && offsetof(header, watched) == 0x3e);
}

TEST(header_layout, the_word_the_injectors_link_and_the_scheduler_are_in_the_next_64_bytes) {
  static_assert(offsetof(header, word) == line + 0x20);
  static_assert(offsetof(header, next) == line + 0x28);
  static_assert(offsetof(header, owner) == line + 0x30);
}

TEST(header_layout, the_id_and_what_it_waits_for_are_in_the_third_64_bytes) {
  static_assert(offsetof(header, awaited_by) == 2 * line + 0x10);
  static_assert(offsetof(header, id) == 2 * line + 0x20);
  static_assert(offsetof(header, waits_for) == 2 * line + 0x38);
}

/// The sizes alone exceed a cache line, in any order: so the poll of a task needs at least two lines.
TEST(header_layout, the_fields_of_a_poll_do_not_fit_into_one_line) {
  constexpr std::size_t in_activation =
      sizeof(header::innermost) + sizeof(header::why) + sizeof(header::budget) + sizeof(header::waiting) +
      sizeof(header::where) + sizeof(header::regions) + sizeof(header::shard) + sizeof(header::announced) +
      sizeof(header::watched);
  constexpr std::size_t in_header = sizeof(header::word) + sizeof(header::owner) +
                                    sizeof(header::awaited_by) + sizeof(header::id) +
                                    sizeof(header::waits_for);
  static_assert(in_activation == 38 && in_header == 40);
  static_assert(in_activation + in_header > line);
}

#pragma GCC diagnostic pop

}  // namespace
