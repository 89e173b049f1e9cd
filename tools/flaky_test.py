"""Tests flaky.py on made-up build folders, whose tests are lines of shell."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ODD = 'unit_a.rooms/x-y.case/0 # GetParam() = "q(1)" [a|b] ^$ *+? \\d {2}.uring'
# Counts its runs in a file and fails in those that `case` matches: at "3 | 8", one of five.
COUNTED = 'n=$(cat {0} 2>&-); n=$((n + 1)); echo $n >{0}; case $n in {1}) echo "{2}"; exit 1; esac'
PRESETS = """{"version": 6,
 "configurePresets": [{"name": "asan-gcc", "generator": "Ninja", "binaryDir": "${sourceDir}/build/asan-gcc"}],
 "testPresets": [{"name": "asan-gcc", "configurePreset": "asan-gcc", "environment": {"OF_THE_PRESET": "yes"},
                  "filter": {"include": {"label": "^unit$"}}}]}"""  # which leaves out tests that are listed first


class Flaky(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)

    def build(self, tests, preset="dev"):
        """Makes build/<preset>, whose tests are {name: line of shell}."""
        folder = self.root / "build" / preset
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for name, script in tests.items():
            lines.append(f'add_test([==[{name}]==] "/bin/sh" "-c" [==[{script}]==])')
            lines.append(f"set_tests_properties([==[{name}]==] PROPERTIES LABELS unit TIMEOUT 30 WORKING_DIRECTORY [==[{folder}]==])")
        (folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        return folder

    def suite(self, preset="dev"):
        """Runs all tests as ./dev test does."""
        subprocess.run(["ctest", "--test-dir", self.root / "build" / preset], capture_output=True, check=False)

    def command(self, *arguments):
        return [sys.executable, str(HERE / "flaky.py"), "--root", str(self.root), *arguments]

    def flaky(self, *arguments, code=1):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said)
        self.assertNotIn("Traceback", said)
        return said

    def row(self, said, name):
        """The cells of a test's row in the table, which is the last of its name."""
        rows = [line for line in said.splitlines() if line.startswith(f"{name} (") and "  " in line]
        self.assertTrue(rows, said)
        return re.split(r" {2,}", rows[-1])[1:]

    def test_a_test_that_fails_one_time_in_five_is_counted(self):
        self.build({"fifth": COUNTED.format("count", "3 | 8", "a.cpp:7: broken")})
        said = self.flaky("^fifth$")
        self.assertIn("flaky: fifth (dev) failed 2 of 10", said)
        self.assertIn("2 so (Failed: 2):\n  | a.cpp:7: broken\n", said)
        self.assertEqual(self.row(said, "fifth")[:3], ["2 of 10", "1 of 5", "1 of 5"])

    def test_a_test_that_never_fails_is_no_failure(self):
        self.build({"good": "true"})
        self.assertEqual(self.row(self.flaky("good", "--runs", "5", code=0), "good")[:3], ["0 of 5", "0 of 3", "0 of 2"])

    def test_a_skipped_test_is_no_failure(self):
        folder = self.build({"skipped": "exit 77", "good": "true"})
        with open(folder / "CTestTestfile.cmake", "a") as tests:
            tests.write("set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)\n")
        self.assertIn("run 1 of 1: 0 of 2 tests failed", self.flaky("--all", "--runs", "1", code=0))
        self.assertEqual(self.row(self.flaky("skipped", "--runs", "2", code=0), "skipped")[:3], ["0 of 2", "0 of 1", "0 of 1"])

    def test_a_failure_that_does_not_come_back_stays_a_failure(self):
        self.build({"once": COUNTED.format("count", "1", "first"), "good": "true"})
        self.suite()
        said = self.flaky()
        self.assertEqual(self.row(said, "once")[:3], ["1 of 11", "0 of 5", "0 of 5"])
        self.assertIn("1 so (in the suite: 1):\n  | first\n", said)
        self.assertNotIn("good", said)

    def test_odd_names_are_repeated_exactly(self):
        self.build({ODD: "echo odd; exit 1", ODD.removesuffix(".uring"): "touch other", ODD.replace(".", "x"): "touch other"})
        self.suite()
        (self.root / "build/dev/other").unlink()
        self.assertEqual(self.row(self.flaky("--runs", "2"), ODD)[0], "3 of 3")
        self.assertFalse((self.root / "build/dev/other").exists())

    def test_the_environment_of_the_preset_holds(self):
        (self.root / "CMakePresets.json").write_text(PRESETS)
        folder = self.build({"needs": '[ "$OF_THE_PRESET" = yes ]'}, "asan-gcc")
        tests = folder / "CTestTestfile.cmake"
        tests.write_text('add_test(other "false")\nadd_test(another "false")\n' + tests.read_text())
        self.assertEqual(self.row(self.flaky("needs", "--runs", "2", "--build", "asan-gcc", code=0), "needs")[0], "0 of 2")
        self.build({"needs": '[ "$OF_THE_PRESET" = yes ]'}, "other")
        self.assertEqual(self.row(self.flaky("needs", "--runs", "2", "--build", "other"), "needs")[0], "2 of 2")

    def test_distinct_failures_are_told_apart(self):
        script = COUNTED.format("count", "1 | 2 | 3 | 4", "a.cpp:7: value $n at 0x$n, process $$").replace("exit 1; esac",
                                "exit 1;; 5) echo a.cpp:9: other; exit 1; esac")
        self.build({"two": script})
        said = self.flaky("two", "--load", "0")
        self.assertIn("4 so (Failed: 4):\n  | a.cpp:7: value 1", said)
        self.assertIn("1 so (Failed: 1):\n  | a.cpp:9: other\n", said)
        self.assertEqual(self.row(said, "two")[:3], ["5 of 10", "5 of 10", "-"])

    def test_crashes_and_hangs_have_names(self):
        folder = self.build({"crash": "kill -SEGV $$", "hang": "exec sleep 60"})
        with open(folder / "CTestTestfile.cmake", "a") as tests:
            tests.write("set_tests_properties(hang PROPERTIES TIMEOUT 1)\n")
        said = self.flaky(".", "--runs", "1")
        self.assertIn("(SEGFAULT: 1)", said)
        self.assertIn("(Timeout: 1)", said)

    def test_long_output_is_cut(self):
        self.build({"long": "seq 1000; exit 1"})
        said = self.flaky("long", "--runs", "1")
        self.assertIn("  | 40\n  | (960 lines more)", said)

    def test_the_records_of_ctest_stay(self):
        folder = self.build({"once": COUNTED.format("count", "1", "first")})
        self.suite()
        records = sorted((folder / "Testing/Temporary").glob("LastTest*.log"))
        before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in records]
        self.flaky("--runs", "2")
        self.flaky("once", "--runs", "2", code=0)
        self.assertEqual([(path.read_bytes(), path.stat().st_mtime_ns) for path in records], before)

    def test_a_list_of_an_earlier_run_is_not_used(self):
        folder = self.build({"once": COUNTED.format("count", "1", "first")})
        self.suite()
        stale = folder / "Testing/Temporary/LastTestsFailed.log"
        os.utime(stale, (stale.stat().st_mtime - 60,) * 2)
        self.suite()
        self.assertTrue(stale.exists())
        self.assertIn("no test failed last", self.flaky(code=0))
        subprocess.run(["ctest", "--test-dir", folder, "--show-only"], capture_output=True, check=True)
        self.assertIn("failed last: 1; repeated: 1", self.flaky("--runs", "1"))

    def test_a_list_from_before_the_run_of_ci_is_not_used(self):
        self.build({"bad": "exit 1"})
        self.suite()
        self.assertIn("no test failed last", self.flaky("--ci", "--since", str(time.time() + 60), code=0))
        self.assertIn("failed 2 of 2", self.flaky("--ci", "--runs", "1", "--since", str(time.time() - 60)))

    def test_at_most_eight_tests_are_repeated_by_ci(self):
        for preset in ("asan-gcc", "dev"):
            self.build({f"bad{i}": "echo said; exit 1" for i in range(8)} | {"bad9_NOT_BUILT": "exit 1"}, preset)
            self.suite(preset)
        said = self.flaky("--ci", "--runs", "1")
        self.assertIn("failed last: 18; repeated: 8, 1 times each", said)
        for preset in ("asan-gcc", "dev"):
            self.assertEqual(said.count(f"({preset}) failed 2 of 2\n  2 so"), 4)
            self.assertIn(f"bad9_NOT_BUILT ({preset}) failed, and was not repeated", said)
            self.assertIn(f"bad7 ({preset}) failed, and was not repeated", said)

    def test_the_time_is_limited(self):
        self.build({f"hang{i}": COUNTED.format(f"count{i}", "1", "first") + "; sleep 20" for i in range(3)})
        self.suite()
        said = self.flaky("--seconds", "3")
        for i in range(3):
            self.assertRegex(self.row(said, f"hang{i}")[-1], "^out of time")

    def test_a_folder_that_ctest_cannot_read_hides_no_other(self):
        for preset in ("asan-gcc", "dev"):
            self.build({"bad": "exit 1"}, preset)
            self.suite(preset)
        (self.root / "build/asan-gcc/CTestTestfile.cmake").write_text("nonsense(\n")
        said = self.flaky("--ci", "--runs", "2")
        self.assertIn("bad (dev) failed 3 of 3", said)
        self.assertIn("bad (asan-gcc) failed 1 of 1 (", said)

    def test_a_test_that_is_gone_is_named(self):
        self.build({"bad": "exit 1", "other": "true"})
        self.suite()
        self.build({"other": "true"})
        self.assertEqual(self.row(self.flaky(), "bad")[-1], "no such test any more")

    def test_the_whole_suite_is_repeated(self):
        self.build({"good": "true", "third": COUNTED.format("count", "2", "broken")})
        said = self.flaky("--all", "--runs", "3")
        self.assertIn("run 2 of 3: 1 of 2 tests failed", said)
        self.assertEqual(self.row(said, "third")[:3], ["1 of 3", "-", "1 of 3"])
        self.assertIn("1 of 2 tests failed at least once in 3 runs under load 2", said)
        self.assertIn("0 of 2 tests failed at least once", self.flaky("--all", "--runs", "1", code=0))

    def burners_of(self, pid):
        """The processes of the busy loops that the tool runs."""
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [child for child in children if b"getppid" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()]

    def started(self, folder):
        """The process of the test that hangs, as soon as it runs."""
        pid = folder / "pid"
        while not pid.exists() or not pid.read_text().endswith("\n"):
            time.sleep(0.01)
        return int(pid.read_text())

    def gone(self, pids):
        """Fails if a process is there after a minute."""
        end = time.monotonic() + 60
        while any(pathlib.Path("/proc", pid).exists() for pid in pids) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse([pid for pid in pids if pathlib.Path("/proc", pid).exists()])

    def test_an_interruption_ends_all_that_was_started(self):
        folder = self.build({"hang": "echo $$ >pid; exec sleep 25"})
        records = folder / "Testing/Temporary"
        process = subprocess.Popen(self.command("hang", "--runs", "2"),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.started(folder)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("interrupted", said)
        self.gone([(folder / "pid").read_text().strip()])
        self.assertFalse((records / "LastTestsFailed.log").exists())

    def test_burners_end_with_the_tool(self):
        folder = self.build({"hang": "echo $$ >pid; exec sleep 25"})
        process = subprocess.Popen(self.command("--all", "--runs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        hanging = self.started(folder)
        burners = self.burners_of(process.pid)
        self.assertEqual(len(burners), 2)
        process.kill()  # not even then does one stay
        process.wait()
        self.gone(burners)
        os.kill(hanging, signal.SIGKILL)  # what the tool could not end itself

    def test_misuse_is_told(self):
        self.assertIn("there are no tests in build/dev", self.flaky())
        self.build({"good": "true"})
        self.assertIn("no test of dev matches bad", self.flaky("bad"))
        self.assertIn("no test failed last in dev", self.flaky(code=0))
        self.assertIn("--all is the whole suite", self.flaky("--all", "good", code=2))
        self.assertIn("--ci repeats what failed", self.flaky("--ci", "good", code=2))
        self.assertIn("not a number from 1 to 999999: 0", self.flaky("--runs", "0", code=2))


if __name__ == "__main__":
    unittest.main()
