import pathlib
import tempfile
import unittest

import mutant_files
import order_sites
import switched_sources

FILE = "src/sync/a.hpp"
TEXT = """class gate {
  gate() : count_(1) { open(); }
  // A brace in a comment: {
  int close() noexcept { return word_.load(base::order::acquire) + count_; }
  int count_ = 1;
};
"""
CLOSE = f"{FILE}: gate::close"


class SwitchedSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "root"
        self.work = self.root / "work"  # in the tree, as a build folder is that git does not ignore
        self.copy = self.work / "tree"
        (self.root / "src/sync").mkdir(parents=True)
        (self.root / FILE).write_text(TEXT)

    def switches(self, *mutants):
        """`mutants`: (place, old text, new text), called one, two and so on"""
        lines = [f"mutant m{n}\nin {place}\n- {old}\n+ {new}\n" for n, (place, old, new) in enumerate(mutants, 1)]
        path = self.root / "a_model.mutants"
        path.write_text("\n".join(lines))
        return switched_sources.Switches(self.root, mutant_files.read(path).mutants, order_sites.weakenable(self.root))

    def text(self, switches):
        switches.write(self.work)
        return (self.copy / FILE).read_text()

    def test_each_mutant_of_a_function_has_its_body_and_the_last_has_none(self):
        switches = self.switches((CLOSE, "+ count_", "- count_"), (CLOSE, "+ count_;", ";"))
        switched = self.text(switches)
        first, second = (switches.numbers[f"a_model__m{n}"] for n in (1, 2))
        order = next(n for name, n in switches.numbers.items() if name.startswith(FILE))
        self.assertEqual(len({first, second, order}), 3)
        self.assertIn(f'noexcept {{ if (::rota::base::mutant_is({first}))\n#line 1 "mutant/a_model__m1"\n'
                      "{ return word_.load(base::order::acquire) - count_; }\nelse if", switched)
        self.assertIn(f'mutant_is({second}))\n#line 1 "mutant/a_model__m2"\n{{ return word_.load(base::order::acquire) ; }}\nelse', switched)
        self.assertIn(f'#line 4 "{self.root / FILE}"\n{{ return word_.load(weakened({order}, base::order::acquire)) + count_; }}}}', switched)

    def test_what_is_not_in_a_body_is_compiled_alone(self):
        switches = self.switches((f"{FILE}: gate", "int count_ = 1", "int count_ = 2"), (f"{FILE}: gate::gate", "count_(1)", "count_(2)"),
                                 (CLOSE, "noexcept { return", "{ return"), (CLOSE, "return", "return 1 +"))
        self.assertEqual(switches.alone, {"a_model__m1", "a_model__m2", "a_model__m3"})

    def test_one_that_does_not_apply_is_left_to_be_compiled_alone(self):
        switches = self.switches((CLOSE, "gone_", "there_"), (CLOSE, "+ count_", "- count_"))
        self.assertEqual((switches.alone, set(switches.bodies)), ({"a_model__m1"}, {"a_model__m2"}))

    def test_one_that_does_not_compile_is_named_and_left_out(self):
        switches = self.switches((CLOSE, "+ count_", "+ counts_"))
        said = "In file included from x.cpp:\nmutant/a_model__m1:1:10: error: use of undeclared identifier 'counts_'\n"
        self.assertEqual(switched_sources.named_in(said), {"a_model__m1"})
        switches.leave_out({"a_model__m1"})
        self.assertNotIn("mutant_is", self.text(switches))

    def test_a_file_that_stays_as_it_is_keeps_its_time_and_one_that_is_gone_goes(self):
        self.text(self.switches((CLOSE, "+ count_", "- count_")))
        before = (self.copy / FILE).stat().st_mtime_ns
        (self.copy / "src/old.hpp").write_text("")
        self.text(self.switches((CLOSE, "+ count_", "- count_")))
        self.assertEqual((self.copy / FILE).stat().st_mtime_ns, before)
        self.assertFalse((self.copy / "src/old.hpp").exists())
        self.assertFalse((self.copy / "work").exists())
