#!/usr/bin/env python3
"""The runner itself, on subjects that are not measured but made up."""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import http_suite
import peers
import runner
import suites
import table

HERE = pathlib.Path(__file__).resolve().parent

# A subject: its runs return 1, 2, 3 ... times its factor, and it notes each run in a file.
FAKE = """#!{python}
import json, pathlib, sys
log = pathlib.Path({log!r})
if sys.argv[1] == "--list":
    print("\\n".join({cases!r}))
    sys.exit()
log.open("a").write({name!r} + " " + " ".join(sys.argv[1:]) + "\\n")
run = sum(line.startswith({name!r} + " " + sys.argv[1] + " ") for line in log.read_text().splitlines())
print(json.dumps(dict(case=sys.argv[1], workers=2, unit="ns", value=run * {factor}, cpu_ns=0.5)))
sys.exit({code})
"""


def all_cases(suite):
    return [case.name for case in suites.SUITES[suite]]


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bench").mkdir()
        self.log = self.folder / "log"
        self.log.touch()

    def fake(self, name, cases, factor=1, code=0, file=None):
        path = self.folder / "bench" / (file or f"task_{name}")
        path.write_text(FAKE.format(python=sys.executable, log=str(self.log), cases=cases, name=name, factor=factor, code=code))
        path.chmod(0o755)
        return runner.Subject(name, [str(path)])


class Runs(WithFolder):
    def test_subjects_take_turns_and_the_first_run_of_each_does_not_count(self):
        subjects = [self.fake("rota", ["spawn_await"]), self.fake("tokio", ["spawn_await"], factor=10)]
        (results,) = runner.interleave("task", [suites.case_of("task", "spawn_await")], subjects, quick=True)
        order = [line.split()[0] for line in self.log.read_text().splitlines()]
        self.assertEqual(order, ["rota", "tokio"] * 4)
        rows = {(r["case"], r["subject"]): r for r in results}
        self.assertEqual(rows["spawn_await", "tokio"], {
            "suite": "task", "case": "spawn_await", "subject": "tokio", "workers": 2, "unit": "ns",
            "median": 30, "min": 20, "max": 40, "runs": 3})
        self.assertEqual(rows["spawn_await.cpu", "rota"]["median"], 0.5)

    def test_five_runs_count_unless_quick(self):
        subject = self.fake("rota", ["spawn_await"])
        (results,) = runner.interleave("task", [suites.case_of("task", "spawn_await")], [subject], quick=False)
        self.assertEqual(results[0]["runs"], 5)
        self.assertIn("--scale full", self.log.read_text())

    def test_a_case_that_a_subject_has_not_is_left_out(self):
        subjects = [self.fake("rota", ["spawn_await"]), self.fake("go", [])]
        (results,) = runner.interleave("task", [suites.case_of("task", "spawn_await")], subjects, quick=True)
        self.assertEqual({r["subject"] for r in results}, {"rota"})

    def test_a_run_that_fails_fails_everything(self):
        subject = self.fake("rota", ["spawn_await"], code=3)
        with self.assertRaisesRegex(runner.Failed, "rota spawn_await ended with 3"):
            list(runner.interleave("task", [suites.case_of("task", "spawn_await")], [subject], quick=True))

    def test_what_is_no_result_fails_everything(self):
        for text in ("hello", "{}", '{"case":"a","workers":2,"unit":"ns","value":"fast"}'):
            with self.assertRaises(runner.Failed):
                runner.line_of(text, "a test")


class Tables(unittest.TestCase):
    def row(self, case, subject, median, suite="task"):
        return {"suite": suite, "case": case, "subject": subject, "workers": 2, "unit": "ns", "median": median,
                "min": median, "max": median, "runs": 5}

    def test_the_ratio_is_to_the_best_peer_and_the_goal_is_judged(self):
        rows = [self.row("spawn_await", "rota", 50.0), self.row("spawn_await", "tokio", 200.0),
                self.row("spawn_await", "go", 100.0)]
        first = table.rows_text(rows).splitlines()[0]
        self.assertRegex(first, r"spawn_await +rota .* 0\.50 +<= 0\.2 x tokio: MISSED")
        rows[0]["median"] = 40.0
        self.assertRegex(table.rows_text(rows), "reached")

    def test_processor_time_is_a_column_with_a_ratio_of_its_own(self):
        rows = [self.row("ping_pong", "rota", 50.0), self.row("ping_pong.cpu", "rota", 30.0),
                self.row("ping_pong", "tokio", 100.0), self.row("ping_pong.cpu", "tokio", 120.0)]
        lines = table.rows_text(rows).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r" 30\.0 ns +5 +0\.50 +0\.25 +<= 120: reached")

    def test_a_plain_goal_is_judged_without_peers(self):
        rows = [self.row("child_await", "rota", 4.6), self.row("child_await", "asio", 9.2)]
        self.assertRegex(table.rows_text(rows), r" 0\.50 +<= 4\.5: MISSED")
        rows[0]["median"] = 4.5
        self.assertRegex(table.rows_text(rows), r"<= 4\.5: reached")

    def test_a_goal_whose_peer_is_not_there_is_not_judged(self):
        self.assertRegex(table.rows_text([self.row("spawn_await", "rota", 50.0)]), "not judged")

    def test_more_is_better_where_requests_are_counted(self):
        rows = [self.row("1k_64", "rota", 99.0, "http"), self.row("1k_64", "nginx", 100.0, "http")]
        self.assertRegex(table.rows_text(rows), "MISSED")
        rows[0]["median"] = 100.0
        self.assertRegex(table.rows_text(rows), "reached")

    def test_what_rota_brings_along_is_no_peer(self):
        rows = [self.row("spawn_idle.p50", "rota", 50.0, "latency"), self.row("spawn_idle.p50", "futex", 25.0, "latency")]
        self.assertNotIn("2.00", table.rows_text(rows))


class Peers(unittest.TestCase):
    def setUp(self):
        self.there = dict(peers.PEERS)
        self.addCleanup(lambda: peers.PEERS.update(self.there))
        peers.PEERS["tokio"] = dataclasses.replace(self.there["tokio"], is_there=lambda: False)
        peers.PEERS["go"] = dataclasses.replace(self.there["go"], is_there=lambda: True)

    def test_one_that_is_not_installed_is_skipped_visibly(self):
        present, skipped = peers.chosen("tokio,go")
        self.assertEqual([peer.name for peer in present], ["go"])
        self.assertEqual(skipped, ["skipped: tokio (librust-tokio-dev is not installed)"])

    def test_one_that_there_is_not_is_an_error_that_lists_the_others(self):
        with self.assertRaisesRegex(SystemExit, "no peer erlang; there are: tokio, go, asio, tbb, openmp, rayon, nginx"):
            peers.chosen("go,erlang")

    def test_none_and_all(self):
        self.assertEqual(peers.named("none"), [])
        self.assertEqual(len(peers.named("all")), len(peers.PEERS))


    def test_a_program_is_built_again_when_a_file_that_it_shares_is_newer(self):
        with tempfile.TemporaryDirectory() as folder:
            program, own, shared = (pathlib.Path(folder, name) for name in ("program", "own/main.cpp", "shared/problems.hpp"))
            for age, path in ((30, own), (20, program), (10, shared)):
                path.parent.mkdir(exist_ok=True)
                path.touch()
                os.utime(path, (1_000_000 - age, 1_000_000 - age))
            self.assertTrue(peers.is_newer(program, own.parent))
            self.assertFalse(peers.is_newer(program, own.parent, shared.parent))


class Http(unittest.TestCase):
    def test_a_process_and_its_children_are_one_family(self):
        shell = subprocess.Popen(["sh", "-c", "sleep 60 & wait"])
        try:
            for _ in range(500):
                if len(http_suite.family(shell.pid)) == 2:
                    break
            family = http_suite.family(shell.pid)
            self.assertEqual(len(family), 2)
            self.assertEqual(family[0], shell.pid)
        finally:
            for pid in http_suite.family(shell.pid):
                subprocess.run(["kill", str(pid)], check=False)
            shell.wait()


class Command(WithFolder):
    def bench(self, *arguments):
        return subprocess.run([sys.executable, HERE / "bench.py", *map(str, arguments)], capture_output=True, text=True,
                              check=False)

    def test_list_names_every_suite_case_and_peer(self):
        done = self.bench("--list")
        self.assertEqual(done.returncode, 0)
        for name in [*suites.SUITES, *peers.PEERS, *(case.name for cases in suites.SUITES.values() for case in cases)]:
            self.assertIn(name, done.stdout)

    def test_the_whole_way_to_a_table_and_a_file(self):
        self.fake("rota", all_cases("task"))
        out = self.folder / "out.json"
        done = self.bench("task", "--quick", "--peers", "none", "--build", self.folder, "--json", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        results = json.loads(out.read_text())
        self.assertEqual({tuple(r) for r in results},
                         {("suite", "case", "subject", "workers", "unit", "median", "min", "max", "runs")})
        self.assertEqual([r["case"] for r in results if not r["case"].endswith(".cpu")], all_cases("task"))
        for case in all_cases("task"):
            self.assertRegex(done.stdout, rf"(?m)^{case} +rota +2 +3\.0 +2\.0 +4\.0 ns ")

    def test_a_suite_that_fails_ends_with_one_and_says_why(self):
        self.fake("rota", all_cases("task"), code=9)
        done = self.bench("task", "--quick", "--peers", "none", "--build", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("rota spawn_await ended with 9", done.stderr)

    def test_an_unknown_suite_or_peer_is_an_error_that_lists_the_known_ones(self):
        for arguments, words in ((["nosuch"], "no suite nosuch; there are: task, forkjoin, timer"),
                                 (["--peers", "nosuch"], "no peer nosuch; there are: tokio, go")):
            done = self.bench("--plan", *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)

    def test_the_plan_names_preset_targets_and_packages(self):
        plans = ((["task", "--peers", "go"], ["bench", "rota_benches", "golang-go"]),
                 (["http"], ["bench", "rota_benches example_file_server", "wrk"]),
                 (["--count"], ["count", "rota_benches", "valgrind"]),
                 (["--list"], ["nothing"]))
        for arguments, lines in plans:
            self.assertEqual(self.bench("--plan", *arguments).stdout.splitlines(), lines)

    def test_every_case_has_one_name(self):
        names = [case for suite in suites.SUITES for case in all_cases(suite)]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
