#!/usr/bin/env python3
"""Breaks the sources on purpose, one mutant at a time, and expects a model test to fail.

  mutants.py [--compiler CXX] [--jobs N] [--limit SECONDS] [--draw N] [--seed TEXT] [--work FOLDER] [NAME-PART...]

The mutants are those of tests/mutants/*.mutants. The model library and the model tests are built once, unmodified, and each of these
tests must pass. For a mutant, the translation units that depend on its files are compiled again and linked with the rest. The test
must fail within the limit: first all its explorations are run briefly, then fully.

A row of the table: how many executions the explorations had made when one of them failed, the seconds, the test and the exploration
that failed; `-` if the program ended before it could say. Then, for each model: how many mutants, and how long they took.

  NAME-PART   only mutants whose name contains one of these; a name is <model>__<mutant>
  --draw      only N of them, chosen by --seed
  --work      build here, and keep it: a second run builds only what has changed. Otherwise in a temporary folder

Exit: 0 all killed; 1 one survived, or reached the limit; 2 one does not apply or compile, or an unmodified test fails.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time

import model_build
import model_table
import mutant_files
import project

ROOT = project.HERE
Verdict = collections.namedtuple("Verdict", "word executions seconds by")
ROW = "{:<74} {:<9} {:>10} {:>7}  {}"
SUMMARY = "{:<20} {:<12} {:>8} {:>7} {:>12} {:>12} {:>9} {:>9} {:>9}"


def fail(words):
    print(f"mutants: {words}", file=sys.stderr)
    sys.exit(2)


# --- one program

def executions_until(table):
    """From the lines of ROTA_MODEL_TABLE: (executions up to the first exploration that failed, which one that is)."""
    executions = 0
    for line in table.read_text().splitlines() if table.exists() else []:
        columns = line.split("\t")
        executions += int(columns[5])
        if columns[6] == "FAILED":
            return str(executions), ", ".join(columns[1:4])
    return "-", ""


def all_executions(table):
    return str(sum(int(line.split("\t")[5]) for line in table.read_text().splitlines()))


def run_program(program, folder, limit, **environment):
    """Its exit status, None if it took longer than the limit; a negative one is a signal. What it prints is added to folder/log."""
    command = [program, "--gtest_fail_fast", "--gtest_brief=1"]
    with open(folder / "log", "ab") as log:
        return model_build.run(command, folder, log, limit, {"ROTA_MODEL_TABLE": str(folder / "table"), **environment})


def killer_of(folder):
    hit = re.search(r"\[  FAILED  \] ([\w./]+)", (folder / "log").read_text(errors="replace"))
    return hit[1] if hit else ""


def verdict_of(status, seconds, folder):
    executions, exploration = executions_until(folder / "table")
    killer = killer_of(folder)
    if status == 0:
        return Verdict("SURVIVED", "-", seconds, "")
    if status is None:
        return Verdict("LIMIT", "-", seconds, "no check failed in time")
    if status == 1:
        return Verdict("killed", executions, seconds, killer + (f": {exploration}" if exploration else ""))
    return Verdict("killed", executions, seconds, f"{killer or '-'} died with status {status}")


def try_program(program, folder, limit):
    """Most mutants fail at once; the others have the whole search."""
    begin = time.monotonic()
    status = run_program(program, folder, limit, ROTA_MODEL_BRIEF="1")
    if status == 0:
        status = run_program(program, folder, limit)
    return verdict_of(status, time.monotonic() - begin, folder)


# --- the mutants

class Session:
    """What all mutants of a run share."""

    def __init__(self, options, work):
        self.options = options
        self.tree = mutant_files.Tree(ROOT)
        self.build = model_build.Build(ROOT, work, options.compiler, options.jobs)
        self.scratch = work / "scratch"
        self.printing = threading.Lock()

    def row(self, name, verdict):
        with self.printing:
            print(ROW.format(name, verdict.word, verdict.executions, f"{verdict.seconds:.2f}", verdict.by).rstrip(), flush=True)

    def folder(self, name):
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def run_mutant(self, mutant):
        folder = self.folder(mutant.full_name)
        try:
            program = self.build.changed_program(mutant.model, self.tree.mutated(mutant), folder)
            verdict = try_program(program, folder, self.options.limit)
        except (mutant_files.Fault, model_build.BuildError) as error:
            first = str(error).strip().splitlines()[0]
            verdict = Verdict("BROKEN", "-", 0, f"does not apply or compile: {first}")
        shutil.rmtree(folder, ignore_errors=True)
        self.row(mutant.full_name, verdict)
        return mutant, verdict

    def run_unmodified(self, model):
        folder = self.folder(model)
        begin = time.monotonic()
        status = run_program(self.build.program(model), folder, self.options.limit * 5)
        seconds = time.monotonic() - begin
        if status == 0:
            self.row(f"{model}, unmodified", Verdict("passed", all_executions(folder / "table"), seconds, ""))
        else:
            self.row(f"{model}, unmodified", Verdict("BROKEN", "-", seconds, "it fails unmodified"))
            sys.stderr.write((folder / "log").read_text(errors="replace"))
        shutil.rmtree(folder, ignore_errors=True)
        return model, status == 0


def in_parallel(jobs, work, items):
    """The results in the order in which they come. After an interrupt nothing new is begun."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        futures = [threads.submit(work, item) for item in items]
        try:
            for future in concurrent.futures.as_completed(futures):
                yield future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            model_build.stop_all()
            raise


def chosen_mutants(options):
    try:
        mutants = [m for path in mutant_files.paths(ROOT) for m in mutant_files.read(path)]
    except mutant_files.Fault as fault:
        fail(fault)
    for mutant in mutants:
        if not (ROOT / f"tests/model/{mutant.model}.cpp").exists():
            fail(f"{mutant.full_name}: there is no tests/model/{mutant.model}.cpp")
    if options.parts:
        mutants = [m for m in mutants if any(part in m.full_name for part in options.parts)]
    if not mutants:
        fail("no mutant has such a name")
    if 0 < options.draw < len(mutants):
        mutants = random.Random(options.seed).sample(mutants, options.draw)
    return mutants


# --- the summary

def middle_and_most(numbers):
    return (statistics.median_low(numbers), max(numbers)) if numbers else (0, 0)


def print_summary(results):
    print()
    print(SUMMARY.format("model", "protocols", "mutants", "killed", "median exec.", "most exec.", "median s", "slowest s",
                         "over 10 s"))
    of_model = collections.defaultdict(list)
    for mutant, verdict in results:
        of_model[mutant.model].append(verdict)
    for model in sorted(of_model):
        verdicts = of_model[model]
        killed = [v for v in verdicts if v.word == "killed"]
        middle, most = middle_and_most([int(v.executions) for v in killed if v.executions != "-"])
        seconds, slowest = middle_and_most([v.seconds for v in killed])
        print(SUMMARY.format(model, model_table.protocols_of(ROOT / f"tests/model/{model}.cpp"), len(verdicts), len(killed),
                             middle, most, f"{seconds:.2f}", f"{slowest:.2f}", sum(v.seconds > 10 for v in killed)))


def run_all(options, work):
    begin = time.monotonic()
    mutants = chosen_mutants(options)
    models = sorted({m.model for m in mutants})
    session = Session(options, work)
    try:
        session.build.prepare(models)
    except model_build.BuildError as error:
        fail(error)
    print(ROW.format("mutant", "verdict", "executions", "seconds", "by"))
    try:
        broken = [model for model, passed in in_parallel(options.jobs, session.run_unmodified, models) if not passed]
        results = list(in_parallel(options.jobs, session.run_mutant, mutants))
    finally:
        shutil.rmtree(session.scratch, ignore_errors=True)
    print_summary(results)
    words = collections.Counter(verdict.word for _, verdict in results)
    print(f"mutants: {words['killed']} of {len(mutants)} killed in {time.monotonic() - begin:.0f} seconds, builds included")
    if broken:
        fail(f"these fail unmodified: {' '.join(sorted(broken))}")
    return 2 if words["BROKEN"] else int(words["killed"] < len(mutants))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default=os.environ.get("ROTA_CXX") or shutil.which("clang++-19") or shutil.which("g++"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", default="rota")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    if options.jobs < 1 or options.limit <= 0 or options.draw < 0:
        fail("--jobs and --limit are positive, --draw is not negative")
    if not options.compiler or not shutil.which(options.compiler):
        fail(f"the compiler {options.compiler or 'clang++-19 or g++'} is not installed")
    return options


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = arguments()
    try:
        if options.work:
            options.work.mkdir(parents=True, exist_ok=True)
            return run_all(options, options.work.resolve())
        with tempfile.TemporaryDirectory(prefix="rota_mutants.") as work:
            return run_all(options, pathlib.Path(work))
    except KeyboardInterrupt:
        fail("interrupted")
    except OSError as error:
        fail(error)


if __name__ == "__main__":
    sys.exit(main())
