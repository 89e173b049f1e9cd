"""Reads tests/mutants/*.mutants and applies what they say to the sources. tests/mutants/README.md describes the format."""
import pathlib
import re
from typing import NamedTuple

import cxx_scopes
import project

FOLDER = "tests/mutants"
SUFFIX = ".mutants"
EXEMPT = FOLDER + "/exempt.orders"


class Fault(Exception):
    """What is wrong with a mutant, or with the file that it stands in."""


class Replacement(NamedTuple):
    file: str  # from the root of the tree
    function: str  # or class; empty: the whole file
    old: tuple  # lines
    new: tuple


class Mutant(NamedTuple):
    model: str  # the name of its file, and of tests/model/<model>.cpp
    name: str
    line: int
    replacements: tuple

    @property
    def full_name(self):
        return f"{self.model}__{self.name}"


class Listed(NamedTuple):
    """An order that may be weakened without a test that fails."""
    kind: str  # "equivalent": it is as good as the stronger one; "unsettled": it is not known whether it is
    name: str  # as weakened_orders.Variant.name
    reason: str
    line: int


class Content(NamedTuple):
    """What a file says."""
    model: str
    mutants: list
    orders: list  # files whose memory orders this model answers for
    listed: list


class _Reader:
    """Reads one file line by line. A replacement ends where another one, another place or another mutant begins."""

    def __init__(self, path):
        self.path = path
        self.mutants, self.orders, self.listed = [], [], []
        self.waiting = None  # an order that waits for its reason
        self.name, self.line, self.place = None, 0, None
        self.old, self.new, self.done = [], [], []

    def fault(self, number, words):
        return Fault(f"{FOLDER}/{self.path.name}:{number}: {words}")

    def end_replacement(self, number):
        if not self.old and not self.new:
            return
        if not self.old:
            raise self.fault(number, f"{self.name}: new text without old text")
        self.done.append(Replacement(*self.place, tuple(self.old), tuple(self.new)))
        self.old, self.new = [], []

    def end_mutant(self, number):
        self.end_replacement(number)
        if self.name is not None:
            if not self.done:
                raise self.fault(self.line, f"{self.name}: replaces nothing")
            self.mutants.append(Mutant(self.path.stem, self.name, self.line, tuple(self.done)))
        self.name, self.place, self.done = None, None, []

    def begin_mutant(self, number, rest):
        self.end_mutant(number)
        if not re.fullmatch(r"\w+", rest):
            raise self.fault(number, f"a mutant's name is one word of letters, digits and underscores, not '{rest}'")
        self.name, self.line = rest, number

    def begin_place(self, number, rest):
        self.end_replacement(number)
        if self.name is None:
            raise self.fault(number, "`in` stands before the first `mutant`")
        file, _, function = rest.partition(": ")
        self.place = (file.strip(), function.strip())

    def text(self, number, line):
        if self.place is None:
            raise self.fault(number, "text before the first `in` of a mutant")
        if line[0] == "-" and self.new:
            self.end_replacement(number)
        if line[0] == "-":
            if project.without_comments(line[2:]) != line[2:]:
                raise self.fault(number, "a comment in the old text, where comments do not count")
            self.old.append(line[2:])
        else:
            self.new.append(line[2:])

    def expect_reason(self, number):
        if self.waiting:
            raise self.fault(number, f"no `because` for {self.waiting.name}")

    def reason(self, number, rest):
        if not self.waiting or not rest:
            raise self.fault(number, "`because` stands behind `equivalent` or `unsettled`, and says why")
        self.listed.append(self.waiting._replace(reason=rest))
        self.waiting = None

    def read_line(self, number, line):
        word, _, rest = line.partition(" ")
        if line[:2] in ("- ", "+ ") or line in ("-", "+"):
            self.text(number, line)
        elif not line.strip() or line.startswith("#"):
            self.end_replacement(number)
        elif word == "mutant":
            self.expect_reason(number)
            self.begin_mutant(number, rest.strip())
        elif word == "orders":
            self.expect_reason(number)
            self.end_mutant(number)
            self.orders += rest.split()
        elif word in ("equivalent", "unsettled"):
            self.end_mutant(number)
            self.expect_reason(number)
            self.waiting = Listed(word, rest.strip(), "", number)
        elif word == "because":
            self.reason(number, rest.strip())
        elif word == "in":
            self.begin_place(number, rest)
        else:
            raise self.fault(number, f"unknown key '{word}': a line begins with mutant, in, -, +, orders, equivalent, unsettled, because or #")

    def read(self):
        lines = self.path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            self.read_line(number, line)
        self.end_mutant(len(lines))
        self.expect_reason(len(lines))
        names = [m.name for m in self.mutants]
        for mutant in self.mutants:
            if names.count(mutant.name) > 1:
                raise self.fault(mutant.line, f"{mutant.name}: this name is used twice")
        return Content(self.path.stem, self.mutants, self.orders, self.listed)


def read(path):
    return _Reader(path).read()


def read_exempt(root):
    """{file whose orders no model answers for: why}"""
    path, found, file = root / EXEMPT, {}, None
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        word, _, rest = line.partition(" ")
        if not line.strip() or line.startswith("#"):
            continue
        if (word == "exempt") == (file is None) and word in ("exempt", "because") and rest.strip():
            if word == "because":
                found[file] = rest.strip()
            file = rest.strip() if word == "exempt" else None
        else:
            raise Fault(f"{EXEMPT}:{number}: `exempt FILE` is followed by `because REASON`, not '{line}'")
    if file is not None:
        raise Fault(f"{EXEMPT}: no `because` for {file}")
    return found


def paths(root):
    return sorted((root / FOLDER).glob("*" + SUFFIX))


# --- finding the old text

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\w+|[^\w\s]')


def _pattern(lines):
    """Matches the tokens of these lines with any blanks, line ends and (blanked) comments between them."""
    tokens = _TOKEN.findall("\n".join(lines))
    text = ""
    for before, token in zip([""] + tokens, tokens):
        between = r"\s+" if re.search(r"\w$", before) and re.match(r"\w", token) else r"\s*"
        text += (between if text else "") + re.escape(token)
    return (r"(?<!\w)" if re.match(r"\w", text) else "") + text + (r"(?!\w)" if re.search(r"\w$", text) else "")


class Source:
    """A file in which old texts are looked for."""

    def __init__(self, text):
        self.text = text
        self.code = project.without_comments(text)
        self.bare = project.code_only(text)
        self.scopes = cxx_scopes.scopes(self.bare)

    def extents(self, function):
        return cxx_scopes.named(self.scopes, function) if function else [(0, len(self.text))]

    def matches(self, old, extents):
        """All places in the extents, as (start, end)."""
        pattern = re.compile(_pattern(old))
        found = set()
        for start, end in extents:
            at = start
            while hit := pattern.search(self.code, at, end):
                found.add(hit.span())
                at = hit.start() + 1
        return sorted(found)


def _shown(old):
    return " ".join(line.strip() for line in old)


def locate(source, r):
    """The one place of a replacement's old text."""
    where = f"{r.file}: {r.function}" if r.function else r.file
    if not any(_TOKEN.search(line) for line in r.old):
        raise Fault(f"the old text for {where} is empty")
    extents = source.extents(r.function)
    if not extents:
        raise Fault(f"{r.file} has no function or class {r.function}; looked there for: {_shown(r.old)}")
    found = source.matches(r.old, extents)
    if not found:
        raise Fault(f"{where} does not contain: {_shown(r.old)}")
    if len(found) > 1:
        raise Fault(f"{where} contains {len(found)} times: {_shown(r.old)}")
    return found[0]


# --- replacing it

def _indent(line):
    return len(line) - len(line.lstrip(" "))


def _whole_lines(text, start, end):
    """[start, end) with the rest of its lines, if that is nothing but blanks and a comment; else None."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last + 1
    if text[first:start].strip() or not re.fullmatch(r"\s*(//[^\n]*)?\n?", text[end:last]):
        return None
    return first, last


def edit(source, r):
    """(start, end, new text). A replacement by nothing takes whole lines if nothing else is on them."""
    start, end = locate(source, r)
    if not r.new:
        first, last = _whole_lines(source.text, start, end) or (start, end)
        return first, last, ""
    first = source.text.rfind("\n", 0, start) + 1
    before = source.text[first:start]
    # The file does not repeat the indentation of the source: its lines are moved as far as the first of the old ones is.
    more = _indent(before + "x") - _indent(r.old[0])
    moved = [" " * (_indent(text) + more) + text.lstrip(" ") if text.strip() else "" for text in r.new]
    if not before.strip():
        return first, end, "\n".join(moved)
    return start, end, "\n".join([moved[0].lstrip(" "), *moved[1:]])


def apply_edits(text, edits):
    edits = sorted(edits)
    for (_, end, _), (start, _, _) in zip(edits, edits[1:]):
        if start < end:
            raise Fault("two of its replacements overlap")
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text


class Tree:
    """Sources by their path from the root. Each is read and searched for functions only once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.sources = {}

    def source(self, file):
        if file not in self.sources:
            path = self.root / file
            if not path.is_file():
                raise Fault(f"there is no {file}")
            self.sources[file] = Source(path.read_text())
        return self.sources[file]

    def mutated(self, mutant):
        """{file: its text with the mutant in it}"""
        edits = {}
        try:
            for r in mutant.replacements:
                edits.setdefault(r.file, []).append(edit(self.source(r.file), r))
            changed = {file: apply_edits(self.source(file).text, of_file) for file, of_file in edits.items()}
        except Fault as fault:
            raise Fault(f"{mutant.full_name}: {fault}") from None
        for file, text in changed.items():
            if text == self.source(file).text:
                raise Fault(f"{mutant.full_name}: it changes nothing in {file}")
        return changed
