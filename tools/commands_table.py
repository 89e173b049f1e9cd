"""What is known of the commands that documents name: their options and arguments, what stands for a placeholder, what makes one
short that runs for long by design, and how long one takes in a fresh clone. tools/commands.py reads it.

A new sub-command or option of ./dev needs an entry here as soon as a document names it.
"""
import dataclasses
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "bench"))
import suites  # noqa: E402

# What stands for a placeholder. {scratch} is a new folder beside the clone.
FILLED = {
    "PREFIX": "{scratch}/prefix", "DIR": "docs", "FILE": "{scratch}/results", "JSON": "{scratch}/results.json",
    "FOLDER": "tests/unit", "REASON": "'what it has gained'", "N": "2", "S": "7", "PRESET": "dev", "REGEX": "docs", "TASKS": "2000", "WORKERS": "32", "SUITE": "task", "CASES": "child_await", "A,B": "tokio,go",
    "MODEL": "gate", "LINES": "3", "NEW_FOLDER": "{scratch}/inputs",
    # The first execution of the exploration `latch_by random`: the hash of that name, no bound, no further choice.
    "HEX": "685dff",
}
# The same, where a command wants something else.
FILLED_FOR = {
    ("model", "NAME"): "latch", ("stress", "NAME"): "ledger", ("fuzz", "NAME"): "bitmaps", ("libfuzzer", "NAME"): "bitmaps",
    ("flaky", "NAME"): "unit_queue", ("tail", "FILE"): "README.md",
}


@dataclasses.dataclass(frozen=True)
class Form:
    """A sub-command of ./dev. Options: their values, None for a flag."""
    options: dict = dataclasses.field(default_factory=dict)
    names: str = ""          # the files whose stems may be arguments, with NAME for the stem; or a word that is explained below
    least: int = 0           # arguments
    most: int = 0
    short: tuple = ()        # words that replace those of the command, or are added
    narrow: tuple = ()       # arguments of what a form shows as optional, if it has none


NUMBER = "N"
FORMS = {
    "help": Form(),
    "demo": Form({"--check": None}, "folder", most=1, short=("--check",)),
    "test": Form({"--all": None}),
    "install": Form(names="new folder", least=1, most=1),
    "check": Form({"--all": None, "--weight": None, "--strangers": None, "--bare": None, "--ci": None, "--list": None, "--keep": None,
                   "--ccache": None, "--draw": NUMBER, "--only": "REGEX", "--seed": "S", "--skip-done": "FILE",
                   "--accept": None, "--raise": "FOLDER"}, "a reason", most=1),
    "model": Form({"--runs": NUMBER, "--seconds": NUMBER, "--bound": NUMBER, "--replay": "HEX", "--mutants": None,
                   "--branches": None, "--bounded": None, "--draw": NUMBER, "--seed": "S"},
                  "tests/model/NAME_model.cpp", most=1, short=("--runs", "100"), narrow=("latch",)),
    "spin": Form(names="src/*/models/NAME.pml", most=99),
    "stress": Form({"--seconds": NUMBER, "--seed": "S", "--build": ("dev", "release", "asan", "tsan", "chaos")},
                   "tests/stress/NAME.*", most=1, short=("--seconds", "1"), narrow=("ledger",)),
    "fuzz": Form({"--seconds": NUMBER, "--seed": "S", "--merge": None}, "tests/fuzz/NAME_fuzz.cpp", most=1, short=("--seconds", "1"),
                 narrow=("bitmaps",)),
    "flaky": Form({"--all": None, "--runs": NUMBER, "--load": NUMBER, "--build": "PRESET"}, "tests", most=1,
                  short=("unit_queue",)),
    "sanitize": Form(names="sanitizer", least=1, most=1),
    "aarch64": Form(),
    "bench": Form({"--only": "CASES", "--json": "FILE", "--html": "FILE", "--from": "JSON", "--peers": "A,B", "--quick": None,
                   "--list": None, "--count": None, "--accept": None},
                  "suite", most=99, short=("--quick",), narrow=("task",)),
    "scale": Form(names="number", most=2, short=("2000", "32")),
    "docs": Form(),
    "format": Form(),
}
# Where `short` has no place: a pattern of the command.
NOT_SHORTENED = re.compile(
    r"model .*--(?:bounded|replay|branches|mutants)|bench .*--(?:list|count|from)|flaky .*--all|scale \d")
# Short by other words than those above.
SHORTENED = [
    (re.compile(r"\bmodel .*--mutants"), ("--draw", "2")),
    (re.compile(r"\bflaky .*--all"), ("--runs", "1")),
]

ARGUMENTS = {
    "sanitizer": ("asan", "tsan", "ubsan", "debug", "all"),
    "suite": tuple(suites.SUITES),
}

# Not run, and why.
LEFT_OUT = [
    (re.compile(r"\.ci/run"), "runs for half an hour, and this, too"),
    (re.compile(r"check .*--strangers(?!.*--list)"), "would run itself"),
    (re.compile(r"build/count/bench/echo_rota"), "is a server, and waits for its load"),
]

# What must be there before a command that is no ./dev command: patterns, and what makes it.
BENCH = "./dev bench {suite} --quick --peers none --only {case}"
BEFORE = [
    (re.compile(r"build/count/bench/(?P<suite>\w+?)_rota"), "./dev bench --count {suite}"),
    (re.compile(r"build/bench/bench/(?P<suite>\w+?)_rota"), BENCH),
    (re.compile(r"build/dev/examples/(?P<name>\w+)"),
     "cmake --preset dev && cmake --build --preset dev --target example_{name}"),
    (re.compile(r"libfuzzer_(?P<name>\w+)"), "./dev fuzz {name} --seconds 1 && mkdir {scratch}/inputs"),
    (re.compile(r"^ctest --preset (?P<preset>[\w-]+)"), "cmake --preset {preset} && cmake --build --preset {preset}"),
    (re.compile(r"^ctest -C"), "cmake --preset dev && cmake --build --preset dev && cd build/dev"),
    (re.compile(r"\./dev flaky .*--all"), "cmake --preset dev && cmake --build --preset dev"),
    (re.compile(r"\./dev flaky"), "cmake --preset dev && cmake --build --preset dev --target unit_queue"),
    (re.compile(r"bench .*--from"), "./dev bench task --only child_await --quick --json {scratch}/results.json"),
]
# What looks at the result.
AFTER = [
    (re.compile(r"ROTA_CXX=(?P<compiler>\S+) \./dev install (?P<prefix>\S+)"), "tests/outside/consumers.sh --all {prefix} {compiler}"),
    (re.compile(r"\./dev install (?P<prefix>\S+)"), "tests/outside/consumers.sh --all {prefix} clang++-19"),
    (re.compile(r"\./dev format"), "git diff --exit-code --stat"),
]
# Programs that go on until they are told to end.
ENDED = [(re.compile(r"build/dev/examples/tail"), "timeout --preserve-status -s INT 3 ")]

# What commands need that are not ./dev commands, and so install nothing: only for a bare system.
PACKAGES = ("cmake ninja-build clang-19 lld-19 g++ pkg-config python3 liburing-dev libc-ares-dev libssl-dev libgtest-dev "
            "nlohmann-json3-dev libboost1.81-dev libcli11-dev libbenchmark-dev curl openssl strace valgrind")

# How long a command takes in a fresh clone on two processors: `quick` less than 30 seconds, `medium` less than about two
# minutes. The rest is `long`. The first pattern counts.
COSTS = [
    (re.compile(r"--(build|mutants)\b"), "long"),
    (re.compile(r"^\./dev (help|docs|format)$|^\./dev$|^\./dev (bench|check) .*--list"), "quick"),
    (re.compile(r"^cmake --preset \S+( -D\S+)?$"), "quick"),
    (re.compile(r"^(ROTA_CXX=\S+ )?\./dev install "), "medium"),
    (re.compile(r"^\./dev (demo|scale|fuzz bitmaps|model latch|model --bounded latch|stress ledger)\b"), "medium"),
]
# What CI runs, each time; `./dev test` is a step of its own there.
CI = re.compile(r"^\./dev demo --check$|^(ROTA_CXX=\S+ )?\./dev install ")
# After so many seconds a command counts as hung.
LIMITS = {"quick": 600, "medium": 1800, "long": 4 * 3600}
INSTALLING = 1800  # more on a bare system, where packages are installed first


def cost_of(words):
    return next((cost for pattern, cost in COSTS if pattern.search(words)), "long")
