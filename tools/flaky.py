#!/usr/bin/env python3
"""./dev flaky: runs tests again and again, alone and under load, and says how often each failed and what it printed.

A test that fails now and then is a failure: this tool measures how often, and under what load. It builds nothing.
"""
import argparse
import collections
import contextlib
import itertools
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

import ctest_folder
import project

MOST_WAYS = 3      # distinct failures of one test that are shown
MOST_LINES = 40    # lines of each
SIGNATURE = 20     # lines by which failures are told apart
BURNER_SECONDS = 7200
CI_TESTS, CI_SECONDS = 8, 400
NOISE = re.compile(r"^\s*$|^\[ *(RUN|OK|PASSED|=+|-+) *\]|^Note: Google Test filter|^Running main\(\)|^ *\d+ FAILED TESTS?$")
COLOUR = re.compile(r"(?:\x1b|\[NON-XML-CHAR-0x1B\])\[[0-9;]*m")  # as printed, and as a report of JUnit's form has it
NOT_BUILT = "_NOT_BUILT"  # the end of the name that CMake gives to a test whose program is missing


class Repeated:
    """A test and its runs: the one that failed in the suite, if any, and those of this tool."""

    def __init__(self, folder, name, first=None):
        self.folder, self.name, self.first = folder, name, first
        self.alone, self.loaded = [], []
        self.note = ""

    def runs(self):
        return ([self.first] if self.first else []) + self.alone + self.loaded

    def failures(self):
        return [run for run in self.runs() if run.kind]

    def title(self):
        return f"{self.name} ({self.folder.name})"


def share_of(runs):
    return f"{sum(bool(run.kind) for run in runs)} of {len(runs)}" if runs else "-"


# --- what failures printed

def telling(output):
    """The lines of a failed run that are not GoogleTest's frame, without colours."""
    return [line.rstrip() for line in COLOUR.sub("", output).splitlines() if not NOISE.match(line)]


def signature(output):
    """The first lines without what differs from run to run: addresses, numbers but those of source lines, temporary paths."""
    text = "\n".join(telling(output)[:SIGNATURE])
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/[^\s:\"']+", "TEMPORARY", text)
    text = re.sub(r"0x[0-9a-fA-F]+", "0x", text)
    return re.sub(r"(\.[a-z]+:\d+(?::\d+)?)|\d+", lambda found: found[1] or "N", text)


def ways_of(failures):
    """Lists of runs that failed alike, the most frequent first."""
    groups = collections.defaultdict(list)
    for run in failures:
        groups[signature(run.output)].append(run)
    return sorted(groups.values(), key=len, reverse=True)


def ways_text(failures):
    """What each distinct failure printed: its first lines."""
    ways = ways_of(failures)
    for runs in ways[:MOST_WAYS]:
        kinds = collections.Counter(run.kind for run in runs)
        yield f"  {len(runs)} so ({', '.join(f'{kind}: {count}' for kind, count in kinds.items())}):"
        lines = telling(runs[0].output) or ["(printed nothing)"]
        yield from (f"  | {line[:300]}" for line in lines[:MOST_LINES])
        if len(lines) > MOST_LINES:
            yield f"  | ({len(lines) - MOST_LINES} lines more)"
    if len(ways) > MOST_WAYS:
        yield f"  and {len(ways) - MOST_WAYS} other ways"


def print_failures(tests):
    for test in tests:
        if test.failures():
            print(f"{test.title()} failed {share_of(test.runs())}")
            print("\n".join(ways_text(test.failures())))


# --- the table

COLUMNS = ("test", "failed of runs", "alone", "under load", "seconds min/max")


def row_of(test):
    seconds = [run.seconds for run in test.runs()]
    span = f"{min(seconds):.2f}/{max(seconds):.2f}" if seconds else "-"
    row = (test.title(), share_of(test.runs()), share_of(test.alone), share_of(test.loaded), span)
    return row + ((test.note,) if test.note else ())


def print_table(tests):
    rows = [COLUMNS] + [row_of(test) for test in tests]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in itertools.zip_longest(row, widths[:len(row)], fillvalue=0)]
        print("  ".join(cells).rstrip())


# --- running

def repeat_into(runs, test, count, deadline):
    """Appends up to `count` runs of the test. Returns false if the rest is of no use or the time is over."""
    for _ in range(count):
        began = time.monotonic()
        run = test.folder.run_one(test.name, deadline)
        if run is None:
            test.note = f"out of time; the last run was ended after {time.monotonic() - began:.0f} s"
            return False
        runs.append(run)
        if run.kind == "Not Run":
            test.note = "not built"
            return False
        if deadline is not None and time.monotonic() >= deadline:
            test.note = "out of time"
            return False
    return True


def repeat(test, options, deadline):
    """Half of the runs alone, then half of them beside busy loops."""
    loaded = options.runs // 2 if options.load else 0
    try:
        if not test.folder.has(test.name):
            test.note = "no such test any more"
        elif repeat_into(test.alone, test, options.runs - loaded, deadline) and loaded:
            with ctest_folder.burners(options.load, BURNER_SECONDS):
                repeat_into(test.loaded, test, loaded, deadline)
    except ctest_folder.CtestError as error:
        test.note = str(error).splitlines()[0]


def repeat_all(tests, options):
    """Repeats each test. The time that is left is shared equally by the tests that are left; quick tests leave more of it."""
    end = None if options.seconds is None else time.monotonic() + options.seconds
    tests.sort(key=lambda test: test.first.seconds if test.first else 0)
    for done, test in enumerate(tests):
        now = time.monotonic()
        if end is not None and now >= end:
            test.note = "out of time: not repeated"
            continue
        repeat(test, options, None if end is None else now + (end - now) / (len(tests) - done))
        print(f"flaky: {test.title()} failed {share_of(test.runs())}" + (f" ({test.note})" if test.note else ""), flush=True)


def alternating(groups):
    """One of each group in turn, so that the tests of each folder are among the first."""
    missing = object()
    return [each for turn in itertools.zip_longest(*groups, fillvalue=missing) for each in turn if each is not missing]


def report(tests, rest):
    """Ends with the table: the beginning of a long log may be lost."""
    print_failures(tests)
    for test in rest:
        print(f"{test.title()} failed, and was not repeated")
    if tests:
        print_table(tests)
    return any(test.failures() or not test.runs() for test in tests) or bool(rest)


def repeat_and_report(tests, rest, options):
    """Repeats the tests, and reports what is known even after an interruption. Returns whether one failed."""
    try:
        repeat_all(tests, options)
    except KeyboardInterrupt:
        for test in tests:
            test.note = test.note or ("" if len(test.alone + test.loaded) == options.runs else "interrupted")
        report(tests, rest)
        raise
    return report(tests, rest)


def failed_last(folders, options):
    """Repeats what failed when ctest last ran. The suite's own failure counts as a run."""
    found = alternating([[Repeated(folder, name, folder.last_run(name)) for name in folder.failed_last(options.since)]
                         for folder in folders if folder.exists()])
    rest = [test for test in found if test.name.endswith(NOT_BUILT)]
    tests = [test for test in found if test not in rest]
    if options.tests is not None:
        tests, rest = tests[:options.tests], tests[options.tests:] + rest
    if not found:
        print(f"flaky: no test failed last in {', '.join(folder.name for folder in folders) or 'any build folder'}")
        return False
    print(f"flaky: failed last: {len(found)}; repeated: {len(tests)}, {options.runs} times each", flush=True)
    return repeat_and_report(tests, rest, options)


def named(folder, options):
    """Repeats the tests whose names match the regex."""
    names = folder.listed("-R", options.name)
    if not names:
        raise ctest_folder.CtestError(f"no test of {folder.name} matches {options.name}")
    tests = [Repeated(folder, name) for name in names]
    rest = [] if options.tests is None else tests[options.tests:]
    for test in rest:
        print(f"flaky: {test.title()} is not run")
    return repeat_and_report(tests[:options.tests], [], options)


def whole_suite(folder, options):
    """Runs the whole suite several times beside busy loops. Returns whether a test failed."""
    tests = {}
    done = 0
    try:
        while done < options.runs:
            began = time.monotonic()
            with ctest_folder.burners(options.load, BURNER_SECONDS):
                runs = folder.run(["-j", str(os.cpu_count() or 1)])
            done += 1
            for run in runs:
                tests.setdefault(run.name, Repeated(folder, run.name)).loaded.append(run)
            failed = [run.name for run in runs if run.kind]
            print(f"flaky: run {done} of {options.runs}: {len(failed)} of {len(runs)} tests failed, "
                  f"{time.monotonic() - began:.0f} s{': ' if failed else ''}{', '.join(failed)}", flush=True)
    finally:
        failed = [test for test in tests.values() if test.failures()]
        report(sorted(failed, key=lambda test: (-len(test.failures()), test.name)), [])
        print(f"flaky: {len(failed)} of {len(tests)} tests failed at least once in {done} runs under load {options.load}")
    return bool(failed)


# --- arguments

def positive(text):
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"not a number from 1 to 999999: {text}")
    return int(text)


def small(text):
    if not re.fullmatch(r"[0-9]{1,3}", text):
        raise argparse.ArgumentTypeError(f"not a number from 0 to 999: {text}")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(prog="./dev flaky", description="Runs tests again, alone and under load. Builds nothing.")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a regex of ctest's names; without it: what failed last")
    parser.add_argument("--runs", type=positive, default=10, metavar="N", help="runs of each test (10), half of them under load")
    parser.add_argument("--load", type=small, default=2, metavar="N", help="busy loops beside a run under load (2)")
    parser.add_argument("--build", default="dev", metavar="PRESET", help="the build folder build/PRESET")
    parser.add_argument("--all", action="store_true", help="the whole suite, each time under load")
    parser.add_argument("--tests", type=positive, metavar="N", help="repeat N tests at most")
    parser.add_argument("--seconds", type=positive, metavar="N", help="repeat for N seconds at most")
    parser.add_argument("--ci", action="store_true", help=f"what failed last in any build folder, within limits: "
                        f"{CI_TESTS} tests, {CI_SECONDS} s")
    parser.add_argument("--since", type=float, default=0, metavar="TIME", help="with --ci: but not before TIME (seconds of the epoch)")
    parser.add_argument("--root", type=pathlib.Path, default=project.HERE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.all and (options.name or options.tests or options.seconds or options.ci):
        parser.error("--all is the whole suite, N times: it goes with --runs, --load and --build")
    if options.ci:
        if options.name:
            parser.error("--ci repeats what failed, not what has a name")
        options.tests = options.tests or CI_TESTS
        options.seconds = options.seconds or CI_SECONDS
    return options


def act(options):
    """Returns whether a test failed."""
    builds = options.root / "build"
    if options.ci:
        folders = [ctest_folder.Folder(path, options.root) for path in sorted(builds.glob("*/")) if path.is_dir()]
        return failed_last(folders, options)
    folder = ctest_folder.Folder(builds / options.build, options.root)
    if not folder.exists():
        raise ctest_folder.CtestError(f"there are no tests in build/{options.build}: build them first")
    if options.all:
        return whole_suite(folder, options)
    return named(folder, options) if options.name else failed_last([folder], options)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, interrupt)  # clean up as after Ctrl-C
    try:
        sys.exit(act(options))
    except (ctest_folder.CtestError, OSError) as error:
        sys.exit(f"flaky: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
