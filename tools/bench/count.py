"""Counts instead of time: instructions by callgrind, read-modify-writes and system calls by a hook of rota's seam, allocations
by an operator new of the benchmark's own.

Each case runs at two sizes, and the difference is divided by the difference of the sizes: what happens once cancels.
bench/baseline.json keeps what was accepted, for each compiler; more than a twentieth above it is a failure.
"""
import json
import os
import re
import subprocess
import sys

import runner
import suites

SIZES = (10_000, 30_000)
GROWTH = 1.05
SLACK = 0.02  # of what is nearly nothing
KINDS = ("instructions", "rmws", "seq_cst_stores", "system_calls", "allocations")


def instructions(program, case, operations):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.devnull, program, case,
               "--workers", "1", "--operations", str(operations)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not total:
        raise runner.Failed(f"valgrind {case} ended with {done.returncode}: {done.stderr.strip()}")
    return int(total[1])


def hooked(program, case, operations):
    (line,) = runner.Subject("rota", [program]).run(case, 1, "--operations", str(operations))
    return {kind: line[kind] for kind in KINDS[1:]}


def per_operation(small, large):
    """What only happens at the start may happen more often in the smaller run."""
    return round(max(0, large - small) / (SIZES[1] - SIZES[0]), 3)


def count_case(folder, suite, case):
    program = str(folder / f"{suite}_rota")
    both = [{"instructions": instructions(program, case.name, size), **hooked(program + "_counting", case.name, size)}
            for size in SIZES]
    return {kind: per_operation(both[0][kind], both[1][kind]) for kind in KINDS}


def grown(counts, accepted):
    """The kinds that are more than the baseline allows."""
    return [kind for kind in KINDS
            if kind in accepted and counts[kind] > accepted[kind] * GROWTH + SLACK]


def judge(all_counts, baseline):
    """One sentence for each growth. What has no baseline, or is not exact, is not judged."""
    for name, counts in all_counts.items():
        if not is_exact(name):
            continue
        for kind in grown(counts, baseline.get(name, {})):
            yield f"{name}: {kind} grew from {baseline[name][kind]:g} to {counts[kind]:g} per operation"


def row(name, counts, accepted, exact):
    cells = []
    for kind in KINDS:
        before = accepted.get(kind)
        change = f" ({counts[kind] / before - 1:+.1%})" if before and exact else ""
        cells.append(f"{counts[kind]:.2f}{change}")
    return f"{name:28} " + " ".join(f"{cell:>20}" for cell in cells) + ("" if exact else "  not exact, not judged")


def read_baseline(path):
    return json.loads(path.read_text()) if path.exists() else {}


def is_exact(name):
    suite, _, case = name.partition("/")
    return suites.case_of(suite, case).exact


def write_baseline(path, compiler, counts):
    """Only what was counted is replaced, and only what can be judged is kept."""
    everything = read_baseline(path)
    kept = {name: each for name, each in counts.items() if is_exact(name)}
    everything.setdefault(compiler, {}).update(kept)
    path.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n")


def count(folder, names, compiler, path, accept):
    """Counts the suites, prints, judges; returns the exit code."""
    baseline = read_baseline(path).get(compiler)
    print(f"per operation, one worker, {compiler}" + ("" if baseline else f": no baseline in {path.name}, nothing is judged"))
    print(f"{'case':28} " + " ".join(f"{kind:>20}" for kind in KINDS))
    counts = {}
    for suite in names:
        for case in (c for c in suites.SUITES[suite] if c.counted):
            name = f"{suite}/{case.name}"
            counts[name] = count_case(folder, suite, case)
            print(row(name, counts[name], (baseline or {}).get(name, {}), case.exact), flush=True)
    if not counts:
        sys.exit("bench: --count knows the suites " + ", ".join(suites.counted()))
    if accept:
        write_baseline(path, compiler, counts)
        print(f"accepted: {path.name}")
        return 0
    growths = list(judge(counts, baseline or {}))
    for sentence in growths:
        print(f"GREW: {sentence}")
    return 1 if growths else 0
