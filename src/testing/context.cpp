#include "testing/context.hpp"

#include "testing/sanitizers.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

extern "C" void rota_testing_switch(void** save, void* load) noexcept;

// Pushes the callee-saved registers onto the old stack, and pops them from the new one.
#if defined(__x86_64__)
asm(R"(
.text
.globl rota_testing_switch
.hidden rota_testing_switch
.type rota_testing_switch, @function
rota_testing_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rota_testing_switch, .-rota_testing_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl rota_testing_switch
.hidden rota_testing_switch
.type rota_testing_switch, %function
rota_testing_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size rota_testing_switch, .-rota_testing_switch
)");
#else
#error "rota::testing switches stacks on x86-64 and aarch64"
#endif

namespace rota::testing::detail {

namespace {

constexpr std::size_t guard_size = 64 * 1024;  // a whole page on any kernel
constexpr std::size_t stack_size = (with_sanitizer ? 256 : 64) * 1024;

// The context that is being entered. A new stack has no frame yet that could hold it.
thread_local context* entering = nullptr;

/// Builds the first frame of a stack, in the form that rota_testing_switch expects.
void* first_frame(void* top, void (*entry)()) noexcept {
  auto* slot = static_cast<std::uintptr_t*>(top);
#if defined(__x86_64__)
  *--slot = 0;  // the return address of `entry`: the end of a backtrace, and the alignment of a call
  *--slot = reinterpret_cast<std::uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--slot = 0;
#else
  slot -= 20;
  for (int saved = 0; saved < 20; ++saved) slot[saved] = 0;
  slot[11] = reinterpret_cast<std::uintptr_t>(entry);  // x30
#endif
  return slot;
}

}  // namespace

context::~context() {
#if defined(ROTA_TESTING_TSAN)
  if (owns_tsan_fibre_) __tsan_destroy_fiber(tsan_fibre_);
#endif
  if (mapping_ != nullptr) ::munmap(mapping_, guard_size + stack_size);
}

void context::map_stack() {
  void* memory = ::mmap(nullptr,
                        guard_size + stack_size,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                        -1,
                        0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(memory);
  if (::mprotect(mapping_, guard_size, PROT_NONE) != 0) throw std::bad_alloc();
  bottom_ = mapping_ + guard_size;
  size_ = stack_size;
}

// A fibre that was abandoned leaves poisoned frames and unreturned calls behind.
void context::clear_stack() noexcept {
  unpoison(bottom_, size_);
#if defined(ROTA_TESTING_TSAN)
  if (owns_tsan_fibre_) __tsan_destroy_fiber(tsan_fibre_);
  tsan_fibre_ = __tsan_create_fiber(0);
  owns_tsan_fibre_ = true;
#endif
}

void context::prepare(entry_function entry) {
  entry_ = entry;
  if (std::exchange(at_end_, false)) return;  // it returns into enter(), which calls the new entry
  if (mapping_ == nullptr) map_stack();
  clear_stack();
  stack_pointer_ = first_frame(mapping_ + guard_size + stack_size, &context::enter);
}

void context::enter() {
  context& self = *entering;
  self.arrive();
#if defined(ROTA_TESTING_ASAN)
  __asan_handle_no_return();  // collects the fake frames of the previous code on this stack
#endif
  for (;;) self.entry_();
}

void context::arrive() noexcept {
#if defined(ROTA_TESTING_ASAN)
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &size);
  if (left_ != nullptr && left_->bottom_ == nullptr) {
    left_->bottom_ = bottom;
    left_->size_ = size;
  }
#endif
}

void context::switch_between(context& from, context& to) noexcept {
  to.left_ = &from;
  entering = &to;
#if defined(ROTA_TESTING_ASAN)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.size_);
#endif
#if defined(ROTA_TESTING_TSAN)
  // In the function that switches, and last: TSan counts calls and returns per fibre.
  if (from.tsan_fibre_ == nullptr) from.tsan_fibre_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsan_fibre_, 0);
#endif
  rota_testing_switch(&from.stack_pointer_, to.stack_pointer_);
  from.arrive();
}

}  // namespace rota::testing::detail
