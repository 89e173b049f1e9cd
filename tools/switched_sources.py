"""Writes a copy of the sources in which every mutant is present, and in which every memory order can be weakened.

A program that is built from it is told in its environment, when it starts, which mutant it has: nothing is compiled for a single
one. This is mutant schemata (Untch, Offutt, Harrold, 1993). A function with two mutants becomes

    result f() { if (mutant_is(1)) { its body with the first } else if (mutant_is(2)) { ... } else { its body } }

and an order in the remaining body becomes `weakened(7, order::acquire)`. tests/mutants/switch.hpp has both functions; switch.cpp reads
the environment and records for each test which functions with mutants it has called, and which orders it has used.

A mutant that changes more than bodies of functions cannot be switched: it is compiled alone. In a constant expression no mutant and no
weaker order is in force.
"""
import collections
import re

import cxx_scopes
import mutant_files
import project

HEADER = "tests/mutants/switch.hpp"
SOURCE = "tests/mutants/switch.cpp"
# Where the compiler believes the body of a mutant to be: its complaints name the mutant.
PLACE = "mutant/"
# As the compilers number the orders.
ORDERS = {"relaxed": 0, "acquire": 2, "release": 3, "acq_rel": 4}
_QUALIFIER = re.compile(r"(?:\w+\s*::\s*)*$")
# The numbers of a file begin one above a multiple of this. So a mutant more seldom changes the numbers in other files, which would be
# compiled again.
STEP = 64


class _Alone(Exception):
    """This mutant changes more than bodies of functions."""


def _body(code, scope):
    """(start, end) of the function's outermost braces."""
    depth, at = 0, scope.end
    while at > scope.start:
        at -= 1
        depth += {"}": 1, "{": -1}.get(code[at], 0)
        if depth == 0:
            return at, scope.end
    raise _Alone


def _changed_bodies(tree, mutant):
    """{(file, start, end): text} for each body that the mutant changes."""
    edits = collections.defaultdict(list)
    for r in mutant.replacements:
        source = tree.source(r.file)
        scope = cxx_scopes.innermost(source.scopes, *mutant_files.locate(source, r))
        if scope is None or scope.kind != "function":
            raise _Alone
        edits[r.file, *_body(source.bare, scope)].append(mutant_files.edit(source, r))
    bodies = {}
    for (file, start, end), of_body in edits.items():
        text = tree.source(file).text
        changed = mutant_files.apply_edits(text, of_body)
        behind = len(text) - end
        if changed[:start + 1] != text[:start + 1] or changed[len(changed) - behind - 1:] != text[end - 1:]:
            raise _Alone
        bodies[file, start, end] = changed[start:len(changed) - behind]
    return bodies


class Switches:
    """The numbers of mutants and orders, and the texts of the files that have some."""

    def __init__(self, root, mutants, sites):
        """`sites`: {file: its orders that can be weakened}"""
        self.root = root
        self.tree = mutant_files.Tree(root)
        self.sites = sites
        self.bodies = {}  # of each mutant that is switched
        self.alone = set()  # the names of the others
        for mutant in mutants:
            try:
                self.bodies[mutant.full_name] = _changed_bodies(self.tree, mutant)
            except (_Alone, mutant_files.Fault):  # compiled alone, it is an error that names the mutant
                self.alone.add(mutant.full_name)
        self.numbers, self.last = {}, 0  # of each mutant's name and each order's
        self._number()

    def _number(self):
        names = collections.defaultdict(list)
        for name, bodies in sorted(self.bodies.items()):
            names[min(file for file, _, _ in bodies)].append(name)
        for file, sites in self.sites.items():
            names[file] += [site.name for site in sites]
        number = 1
        for _, of_file in sorted(names.items()):
            self.numbers.update(zip(of_file, range(number, number + len(of_file))))
            number += -(-len(of_file) // STEP) * STEP
        self.last = number

    def leave_out(self, names):
        """These do not compile so."""
        self.alone |= names
        for name in names:
            del self.bodies[name]

    def environment(self, name, order=None):
        return {"ROTA_WEAKENED": f"{self.numbers[name]}:{ORDERS[order]}"} if order else {"ROTA_MUTANT": str(self.numbers[name])}

    # The copy

    def _text(self, file, of_file):
        """`of_file`: {(start, end): [(mutant's name, body)]}"""
        text = self.tree.source(file).text
        edits = []
        for site in self.sites.get(file, []):
            start = site.start - len(_QUALIFIER.search(text[:site.start])[0])
            end = site.start + len("order::" + site.order)
            edits.append((start, end, f"weakened({self.numbers[site.name]}, {text[start:end]})"))
        for (start, end), bodies in of_file.items():
            chain = "".join(f'if (::rota::base::mutant_is({self.numbers[name]}))\n#line 1 "{PLACE}{name}"\n{body}\nelse '
                            for name, body in bodies)
            line = text.count("\n", 0, start) + 1
            edits.append((start, start, f'{{ {chain}\n#line {line} "{self.root / file}"\n'))
            edits.append((end, end, "}"))
        return mutant_files.apply_edits(text, edits)

    def write(self, work):
        """Brings the copy in work/tree up to date, without what lies in `work`. A file that has not changed keeps its time."""
        folder = work / "tree"
        of_files = collections.defaultdict(lambda: collections.defaultdict(list))
        for name, bodies in sorted(self.bodies.items()):
            for (file, start, end), body in bodies.items():
                of_files[file][start, end].append((name, body))
        switched = {file: self._text(file, of_files[file]) for file in sorted({*of_files, *self.sites})}
        kept = set()
        for path in project.all_files(self.root):
            if path.is_relative_to(work):
                continue
            file = path.relative_to(self.root).as_posix()
            kept.add(folder / file)
            _put(folder / file, switched[file].encode() if file in switched else path.read_bytes())
        for path in folder.rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()


def read_uses(path):
    """What tests have reached: {number: these tests}"""
    uses = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        test, *numbers = line.split()
        for number in numbers:
            uses[int(number)].append(test)
    return uses


def named_in(said):
    """The mutants that a compiler complains about."""
    errors = [line for line in said.splitlines() if "error:" in line]
    return set(re.findall(PLACE + r"(\w+):\d", "\n".join(errors))) or set(re.findall(PLACE + r"(\w+):\d", said))


def _put(path, content):
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
