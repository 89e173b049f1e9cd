#!/usr/bin/env python3
"""./dev bench: runs the suites for rota and its peers and prints tables; --count counts. See bench/README.md."""
import argparse
import contextlib
import itertools
import os
import pathlib
import sys
import tempfile
import time

import count
import echo_suite
import http_suite
import machine
import micro
import peers
import report
import results
import runner
import suites
import table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(suites.SUITES))
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there, too")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE", help="write them there as a page with bars, too")
    parser.add_argument("--from", type=pathlib.Path, metavar="FILE", dest="source",
                        help="run nothing: show what an earlier --json has written")
    parser.add_argument("--peers", metavar="A,B", help="install and run these: %s, all, none; otherwise those that "
                        "are installed run" % ", ".join(peers.PEERS))
    parser.add_argument("--only", metavar="CASE,CASE", help="of the suites, these cases only; * and ? stand for others: 'echo_50_*'")
    parser.add_argument("--quick", action="store_true", help="3 runs instead of 5, and shorter ones")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.add_argument("--count", action="store_true", help="count instructions, read-modify-writes and system calls")
    parser.add_argument("--accept", action="store_true", help="with --count: make this the baseline")
    parser.add_argument("--plan", action="store_true", help=argparse.SUPPRESS)  # for ./dev: what to install and build
    parser.add_argument("--build", type=pathlib.Path, help=argparse.SUPPRESS)   # from ./dev: the build folder
    options = parser.parse_intermixed_args()
    options.suites = suites.chosen(options.suites) if not options.count or options.suites else suites.counted()
    if options.accept and not options.count:
        parser.error("--accept goes with --count")
    if options.source and (options.count or options.list or options.json or options.peers or options.quick or options.only):
        parser.error("--from runs nothing: it goes with suites and --html")
    if options.only and options.count:
        parser.error("--only is for times: --count counts whole suites")
    if options.only:
        suites.keep(options.only.split(","))
        options.suites = [suite for suite in options.suites if suites.SUITES[suite]]
    if options.html and (options.count or options.list):
        parser.error("--html is for times: neither --count nor --list has any")
    return options


def plan(options):
    """Three lines for ./dev: the preset to build, its targets, the packages that are needed beyond a build's."""
    if options.list or options.source:
        return "nothing"
    if options.count:
        return "count\nrota_benches\nvalgrind"
    http = "http" in options.suites
    packages = [package for peer in peers.named(options.peers or "") for package in peer.packages] + ["wrk", "openssl"] * http
    return f"bench\nrota_benches{' example_file_server' * http}\n{' '.join(dict.fromkeys(packages))}"


def show_list():
    for suite, cases in suites.SUITES.items():
        print(f"{suite}")
        for case in cases:
            print(f"  {case.name:24} {case.says_all()}" + (f" [{case.goal()}]" if case.goal() else ""))
    for program in sorted((ROOT / "bench/micro").glob("*.cpp")):
        print(f"  {program.stem:24} a program of its own")
    print("peers")
    for peer in peers.PEERS.values():
        print(f"  {peer.name:24} {peer.missing() or 'installed: ' + peer.version()}")


def own_subject(suite, build, name, program, setting):
    return runner.Subject(name, [*(["env", setting] if setting else []), str(build / "bench" / f"{suite}_{program}")])


def subjects_of(suite, build, programs):
    beside = suites.BESIDE.get(suite, ())
    own = [("rota", "rota", "ROTA_IO=epoll" if beside else ""), *beside]
    return [*(own_subject(suite, build, *each) for each in own), *programs]


@contextlib.contextmanager
def temporary_files():
    """What subjects leave in the folder for temporary files goes also if they do not come to their end."""
    with tempfile.TemporaryDirectory(prefix="rota_bench_") as folder:
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before


def run_suite(suite, options, programs, with_nginx):
    if suite == "micro":
        return micro.run(options.build / "bench", options.quick)
    if suite == "http":
        return http_suite.run(options.build, ROOT, options.quick, with_nginx, has_tls(options.build))
    if suite == "echo":
        return echo_suite.run(options.build / "bench/echo_load", subjects_of(suite, options.build, programs), options.quick)
    return interleaved(suite, options, programs)


def interleaved(suite, options, programs):
    with temporary_files():
        yield from runner.interleave(suite, suites.SUITES[suite], subjects_of(suite, options.build, programs), options.quick)


def has_tls(build):
    return (build / "bench/tls_rota").exists()


def lack(suite, build):
    """Why a suite is left out, or nothing."""
    if suite != "tls" or has_tls(build):
        return ""
    return "skipped: tls (rota::tls is not built: libssl-dev is not installed)"


def run(options):
    present, skipped = peers.chosen(options.peers)
    programs = []
    if set(options.suites) - {"micro", "http"}:
        programs = [s for s in (peers.subject(peer, ROOT, options.build) for peer in present) if s]
    facts = [how_measured(options.quick), *machine.facts(options.build, ROOT, present), *skipped]
    print("\n".join(facts), flush=True)
    rows = []
    for suite in options.suites:
        if why := lack(suite, options.build):
            print(f"\n{why}", flush=True)
            continue
        print(table.heading(suite), flush=True)
        for some in run_suite(suite, options, programs, any(peer.name == "nginx" for peer in present)):
            rows += some
            print(table.rows_text(some), flush=True)
        print(table.speed_ups_text(suite, rows), end="", flush=True)
    write(options, facts, rows)


def how_measured(quick):
    size = "quick" if quick else "full"
    return f"measured   {time.strftime('%Y-%m-%d %H:%M %Z')}, {size} sizes, {runner.counted_runs(quick)} counted runs"


def write(options, facts, rows):
    if options.json:
        results.write(options.json, facts, rows)
    if options.html:
        options.html.write_text(report.page(facts, rows))


def show(options):
    """Tables, and the page if it was asked for, of an earlier run."""
    facts, rows = results.read(options.source)
    rows = [row for row in rows if row["suite"] in options.suites]
    write(options, facts, rows)
    print("\n".join(facts))
    for suite, some in itertools.groupby(rows, key=lambda row: row["suite"]):
        some = list(some)
        print(table.heading(suite))
        print(table.rows_text(some))
        print(table.speed_ups_text(suite, some), end="")


def main():
    options = arguments()
    if options.plan:
        print(plan(options))
        return 0
    if options.list:
        show_list()
        return 0
    if options.build is None and not options.source:
        sys.exit("bench: start it by ./dev bench, which builds the programs")
    try:
        if options.source:
            show(options)
            return 0
        if options.count:
            return count.count(options.build / "bench", options.suites, machine.compiler(options.build),
                               ROOT / "bench/baseline.json", options.accept)
        run(options)
    except (runner.Failed, OSError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
