#!/usr/bin/env python3
"""Breaks the sources on purpose, one mutant at a time, and expects a model test to fail.

  mutants.py [--compiler CXX] [--jobs N] [--limit SECONDS] [--draw N] [--seed TEXT] [--work FOLDER]
             [--listed] [NAME-PART...]

The mutants are those of tests/mutants/*.mutants, and each memory order of the source files that these name, weakened by one step.
A copy of the sources is built once, with all mutants in it (switched_sources.py). A program is told which one it has when it starts;
with none it must pass. With one, the tests that reach it must fail within the limit: first all their explorations run briefly, then
fully. A written mutant that cannot be switched, and one that survives so, is compiled alone.

A row of the table: how many executions the explorations had made when one of them failed, the seconds, the test and the exploration
that failed; `-` if the program ended before it could say. Then, for each model: how many mutants, and how long they took.

  NAME-PART   only mutants whose name contains one of these; a name is <model>__<mutant> or <model>__<order>
  --draw      only N of them, chosen by --seed
  --listed    also those orders that are listed as equivalent or unsettled; a test that fails for one of them is an error
  --work      build here, and keep it: a second run builds only what has changed. Otherwise in a temporary folder

Exit: 0 all killed; 1 one survived, or reached the limit; 2 one does not apply or compile, a program could not run, or an unmodified
test fails.
"""
import argparse
import collections
import concurrent.futures
import hashlib
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
import switched_sources
import weakened_orders

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


def run_program(program, folder, limit, tests=(), **environment):
    """Its exit status, None if it took longer than the limit; a negative one is a signal. What it prints is added to folder/log.

    `tests`: only these, if there are any."""
    command = [program, "--gtest_fail_fast", "--gtest_brief=1", *([f"--gtest_filter={':'.join(tests)}"] if tests else [])]
    with open(folder / "log", "ab") as log:
        return model_build.run(command, folder, log, limit, {"ROTA_MODEL_TABLE": str(folder / "table"), **environment})


def killer_of(folder):
    hit = re.search(r"\[  FAILED  \] ([\w./]+)", (folder / "log").read_text(errors="replace"))
    return hit[1] if hit else ""


def verdict_of(status, seconds, folder):
    """Of a program that failed. One that could not start, or that the system has ended for want of memory, says nothing of a mutant."""
    executions, exploration = executions_until(folder / "table")
    killer = killer_of(folder)
    if status in (-signal.SIGKILL, 126, 127) or status == 1 and not killer:
        return Verdict("BROKEN", "-", seconds, f"status {status}, and no test failed")
    if status == 1:
        return Verdict("killed", executions, seconds, killer + (f": {exploration}" if exploration else ""))
    return Verdict("killed", executions, seconds, f"{killer or '-'} died with status {status}")


# --- what is broken

BRIEF, FULL = {"ROTA_MODEL_BRIEF": "1"}, {}


class Unmodified:
    """The program of a model, and how it behaves without a mutant: briefly and in full."""

    def __init__(self, session, model):
        self.session, self.model = session, model
        self.program = session.build.program(model)
        self.stamp = hashlib.sha256(self.program.read_bytes()).hexdigest()
        self.uses = {}
        self.lock = threading.Lock()

    def reaching(self, number, how):
        """The tests that reach this mutant or order; None if one of all tests fails."""
        with self.lock:
            if name_of(how) not in self.uses:
                self.uses[name_of(how)] = self._run(how)
            uses = self.uses[name_of(how)]
        return None if uses is None else uses.get(number, [])

    def _run(self, how):
        """A program that has passed before is not run again."""
        name = name_of(how)
        passed = self.session.passed / f"{self.model}.{name}"
        begin = time.monotonic()
        title = f"{self.model}, unmodified, {name}"
        if (passed / self.stamp).exists():
            self.session.row(title, Verdict("passed", all_executions(passed / "table"), 0, "in an earlier run"))
        else:
            shutil.rmtree(passed, ignore_errors=True)
            passed.mkdir(parents=True)
            status = run_program(self.program, passed, self.session.options.limit * 5, ROTA_USED=str(passed / "uses"), **how)
            seconds = time.monotonic() - begin
            if status != 0:
                why = f"status {status}" if status is not None else f"not done after {self.session.options.limit * 5:.0f} s"
                self.session.row(title, Verdict("BROKEN", "-", seconds, f"it does not pass unmodified: {why}"))
                sys.stderr.write((passed / "log").read_text(errors="replace"))
                return None
            (passed / self.stamp).touch()
            self.session.row(title, Verdict("passed", all_executions(passed / "table"), seconds, ""))
        return switched_sources.read_uses(passed / "uses")


class Session:
    """What all mutants of a run share."""

    def __init__(self, options, work):
        self.options = options
        self.tree = mutant_files.Tree(ROOT)
        self.work, self.copy = work, work / "tree"
        self.build = model_build.Build(self.copy, work, options.compiler, options.jobs, self.copy / switched_sources.HEADER)
        self.switches = None
        self.unmodified = {}  # of each model
        self.scratch = work / "scratch"
        self.passed = work / "passed"
        self.printing = threading.Lock()

    def prepare(self, models, every, sites):
        """Builds the tests of these models, with `every` mutant and all orders of `sites`."""
        self.switches = switched_sources.Switches(ROOT, every, sites)
        while not self._is_built(models):
            pass
        self.unmodified = {model: Unmodified(self, model) for model in models}

    def _is_built(self, models):
        """Leaves out the mutants that the compiler complains about, if it does."""
        self.switches.write(self.work)
        try:
            self.build.prepare(models, self.copy / switched_sources.SOURCE, [f"-DROTA_NUMBERS={self.switches.last}"])
        except model_build.BuildError as error:
            wrong = switched_sources.named_in(str(error)) & set(self.switches.bodies)
            if not wrong:
                raise
            print(f"mutants: compiled alone, since together with others they do not compile: {' '.join(sorted(wrong))}", flush=True)
            self.switches.leave_out(wrong)
            return False
        return True

    def row(self, name, verdict):
        with self.printing:
            print(ROW.format(name, verdict.word, verdict.executions, f"{verdict.seconds:.2f}", verdict.by).rstrip(), flush=True)

    def folder(self, name):
        folder = self.scratch / re.sub(r"[^\w.-]+", "_", name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def run(self, one):
        """The verdict on a mutant or a variant."""
        folder = self.folder(one.full_name)
        try:
            verdict = self.verdict_on(one, folder)
        except (mutant_files.Fault, model_build.BuildError) as error:
            first = str(error).strip().splitlines()[0]
            verdict = Verdict("BROKEN", "-", 0, f"does not apply or compile: {first}")
        shutil.rmtree(folder, ignore_errors=True)
        self.row(one.full_name, verdict)
        return one, verdict

    def verdict_on(self, one, folder):
        is_order = isinstance(one, weakened_orders.Variant)
        if not is_order and one.full_name in self.switches.alone:
            return self.try_alone(one, folder)
        name, order, models = (one.site.name, one.to, one.models) if is_order else (one.full_name, None, (one.model,))
        verdict = self.try_switched(models, name, order, folder)
        if verdict.word == "SURVIVED" and not is_order:
            return self.try_alone(one, folder)  # it is not in force in constant expressions
        return verdict

    def try_switched(self, models, name, order, folder):
        """Until one fails: all tests briefly, since most mutants fail at once, then the whole search of each."""
        environment = self.switches.environment(name, order)
        seconds, late, is_reached = 0, set(), False
        for how in (BRIEF, FULL):
            for model in models:
                if model in late:
                    continue  # briefly it took too long
                tests = self.unmodified[model].reaching(self.switches.numbers[name], how)
                if tests is None:
                    return Verdict("BROKEN", "-", 0, f"{model} fails unmodified")
                if not tests:
                    continue
                begin = time.monotonic()
                status = run_program(self.unmodified[model].program, folder, self.options.limit, tests, **how, **environment)
                seconds += time.monotonic() - begin
                if status not in (0, None):
                    return verdict_of(status, seconds, folder)
                late |= {model} if status is None else set()
                is_reached = True
        return survivor(seconds, bool(late), "" if is_reached else f"no test of {', '.join(models)} reaches it")

    def try_alone(self, mutant, folder):
        program = self.build.changed_program(mutant.model, self.tree.mutated(mutant), folder)
        seconds = 0
        for how in (BRIEF, FULL):
            if self.unmodified[mutant.model].reaching(0, how) is None:
                return Verdict("BROKEN", "-", 0, f"{mutant.model} fails unmodified")
            begin = time.monotonic()
            status = run_program(program, folder, self.options.limit, **how)
            seconds += time.monotonic() - begin
            if status != 0:
                return survivor(seconds, True, "") if status is None else verdict_of(status, seconds, folder)
        return survivor(seconds, False, "")


def name_of(how):
    return "brief" if how is BRIEF else "full"


def survivor(seconds, is_late, words):
    return Verdict("LIMIT", "-", seconds, "no check failed in time") if is_late else Verdict("SURVIVED", "-", seconds, words)


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


# --- which of them

def read_all():
    """(mutants, the plan of the orders)"""
    try:
        contents = [mutant_files.read(path) for path in mutant_files.paths(ROOT)]
        plan = weakened_orders.plan(ROOT, contents)
    except mutant_files.Fault as fault:
        fail(fault)
    if plan.complaints:
        fail("\n".join(plan.complaints))
    for content in contents:
        if not (ROOT / f"tests/model/{content.model}.cpp").exists():
            fail(f"there is no tests/model/{content.model}.cpp")
    return [m for content in contents for m in content.mutants], plan


def chosen(options):
    """(mutants and variants that the options ask for, those that are listed and not run, all mutants, all orders)"""
    mutants, plan = read_all()
    names = lambda one: [one.full_name] if isinstance(one, mutant_files.Mutant) else one.names
    every = [one for one in [*mutants, *plan.variants]
             if not options.parts or any(part in name for part in options.parts for name in names(one))]
    listed = [plan.listed[v.name] for v in every if isinstance(v, weakened_orders.Variant) and v.name in plan.listed]
    if not options.listed:
        every = [one for one in every if getattr(one, "name", "") not in {entry.name for entry in listed}]
    if not every:
        fail("no mutant has such a name")
    if 0 < options.draw < len(every):
        every = random.Random(options.seed).sample(every, options.draw)
    return every, listed, mutants, plan.sites


# --- the summary

def middle_and_most(numbers):
    return (statistics.median_low(numbers), max(numbers)) if numbers else (0, 0)


def print_group(name, protocols, verdicts):
    killed = [v for v in verdicts if v.word == "killed"]
    middle, most = middle_and_most([int(v.executions) for v in killed if v.executions != "-"])
    seconds, slowest = middle_and_most([v.seconds for v in killed])
    print(SUMMARY.format(name, protocols, len(verdicts), len(killed), middle, most, f"{seconds:.2f}", f"{slowest:.2f}",
                         sum(v.seconds > 10 for v in killed)))


def print_summary(results):
    print()
    print(SUMMARY.format("model", "protocols", "mutants", "killed", "median exec.", "most exec.", "median s", "slowest s",
                         "over 10 s"))
    of_model = collections.defaultdict(list)
    for one, verdict in results:
        of_model[one.model if isinstance(one, mutant_files.Mutant) else ""].append(verdict)
    orders = of_model.pop("", [])
    for model in sorted(of_model):
        print_group(model, model_table.protocols_of(ROOT / f"tests/model/{model}.cpp"), of_model[model])
    if orders:
        print_group("weakened orders", "", orders)


def run_all(options, work):
    begin = time.monotonic()
    which, listed, *all_of_it = chosen(options)
    models = sorted({model for one in which for model in getattr(one, "models", ()) or (one.model,)})
    session = Session(options, work)
    try:
        session.prepare(models, *all_of_it)
        print(f"mutants: built in {time.monotonic() - begin:.0f} seconds: {len(models)} models with "
              f"{len(session.switches.bodies)} mutants; {len(session.switches.alone)} are compiled alone", flush=True)
        print(ROW.format("mutant", "verdict", "executions", "seconds", "by"))
        results = list(in_parallel(options.jobs, session.run, which))
    except model_build.BuildError as error:
        fail(error)
    finally:
        shutil.rmtree(session.scratch, ignore_errors=True)
    print_summary(results)
    return conclude(results, listed, time.monotonic() - begin)


def conclude(results, listed, seconds):
    """Prints the totals. Returns the exit status."""
    kinds = collections.Counter(entry.kind for entry in listed)
    if listed:
        print(f"mutants: {kinds['equivalent']} weaker orders are listed as equivalent, {kinds['unsettled']} as unsettled")
    words = collections.Counter(verdict.word for _, verdict in results)
    print(f"mutants: {words['killed']} of {len(results)} killed in {seconds:.0f} seconds, builds included")
    names = {entry.name: entry for entry in listed}
    wrong = [one.name for one, verdict in results
             if isinstance(one, weakened_orders.Variant) and one.name in names and verdict.word == "killed"]
    if wrong:
        fail("these are listed, and a test fails: " + "; ".join(wrong))
    survived = [one for one, verdict in results if verdict.word != "killed" and getattr(one, "name", "") not in names]
    return 2 if words["BROKEN"] else int(bool(survived))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default=os.environ.get("ROTA_CXX") or shutil.which("clang++-19") or shutil.which("g++"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", default="rota")
    parser.add_argument("--listed", action="store_true")
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
            return run_all(options, pathlib.Path(work).resolve())
    except KeyboardInterrupt:
        fail("interrupted")
    except OSError as error:
        fail(error)


if __name__ == "__main__":
    sys.exit(main())
