#!/usr/bin/env python3
"""Every memory order has a reason: a comment that names it, on its line or at most six lines above the operation.

Orders are spelled `order::acquire`. A compare-exchange states its second order as `failure: <order>`. An operation
without an order, std::memory_order and the compiler's own atomics are forbidden. The seam itself is exempt, and so is
the model checker, for which an order is a value and no claim, with the words that it gives to users.
A bare load() or store() may belong to a class of ours that states the order inside; of an atomic it does not compile
(tests/compile/atomic_without_order_fails.cpp).
"""
import re

import cxx_scopes
import project

SEAM = ("include/rota/detail/base_native.hpp", "include/rota/detail/base_model.hpp", "include/rota/testing/shared.hpp",
        "src/testing/")
REACH = 6
ORDER = re.compile(r"\border::(relaxed|acquire|release|acq_rel|seq_cst)\b")
OPERATION = re.compile(
    r"(?:\.|->)\s*(?:template\s+)?"
    r"(load|store|exchange|fetch_add|fetch_sub|fetch_or|fetch_and|fetch_xor|compare_exchange_weak|"
    r"compare_exchange_strong|test_and_set)\s*\(")
FORBIDDEN = re.compile(r"\bmemory_order(?:_\w+)?\b|\b__atomic_\w+|\b__sync_\w+|\bconsume\b(?=\s*[,)])")


class Source:
    def __init__(self, path):
        text = path.read_text()
        self.path = path
        self.code = project.code_only(text)
        self.comments = project.comments_only(text).splitlines()

    def line_of(self, at):
        return self.code.count("\n", 0, at)

    def reasons(self, first, last):
        return "\n".join(self.comments[max(0, first - REACH):last + 1])

    def complain(self, line, words):
        return f"{self.path}:{line + 1}: {words}"


def check_operation(source, name, start, end):
    orders = ORDER.findall(source.code, start, end)
    line, last = source.line_of(start), source.line_of(end)
    if not orders and name in ("load", "store"):
        return
    if not orders:
        yield source.complain(line, f"{name}() states no order")
        return
    reasons = source.reasons(line, last)
    failure = orders[-1] if name.startswith("compare_exchange") else None
    for order in orders:
        if not re.search(rf"\b{order}\b", reasons):
            yield source.complain(line, f"{order} has no stated reason")
    if failure and len(orders) == 2 and not re.search(rf"\bfailure:\s*{failure}\b", reasons):
        yield source.complain(line, f"the order on failure has no stated reason: `// failure: {failure}. ...`")


def check(path):
    source = Source(path)
    covered = []
    for hit in OPERATION.finditer(source.code):
        end = cxx_scopes.closing(source.code, hit.end())
        covered.append((hit.start(), end))
        yield from check_operation(source, hit[1], hit.start(), end)
    for hit in ORDER.finditer(source.code):
        if any(start <= hit.start() < end for start, end in covered):
            continue
        line = source.line_of(hit.start())
        if not re.search(rf"\b{hit[1]}\b", source.reasons(line, line)):
            yield source.complain(line, f"{hit[1]} has no stated reason")
    for hit in FORBIDDEN.finditer(source.code):
        yield source.complain(source.line_of(hit.start()), f"{hit[0]}: rota spells orders base::order, and no other way")


def main():
    root = project.root_from_arguments()
    complaints, orders = [], 0
    paths = [p for p in project.cxx_files(root, "src", "include")
             if not p.relative_to(root).as_posix().startswith(SEAM)]
    for path in paths:
        complaints += check(path)
        orders += len(ORDER.findall(project.code_only(path.read_text())))
    project.finish(complaints, f"{orders} orders in {len(paths)} files, each with its reason")


if __name__ == "__main__":
    main()
