// A graph of works that depend on each other. It can be built, run, timed and drawn.
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

/// A node of a graph. Its function returns T.
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

/// The result of a node in the last run.
struct node_report {
  std::string_view name;
  work_status status = work_status::created;
  std::chrono::nanoseconds began{0};  // since the run began
  std::chrono::nanoseconds took{0};   // 0: the node has not run
  std::exception_ptr exception;       // set if the status is `failed`
};

struct graph_report {
  std::chrono::nanoseconds took{0};          // from the first submit to the last end
  std::chrono::nanoseconds work{0};          // of all nodes together
  std::chrono::nanoseconds critical{0};      // sum over the longest path: no number of threads is faster
  std::vector<std::size_t> critical_path{};  // the nodes of the longest path, in order
  std::vector<node_report> nodes{};          // by index; the names belong to the graph
  [[nodiscard]] bool succeeded() const noexcept;
};

/// A directed acyclic graph: a node can only come after nodes that were added before.
///
/// Threads       One thread at a time. run() blocks. The nodes run on the threads of the pool.
/// Ownership     Owns the functions of its nodes and their last results. A result lives until the next run,
///               or until the graph is destroyed.
/// Ordering      A node happens before each node that comes after it.
/// Failure       If a node throws or is stopped, all nodes that come after it end as `failed` with
///               dependency_failed. The others run on. run() throws what submit() throws. It then cancels the
///               works that it has submitted, and waits for them. add() throws std::invalid_argument for a
///               node of another graph, and std::bad_alloc.
/// Cost          One work and two clock reads for each node.
/// Example       examples/pool_graph.cpp
class ROTA_API graph {
 public:
  graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  graph(graph&&) noexcept;
  graph& operator=(graph&&) noexcept;
  ~graph();

  /// Adds a node. It calls `function(const T&...)` with the results of `after`. A node in `after` that
  /// returns nothing contributes no parameter. The function may be called several times: once for each run.
  template <class F, class... T>
  auto add(std::string_view name, F function, node<T>... after);
  /// Makes `later` come after `earlier`, without passing a result. `earlier` must have been added before
  /// `later`.
  void order(std::size_t earlier, std::size_t later);
  [[nodiscard]] std::size_t size() const noexcept;

  /// Runs all nodes. `options` apply to each work. Its `after`, `id`, `name` and `callback` must be empty.
  graph_report run(thread_pool& pool, const work_options& options);
  graph_report run(thread_pool& pool) {
    const work_options plain{};
    return run(pool, plain);
  }
  /// Returns the result of the last run, or null if the node has none.
  template <class T>
  [[nodiscard]] const T* result(node<T> of) const noexcept {
    return of.owner_ == id_ ? static_cast<const T*>(result_at(of.index())) : nullptr;
  }

  /// Returns the graph in the format of Graphviz. With the report of a run it includes the time of each node,
  /// and the critical path in bold.
  [[nodiscard]] std::string to_dot() const;
  [[nodiscard]] std::string to_dot(const graph_report& of) const;

 private:
  struct entry;
  /// The type-erased function of a node.
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
  /// The type that `F` returns when it is called with the results of such nodes.
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
  /// Takes ownership of `what`, also if it throws.
  std::size_t append(std::string_view name, act* what, std::vector<std::size_t> after);
  [[nodiscard]] const void* result_at(std::size_t index) const noexcept;

  std::uint64_t id_;  // identifies this graph; moves with it
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
