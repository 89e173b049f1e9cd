#!/usr/bin/env python3
"""A check that cannot fail is no check: each gets a small tree with one thing wrong, and must say so; and a right one.

    CASES: (check, what it must say, or None if all is right, {path: text})
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LAYERS = {"docs/layers.txt": "base ->\ntask -> base\nqueue -> base\nruntime -> base task queue\n<runtime.hpp> = runtime\n"}
FENCE = "```"


def layers(path, text):
    return {**LAYERS, path: text}


def source(text):
    return {"src/queue/a.cpp": text}


def order(comment, code):
    return source(f"// {comment}\n{code}\n")


LOAD = "x.load(base::order::acquire);"
SWAP = "x.compare_exchange_weak(a, b, base::order::acq_rel, base::order::relaxed);"

CASES = [
    ("check_layers", None, layers("src/task/a.cpp", '#include "task/a.hpp"\n#include "base/b.hpp"\n')),
    ("check_layers", "task may not include queue", layers("src/task/a.cpp", '#include "queue/ring.hpp"\n')),
    ("check_layers", "knows no room attic", layers("src/attic/a.cpp", "")),
    ("check_layers", "spell the room", layers("src/task/a.cpp", '#include "a.hpp"\n')),
    ("check_layers", "belongs to runtime", layers("src/task/a.cpp", "#include <rota/runtime.hpp>\n")),
    ("check_layers", "belongs to queue", layers("src/task/a.cpp", "#include <rota/queue/x.hpp>\n")),
    ("check_layers", "only <rota/...>", layers("include/rota/a.hpp", '#include "task/a.hpp"\n')),
    ("check_layers", "there is no <rota/b.hpp>", layers("include/rota/a.hpp", "#include <rota/b.hpp>\n")),
    ("check_layers", "which is no room", {"docs/layers.txt": "base -> attic\n"}),
    ("check_orders", None, order("acquire. Pairs with push().", LOAD)),
    ("check_orders", None, source(LOAD + "  // acquire. Pairs with push().\n")),
    ("check_orders", None, order("acq_rel. Both.\n// failure: relaxed. A guess.", SWAP)),
    ("check_orders", "acquire has no stated reason", order("A load.", LOAD)),
    ("check_orders", "acquire has no stated reason", order("acquire. Too far." + "\n" * 7, LOAD)),
    ("check_orders", "acquire has no stated reason", source('const char* s = "acquire"; ' + LOAD)),
    ("check_orders", "on failure has no stated reason", order("acq_rel. relaxed.", SWAP)),
    ("check_orders", "fetch_add() states no order", order("relaxed.", "x.fetch_add(1);")),
    ("check_orders", "no other way", order("acquire.", "x.load(std::memory_order_acquire);")),
    ("check_orders", "no other way", order("acquire.", "__atomic_load_n(&x, 2);")),
    ("check_coroutines", None, source("// std::mutex\nint x;\n")),
    ("check_coroutines", None, {"src/base/a.cpp": "std::mutex m;\n", "tests/a.cpp": "std::thread t;\n"}),
    ("check_coroutines", "machine", source("std::mutex m;\n")),
    ("check_coroutines", "machine", {"include/rota/a.hpp": "#include <atomic>\n"}),
    ("check_coroutines", "L1", {"tests/unit/a.cpp": "task<> f() { if (co_await x) y(); }\n"}),
    ("check_coroutines", "L2", {"examples/a.cpp": "task<> f() { co_await g([x] { y(); }); }\n"}),
    ("check_coroutines", "fence", {"bench/a.cpp": "void f() { std::atomic_thread_fence(a); }\n"}),
    ("check_coroutines", "README.md:3: L1", {"README.md": f"text\n{FENCE}cpp\nif (co_await x) y();\n{FENCE}\n"}),
    ("check_coroutines", None, {"README.md": f"{FENCE}cpp wrong\nif (co_await x) y();\n{FENCE}\n"}),
    ("check_coroutines", "marked wrong", {"README.md": f"{FENCE}cpp wrong\nx();\n{FENCE}\n"}),
    ("check_headers", None, {"include/rota/a.hpp": "#pragma once\n#include <string>\nstruct a { std::string s; };\n"}),
    ("check_headers", "does not compile alone", {"include/rota/a.hpp": "#pragma once\nstd::string s();\n"}),
    ("check_headers", "does not compile alone", {"include/rota/a.hpp": "struct twice {};\n"}),
    ("check_headers", "does not compile alone", {"include/rota/a.hpp": "#pragma once\ninline int f(long x) { return x; }\n"}),
    ("check_headers", "times the yardstick", {"include/rota/a.hpp": "#pragma once\n#include <regex>\n"}),
    ("check_headers", None, {"include/rota/detail/a.hpp": "#pragma once\n#include <regex>\n"}),
    ("check_headers", "brings in <stop_token>", {"include/rota/a.hpp": "#pragma once\n#include <stop_token>\n"}),
    ("check_headers", "no <functional>", {"include/rota/a.hpp": "#pragma once\n#include <functional>\n"}),
    ("check_words", None, {"src/a.cpp": "// all done\n"}),
    ("check_words", "unfinished", {"src/a.cpp": "// TO" + "DO: the rest\n"}),
    ("check_words", "disabled", {"tests/a.cpp": "TEST(a, DISAB" + "LED_b) {}\n"}),
    ("check_words", "a path of one machine", {"docs/a.md": "see /wo" + "rk/main\n"}),
    ("check_words", "a path of one machine", {"docs/a.md": "see /tm" + "p/x\n"}),
    ("check_words", None, {"src/a.cpp": "int he = 1;  // the caller\n", "src/a.py": "# who\n", "src/a.md": "|" * 200}),
    ("check_words", "src: 1 words for persons", {"src/a.cpp": "// Who comes first?\n"}),
    ("check_words", "src: 1 words for persons", {"src/a.cpp": 'const char* a = "nobody";\n'}),
    ("check_words", "docs/a.md: 2 words for persons", {"docs/a.md": "Whoever has it gives it to him.\n"}),
    ("check_words", "src: 1 lines of more than 110 columns, 1 above", {"src/a.cpp": "//" + " x" * 55 + "\n"}),
    ("check_words", None, {"src/a.cpp": "// his\n", "tools/words.json": '{"src": {"words for persons": 1}}'}),
    ("check_anchors", None, {"a.md": "# One, two\n[x](b.md#b)\n[y](#one-two)\n", "b.md": "# `B`\n"}),
    ("check_anchors", "no such file", {"a.md": "[x](c.md)\n"}),
    ("check_anchors", "no such heading", {"a.md": "[x](b.md#c)\n", "b.md": "# B\n"}),
    ("check_anchors", "no such heading", {"src/task/README.md": "# B\n", "src/task/a.hpp": "// see README.md#c\n"}),
    ("check_anchors", None, {"src/task/README.md": "# B\n", "src/a.hpp": "// see src/task/README.md#b\n"}),
    ("check_anchors", "no such example", {"include/rota/a.hpp": "/// Example   examples/a.cpp\n"}),
]


def helpers(first, second):
    """Two headers, and one folder of tests that uses both."""
    return {"tests/unit/x/a.hpp": first, "tests/support/b.hpp": second,
            "tests/unit/x/a.cpp": '#include "unit/x/a.hpp"\n', "tests/unit/x/b.cpp": '#include "support/b.hpp"\n'}


CASES += [
    ("check_names", None, helpers("class event {\n};\n", "class event;\nclass other {\n};\n")),
    ("check_names", "event is also in tests/support/b.hpp", helpers("class event {\n};\n", "struct event final : x {\n};\n")),
]

BROKEN_BARRIER = """// A barrier.
class barrier {
 public:
  int arrive() { return count_ + 1; }
  int arrive(int n) { return count_ + n; }
  void drop() {
    arrive();  // Counts.
    /* Twice. */ arrive();
    count_ = 0;
  }

 private:
  int count_ = 1;
};
"""


def mutants(text):
    """A model, the file that it is about, and its mutants."""
    return {"tests/model/a_model.cpp": "", "src/sync/a.hpp": BROKEN_BARRIER, "tests/mutants/a_model.mutants": text}


def mutant(place, *lines):
    return mutants("\n".join(["# Mutants.", "", "mutant one", f"in {place}", *lines, ""]))


DROP = "src/sync/a.hpp: barrier::drop"

CASES += [
    ("check_mutants", None, mutant(DROP, "- arrive(); arrive();", "+ arrive();", "- count_ = 0;")),
    ("check_mutants", None, mutant("src/sync/a.hpp: barrier", "- int count_ = 1", "+ int count_ = 2")),
    ("check_mutants", None, mutant("src/sync/a.hpp: barrier::arrive", "- count_ + n", "+ count_")),
    ("check_mutants", None, mutant("src/sync/a.hpp", "- class barrier {", "+ class barrier {", "+   int more_;")),
    ("check_mutants", "a_model__one: src/sync/a.hpp: barrier::drop does not contain: count_ = 2;",
     mutant(DROP, "- count_ = 2;")),
    ("check_mutants", "does not contain: count", mutant(DROP, "- count")),
    ("check_mutants", "a_model__one: src/sync/a.hpp: barrier::drop contains 2 times: arrive();",
     mutant(DROP, "- arrive();")),
    ("check_mutants", "src/sync/a.hpp: barrier::arrive contains 2 times: return count_ +",
     mutant("src/sync/a.hpp: barrier::arrive", "- return count_ +", "+ return")),
    ("check_mutants", "src/sync/a.hpp has no function or class barrier::leave; looked there for: arrive();",
     mutant("src/sync/a.hpp: barrier::leave", "- arrive();")),
    ("check_mutants", "there is no src/sync/b.hpp", mutant("src/sync/b.hpp: barrier::drop", "- count_ = 0;")),
    ("check_mutants", "changes nothing", mutant(DROP, "- count_ = 0;", "+ count_ = 0;")),
    ("check_mutants", "overlap", mutant(DROP, "- count_ = 0;", "+ x();", "- count_ =", "+ y =")),
    ("check_mutants", "a_model.mutants:5: a comment in the old text", mutant(DROP, "- count_ = 0;  // Why?")),
    ("check_mutants", "a_model.mutants:6: unknown key 'with'", mutant(DROP, "- count_ = 0;", "with count_ = 1;")),
    ("check_mutants", "one: new text without old text", mutant(DROP, "+ x();")),
    ("check_mutants", "a_model.mutants:3: one: replaces nothing", mutant(DROP)),
    ("check_mutants", "a_model.mutants:1: text before the first `in`", mutants("- x();\n")),
    ("check_mutants", "a_model.mutants:1: a mutant's name is one word", mutants("mutant a barrier\n")),
    ("check_mutants", "one: this name is used twice",
     mutants(f"mutant one\nin {DROP}\n- count_ = 0;\nmutant one\nin {DROP}\n- count_ = 0;\n")),
    ("check_mutants", "there is no tests/model/a_model.cpp", {"tests/mutants/a_model.mutants": ""}),
    ("check_mutants", "neither README.md nor a file of mutants", {"tests/mutants/a_model__one.diff": ""}),
]

LATCH = """// acq_rel. Both. failure: acquire. Again.
bool latch::drop() {
  return word_.fetch_sub(1, base::order::acq_rel) != 1 && word_.load(base::order::relaxed) != 0 &&
         word_.load(base::order::acquire) != 0 && word_.load(base::order::acquire) != 0;
}
"""
NAME = "src/sync/latch.cpp: latch::drop: word_"


def orders(*lines, exempt=""):
    """A file with four orders that can be weaker, and what its model says of them."""
    return {"tests/model/a_model.cpp": "", "src/sync/latch.cpp": LATCH, "tests/mutants/exempt.orders": exempt,
            "tests/mutants/a_model.mutants": "\n".join([*lines, ""])}


ANSWERED = "orders src/sync/latch.cpp"

CASES += [
    ("check_mutants", None, orders(ANSWERED)),
    ("check_mutants", None, orders(exempt="exempt src/sync/latch.cpp\nbecause The model replaces it.\n")),
    ("check_mutants", None, orders(ANSWERED, f"equivalent {NAME}.fetch_sub: acq_rel -> release", "because It is.",
                                   f"unsettled {NAME}.load #2: acquire -> relaxed", "because We do not know.")),
    ("check_mutants", "src/sync/latch.cpp has orders, and no model answers for them", orders()),
    ("check_mutants", "exempt.orders names it, but a_model answers for it",
     orders(ANSWERED, exempt="exempt src/sync/latch.cpp\nbecause The model replaces it.\n")),
    ("check_mutants", "src/sync/gone.cpp: tests/mutants names it for its orders, and there are none",
     orders(ANSWERED + " src/sync/gone.cpp")),
    ("check_mutants", "a_model names it twice", orders(ANSWERED, ANSWERED)),
    ("check_mutants", "a_model.mutants:2: equivalent: the sources have no such order",
     orders(ANSWERED, f"equivalent {NAME}.load #3: acquire -> relaxed", "because It was.")),
    ("check_mutants", "the sources have no such order",
     orders(ANSWERED, f"equivalent {NAME}.fetch_sub: acq_rel -> relaxed", "because Two steps are none.")),
    ("check_mutants", "listed twice", orders(ANSWERED, *[f"equivalent {NAME}.load: acquire -> relaxed", "because It is."] * 2)),
    ("check_mutants", "a_model.mutants:3: no `because` for",
     orders(ANSWERED, f"equivalent {NAME}.load: acquire -> relaxed", "mutant one")),
    ("check_mutants", "no `because` for", orders(ANSWERED, f"equivalent {NAME}.load: acquire -> relaxed")),
    ("check_mutants", "`because` stands behind", orders(ANSWERED, "because Why not?")),
    ("check_mutants", "exempt.orders:1: `exempt FILE` is followed by", orders(ANSWERED, exempt="because Why not?\n")),
]


README_TABLE = "| want | `#include <rota/...>` | example |\n|---|---|---|\n| tasks | `task.hpp` | |\n"
README_SAYS = "\n`rota.hpp` includes the headers of `include/rota/` but `time.hpp`, and not the folder `sync/`.\n"
README_ROWS = "| time | `time.hpp` | |\n| locks | `sync/*.hpp` ([which?](docs/which.md)) | |\n"


def readme(table=README_ROWS, says=README_SAYS, **other):
    """A tree of three public headers, two of them in include/rota/ and one in a folder, and two rooms; `other` replaces files."""
    files = {"README.md": README_TABLE + table + says, "docs/which.md": "a `sync::mutex`\n",
             "docs/design.md": "| room | holds |\n|---|---|\n| task, sync | all |\n",
             "include/rota/rota.hpp": "// But time.hpp.\n#pragma once\n#include <rota/task.hpp>\n",
             "include/rota/task.hpp": "", "include/rota/time.hpp": "", "include/rota/sync/mutex.hpp": "",
             "src/task/a.cpp": "", "src/sync/a.cpp": ""}
    return {**files, **{name.replace("__", "/") + ".md": text for name, text in other.items()}}


CASES += [
    ("check_readme", None, readme()),
    ("check_readme", "there is no README.md", {"a.md": ""}),
    ("check_readme", "time.hpp: no row", readme(README_ROWS.partition("\n")[2])),
    ("check_readme", "sync/mutex.hpp: no row", readme(README_ROWS.partition("\n")[0] + "\n")),
    ("check_readme", "sync/mutex.hpp: no row", readme(docs__which="a mutex, which is no word of code here\n")),
    ("check_readme", None, readme(README_ROWS + "| locks | `sync/mutex.hpp` | |\n", docs__which="\n")),
    ("check_readme", "clock.hpp: there is no such header", readme(README_ROWS + "| a | `clock.hpp` | |\n")),
    ("check_readme", "no such folder", readme(README_ROWS + "| a | `net/*.hpp` | |\n")),
    ("check_readme", "there is no such file", readme(README_ROWS + "| a | `time.hpp` | [a](examples/a.cpp) |\n")),
    ("check_readme", "no sentence begins with", readme(says="\n")),
    ("check_readme", "does not include sync/", readme(says=README_SAYS.replace("`sync/`", "`gate`"))),
    ("check_readme", "does not include time.hpp, and", readme(says=README_SAYS.replace("`time.hpp`", "few"))),
    ("check_readme", "does not include task.hpp, and it does", readme(says=README_SAYS.replace("time", "task"))),
    ("check_readme", "include/rota/rota.hpp: rota.hpp does not include",
     {**readme(), "include/rota/rota.hpp": "#include <rota/task.hpp>\n"}),
    ("check_readme", "lacks src/sync", readme(docs__design="| room | holds |\n|---|---|\n| task | all |\n")),
    ("check_readme", "no folder src/gate", readme(docs__design="| room | holds |\n|---|---|\n| task, sync, gate | all |\n")),
    ("check_readme", "sync is called planned", readme(docs__a="| sync   (planned) |\n")),
    ("check_readme", "time.hpp is called planned", readme(docs__a="Not yet written: `time.hpp`.\n")),
    ("check_readme", None, readme(docs__a="A room for colours is planned.\n")),
]


def commands(*lines, **other):
    """A README.md with these lines in a block of code; other files by their names, in which `__` stands for a slash."""
    text = "\n".join(["# A", "", FENCE, *lines, FENCE, ""])
    return {"README.md": text, **{name.replace("__", "/"): words for name, words in other.items()}}


HELP_OF_DEV = "cat <<'END'\nFor all\n  {}   does it\nEND\n"

CASES += [
    ("check_commands", None, commands("./dev docs    where to read   ./dev help    all", "ROTA_CXX=g++ ./dev install PREFIX # so")),
    ("check_commands", None, commands("./dev sanitize asan|tsan|all", "./dev stress [--seconds N] [--build dev|tsan]")
     | {"tests/stress/ledger.cpp": ""}),
    ("check_commands", None, {"README.md": "`./dev` alone, `ROTA_CXX=g++`, `build/dev`, `src/dev.cpp` are no commands.\n"}),
    ("check_commands", "README.md:5: ./dev instal: there is no such command", commands("./dev docs", "./dev instal PREFIX")),
    ("check_commands", "README.md:2: ./dev dance", {"README.md": "Say\n`./dev dance` and\n"}),
    ("check_commands", "README.md:1: ./dev dance", {"README.md": "Say `./dev\ndance` and\n"}),
    ("check_commands", "src/task/README.md:1: ./dev dance", {"src/task/README.md": "`./dev dance`"}),
    ("check_commands", "has no option --fast", commands("./dev test --fast")),
    ("check_commands", "has no option --fast", commands("./dev test [--fast]")),
    ("check_commands", "takes 0 to 0 arguments, not 1", commands("./dev test now")),
    ("check_commands", "takes 1 to 1 arguments, not 0", commands("./dev install")),
    ("check_commands", "nothing is known to stand for PLACE", commands("./dev install PLACE")),
    ("check_commands", "there is no attic", commands("./dev spin attic")),
    ("check_commands", None, commands("./dev spin attic") | {"src/sched/models/attic.pml": ""}),
    ("check_commands", "there is no attic", commands("./dev bench attic")),
    ("check_commands", "there is no attic", commands("./dev stress --build attic")),
    ("check_commands", "needs a number", commands("./dev fuzz --seconds many")),
    ("check_commands", "needs a value", commands("./dev fuzz --seconds")),
    ("check_commands", "there is no preset attic", commands("cmake --preset attic")),
    ("check_commands", "there is no suite attic", commands("build/bench/bench/attic_rota CASE --workers 1")),
    ("check_commands", None, commands(dev=HELP_OF_DEV.format("docs"))),
    ("check_commands", "dev:3: ./dev dance", commands(dev=HELP_OF_DEV.format("dance [NAME]"))),
]


def complaint(check, expected, files):
    """What the check does wrong on this tree, or None."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, HERE / f"{check}.py", folder], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if expected is None and done.returncode != 0:
        return f"{check} complains about a right tree {files}:\n{said}"
    if expected is not None and (done.returncode != 1 or expected not in said):
        return f"{check} does not say '{expected}' about {files}:\n{said}"
    return None


def misuse(expected_code, expected, *arguments):
    """What check_coroutines, which is installed, does wrong about these arguments, or None."""
    done = subprocess.run([sys.executable, HERE / "check_coroutines.py", *arguments],
                          capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != expected_code or expected not in said or "Traceback" in said:
        return f"check_coroutines {arguments} does not say '{expected}':\n{said}"
    return None


def tests_of_tools():
    """What the tests beside this file print: their failures, or None, and how many there are."""
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", "discover", "-s", HERE, "-p", "*_test.py"],
                          capture_output=True, text=True, check=False)
    ran = re.search(r"^Ran (\d+) tests?", done.stderr, re.MULTILINE)
    return done.stdout + done.stderr if done.returncode != 0 or not ran else None, ran[1] if ran else "0"


def main():
    complaints = [said for case in CASES if (said := complaint(*case))]
    calls = [(0, "usage:", "--help"), (2, "cannot read nowhere.cpp: No such file", "nowhere.cpp"),
             (2, "unknown option --halp", "--halp"), (2, "Is a directory", __file__, str(HERE))]
    complaints += [said for call in calls if (said := misuse(*call))]
    planted = subprocess.run([sys.executable, HERE / "check_coroutines.py", "--self-test"],
                             capture_output=True, text=True, check=False)
    if planted.returncode != 0:
        complaints.append(planted.stdout + planted.stderr)
    failures, ran = tests_of_tools()
    complaints += [failures] * bool(failures)
    print("\n".join(complaints) or f"{len(CASES)} small trees; {ran} tests of tools; {planted.stdout.strip()}")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
