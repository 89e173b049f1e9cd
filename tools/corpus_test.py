"""Tests corpus.py with a made-up fuzzer, and cmake/corpus.cmake in a made-up project."""
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import corpus

HERE = pathlib.Path(__file__).resolve().parent

# What an input "reaches" is its first letter. A merge keeps the shortest for each letter that the first folder has not.
FUZZER = f"""#!{sys.executable}
import hashlib, pathlib, sys, time
options = [each for each in sys.argv[1:] if each.startswith("-")]
folders = [pathlib.Path(each) for each in sys.argv[1:] if not each.startswith("-")]
inputs = sorted((path.read_bytes() for folder in folders for path in folder.iterdir()), key=lambda data: (len(data), data))
broken = [data for data in inputs if data[:1] == b"!"]
if b"sleep" in inputs:
    pathlib.Path(__file__).with_name("began").touch()
    time.sleep(30)
if b"no ring" in inputs:
    print("skipped: no io_uring here")
    sys.exit(0)
if "-set_cover_merge=1" in options:
    reached = {{path.read_bytes()[:1] for path in folders[0].iterdir()}}
    for data in inputs:
        if data[:1] not in reached | {{b"!"}}:
            reached.add(data[:1])
            (folders[0] / hashlib.sha1(data).hexdigest()).write_bytes(data)
    print(f"MERGE-OUTER: successful in {{1 + len(broken)}} attempt(s)")
elif b"unsteady" in inputs:
    print(f"#9 INITED cov: {{len(inputs)}} ft: 5 corp: 3/9b")
else:
    letters = len({{data[:1] for data in inputs}})
    print(f"#9 INITED cov: {{letters}} ft: {{2 * letters}} corp: 3/9b")
    sys.exit(bool(broken))
"""

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(unpacks LANGUAGES NONE)
include("{cmake}/corpus.cmake")
rota_unpack(inputs "${{CMAKE_CURRENT_SOURCE_DIR}}/a.tar.xz" "${{CMAKE_CURRENT_BINARY_DIR}}/deep/er/a")
"""


def hashed(data):
    return hashlib.sha1(data).hexdigest()[:8]


class Corpus(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.archive = self.root / "tests/fuzz/corpus/a.tar.xz"
        self.programs = self.root / "programs"
        self.programs.mkdir()

    def fuzzer(self):
        program = self.programs / "libfuzzer_a"
        program.write_text(FUZZER)
        program.chmod(0o755)

    def found(self, *inputs, **named):
        """What ./dev fuzz left in build/fuzz/a."""
        folder = self.root / "build/fuzz/a"
        folder.mkdir(parents=True, exist_ok=True)
        for data in inputs:
            (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
        for name, data in named.items():
            (folder / name).write_bytes(data)

    def store(self, *inputs, **named):
        corpus.write_archive(self.archive, {hashed(data): data for data in inputs} | named)

    def stored(self):
        return corpus.unpacked(self.archive)

    def command(self, *arguments):
        return [sys.executable, HERE / "corpus.py", *arguments]

    def merge_command(self):
        return self.command("merge", "a", "--root", self.root, "--programs", self.programs)

    def run_tool(self, command, code=0):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said)
        self.assertNotIn("Traceback", said)
        return said

    def refused(self, why):
        before = self.archive.read_bytes()
        self.assertIn(why, self.run_tool(self.merge_command(), 1))
        self.assertEqual(self.archive.read_bytes(), before)
        self.assertEqual(os.listdir(self.archive.parent), ["a.tar.xz"])

    def test_the_same_inputs_make_the_same_archive(self):
        one, two = self.root / "one", self.root / "two"
        for folder, names in ((one, ("words", "0" * 8, "1" * 40)), (two, ("words", "f" * 40, "0" * 40))):
            folder.mkdir()
            for name, data in zip(names, (b"named", b"x", b"")):
                (folder / name).write_bytes(data)
        (two / ("e" * 8)).write_bytes(b"x")  # a double
        os.utime(two / "words", (1, 1))
        archives = [self.root / f"{folder.name}.tar.xz" for folder in (one, two)]
        for folder, archive in zip((one, two), archives):
            self.run_tool(self.command("pack", folder, archive))
        self.assertEqual(archives[0].read_bytes(), archives[1].read_bytes())
        self.assertEqual(corpus.unpacked(archives[0]), {"words": b"named", hashed(b"x"): b"x", hashed(b""): b""})
        self.run_tool(self.command("unpack", archives[0], self.root / "again"))
        self.assertEqual((self.root / "again/words").read_bytes(), b"named")

    def test_a_merge_keeps_few_and_all_that_have_words(self):
        self.fuzzer()
        self.store(b"a", b"b22", regression=b"a long one")
        self.found(b"b1", b"c3", b"c33", of_today=b"c of today")
        self.assertIn("a: 3 inputs and 4 new ones, 3 edges, 6 features; kept 3, 3 edges, 6 features",
                      self.run_tool(self.merge_command()))
        self.assertEqual(self.stored(), {"regression": b"a long one", "of_today": b"c of today", hashed(b"b1"): b"b1"})
        once = self.archive.read_bytes()
        self.run_tool(self.merge_command())
        self.assertEqual(self.archive.read_bytes(), once)

    def test_no_old_input_goes_if_a_merge_reaches_less(self):
        self.fuzzer()
        self.store(b"a", b"a2", words=b"unsteady")
        self.found(b"b1", b"b22", b"b333")
        self.assertIn("3 inputs and 3 new ones, 6 edges, 5 features; kept 4, 4 edges, 5 features", self.run_tool(self.merge_command()))
        self.assertEqual(self.stored(), {hashed(b"a"): b"a", hashed(b"a2"): b"a2", hashed(b"b1"): b"b1", "words": b"unsteady"})

    def test_the_first_merge_makes_the_archive(self):
        self.fuzzer()
        self.found(b"a", b"b")
        self.run_tool(self.merge_command())
        self.assertEqual(len(self.stored()), 2)

    def test_an_input_that_breaks_the_target_is_not_dropped_silently(self):
        self.fuzzer()
        self.store(b"a")
        self.found(b"!broken")
        self.refused("an input breaks the target, and ./dev fuzz names it")

    def test_a_target_that_is_skipped_loses_nothing(self):
        self.fuzzer()
        self.store(b"a", b"no ring")
        self.refused("skipped: no io_uring here")

    def test_what_is_missing_is_named(self):
        self.store(b"a")
        self.refused("there is no ")
        self.fuzzer()
        self.archive.unlink()
        self.assertIn("there are no inputs: ./dev fuzz a makes some", self.run_tool(self.merge_command(), 1))
        self.assertIn("no inputs for", self.run_tool(self.command("pack", self.root / "nowhere", self.archive), 1))

    def test_a_broken_archive_is_told(self):
        self.fuzzer()
        self.store(*(b"a" * i for i in range(100)))
        self.archive.write_bytes(self.archive.read_bytes()[:-40])
        self.refused("cannot be read")
        self.archive.write_bytes(b"no archive")
        self.refused("cannot be read")

    def test_an_interruption_leaves_the_archive(self):
        self.fuzzer()
        self.store(b"a")
        before = self.archive.read_bytes()
        self.found(b"sleep")
        process = subprocess.Popen(self.merge_command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (self.programs / "began").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 130)
        self.assertEqual(self.archive.read_bytes(), before)

    def test_cmake_unpacks_again_what_has_changed(self):
        source, build = self.root / "source", self.root / "build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT.format(cmake=HERE.parent / "cmake"))
        corpus.write_archive(source / "a.tar.xz", {"one": b"1", "two": b"2"})
        subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", build], capture_output=True, check=True)
        make = ["cmake", "--build", build, "--target", "inputs"]
        subprocess.run(make, capture_output=True, check=True)
        self.assertEqual(sorted(os.listdir(build / "deep/er/a")), ["one", "two"])
        self.assertIn("no work to do", self.run_tool(make))
        corpus.write_archive(source / "a.tar.xz", {"two": b"22", "three": b"3"})
        subprocess.run(make, capture_output=True, check=True)
        self.assertEqual({path.name: path.read_bytes() for path in (build / "deep/er/a").iterdir()}, {"two": b"22", "three": b"3"})


if __name__ == "__main__":
    unittest.main()
