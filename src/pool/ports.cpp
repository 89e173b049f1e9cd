#include "pool/ports.hpp"

#include "pool/absence.hpp"
#include "task/outside_polls.hpp"

namespace rota::pool::detail {

namespace {

constexpr core::thread_ports of_seat{
    .before_block = []() noexcept -> void* {
      core::rest_outside_run();
      seat* const here = crew::here();
      here->of->enter_region(*here);
      return here;
    },
    .after_block =
        [](void* lent) noexcept {
          auto* const here = static_cast<seat*>(lent);
          here->of->leave_region(*here);
          core::resume_outside_run();
        },
    .help_once = nullptr,
};

constexpr core::force_ports of_works{
    .sleeps_on = [](base::atomic<std::uint32_t>* word) noexcept { say_blocked(work_here(), nullptr, word); },
    .is_forced = []() noexcept { return is_forced(work_here()); },
    .throw_forced = [] { throw force_stopped(); },
};

}  // namespace

void install_ports() noexcept {
  core::install_seat_ports(
      []() noexcept -> const core::thread_ports* { return crew::here() == nullptr ? nullptr : &of_seat; });
  core::install_force_ports(of_works);
}

}  // namespace rota::pool::detail
