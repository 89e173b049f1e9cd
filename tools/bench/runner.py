"""Runs subjects, one process for each run of a case, interleaved, and makes results of what they print."""
import dataclasses
import json
import statistics
import subprocess

import suites

RUN_SECONDS = 900  # a run that takes longer hangs: on a loaded machine the slowest peer of forkjoin needs some minutes


class Failed(Exception):
    """A subject did not do what it was asked: the whole benchmark has failed."""


@dataclasses.dataclass
class Subject:
    name: str
    command: list

    def cases(self):
        listed = subprocess.run([*self.command, "--list"], capture_output=True, text=True, timeout=60, check=False)
        if listed.returncode != 0:
            raise Failed(f"{self.name} --list ended with {listed.returncode}: {listed.stderr.strip()}")
        return listed.stdout.split()

    def run(self, case, workers, *options):
        """The lines of one run, as dictionaries."""
        command = [*self.command, case, "--workers", str(workers), *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} {case}: no end after {RUN_SECONDS} s") from None
        if done.returncode != 0:
            raise Failed(f"{self.name} {case} ended with {done.returncode}: {done.stderr.strip()}")
        return [line_of(text, f"{self.name} {case}") for text in done.stdout.splitlines() if text.strip()]


def line_of(text, where):
    try:
        line = json.loads(text)
        return {**line, "case": str(line["case"]), "workers": int(line["workers"]), "unit": str(line["unit"]),
                "value": float(line["value"])}
    except (ValueError, KeyError, TypeError):
        raise Failed(f"{where} printed what is no result: {text}") from None


class Values:
    """The counted runs of one suite, by case, subject and unit, in the order in which they first came."""

    def __init__(self, suite):
        self.suite = suite
        self.lists = {}

    def add(self, subject, line):
        name = line.get("subject", subject)
        self._append(line["case"], name, line["workers"], line["unit"], line["value"])
        if "cpu_ns" in line:
            self._append(line["case"] + ".cpu", name, line["workers"], "ns", float(line["cpu_ns"]))

    def add_allocations(self, subject, line):
        """Of a run that counts what an operation asks of the allocator, and is not timed."""
        for key, part, unit in (("bytes_per_op", ".bytes", "B"), ("allocations_per_op", ".allocs", "allocations")):
            if key in line:
                self._append(line["case"] + part, subject, line["workers"], unit, float(line[key]))

    def _append(self, case, subject, workers, unit, value):
        self.lists.setdefault((case, subject, workers, unit), []).append(value)

    def results(self):
        return [{"suite": self.suite, "case": case, "subject": subject, "workers": workers, "unit": unit,
                 "median": statistics.median(values), "min": min(values), "max": max(values), "runs": len(values)}
                for (case, subject, workers, unit), values in self.lists.items()]


def counted_runs(quick):
    return 3 if quick else 5


def interleave(suite, cases, subjects, quick):
    """Each case: one run of each subject to warm up, then A B A B ... A generator of each case's results."""
    options = ["--scale", "quick" if quick else "full"]
    warm_up = ["--allocations", "1"] if suite in suites.COUNTING_ALLOCATIONS else []
    known = {subject.name: subject.cases() for subject in subjects}
    for case in cases:
        values = Values(suite)
        for counted in range(counted_runs(quick) + 1):
            for subject in subjects:
                if case.name not in known[subject.name]:
                    continue
                for line in subject.run(case.name, case.workers, *options, *([] if counted else warm_up)):
                    if counted:
                        values.add(subject.name, line)
                    else:
                        values.add_allocations(subject.name, line)
        yield values.results()
