#!/usr/bin/env python3
"""model_branches.py LLVM_COV PROFILE PROGRAM...: which branches of the protocols the models take.

A protocol's files are those with a PROTOCOL comment, outside the checker, and the .cpp beside such a header. A branch is one side
of a condition. Exit 1 if one was never taken, unless it ends the program or throws at misuse, or a comment says why, on its line or
above the statement or the function: `// NOT IN A MODEL: why`.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXCUSE = "// NOT IN A MODEL: "
# The checker itself, what replaces the scheduler on one thread, and what the model leaves out (ROTA_NATIVE_ONLY).
OUTSIDE = ("src/testing/", "src/solo/", "src/process/", "include/rota/testing/")


def protocol_files():
    for path in sorted([*ROOT.glob("src/**/*"), *ROOT.glob("include/**/*")]):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in (".hpp", ".cpp") or name.startswith(OUTSIDE) or "PROTOCOL" not in path.read_text():
            continue
        yield name
        beside = path.with_suffix(".cpp")
        if path.suffix == ".hpp" and beside.exists():
            yield beside.relative_to(ROOT).as_posix()


def branches_of(tool, profile, programs):
    """{file: {(line, column): [times true, times false]}}; instantiations of a template are one."""
    command = [tool, "export", "-format=text", f"-instr-profile={profile}", programs[0]]
    command += [f"-object={program}" for program in programs[1:]]
    data = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = collections.defaultdict(dict)
    for file in data["data"][0]["files"]:
        name = file["filename"].removeprefix(f"{ROOT}/")
        for line, column, _, _, yes, no, *_ in file["branches"]:
            counts = found[name].setdefault((line, column), [0, 0])
            counts[0] += yes
            counts[1] += no
    return found


REFUSAL = re.compile(r"\b(ROTA_ASSERT|ROTA_FATAL|throw(?=[ ;_])|throw_\w+|std::terminate)")


def refuses(lines, line):
    """It ends the program or throws, there or in the first line of its block."""
    here = lines[line - 1 : line + 1] if lines[line - 1].endswith("{") else [lines[line - 1]]
    return any(REFUSAL.search(text) for text in here)


def indent(text):
    return len(text) - len(text.lstrip())


def excused_lines(lines):
    """Of each comment: its own line; or if it stands alone, the statement below, with its block; which may be a function."""
    found = set()
    for at, text in enumerate(lines):
        if EXCUSE not in text:
            continue
        found.add(at + 1)
        if not text.lstrip().startswith("//"):
            continue
        first = at + 1
        while lines[first].lstrip().startswith("//"):
            first += 1
        last = first
        while not lines[last].rstrip().endswith((";", "{", "}")) and "  // " not in lines[last]:
            last += 1
        if lines[last].rstrip().endswith("{"):
            while not (lines[last].lstrip().startswith("}") and indent(lines[last]) <= indent(lines[first])):
                last += 1
        found.update(range(first + 1, last + 2))
    return found


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    found = branches_of(sys.argv[1], sys.argv[2], sys.argv[3:])
    missing, excuses = [], 0
    print(f"{'file':44} {'branches':>8} {'taken':>6} {'excused':>8} {'least':>10}")
    for name in protocol_files():
        lines = (ROOT / name).read_text().splitlines()
        excuse = excused_lines(lines)
        total = taken = left_out = 0
        least = None
        for (line, column), counts in sorted(found.get(name, {}).items()):
            for side, count in zip(("true", "false"), counts):
                total += 1
                if count > 0:
                    taken += 1
                    least = count if least is None else min(least, count)
                elif line in excuse or refuses(lines, line):
                    left_out += 1
                else:
                    missing.append(f"{name}:{line}:{column}: never {side}: {lines[line - 1].strip()}")
        excuses += left_out
        print(f"{name:44} {total:8} {taken:6} {left_out:8} {least if least is not None else '-':>10}")
    print(*missing, sep="\n")
    print(f"{len(missing)} branches are never taken, {excuses} are excused where they stand")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
