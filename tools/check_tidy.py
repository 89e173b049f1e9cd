#!/usr/bin/env python3
"""clang-tidy over rota's compiled sources: check_tidy.py BUILD [--changed].

--changed: only the sources that differ from the last commit, or whose header of the same name does. Each source is read as
it is compiled for the machine, not a second time as it is for the model.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import project

FOLDERS = ("src", "examples")
TIDY = "clang-tidy-19"


def changed(root):
    """Paths that git sees as changed or new, or None if git cannot say."""
    done = subprocess.run(["git", "-C", root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    return {root / entry[3:] for entry in done.stdout.split("\0") if entry}


def wanted(source, touched):
    return source in touched or source.with_suffix(".hpp") in touched


def commands(build, root):
    """{source: its compile command}: the first, unless that is the model's."""
    chosen = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source.is_relative_to(root) and source.relative_to(root).parts[0] in FOLDERS:
            if source not in chosen or "-DROTA_MODEL=1" in chosen[source]["command"]:
                chosen[source] = entry
    return chosen


def read(database, source):
    done = subprocess.run([TIDY, "-p", database, "--quiet", source], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main():
    root = project.HERE
    chosen = commands(pathlib.Path(sys.argv[1]), root)
    touched = changed(root) if "--changed" in sys.argv else None
    sources = sorted(s for s in chosen if touched is None or wanted(s, touched))
    with tempfile.TemporaryDirectory() as database, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pathlib.Path(database, "compile_commands.json").write_text(json.dumps(list(chosen.values())))
        complaints = [said for said in pool.map(lambda source: read(database, source), sources) if said]
    project.finish(complaints, f"{len(sources)} of {len(chosen)} files")


if __name__ == "__main__":
    main()
