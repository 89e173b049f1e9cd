"""What tests/mutants/*.mutants says of the memory orders of the sources: which models answer for them, and which may be weaker."""
import collections
from typing import NamedTuple

import mutant_files
import order_sites


class Plan(NamedTuple):
    """What the files of mutants say of the orders."""
    sites: dict  # {file: all its orders that can be weaker}
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
    return Plan(sites, variants, listed, complaints)


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
