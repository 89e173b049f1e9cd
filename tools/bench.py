#!/usr/bin/env python3
"""Runs benchmarks and prints their results as a table: bench.py FOLDER [SUITE...] [--json FILE] [--peers a,b] [--quick].

A benchmark is a program FOLDER/<kind>_<name> that prints one JSON line for each case. SUITE is a kind (micro), a name
(timer_bench, timer) or both (micro_timer_bench). The programs see ROTA_BENCH_QUICK=1 and ROTA_BENCH_PEERS=a,b.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

FIELDS = ("suite", "case", "subject", "workers", "unit", "median", "min", "max", "runs")


def names_of(program):
    kind, _, name = program.name.partition("_")
    return {kind, name, name.removesuffix("_bench"), program.name}


def chosen(folder, suites):
    programs = sorted(p for p in folder.glob("*") if p.is_file() and os.access(p, os.X_OK))
    unknown = [suite for suite in suites if not any(suite in names_of(p) for p in programs)]
    if unknown or not programs:
        known = ", ".join(p.name for p in programs) or "none"
        sys.exit(f"bench: no benchmark is called {', '.join(unknown) or 'anything'}; there are: {known}")
    return [p for p in programs if not suites or names_of(p) & set(suites)]


def run(program, environment):
    """The results of one program; what is not a result is passed on."""
    results = []
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            try:
                result = json.loads(line)
                results.append({field: result[field] for field in FIELDS})
            except (ValueError, KeyError, TypeError):
                print(line, end="")
                continue
            print(row(results[-1]), flush=True)
    if process.returncode != 0:
        sys.exit(f"bench: {program.name} ended with {process.returncode}")
    return results


def row(r):
    return (f"{r['suite']:12} {r['case'][:36]:36} {r['subject'][:20]:20} {r['workers']:7} "
            f"{r['median']:14.2f} {r['min']:14.2f} {r['max']:14.2f} {r['unit']:8} {r['runs']:4}")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--peers", default="")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_intermixed_args()
    environment = dict(os.environ, ROTA_BENCH_PEERS=options.peers)
    if options.quick:
        environment["ROTA_BENCH_QUICK"] = "1"
    print(f"{'suite':12} {'case':36} {'subject':20} {'workers':>7} {'median':>14} {'min':>14} {'max':>14} {'unit':8} runs")
    results = [r for program in chosen(options.folder, options.suites) for r in run(program, environment)]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
