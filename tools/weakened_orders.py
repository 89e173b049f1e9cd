"""Builds model tests in which each memory order can be weakened when the program starts, and runs them.

In a model build an order is a value. So all orders of the named files are written as `weakened(N, order)` once, and the program is
told in its environment which N it weakens, and to what: nothing is compiled for a single order. tests/mutants/weakened.hpp has the
function, weakened.cpp reads the environment and records which orders each test uses.
"""
import collections
import concurrent.futures
import re
from typing import NamedTuple

import mutant_files
import order_sites

HEADER = "tests/mutants/weakened.hpp"
SOURCE = "tests/mutants/weakened.cpp"
# As the compilers number them.
NUMBERS = {"relaxed": 0, "acquire": 2, "release": 3, "acq_rel": 4}
QUALIFIER = re.compile(r"(?:\w+\s*::\s*)*$")


class Plan(NamedTuple):
    """What the files of mutants say of the orders."""
    variants: list  # all weakenings of all files that a model answers for
    listed: dict  # {name: mutant_files.Listed}
    complaints: list


class Variant(collections.namedtuple("Variant", "site to models")):
    """One order, weakened by one step; `models` answer for it."""

    @property
    def name(self):
        return f"{self.site.name} -> {self.to}"

    @property
    def full_name(self):
        return self.name

    @property
    def names(self):
        """One for each model that answers for it."""
        return [f"{model}__{self.name}" for model in self.models]


def plan(root, contents):
    """Compares the orders of the sources with what the files of mutants say."""
    sites = order_sites.weakenable(root)
    answering = collections.defaultdict(list)
    for content in contents:
        for file in content.orders:
            answering[file].append(content.model)
    variants = [Variant(site, to, tuple(models)) for file, models in sorted(answering.items())
                for site in sites.get(file, []) for to in site.weaker]
    complaints = list(_wrong_files(root, sites, answering))
    listed = {}
    for content in contents:
        complaints += _wrong_entries(content, variants, listed)
    return Plan(variants, listed, complaints)


def _wrong_files(root, sites, answering):
    exempt = mutant_files.read_exempt(root)
    for file in sorted(sites):
        if file not in answering and file not in exempt:
            yield (f"{file} has orders, and no model answers for them: name it in an `orders` line of tests/mutants/*.mutants, "
                   f"or in {mutant_files.EXEMPT}")
        if file in answering and file in exempt:
            yield f"{file}: {mutant_files.EXEMPT} names it, but {answering[file][0]} answers for it"
    for file in sorted({*answering, *exempt} - set(sites)):
        yield f"{file}: tests/mutants names it for its orders, and there are none that can be weaker"
    for file, models in sorted(answering.items()):
        for model in {m for m in models if models.count(m) > 1}:
            yield f"{file}: {model} names it twice in its `orders`"


def _wrong_entries(content, variants, listed):
    """Adds the right entries of a file to `listed`."""
    known = {v.name: v for v in variants}
    for entry in content.listed:
        where = f"{mutant_files.FOLDER}/{content.model}{mutant_files.SUFFIX}:{entry.line}"
        if entry.name not in known:
            yield f"{where}: {entry.kind}: the sources have no such order in a file that a model answers for: {entry.name}"
        elif content.model not in known[entry.name].models:
            yield f"{where}: {entry.kind}: {content.model} does not answer for this file: {entry.name}"
        elif entry.name in listed:
            yield f"{where}: {entry.kind}: listed twice: {entry.name}"
        else:
            listed[entry.name] = entry


def with_numbers(text, numbered):
    """The text with weakened(N, order) for each (site, N)."""
    for site, number in sorted(numbered, key=lambda pair: -pair[0].start):
        start = site.start - len(QUALIFIER.search(text[:site.start])[0])
        end = site.start + len("order::" + site.order)
        text = f"{text[:start]}weakened({number}, {text[start:end]}){text[end:]}"
    return text


class Programs:
    """The tests of some models, in which the orders of some files can be weakened."""

    def __init__(self, build, root, variants, folder):
        self.build, self.folder = build, folder
        self.numbers = {}  # of each site, from 1
        for variant in variants:
            self.numbers.setdefault(variant.site, len(self.numbers) + 1)
        files = collections.defaultdict(list)
        for site, number in self.numbers.items():
            files[site.file].append((site, number))
        self.changes = {file: with_numbers((root / file).read_text(), numbered) for file, numbered in files.items()}
        self.uses = {}  # of each model: {number: the tests that use this order}
        self.root = root

    def prepare(self, models, jobs):
        """Compiles what depends on the files, and links these models' tests."""
        self.build.write_changes(self.changes, self.folder)
        wanted = sorted(self.build.dependents(self.changes) & set().union(*(self.build.linked[m] for m in models)))
        include = ["-include", self.root / HEADER]
        with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
            compiled = threads.map(lambda output: self.build.compile(output, self.changes, self.folder, include), wanted)
            made = dict(zip(wanted, compiled))
        number = [f"-DROTA_ORDERS={len(self.numbers)}"]
        made[SOURCE] = self.build.compile_beside(self.root / SOURCE, models[0], number, self.folder)
        for model in models:
            of_model = {output: path for output, path in made.items() if output in self.build.linked[model] | {SOURCE}}
            self.build.link(model, of_model, self.program(model), self.folder / f"{model}.log")

    def program(self, model):
        return self.folder / model

    def read_uses(self, model, path):
        """Remembers which tests of the unmodified program use which orders."""
        uses = collections.defaultdict(list)
        for line in path.read_text().splitlines():
            test, *numbers = line.split()
            for number in numbers:
                uses[int(number)].append(test)
        self.uses[model] = uses

    def tests_of(self, variant, model):
        """The tests of a model that use this order."""
        return self.uses.get(model, {}).get(self.numbers[variant.site], [])

    def environment(self, variant):
        return {"ROTA_WEAKENED": f"{self.numbers[variant.site]}:{NUMBERS[variant.to]}"}
