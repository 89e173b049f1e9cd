#!/usr/bin/env python3
"""The helpers of one test program have different names: two classes of one name in two headers are taken for one by the linker,
silently, and only where the compiler inlines nothing."""
import re

import project

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CLASS = re.compile(r"^(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?(\w+)[^;(]*\{", re.MULTILINE)


def headers_of(path, tests, seen):
    """The headers below tests/ that a file includes, directly or not."""
    for name in INCLUDE.findall(path.read_text()):
        for header in (tests / name, path.parent / name):
            if header.exists() and header not in seen:
                seen.add(header)
                headers_of(header, tests, seen)
    return seen


def main():
    root = project.root_from_arguments()
    tests = root / "tests"
    programs = {}
    for path in project.cxx_files(root, "tests"):
        if path.suffix == ".cpp":
            headers_of(path, tests, programs.setdefault(path.parent, set()))
    complaints = set()
    for folder, headers in programs.items():
        known = {}
        for header in sorted(headers):
            for name in CLASS.findall(project.code_only(header.read_text())):
                if known.setdefault(name, header) != header:
                    complaints.add(f"{header.relative_to(root)}: {name} is also in {known[name].relative_to(root)}, "
                                   f"and {folder.relative_to(root)} uses both")
    project.finish(sorted(complaints), f"helpers of {len(programs)} folders of tests")


if __name__ == "__main__":
    main()
