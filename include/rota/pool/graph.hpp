// Works that depend on each other, as one thing: built, run, timed and drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/detail/chrono.hpp>
#include <rota/pool/thread_pool.hpp>

namespace rota::pool {

class graph;

/// A node of a graph, whose function returns T.
template <class T>
class node {
 public:
  node() noexcept = default;
  [[nodiscard]] std::size_t index() const noexcept { return index_; }

 private:
  friend class graph;
  node(std::size_t index, std::uint64_t owner) noexcept : index_(index), owner_(owner) {}
  std::size_t index_ = 0;
  std::uint64_t owner_ = 0;
};

/// What became of a node in the last run.
struct node_report {
  std::string_view name;
  work_status status = work_status::created;
  std::chrono::nanoseconds began{0};  // since the run began
  std::chrono::nanoseconds took{0};   // 0: it has not run
  std::exception_ptr exception;       // of `failed`
};

struct graph_report {
  std::chrono::nanoseconds took{0};          // from the first submit to the last end
  std::chrono::nanoseconds work{0};          // of all nodes together
  std::chrono::nanoseconds critical{0};      // of those on the longest path: no number of threads is faster
  std::vector<std::size_t> critical_path{};  // the nodes of that, the first first
  std::vector<node_report> nodes{};          // by index; their names are the graph's
  [[nodiscard]] bool succeeded() const noexcept;
};

/// A directed graph without circles: a node can only come after nodes that are there.
///
/// Threads       One at a time; run() blocks. Nodes run on the threads of the pool.
/// Ownership     Owns the functions and the last results of its nodes; a result goes with the next run, or with the graph.
/// Ordering      What a node did happens before those that come after it begin.
/// Failure       A node that throws, or is stopped, ends all that come after it as `failed` with dependency_failed; the others run on.
///               run() itself throws what submit() does; what was submitted then is cancelled, and waited for. add() throws
///               std::invalid_argument for a node that is none of this graph's, std::bad_alloc.
/// Cost          A work and two looks at the clock for each node.
/// Example       examples/pool_graph.cpp
class ROTA_API graph {
 public:
  graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  graph(graph&&) noexcept;
  graph& operator=(graph&&) noexcept;
  ~graph();

  /// `function(const T&...)`, with the results of `after`; of those that return nothing, no parameter. It may be run again and again.
  template <class F, class... T>
  auto add(std::string_view name, F function, node<T>... after);
  /// One more that `later` comes after, without its result. `earlier` was added before.
  void order(std::size_t earlier, std::size_t later);
  [[nodiscard]] std::size_t size() const noexcept;

  /// Runs all. `options`: of each work; `after`, `id`, `name` and `callback` must be empty.
  graph_report run(thread_pool& pool, const work_options& options);
  graph_report run(thread_pool& pool) {
    const work_options plain{};
    return run(pool, plain);
  }
  /// The result of the last run; null: the node has none.
  template <class T>
  [[nodiscard]] const T* result(node<T> of) const noexcept {
    return of.owner_ == id_ ? static_cast<const T*>(result_at(of.index())) : nullptr;
  }

  /// For Graphviz: the nodes, and with the report of a run how long each took; the critical path in bold.
  [[nodiscard]] std::string to_dot() const;
  [[nodiscard]] std::string to_dot(const graph_report& of) const;

 private:
  struct entry;
  /// What a node does, whatever it returns.
  struct act {
    act() = default;
    act(const act&) = delete;
    act& operator=(const act&) = delete;
    virtual ~act();
    virtual void run() = 0;
    virtual void forget() noexcept = 0;
    [[nodiscard]] virtual const void* value() const noexcept = 0;
  };
  template <class R>
  struct result_act : act {
    outcome<R> end;
    void forget() noexcept override { end = outcome<R>(); }
    [[nodiscard]] const void* value() const noexcept override {
      if constexpr (std::is_void_v<R>) {
        return nullptr;
      } else {
        return end.has_value() ? &end.value() : nullptr;
      }
    }
  };
  /// The type that a call with the results of such nodes returns.
  template <class F, class... T>
  using result_of = std::remove_cvref_t<decltype(detail::call_with_results(
      std::declval<F&>(), detail::types<T...>{}, std::declval<const void* (*)(std::size_t)>(), 0))>;
  template <class R, class F, class... T>
  struct call_act final : result_act<R> {
    F function;
    act* from[sizeof...(T) + 1] = {};

    call_act(F f, std::initializer_list<act*> acts) : function(std::move(f)) {
      std::size_t i = 0;
      for (act* const each : acts) from[i++] = each;
    }
    void run() override {
      const auto value = [this](std::size_t i) { return from[i]->value(); };
      if constexpr (std::is_void_v<R>) {
        detail::call_with_results(function, detail::types<T...>{}, value, 0);
        this->end.emplace();
      } else {
        this->end.emplace(detail::call_with_results(function, detail::types<T...>{}, value, 0));
      }
    }
  };

  [[nodiscard]] act& at(std::size_t index, std::uint64_t owner) const;
  /// Takes `what`, also when it throws.
  std::size_t append(std::string_view name, act* what, std::vector<std::size_t> after);
  [[nodiscard]] const void* result_at(std::size_t index) const noexcept;

  std::uint64_t id_;  // of this graph, wherever it is moved
  std::vector<entry> entries_;
};

template <class F, class... T>
auto graph::add(std::string_view name, F function, node<T>... after) {
  using result = result_of<F, T...>;
  std::vector<std::size_t> indices{after.index()...};
  act* const made = new call_act<result, F, T...>(std::move(function), {&at(after.index(), after.owner_)...});
  return node<result>(append(name, made, std::move(indices)), id_);
}

}  // namespace rota::pool
