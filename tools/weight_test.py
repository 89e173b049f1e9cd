"""Tests weight.py on small trees."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TREE = {"README.md": "one\ntwo\n", "src/a/a.cpp": "1\n2\n3", "tests/README.md": "1\n", "tests/unit/x/a.cpp": "1\n2\n",
        "tests/fuzz/a.cpp": "1\n", "tests/fuzz/corpus/a.bin": "\0\n\n", "tools/a.py": "1\n2\n3\n", "tools/b/a.py": "1\n"}
PLAN = """include CMakeFiles/rules.ninja
build CMakeFiles/rota_rooms.dir/src/a.cpp.o: CXX_COMPILER__rota_rooms ../src/a.cpp || cmake_object_order
  DEP_FILE = a.d
build CMakeFiles/unit_a.dir/with$ space.cpp.o CMakeFiles/unit_a.dir/second.o: CXX_COMPILER__unit_a ../a$:b.cpp
build librota_rooms.a: CXX_STATIC_LIBRARY_LINKER__rota_rooms CMakeFiles/rota_rooms.dir/src/a.cpp.o
build tests/unit/unit_a: CXX_EXECUTABLE_LINKER__unit_a CMakeFiles/unit_a.dir/with$ space.cpp.o | $
    librota_rooms.a || generated
build tests/libfuzzer/libfuzzer_a: CXX_EXECUTABLE_LINKER__libfuzzer_a librota_rooms.a
build generated: CUSTOM_COMMAND
build unit_a: phony tests/unit/unit_a
build all: phony unit_a librota_rooms.a
"""
LOG = """# ninja log v5
0\t60000\t0\tCMakeFiles/rota_rooms.dir/src/a.cpp.o\t1
0\t90000\t0\tCMakeFiles/rota_rooms.dir/src/a.cpp.o\t1
0\t30000\t0\tCMakeFiles/unit_a.dir/with space.cpp.o\t2
0\t30000\t0\tCMakeFiles/unit_a.dir/second.o\t2
5\t5\t0\tlibrota_rooms.a\t3
0\t9000000\t0\tCMakeFiles/gone.dir/a.o\t4
"""


class Weight(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.add(TREE)

    def add(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def weight(self, *arguments, code=0):
        done = subprocess.run([sys.executable, HERE / "weight.py", "--root", self.root, *arguments],
                              capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said)
        self.assertNotIn("Traceback", said)
        return said

    def stored(self):
        return json.loads((self.root / "tools/weight.json").read_text())

    def test_files_lines_and_bytes_are_counted(self):
        self.weight("--accept")
        rows = {line.split()[0]: line.split()[1:4] for line in self.weight("--table").splitlines() if line}
        self.assertEqual(rows["src"], ["1", "3", "5"])
        self.assertEqual(rows["tests/fuzz/corpus"], ["1", "0", "3"])
        self.assertEqual(rows["*.md"], ["2", "3", "10"])
        self.assertEqual(rows["tools/b"], ["1", "1", "2"])
        self.assertRegex(self.weight("--table"), r"all of tests +4 +4 +11\n")
        self.assertEqual(self.stored()["ceilings"]["tools"], {"files": 1, "lines": 3})

    def test_a_line_above_the_ceiling_is_named(self):
        self.weight("--accept")
        self.assertIn("6 files, 8 lines of tests and tools; 6 ceilings hold", self.weight())
        self.add({"tests/unit/x/a.cpp": "1\n2\n3\n"})
        self.assertIn("tests/unit: 3 lines, 1 above the ceiling of 2", self.weight(code=1))

    def test_a_file_above_the_ceiling_is_named(self):
        self.weight("--accept")
        self.add({"tools/b/empty.py": ""})
        self.assertIn("tools/b: 2 files, 1 above the ceiling of 1", self.weight(code=1))

    def test_a_new_folder_has_no_ceiling(self):
        self.weight("--accept")
        self.add({"tests/new/a.cpp": "1\n", "src/new/a.cpp": "1\n"})
        said = self.weight("--accept", code=1)
        self.assertIn("tests/new: 1 files, and no ceiling", said)
        self.assertNotIn("src", said)

    def test_accept_lowers_and_does_not_raise(self):
        self.weight("--accept")
        self.add({"tools/a.py": "1\n", "tests/unit/x/a.cpp": "1\n2\n3\n"})
        (self.root / "tools/b/a.py").unlink()
        self.assertIn("tests/unit: 3 lines, 1 above the ceiling of 2", self.weight("--accept", code=1))
        ceilings = self.stored()["ceilings"]
        self.assertEqual(ceilings["tools"], {"files": 1, "lines": 1})
        self.assertEqual(ceilings["tests/unit"], {"files": 1, "lines": 2})
        self.assertNotIn("tools/b", ceilings)

    def test_a_raise_keeps_its_reason(self):
        self.weight("--accept")
        self.add({"tests/unit/x/a.cpp": "1\n2\n3\n", "tools/a.py": "1\n2\n3\n4\n"})
        self.assertIn("tools: 4 lines", self.weight("--raise", "tests/unit", "a defect of the ring", code=1))
        self.assertEqual(self.stored()["raised"], [{"folder": "tests/unit", "from": {"files": 1, "lines": 2},
                                                    "to": {"files": 1, "lines": 3}, "reason": "a defect of the ring"}])
        self.weight("--raise", "tools", "a tool that counts")
        self.weight()
        self.weight("--raise", "tools", "nothing has grown since")
        self.assertEqual(len(self.stored()["raised"]), 2)

    def test_a_raise_needs_a_folder_and_a_reason(self):
        self.weight("--accept")
        self.assertIn("nothing is counted in tests/attic", self.weight("--raise", "tests/attic", "for old times' sake", code=2))
        self.assertIn("nothing is counted in src", self.weight("--raise", "src", "it is the library", code=2))
        self.assertIn("'because' is no reason", self.weight("--raise", "tools", "because", code=2))
        self.assertIn("expected 2 arguments", self.weight("--raise", "tools", code=2))

    def test_steps_of_the_build_have_a_ceiling(self):
        self.add({"build/dev/build.ninja": PLAN, "build/dev/.ninja_log": LOG})
        self.weight("--accept")
        self.assertEqual(self.stored()["ceilings"]["build/dev"], {"steps": 4})
        self.add({"build/dev/build.ninja": PLAN.replace("all: phony", "all: phony tests/libfuzzer/libfuzzer_a")})
        self.weight()  # which a check without a build does not ask for
        self.assertIn("build/dev: 5 steps, 1 above the ceiling of 4", self.weight("--table", code=1))
        (self.root / "build/dev/build.ninja").unlink()
        self.weight("--accept")
        self.assertEqual(self.stored()["ceilings"]["build/dev"], {"steps": 4})

    def test_minutes_are_summed_by_kind(self):
        self.add({"build/dev/build.ninja": PLAN, "build/dev/.ninja_log": LOG, "build/asan/.ninja_log": LOG})
        self.weight("--accept")
        said = self.weight("--table").partition("build/dev:")[2].splitlines()
        rows = {line.split()[0]: line.split()[1:] for line in said if line}
        self.assertEqual(rows["library"], ["2", "2", "1.5"])
        self.assertEqual(rows["unit"], ["2", "1", "0.5"])
        self.assertEqual(rows["all"], ["4", "3", "2.0"])

    def test_a_file_without_ceilings_is_told(self):
        for text in ("{", "[]", "{}", '{"ceilings": {"tools": {"lines": "many"}}, "raised": []}'):
            self.add({"tools/weight.json": text})
            self.assertIn("weight.json does not hold ceilings", self.weight(code=1))


if __name__ == "__main__":
    unittest.main()
