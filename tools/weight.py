#!/usr/bin/env python3
"""./dev check --weight: how many files, lines and bytes each part of the project has, and how long its parts take to build.

tools/weight.json holds a ceiling for the files and lines of each folder of tests/ and tools/, and for the build steps of the
preset dev. Above a ceiling is a failure. Ceilings fall by --accept, and rise only by --raise FOLDER REASON.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

import project

LIMITED = ("tests", "tools")
PARTS = ("src", "include", "examples", "bench", "cmake", "docs")
OF_THEIR_OWN = ("tests/fuzz/corpus",)
STEPS = "build/dev"
RECORD = "tools/weight.json"  # not weighed: it grows by what is said of others
UNITS = ("files", "lines", "bytes")

# The kind of a build step, by the name of its target, or by the path of what it makes. The first that matches.
KINDS = (
    ("fuzz", r"^(?:lib)?fuzz_|^libfuzzer_|_instrumented$|^tests/(?:lib)?fuzz"),
    ("unit", r"^unit_|^tests/unit/"),
    ("api", r"^api_|^tests/api/|^tests_echo_load|^outside_"),
    ("model", r"^model_|^tests/model/"),
    ("stress", r"^stress_|^tests/stress/"),
    ("support", r"^rota_test_support|^rota_tests_|^librota_test_support"),
    ("examples", r"^example_|^examples/"),
    ("bench", r"^bench|^rota_bench"),
    ("model library", r"^(?:lib)?rota_(?:model|simulated)"),
    ("library", r"^(?:lib)?rota"),
)


# --- files

def folder_of(path):
    """The row that a file counts for: tests and tools by subfolder, other parts as a whole; None: no row of its own."""
    parts = path.parts
    for folder in OF_THEIR_OWN:
        if path.is_relative_to(folder):
            return folder
    if parts[0] in LIMITED:
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0]
    return parts[0] if parts[0] in PARTS and len(parts) > 1 else None


def size_of(path):
    """A Counter of files, lines and bytes of one file. What is not text has no lines."""
    data = path.read_bytes()
    lines = 0 if b"\0" in data else data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
    return collections.Counter(files=1, lines=lines, bytes=len(data))


def sizes_of(root):
    """{folder: Counter}, and a row for all .md files, which count for their folders, too."""
    found = collections.defaultdict(collections.Counter)
    for path in project.all_files(root):
        relative = path.relative_to(root)
        if relative == pathlib.Path(RECORD):
            continue
        size = size_of(path)
        for row in {folder_of(relative), "*.md" if path.suffix == ".md" else None} - {None}:
            found[row] += size
    return found


def is_limited(folder):
    return folder.split("/")[0] in LIMITED


# --- build steps

def words_of(text):
    """The words of a line of ninja, whose $ makes a space, a colon or a $ part of a word."""
    return [re.sub(r"\$(.)", r"\1", word) for word in re.findall(r"(?:\$.|[^\s$])+", text)]


def edges_of(text):
    """[(rule, outputs, inputs)] of the build lines of a ninja file."""
    edges = []
    for line in re.findall(r"^build (.*(?:\$\n.*)*)$", text, re.MULTILINE):
        made, uses = re.fullmatch(r"((?:\$.|[^:$])*):(.*)", line.replace("$\n", " "), re.DOTALL).groups()
        rule, *inputs = [word for word in words_of(uses) if word not in ("|", "||")]
        edges.append((rule, [word for word in words_of(made) if word != "|"], inputs))
    return edges


def steps_of(folder):
    """The outputs of each step that builds all of a configured folder; None if it is not configured.

    A step runs a command to make a file of the build: what CMake calls a utility or runs to configure again is none.
    """
    plan = folder / "build.ninja"
    if not plan.exists():
        return None
    by_output = {}
    for edge in edges_of(plan.read_text()):
        by_output.update(dict.fromkeys(edge[1], edge))
    seen, waiting, steps = set(), ["all"], {}
    while waiting:
        rule, outputs, inputs = by_output.get(waiting.pop(), ("phony", ("",), ()))
        if outputs[0] not in seen:
            seen.add(outputs[0])
            waiting += inputs
            if rule not in ("phony", "CUSTOM_COMMAND", "RERUN_CMAKE"):
                steps[outputs[0]] = outputs
    return list(steps.values())


def kind_of(output):
    target = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
    name = target[1] if target else output
    return next((kind for kind, pattern in KINDS if re.search(pattern, name)), "other")


def milliseconds_of(folder):
    """{output: how long the step took that made it last}, from ninja's log."""
    log = folder / ".ninja_log"
    took = {}
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        fields = line.split("\t")
        if len(fields) == 5 and fields[0].isdigit() and fields[1].isdigit():
            took[fields[3]] = int(fields[1]) - int(fields[0])
    return took


def builds_of(root):
    """{preset: {kind: Counter of steps, built steps and milliseconds}} of the folders that ninja has built in."""
    builds = {}
    for log in sorted(root.glob("build/*/.ninja_log")):
        took = milliseconds_of(log.parent)
        kinds = collections.defaultdict(collections.Counter)
        for outputs in steps_of(log.parent) or []:
            time = max((took[output] for output in outputs if output in took), default=None)
            kinds[kind_of(outputs[0])] += collections.Counter(steps=1, built=time is not None, milliseconds=time or 0)
        if any(each["built"] for each in kinds.values()):
            builds[log.parent.name] = kinds
    return builds


# --- ceilings

def counts_of(root, sizes):
    """{folder: {unit: count}} of what has a ceiling. The steps are only there if the preset dev is configured."""
    counts = {folder: {unit: size[unit] for unit in ("files", "lines")} for folder, size in sizes.items() if is_limited(folder)}
    steps = steps_of(root / STEPS)
    return counts | ({STEPS: {"steps": len(steps)}} if steps else {})


class Ceilings:
    """What tools/weight.json says."""

    def __init__(self, path):
        self.path = path
        self.is_new = not path.exists()
        self.of, self.raised = {}, []
        if not self.is_new:
            try:
                stored = json.loads(path.read_text())
                self.of, self.raised = stored["ceilings"], stored["raised"]
                counts = [count for each in self.of.values() for count in each.values()]
                if any(type(count) is not int or count < 0 for count in counts) or not isinstance(self.raised, list):
                    raise ValueError("a ceiling is a number")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                sys.exit(f"weight: {path} does not hold ceilings: {error}")

    def complaints(self, counts):
        """What is above its ceiling, or has none."""
        for folder, now in sorted(counts.items()):
            for unit, count in now.items():
                ceiling = self.of.get(folder, {}).get(unit)
                if ceiling is None:
                    yield f"{folder}: {count} {unit}, and no ceiling"
                elif count > ceiling:
                    yield f"{folder}: {count} {unit}, {count - ceiling} above the ceiling of {ceiling}"

    def accept(self, counts):
        """Lowers ceilings to the counts, and forgets folders that are gone. What is counted for the first time is taken as it is: all by a
        first file, the steps by a first build."""
        for folder in [each for each in self.of if each not in counts and each != STEPS]:
            del self.of[folder]
        for folder, now in counts.items():
            if self.is_new or (folder == STEPS and folder not in self.of):
                self.of[folder] = now
            elif folder in self.of:
                self.of[folder] = {unit: min(count, self.of[folder].get(unit, count)) for unit, count in now.items()}

    def raise_to(self, folder, now, reason):
        if now == self.of.get(folder):
            return
        self.raised.append({"folder": folder, "from": self.of.get(folder, {}), "to": now, "reason": reason})
        self.of[folder] = now

    def write(self):
        text = json.dumps({"ceilings": dict(sorted(self.of.items())), "raised": self.raised}, indent=1) + "\n"
        fresh = self.path.with_suffix(".new")
        fresh.write_text(re.sub(r"\{\s*((?:\"\w+\": \d+,?\s*)+)\}", lambda found: "{" + " ".join(found[1].split()) + "}", text))
        fresh.replace(self.path)


# --- what is printed

def print_columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def print_sizes(sizes, ceilings):
    limits = [[str(ceilings.of.get(folder, {}).get(unit, "")) for unit in ("files", "lines")] for folder in sorted(sizes)]
    rows = [[folder, *(str(sizes[folder][unit]) for unit in UNITS), *limit] for folder, limit in zip(sorted(sizes), limits)]
    all_tests = sum((size for folder, size in sizes.items() if folder.split("/")[0] == "tests"), collections.Counter())
    rows.append(["all of tests", *(str(all_tests[unit]) for unit in UNITS), "", ""])
    print_columns([["folder", *UNITS, "ceiling: files", "lines"]] + rows)


def print_builds(builds):
    for preset, kinds in builds.items():
        total = sum(kinds.values(), collections.Counter())
        print(f"\nbuild/{preset}: minutes of its steps, one after the other, when each was made last")
        rows = [[kind, str(each["steps"]), str(each["built"]), f"{each['milliseconds'] / 60000:.1f}"]
                for kind, each in sorted(kinds.items(), key=lambda item: -item[1]["milliseconds"]) + [("all", total)]]
        print_columns([["kind", "steps", "built", "minutes"]] + rows)


def summary(counts):
    total = sum((collections.Counter(each) for folder, each in counts.items()), collections.Counter())
    return f"{total['files']} files, {total['lines']} lines of {' and '.join(LIMITED)}; {len(counts)} ceilings hold"


def arguments():
    parser = argparse.ArgumentParser(prog="./dev check --weight", description="Counts what the project weighs.")
    parser.add_argument("--table", action="store_true", help=argparse.SUPPRESS)  # what ./dev check leaves out
    parser.add_argument("--accept", action="store_true", help="lower the ceilings to the present counts")
    parser.add_argument("--raise", nargs=2, action="append", default=[], dest="raised", metavar=("FOLDER", "REASON"),
                        help="raise the ceilings of a folder to its present counts; the reason is kept in tools/weight.json")
    parser.add_argument("--root", type=pathlib.Path, default=project.HERE, help=argparse.SUPPRESS)
    return parser, parser.parse_args()


def apply(ceilings, counts, raised, parser):
    for folder, reason in raised:
        if folder not in counts:
            parser.error(f"nothing is counted in {folder}: {', '.join(sorted(counts))}")
        if len(reason.split()) < 3:
            parser.error(f"'{reason}' is no reason: say what {folder} has gained, in a sentence")
    ceilings.accept(counts)
    for folder, reason in raised:
        ceilings.raise_to(folder, counts[folder], reason)
    ceilings.write()


def main():
    parser, options = arguments()
    root = options.root.resolve()
    sizes = sizes_of(root)
    counts = counts_of(root, sizes)
    if not options.table and not options.accept and not options.raised:
        counts.pop(STEPS, None)  # ./dev check runs beside any build
    ceilings = Ceilings(root / RECORD)
    if options.accept or options.raised:
        apply(ceilings, counts, options.raised, parser)
    if options.table:
        print_sizes(sizes, ceilings)
        print_builds(builds_of(root))
        print()
    complaints = list(ceilings.complaints(counts))
    if complaints:
        print('Remove what is not needed, or: ./dev check --weight --raise FOLDER "why it must grow"')
    project.finish(complaints, summary(counts))


if __name__ == "__main__":
    main()
