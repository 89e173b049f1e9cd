// What a pool remembers of works that did not end well, also when an allocation fails.
#include "pool/failure_book.hpp"

#include <gtest/gtest.h>

#include <memory_resource>
#include <new>

namespace rota::pool::detail::failure_book_test {
namespace {

using enum work_status;

/// Allocates only while `is_open`.
class tap final : public std::pmr::memory_resource {
 public:
  bool is_open = true;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (!is_open) throw std::bad_alloc();
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

void expect(const failure_book& book, std::uint64_t id, work_status how, std::uint64_t root) {
  EXPECT_EQ(book.find(id).how, how) << id;
  EXPECT_EQ(book.find(id).root, root) << id;
}

TEST(failed_job_log, remembers_the_last_jobs_that_did_not_succeed) {
  failure_book book;
  for (std::uint64_t id = 1; id <= failure_book::most + 2; ++id) book.note(id, {failed, id + 7});
  expect(book, 2, succeeded, 2);
  expect(book, 3, failed, 10);
  expect(book, failure_book::most + 2, failed, failure_book::most + 9);
}

// Works noted while no memory is available are still known, and no other work counts as failed.
TEST(failed_job_log, remembers_jobs_noted_while_no_memory_is_available) {
  tap from;
  failure_book book(&from);
  book.note(1, {stopped, 1});
  from.is_open = false;
  for (std::uint64_t id = 2; id != 2 + failure_book::places; ++id) book.note(id, {cancelled, 1});
  for (const bool later : {false, true}) {
    from.is_open = later;
    if (later) book.note(1000, {failed, 1000});
    expect(book, 1, stopped, 1);
    for (std::uint64_t id = 2; id != 2 + failure_book::places; ++id) expect(book, id, cancelled, 1);
    expect(book, 999, succeeded, 999);
  }
  // The places inside of the book are free again.
  from.is_open = false;
  for (std::uint64_t id = 2000; id != 2000 + failure_book::places; ++id) book.note(id, {failed, id});
  expect(book, 2000, failed, 2000);
  expect(book, 999, succeeded, 999);
}

// If too many works find no memory, every unknown work counts as failed, until `most` more works are noted.
TEST(failed_job_log, treats_unknown_jobs_as_failed_while_a_lost_entry_would_be_kept) {
  tap from;
  failure_book book(&from);
  from.is_open = false;
  for (std::uint64_t id = 1; id <= failure_book::places + 1; ++id) book.note(id, {failed, id});
  expect(book, failure_book::places + 1, failed, failure_book::places + 1);
  expect(book, 999, failed, 999);
  from.is_open = true;
  for (std::uint64_t i = 0; i != failure_book::most; ++i) {
    EXPECT_EQ(book.find(999).how, failed);
    book.note(1000 + i, {failed, 1000 + i});
  }
  expect(book, 999, succeeded, 999);
  expect(book, 1000, failed, 1000);
}

}  // namespace
}  // namespace rota::pool::detail::failure_book_test
