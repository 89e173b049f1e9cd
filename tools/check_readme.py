#!/usr/bin/env python3
"""README.md and docs/design.md name what exists, and all of it.

Headers: the table of README.md whose second column is headed `#include <rota/...>` covers every public header, that is every
file of include/rota/ outside detail/, but rota.hpp. A row covers the headers that it names. A row that names a folder,
`sync/*.hpp`, covers a header of that folder if a file that the row links to names it: by its path, or by its stem as a word
of code. A header of a folder that a covered header of the same folder brings in is covered, too: it comes with that one.
Every header, folder and link of the table exists.

rota.hpp: the sentence of README.md that begins with `rota.hpp` includes, and the comment at the head of that header, name
exactly the headers of include/rota/ that it does not bring in, and README.md the folders of which it includes nothing.

Rooms: the table of docs/design.md whose first column is headed `room` has each folder of src/, and no other name. No document
calls a room or a header planned that exists.
"""
import re

import check_anchors
import project

TABLE_HEAD = "#include <rota/...>"
INCLUDE = re.compile(r"^\s*#\s*include\s+<rota/([^>]+)>", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"^`rota\.hpp` includes .*?\.(?=\s)", re.MULTILINE | re.DOTALL)
PLANNED = re.compile(r"\bplanned\b|\bnot yet (?:there|written|built)\b|\bnot there yet\b", re.IGNORECASE)


class Tree:
    """The public headers of a tree, and which of them each includes."""

    def __init__(self, root):
        self.root = root
        self.include = root / "include/rota"
        paths = [p.relative_to(self.include).as_posix() for p in project.cxx_files(root, "include/rota")]
        self.includes = {name: INCLUDE.findall((self.include / name).read_text()) for name in paths}
        self.public = [name for name in paths if not name.startswith("detail/") and name != "rota.hpp"]
        self.folders = sorted({folder_of(name) for name in self.public} - {""})
        self.rooms = sorted(p.name for p in (root / "src").glob("*") if p.is_dir())

    def closure(self, header):
        """Every header that this one brings in, itself included."""
        found, waiting = set(), [header]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.includes.get(name, [])
        return found


def folder_of(header):
    return header.rpartition("/")[0]


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def tables(text):
    """Each table of a document: pairs of a line's number and its cells; the head first, without the line below it."""
    table = []
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.startswith("|"):
            table.append((number, cells(line)))
        elif table:
            yield table[:1] + table[2:]
            table = []


def table_with(text, column, head):
    """The rows of the table whose column `column` has this head, or None."""
    for table in tables(text):
        if len(table[0][1]) > column and head in table[0][1][column]:
            return table[1:]
    return None


def links_of(row):
    """What the cells of a row link to: pairs of a path as it is written, and an anchor."""
    found = check_anchors.LINK.findall(" ".join(row))
    return [link.partition("#")[::2] for pair in found for link in pair if link and not re.match(r"[a-z][a-z0-9+.-]*:", link)]


def words_of_code(path):
    """The words of a source file, or of what a document has in code."""
    text = path.read_text()
    if path.suffix == ".md":
        blocks = FENCED.findall(text)
        text = "\n".join(blocks + CODE.findall(FENCED.sub("", text)))
    return set(re.findall(r"[\w/]+\.hpp|\w+", text)) | set(INCLUDE.findall(text))


def named_by_glob(tree, folder, row):
    """The headers of a folder that a file to which the row links names."""
    words = set()
    for name, _ in links_of(row):
        if (tree.root / name).is_file():
            words |= words_of_code(tree.root / name)
    for header in tree.public:
        if folder_of(header) == folder and words & {header, f"rota/{header}", header.rpartition("/")[2][:-len(".hpp")]}:
            yield header


def check_row(tree, number, row, covered):
    for name in CODE.findall(row[1]):
        if name.endswith("/*.hpp"):
            if name[:-len("/*.hpp")] not in tree.folders:
                yield f"README.md:{number}: {name}: there is no such folder of public headers"
            covered.update(named_by_glob(tree, name[:-len("/*.hpp")], row))
        elif name.endswith(".hpp") and name not in tree.includes:
            yield f"README.md:{number}: {name}: there is no such header"
        else:
            covered.add(name)
    for name, anchor in links_of(row):
        if why := check_anchors.leads_nowhere(tree.root / name, anchor):
            yield f"README.md:{number}: {name}: {why}"


def add_what_comes_along(tree, covered):
    """Adds what covered headers bring in of their own folders."""
    for name in [name for name in covered if folder_of(name)]:
        covered.update(other for other in tree.closure(name) if folder_of(other) == folder_of(name))


def check_table(tree, text):
    rows = table_with(text, 1, TABLE_HEAD)
    if rows is None:
        yield f"README.md: there is no table with a column `{TABLE_HEAD}`"
        return
    covered = set()
    for number, row in rows:
        yield from check_row(tree, number, row, covered)
    add_what_comes_along(tree, covered)
    for header in tree.public:
        if header not in covered:
            yield f"include/rota/{header}: no row of the table in README.md covers this header"


def left_out(tree):
    """The headers of include/rota/ that rota.hpp does not bring in, and the folders of which it includes nothing."""
    brought = tree.closure("rota.hpp")
    headers = {name for name in tree.public if not folder_of(name) and name not in brought}
    direct = {folder_of(name) for name in tree.includes["rota.hpp"]}
    return headers, {f"{folder}/" for folder in tree.folders if folder not in direct}


def differences(where, said, true):
    for name in sorted(true - said):
        yield f"{where}: rota.hpp does not include {name}, and the sentence does not say so"
    for name in sorted(said - true):
        yield f"{where}: the sentence says that rota.hpp does not include {name}, and it does, or there is no such thing"


def check_rota_hpp(tree, text):
    headers, folders = left_out(tree)
    sentence = SENTENCE.search(text)
    if not sentence:
        yield "README.md: no sentence begins with: `rota.hpp` includes"
    else:
        said = {name for name in CODE.findall(sentence[0]) if name not in ("rota.hpp", "include/rota/")}
        yield from differences("README.md", said, headers | folders)
    head = (tree.include / "rota.hpp").read_text().partition("#pragma once")[0]
    yield from differences("include/rota/rota.hpp", set(re.findall(r"\w+\.hpp", head)), headers)


def check_rooms(tree):
    path = tree.root / "docs/design.md"
    rows = table_with(path.read_text(), 0, "room") if path.exists() else None
    if rows is None:
        yield "docs/design.md: there is no table of rooms"
        return
    named = {}
    for number, row in rows:
        named.update((name.strip(" `"), number) for name in row[0].split(","))
    for name in sorted(named.keys() - set(tree.rooms)):
        yield f"docs/design.md:{named[name]}: {name}: there is no folder src/{name}"
    for name in sorted(set(tree.rooms) - named.keys()):
        yield f"docs/design.md: the table of rooms lacks src/{name}"


def planned_and_there(tree, line):
    """What a line that says `planned` names and what exists: a header, or a room right before the word."""
    for name in re.findall(r"[\w/]+\.hpp", line):
        if name.removeprefix("rota/") in tree.includes:
            yield name
    for room in re.findall(r"([a-z]+)[\s|`(*:]*planned\b", line, re.IGNORECASE):
        if room in tree.rooms:
            yield room


def check_planned(tree):
    for path in project.all_files(tree.root):
        if path.suffix != ".md":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in planned_and_there(tree, line) if PLANNED.search(line) else ():
                yield f"{path.relative_to(tree.root)}:{number}: {name} is called planned, and is there"


def main():
    root = project.root_from_arguments()
    readme = root / "README.md"
    if not readme.exists() or not (root / "include/rota/rota.hpp").exists():
        project.finish([f"{root}: there is no README.md, or no include/rota/rota.hpp"], "")
    tree, text = Tree(root), readme.read_text()
    complaints = [*check_table(tree, text), *check_rota_hpp(tree, text), *check_rooms(tree), *check_planned(tree)]
    project.finish(complaints, f"{len(tree.public)} public headers, {len(tree.rooms)} rooms")


if __name__ == "__main__":
    main()
