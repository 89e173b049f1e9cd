#!/usr/bin/env python3
"""What must not stay in the project: unfinished work, and paths of the machine that somebody happened to work on."""
import re

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


def main():
    root = project.root_from_arguments()
    paths = [p for p in project.all_files(root) if p.name != LICENCE]
    complaints = [complaint for path in paths for complaint in check(path, root)]
    project.finish(complaints, f"{len(paths)} files")


if __name__ == "__main__":
    main()
