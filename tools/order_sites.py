"""Finds the memory orders of the sources, and the next weaker one of each.

A site has a name that does not change with line numbers: its file, its function, its operation and the order, and a number if the
function has several of these.
"""
import re
from typing import NamedTuple

import check_orders
import cxx_scopes
import project

# What one step weakens: the order of an operation that reads and writes, of a load, of a store. A failed compare-exchange loads.
WEAKER = {
    "both": {"seq_cst": ("acq_rel",), "acq_rel": ("acquire", "release"), "acquire": ("relaxed",), "release": ("relaxed",)},
    "load": {"seq_cst": ("acquire",), "acquire": ("relaxed",)},
    "store": {"seq_cst": ("release",), "release": ("relaxed",)},
}


class Site(NamedTuple):
    file: str
    function: str  # or class; empty: neither
    operation: str  # `word_.load`, `word_.compare_exchange_weak failure`, or the name of a called function
    order: str
    number: int  # from 1, of those that agree in the above
    start: int  # of `order::acquire` in the text, without what qualifies it
    kind: str

    @property
    def name(self):
        number = f" #{self.number}" if self.number > 1 else ""
        return f"{self.file}: {self.function or '-'}: {self.operation}{number}: {self.order}"

    @property
    def weaker(self):
        return WEAKER[self.kind].get(self.order, ())


_OBJECT = re.compile(r"(?:\w+(?:\([^()]*\)|\[[^\[\]]*\])*(?:\.|->|::))*\w+(?:\([^()]*\)|\[[^\[\]]*\])*$")
_CALL = re.compile(r"([\w:.]+)\s*\([^;{}]*$")


def has_claims(file):
    """Whether orders in this file are claims: not in the seam, nor in the checker, for which an order is a value."""
    return not file.startswith(check_orders.SEAM)


def _operations(code):
    """(start, end, object and name, name) of each atomic operation."""
    for hit in check_orders.OPERATION.finditer(code):
        before = _OBJECT.search(code[max(0, hit.start() - 200):hit.start()].rstrip())
        yield hit.start(), cxx_scopes.closing(code, hit.end()), f"{before[0] if before else ''}.{hit[1]}", hit[1]


def _operation_of(code, operations, hit):
    """(text, kind) of the operation that an order belongs to."""
    around = [o for o in operations if o[0] <= hit.start() < o[1]]
    if not around:
        call = _CALL.search(code[max(0, hit.start() - 300):hit.start()])
        return (call[1] if call else "-"), "both"
    start, end, text, name = min(around, key=lambda o: o[1] - o[0])
    if name in ("load", "store"):
        return text, name
    orders = list(check_orders.ORDER.finditer(code, start, end))
    if name.startswith("compare_exchange") and len(orders) > 1 and hit.start() == orders[-1].start():
        return text + " failure", "load"
    return text, "both"


def sites(file, text):
    """All named orders of one file."""
    code = project.code_only(text)
    scopes, operations = cxx_scopes.scopes(code), list(_operations(code))
    found, times = [], {}
    for hit in check_orders.ORDER.finditer(code):
        scope = cxx_scopes.innermost(scopes, hit.start(), hit.end())
        operation, kind = _operation_of(code, operations, hit)
        key = (scope.name if scope else "", re.sub(r"\s+", "", operation.removesuffix(" failure"))
               + (" failure" if operation.endswith(" failure") else ""), hit[1])
        times[key] = times.get(key, 0) + 1
        found.append(Site(file, *key, times[key], hit.start(), kind))
    return found


def weakenable(root):
    """{file: its sites that can be weakened}, of the files below src/ and include/ that have some."""
    found = {}
    for path in project.cxx_files(root, "src", "include"):
        file = path.relative_to(root).as_posix()
        if has_claims(file) and (some := [s for s in sites(file, path.read_text()) if s.weaker]):
            found[file] = some
    return found
