import os
import pathlib
import signal
import tempfile
import unittest
from unittest import mock

import model_build
import mutants


class Verdicts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def word(self, status, said):
        (self.folder / "log").write_text(said)
        return mutants.verdict_of(status, 1.0, self.folder).word

    def test_a_test_that_failed_and_a_program_that_died_kill_a_mutant(self):
        self.assertEqual(self.word(1, "[  FAILED  ] latch_model.opens (3 ms)\n"), "killed")
        self.assertEqual(self.word(-signal.SIGSEGV, "Segmentation fault\n"), "killed")

    def test_a_program_that_could_not_run_says_nothing_of_a_mutant(self):
        self.assertEqual([self.word(status, "no words of a test\n") for status in (1, 126, 127, -signal.SIGKILL)], ["BROKEN"] * 4)

    def test_a_program_has_none_of_the_callers_variables_for_tests(self):
        with mock.patch.dict(os.environ, {"ROTA_MUTANT": "5", "ROTA_MODEL_BRIEF": "1"}), open(self.folder / "log", "wb") as log:
            model_build.run(["env"], self.folder, log, environment={"ROTA_USED": "here"})
        names = [line for line in (self.folder / "log").read_text().splitlines() if line.startswith("ROTA_")]
        self.assertEqual(names, ["ROTA_USED=here"])
