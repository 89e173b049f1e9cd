#!/usr/bin/env python3
"""The judgement of counts, on numbers that are made up."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import count


class Counts(unittest.TestCase):
    ACCEPTED = {"instructions": 1000, "rmws": 3, "seq_cst_stores": 0, "system_calls": 0.05, "allocations": 1}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_growth_beyond_a_twentieth_is_named(self):
        counts = {"task/spawn_await": {**self.ACCEPTED, "instructions": 1060}}
        self.assertEqual(list(count.judge(counts, {"task/spawn_await": self.ACCEPTED})),
                         ["task/spawn_await: instructions grew from 1000 to 1060 per operation"])

    def test_one_more_read_modify_write_is_growth(self):
        counts = {"task/spawn_await": {**self.ACCEPTED, "rmws": 4}}
        self.assertRegex(next(count.judge(counts, {"task/spawn_await": self.ACCEPTED})), "rmws grew from 3 to 4")

    def test_a_little_more_and_any_less_are_none(self):
        for instructions in (1049, 500):
            counts = {"task/spawn_await": {**self.ACCEPTED, "instructions": instructions}}
            self.assertEqual(list(count.judge(counts, {"task/spawn_await": self.ACCEPTED})), [])

    def test_what_has_no_baseline_or_is_not_exact_is_not_judged(self):
        grown = {**self.ACCEPTED, "instructions": 9000}
        self.assertEqual(list(count.judge({"task/spawn_await": grown}, {})), [])
        self.assertEqual(list(count.judge({"task/spawn_100k_outside": grown},
                                          {"task/spawn_100k_outside": self.ACCEPTED})), [])

    def test_accepting_keeps_other_compilers_and_other_cases_and_nothing_inexact(self):
        path = self.folder / "baseline.json"
        count.write_baseline(path, "clang 19.1.7", {"task/ping_pong": {"rmws": 1}, "task/yield_alone": {"rmws": 2}})
        count.write_baseline(path, "g++ 12.2.0", {"task/ping_pong": {"rmws": 9}, "task/spawn_100k_outside": {"rmws": 5}})
        count.write_baseline(path, "clang 19.1.7", {"task/ping_pong": {"rmws": 3}})
        self.assertEqual(count.read_baseline(path), {
            "clang 19.1.7": {"task/ping_pong": {"rmws": 3}, "task/yield_alone": {"rmws": 2}},
            "g++ 12.2.0": {"task/ping_pong": {"rmws": 9}}})

    def test_what_happens_once_cancels(self):
        self.assertEqual(count.per_operation(500_000 + 7 * count.SIZES[0], 500_000 + 7 * count.SIZES[1]), 7)

    def test_a_planted_baseline_fails_the_command(self):
        path = self.folder / "baseline.json"
        count.write_baseline(path, "clang 19.1.7", {"timer/arm_cancel": self.ACCEPTED})
        measured = count.count_case
        self.addCleanup(setattr, count, "count_case", measured)
        count.count_case = lambda folder, suite, case: {**self.ACCEPTED, "instructions": 2000}
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(count.count(self.folder, ["timer"], "clang 19.1.7", path, accept=False), 1)
            self.assertEqual(count.count(self.folder, ["timer"], "clang 19.1.7", path, accept=True), 0)
            self.assertEqual(count.count(self.folder, ["timer"], "clang 19.1.7", path, accept=False), 0)
        self.assertEqual(said.getvalue().count("GREW: timer/arm_cancel: instructions"), 1)


if __name__ == "__main__":
    unittest.main()
