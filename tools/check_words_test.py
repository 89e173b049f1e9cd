"""Tests the ceilings of check_words.py on a small tree."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Words(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        (self.root / "src").mkdir()
        (self.root / "tools").mkdir()
        self.write("// who and whom\n")

    def write(self, text):
        (self.root / "src/a.cpp").write_text(text)

    def run_check(self, *options):
        return subprocess.run([sys.executable, "-B", HERE / "check_words.py", *options, self.root], capture_output=True, text=True,
                              check=False)

    def ceiling(self):
        return json.loads((self.root / "tools/words.json").read_text()).get("src", {}).get("words for persons", 0)

    def test_a_ceiling_falls_and_never_rises(self):
        self.assertEqual(self.run_check("--accept").returncode, 0)
        self.assertEqual(self.ceiling(), 2)
        self.write("// who\n")
        self.assertEqual(self.run_check("--accept").returncode, 0)
        self.write("// who and whom\n")
        for options in ((), ("--accept",)):
            with self.subTest(options):
                self.assertIn("src: 2 words for persons, 1 above the ceiling of 1", self.run_check(*options).stdout)
        self.assertEqual(self.ceiling(), 1)

    def test_a_folder_without_an_entry_may_have_none(self):
        self.write("// the caller\n")
        self.assertEqual(self.run_check("--accept").returncode, 0)
        self.write("// who\n")
        self.assertEqual(self.run_check("--accept").returncode, 1)
        self.assertEqual(self.ceiling(), 0)


if __name__ == "__main__":
    unittest.main()
