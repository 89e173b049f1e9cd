"""A build folder as ctest sees it: which tests it has, which failed last, and single runs of one test or of all."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import processes

LISTED = re.compile(r"^ *Test +#\d+: (.*)$", re.MULTILINE)
SUMMARY = re.compile(r"^\t *\d+ - (.*) \(([^()]*)\)$", re.MULTILINE)
TESTED = re.compile(r"^\d+/\d+ Test: ", re.MULTILINE)
RECORDS = ("LastTest.log", "LastTestsFailed.log")
STALE = 10  # seconds: a run that fails writes both records at its end

BURN = """
import os, sys, time
end, parent = time.monotonic() + float(sys.argv[1]), int(sys.argv[2])
while time.monotonic() < end and os.getppid() == parent:
    for _ in range(100000):
        pass
"""


class CtestError(Exception):
    """ctest could not run what it was asked for; the text says what it printed."""


@dataclasses.dataclass
class Run:
    """One run of one test."""
    name: str
    kind: str  # "Failed", "Timeout", "SEGFAULT" and so on; empty: it passed or was skipped
    seconds: float
    output: str


@contextlib.contextmanager
def burners(count, seconds):
    """Runs `count` busy loops beside the block. Each ends by itself after `seconds`, or when this process is gone."""
    command = [sys.executable, "-S", "-c", BURN, str(seconds), str(os.getpid())]
    running = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
        for each in running:
            each.wait()


class Folder:
    """A build folder. If a preset of ctest has its name, tests run with that preset's environment."""

    def __init__(self, path, root):
        self.path = pathlib.Path(path).resolve()
        self.root = pathlib.Path(root).resolve()
        self.name = self.path.name
        self._names = None

    def exists(self):
        return (self.path / "CTestTestfile.cmake").exists()

    def command(self):
        presets = self.root / "CMakePresets.json"
        if self.path.parent == self.root / "build" and presets.exists():
            known = json.loads(presets.read_text()).get("testPresets", [])
            if any(each["name"] == self.name and not each.get("hidden") for each in known):
                return ["ctest", "--preset", self.name]
        return ["ctest", "--test-dir", str(self.path)]

    def record(self, name):
        return self.path / "Testing/Temporary" / name

    @contextlib.contextmanager
    def records_kept(self):
        """Puts ctest's records back afterwards, times included. Even a ctest that only lists its tests writes a new log."""
        kept = {path: (path.read_bytes(), path.stat()) for name in RECORDS if (path := self.record(name)).exists()}
        try:
            yield
        finally:
            for path in map(self.record, RECORDS):
                if path in kept:
                    path.write_bytes(kept[path][0])
                    os.utime(path, ns=(kept[path][1].st_atime_ns, kept[path][1].st_mtime_ns))
                else:
                    path.unlink(missing_ok=True)

    def listed(self, *arguments):
        """The names of the tests that ctest would run."""
        with self.records_kept():
            done = subprocess.run(self.command() + ["--show-only", *arguments], cwd=self.root, capture_output=True, text=True,
                                  errors="replace", check=False)
        if done.returncode != 0 and "No tests were found" not in done.stdout + done.stderr:
            raise CtestError(f"ctest cannot list the tests of {self.path}:\n{done.stdout}{done.stderr}".rstrip())
        return LISTED.findall(done.stdout)

    def has(self, name):
        """Whether there is such a test still."""
        if self._names is None:
            self._names = set(self.listed())
        return name in self._names

    def failed_last(self, since=0):
        """The names of the tests that failed when ctest last ran here; none if that was before `since`.

        ctest leaves the list of an earlier run in place if all tests of the last one pass. Such a list is older than the log.
        A ctest that lists its tests writes a log without any.
        """
        log, failed = map(self.record, RECORDS)
        if not failed.exists() or not log.exists() or failed.stat().st_mtime < since:
            return []
        if failed.stat().st_mtime + STALE < log.stat().st_mtime and TESTED.search(log.read_text(errors="replace")):
            return []
        return [line.partition(":")[2] for line in failed.read_text(errors="replace").splitlines() if ":" in line]

    def last_run(self, name):
        """The run of the test that ctest's log has, which failed. The log does not say how."""
        try:
            text = self.record("LastTest.log").read_text(errors="replace")
        except FileNotFoundError:
            text = ""
        found = re.search(r"^\d+/\d+ Test: " + re.escape(name) + r"\n.*?^Output:\n-+\n(.*?)<end of output>\nTest time = +([\d.]+)",
                          text, re.MULTILINE | re.DOTALL)
        return Run(name, "in the suite", float(found[2]), found[1]) if found else Run(name, "in the suite", 0, "")

    def run(self, arguments, deadline=None):
        """Runs ctest. Returns a list of Run, or None if the deadline (of time.monotonic()) came first."""
        with self.records_kept(), tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch, "report.xml")
            done = processes.run(self.command() + [*arguments, "--output-junit", str(report)], self.root, deadline)
            if done is None:
                return None
            if not report.exists():
                raise CtestError(f"ctest ran no test of {self.path}:\n{done[1]}".rstrip())
            return runs_of(report.read_text(errors="replace"), done[1])

    def run_one(self, name, deadline=None):
        """One run of one test, or None if the deadline came first."""
        # By name, not by number: ctest's -I counts the tests that a preset's filter leaves, its lists count all of them.
        runs = self.run(["-j", "1", "-R", f"^{exactly(name)}$"], deadline)
        if runs is None:
            return None
        if [each.name for each in runs] != [name]:
            raise CtestError(f"{self.path}: {name} and no other test should have run, and it was: {[each.name for each in runs]}")
        return runs[0]


def exactly(name):
    """A regex of CMake's that matches the name and nothing else."""
    return re.sub(r"([][^$.*+?()|\\-])", r"\\\1", name)


def runs_of(report, said):
    """The runs that a report of JUnit's form tells of. Its form does not say how a test failed; ctest's last lines do."""
    _, failed, listed = said.rpartition("The following tests FAILED:")
    kinds = dict(SUMMARY.findall(listed)) if failed else {}  # ctest lists skipped tests in the same form, above the failed ones
    try:
        cases = list(xml.etree.ElementTree.fromstring(report).iter("testcase"))
    except xml.etree.ElementTree.ParseError as error:
        raise CtestError(f"ctest's report cannot be read ({error}):\n{said}".rstrip()) from error
    return [Run(case.get("name"), kinds.get(case.get("name"), "Failed" if case.get("status") == "fail" else ""),
                float(case.get("time") or 0), case.findtext("system-out") or "")
            for case in cases]
