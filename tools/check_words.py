#!/usr/bin/env python3
"""What must not stay in the project: unfinished work, paths of the machine that it was written on, and words that hide the actor.

A thread, a task and a caller are no persons: comments, messages and documents name them. tools/words.json says how many words for
persons, and how many lines of more than 110 columns, each folder may have; a folder without an entry may have none. `--accept` lowers
these ceilings to what is there. No option raises one.
"""
import collections
import json
import re
import sys

import project

# Spelled so that this file does not find itself.
ANYWHERE = [
    (re.compile(r"\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b|\bHAC[K]\b"), "unfinished: do it, or say in plain words what is not there"),
    (re.compile(r"\bDISABLE[D]_\w|#\s*if\s+[0]\b"), "disabled: delete it or mend it"),
    (re.compile(r"(?<![\w./-])/(?:wor[k]|hom[e]/\w+|roo[t])/"), "a path of one machine"),
    (re.compile(r"\.\./share[d]\b"), "a path outside the project"),
]
IN_DOCS = [(re.compile(r"(?<![\w./-])/tm[p]/"), "a path of one machine")]
LICENCE = "LICENSE"

PERSON = re.compile(r"\b(who|whoever|whom|somebody|nobody|anybody|everybody|he|him|his)\b", re.IGNORECASE)
CXX = (".hpp", ".cpp")
COLUMNS = 110
CEILINGS = "tools/words.json"
UNITS = ("words for persons", "lines of more than 110 columns")


def check(path, root):
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        return
    patterns = ANYWHERE + (IN_DOCS if path.suffix == ".md" else [])
    for number, line in enumerate(lines, 1):
        for pattern, why in patterns:
            if hit := pattern.search(line):
                yield f"{path.relative_to(root)}:{number}: {hit[0]}: {why}"


def words_of(path, text):
    """What is read by people: all of a document; of C++ the comments and the literals."""
    if path.suffix not in CXX:
        return text
    code = project.code_only(text)
    return "".join(" " if a == b and not a.isspace() else a for a, b in zip(text, code))


def folder_of(path):
    return path.parts[0] if len(path.parts) > 1 else "."


def counts_of(root, paths):
    """{folder: Counter of both units} of documents and C++, and {folder: the files that have any}."""
    counts, places = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    for path in paths:
        relative = path.relative_to(root)
        if path.suffix not in (*CXX, ".md"):
            continue
        text = path.read_text()
        persons = len(PERSON.findall(words_of(path, text)))
        long_lines = sum(len(line) > COLUMNS for line in text.splitlines()) if path.suffix in CXX else 0
        counts[folder_of(relative)].update({UNITS[0]: persons, UNITS[1]: long_lines})
        if persons or long_lines:
            places[folder_of(relative)].append(f"{relative}: {persons} {UNITS[0]}, {long_lines} {UNITS[1]}")
    return counts, places


def too_many(counts, places, ceilings):
    for folder, now in sorted(counts.items()):
        for unit in UNITS:
            ceiling = ceilings.get(folder, {}).get(unit, 0)
            if now[unit] > ceiling:
                yield "\n".join([f"{folder}: {now[unit]} {unit}, {now[unit] - ceiling} above the ceiling of {ceiling}", *places[folder]])


def accept(path, counts):
    """Lowers the ceilings to the counts. The first file takes the counts as they are."""
    ceilings = ceilings_of(path)
    lower = {folder: {unit: min(now[unit], ceilings.get(folder, {}).get(unit, 0)) if path.exists() else now[unit] for unit in UNITS}
             for folder, now in sorted(counts.items())}
    path.write_text(json.dumps({folder: each for folder, each in lower.items() if any(each.values())}, indent=1) + "\n")


def ceilings_of(path):
    return json.loads(path.read_text()) if path.exists() else {}


def main():
    accepts = "--accept" in sys.argv
    if accepts:
        sys.argv.remove("--accept")
    root = project.root_from_arguments()
    paths = [p for p in project.all_files(root) if p.name != LICENCE]
    counts, places = counts_of(root, paths)
    if accepts:
        accept(root / CEILINGS, counts)
    ceilings = ceilings_of(root / CEILINGS)
    complaints = [complaint for path in paths for complaint in check(path, root)]
    project.finish(complaints + list(too_many(counts, places, ceilings)), f"{len(paths)} files")


if __name__ == "__main__":
    main()
