#!/usr/bin/env python3
"""The runner itself, on subjects that are not measured but made up."""
import dataclasses
import html.parser
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import bench
import http_suite
import peers
import report
import runner
import suites
import table

HERE = pathlib.Path(__file__).resolve().parent

# A subject: its runs return 1, 2, 3 ... times its factor, and it notes each run in a file.
FAKE = """#!{python}
import json, pathlib, sys
log = pathlib.Path({log!r})
if sys.argv[1] == "--list":
    print("\\n".join({cases!r}))
    sys.exit()
log.open("a").write({name!r} + " " + " ".join(sys.argv[1:]) + "\\n")
run = sum(line.startswith({name!r} + " " + sys.argv[1] + " ") for line in log.read_text().splitlines())
allocated = dict(bytes_per_op=run * 8, allocations_per_op=run) if "--allocations" in sys.argv else {{}}
print(json.dumps(dict(case=sys.argv[1], workers=2, unit="ns", value=run * {factor}, cpu_ns=0.5, **allocated)))
sys.exit({code})
"""


def all_cases(suite):
    return [case.name for case in suites.SUITES[suite]]


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bench").mkdir()
        self.log = self.folder / "log"
        self.log.touch()

    def fake(self, name, cases, factor=1, code=0, file=None):
        path = self.folder / "bench" / (file or f"task_{name}")
        path.write_text(FAKE.format(python=sys.executable, log=str(self.log), cases=cases, name=name, factor=factor, code=code))
        path.chmod(0o755)
        return runner.Subject(name, [str(path)])


class Runs(WithFolder):
    def test_subjects_take_turns_and_the_first_run_of_each_does_not_count(self):
        subjects = [self.fake("rota", ["spawn_await"]), self.fake("tokio", ["spawn_await"], factor=10)]
        (results,) = runner.interleave("task", [suites.case_of("task", "spawn_await")], subjects, quick=True)
        order = [line.split()[0] for line in self.log.read_text().splitlines()]
        self.assertEqual(order, ["rota", "tokio"] * 4)
        rows = {(r["case"], r["subject"]): r for r in results}
        self.assertEqual(rows["spawn_await", "tokio"], {
            "suite": "task", "case": "spawn_await", "subject": "tokio", "workers": 2, "unit": "ns",
            "median": 30, "min": 20, "max": 40, "runs": 3})
        self.assertEqual(rows["spawn_await.cpu", "rota"]["median"], 0.5)

    def test_five_runs_count_unless_quick(self):
        subject = self.fake("rota", ["spawn_await"])
        (results,) = runner.interleave("task", [suites.case_of("task", "spawn_await")], [subject], quick=False)
        self.assertEqual(results[0]["runs"], 5)
        self.assertIn("--scale full", self.log.read_text())

    def test_the_run_that_does_not_count_says_what_is_allocated(self):
        subject = self.fake("rota", ["mutex"])
        (results,) = runner.interleave("sync", [suites.case_of("sync", "mutex")], [subject], quick=True)
        rows = {r["case"]: r for r in results}
        self.assertEqual((rows["mutex"]["median"], rows["mutex"]["runs"]), (3, 3))
        self.assertEqual((rows["mutex.bytes"]["median"], rows["mutex.bytes"]["runs"]), (8, 1))
        self.assertEqual(rows["mutex.allocs"]["median"], 1)
        self.assertEqual(["--allocations" in line for line in self.log.read_text().splitlines()], [True, False, False, False])

    def test_a_case_that_a_subject_has_not_is_left_out(self):
        subjects = [self.fake("rota", ["spawn_await"]), self.fake("go", [])]
        (results,) = runner.interleave("task", [suites.case_of("task", "spawn_await")], subjects, quick=True)
        self.assertEqual({r["subject"] for r in results}, {"rota"})

    def test_a_run_that_fails_fails_everything(self):
        subject = self.fake("rota", ["spawn_await"], code=3)
        with self.assertRaisesRegex(runner.Failed, "rota spawn_await ended with 3"):
            list(runner.interleave("task", [suites.case_of("task", "spawn_await")], [subject], quick=True))

    def test_what_is_no_result_fails_everything(self):
        for text in ("hello", "{}", '{"case":"a","workers":2,"unit":"ns","value":"fast"}'):
            with self.assertRaises(runner.Failed):
                runner.line_of(text, "a test")


def a_row(case, subject, median, suite="task", **more):
    return {"suite": suite, "case": case, "subject": subject, "workers": 2, "unit": "ns", "median": median, "min": median,
            "max": median, "runs": 5, **more}


class Tables(unittest.TestCase):
    row = staticmethod(a_row)

    def test_the_ratio_is_to_the_best_peer_and_the_goal_is_judged(self):
        rows = [self.row("spawn_await", "rota", 50.0), self.row("spawn_await", "tokio", 200.0),
                self.row("spawn_await", "go", 100.0)]
        first = table.rows_text(rows).splitlines()[0]
        self.assertRegex(first, r"spawn_await +rota .* 0\.50 +<= 0\.2 x tokio: MISSED")
        rows[0]["median"] = 40.0
        self.assertRegex(table.rows_text(rows), "reached")

    def test_processor_time_is_a_column_with_a_ratio_of_its_own(self):
        rows = [self.row("ping_pong", "rota", 50.0), self.row("ping_pong.cpu", "rota", 30.0),
                self.row("ping_pong", "tokio", 100.0), self.row("ping_pong.cpu", "tokio", 120.0)]
        lines = table.rows_text(rows).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r" 30\.0 ns +5 +0\.50 +0\.25 +<= 120: reached")

    def test_allocations_are_columns_and_may_be_a_goal(self):
        rows = [self.row("mutex", "rota", 1.0, "sync"), self.row("mutex.bytes", "rota", 0.2, "sync"),
                self.row("mutex.allocs", "rota", 0.01, "sync"), self.row("mutex", "tokio", 10.0, "sync")]
        lines = table.rows_text(rows).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r" ns +0\.2 +0\.01 +5 +0\.10 +<= 0\.67 x tokio, 0 B: reached")
        rows[1]["median"] = 16.0
        self.assertRegex(table.rows_text(rows), "MISSED")
        del rows[1]
        self.assertRegex(table.rows_text(rows), "reached")

    def test_a_plain_goal_is_judged_without_peers(self):
        rows = [self.row("child_await", "rota", 4.6), self.row("child_await", "asio", 9.2)]
        self.assertRegex(table.rows_text(rows), r" 0\.50 +<= 4\.5: MISSED")
        rows[0]["median"] = 4.5
        self.assertRegex(table.rows_text(rows), r"<= 4\.5: reached")

    def test_a_goal_may_be_against_the_better_of_some_peers(self):
        rows = [self.row("bulk", "rota", 90.0, "tls"), self.row("bulk", "go", 50.0, "tls"),
                self.row("bulk", "tokio", 100.0, "tls"), self.row("bulk", "asio", 80.0, "tls")]
        self.assertRegex(table.rows_text(rows), r" 1\.80 +<= 1 x tokio/asio: MISSED")
        del rows[3]
        self.assertRegex(table.rows_text(rows), r" 1\.80 +<= 1 x tokio/asio: reached")
        del rows[2]
        self.assertRegex(table.rows_text(rows), "not judged")

    def test_a_goal_whose_peer_is_not_there_is_not_judged(self):
        self.assertRegex(table.rows_text([self.row("spawn_await", "rota", 50.0)]), "not judged")

    def test_more_is_better_where_requests_are_counted(self):
        rows = [self.row("1k_64", "rota", 99.0, "http"), self.row("1k_64", "nginx", 100.0, "http")]
        self.assertRegex(table.rows_text(rows), "MISSED")
        rows[0]["median"] = 100.0
        self.assertRegex(table.rows_text(rows), "reached")

    def test_a_speed_up_is_over_one_worker_of_the_same_subject(self):
        rows = [dict(self.row("fib", "rota", 10.0), suite="forkjoin"), dict(self.row("fib_1", "rota", 18.0), suite="forkjoin"),
                dict(self.row("fib", "tbb", 30.0), suite="forkjoin")]
        self.assertRegex(table.speed_ups_text("forkjoin", rows), "fib +rota 1.80; at most 2")
        self.assertNotIn("tbb", table.speed_ups_text("forkjoin", rows))
        self.assertEqual(table.speed_ups_text("forkjoin", rows[:1]), "")

    def test_what_work_and_span_allow_is_said(self):
        self.assertIn("work / span = 853,163", table.heading("forkjoin"))
        self.assertNotIn("span", table.heading("timer"))

    def test_what_rota_brings_along_is_no_peer(self):
        rows = [self.row("spawn_idle.p50", "rota", 50.0, "latency"), self.row("spawn_idle.p50", "futex", 25.0, "latency")]
        self.assertNotIn("2.00", table.rows_text(rows))


class Beside(unittest.TestCase):
    def test_what_runs_beside_rota_has_its_environment_and_rota_waits_by_epoll(self):
        own = bench.subjects_of("file", pathlib.Path("b"), [])
        self.assertEqual([(one.name, one.command) for one in own],
                         [("rota", ["env", "ROTA_IO=epoll", "b/bench/file_rota"]),
                          ("rota_uring", ["env", "ROTA_IO=uring", "b/bench/file_rota"]),
                          ("threads", ["b/bench/file_threads"]), ("loop", ["b/bench/file_loop"])])
        self.assertFalse(any(table.is_peer(one.name) for one in own))

    def test_the_bare_library_runs_beside_tls(self):
        own = bench.subjects_of("tls", pathlib.Path("b"), [])
        self.assertEqual([(one.name, one.command) for one in own],
                         [("rota", ["env", "ROTA_IO=epoll", "b/bench/tls_rota"]), ("openssl", ["b/bench/tls_openssl"])])

    def test_a_suite_without_has_rota_alone(self):
        (own,) = bench.subjects_of("task", pathlib.Path("b"), [])
        self.assertEqual((own.name, own.command), ("rota", ["b/bench/task_rota"]))

    def test_temporary_files_go_also_after_a_failure(self):
        before = os.environ.get("TMPDIR")
        with self.assertRaises(runner.Failed):
            with bench.temporary_files():
                left = pathlib.Path(os.environ["TMPDIR"])
                (left / "rota_bench_x").mkdir()
                raise runner.Failed("it did not do what it was asked")
        self.assertFalse(left.exists())
        self.assertEqual(os.environ.get("TMPDIR"), before)


class Peers(unittest.TestCase):
    def setUp(self):
        self.there = dict(peers.PEERS)
        self.addCleanup(lambda: peers.PEERS.update(self.there))
        peers.PEERS["tokio"] = dataclasses.replace(self.there["tokio"], is_there=lambda: False)
        peers.PEERS["go"] = dataclasses.replace(self.there["go"], is_there=lambda: True)

    def test_one_that_is_not_installed_is_skipped_visibly(self):
        present, skipped = peers.chosen("tokio,go")
        self.assertEqual([peer.name for peer in present], ["go"])
        self.assertEqual(skipped, ["skipped: tokio (not all are installed: librust-tokio-dev, librust-async-channel-dev, "
                                   "librust-tokio-openssl-dev, cargo, rustc)"])

    def test_one_that_is_a_single_package_is_called_by_it(self):
        peers.PEERS["go"] = dataclasses.replace(self.there["go"], is_there=lambda: False)
        self.assertEqual(peers.chosen("go")[1], ["skipped: go (golang-go is not installed)"])

    def test_one_that_there_is_not_is_an_error_that_lists_the_others(self):
        with self.assertRaisesRegex(SystemExit, "no peer erlang; there are: tokio, go, asio, tbb, std, openmp, rayon, libuv, nginx"):
            peers.chosen("go,erlang")

    def test_none_and_all(self):
        self.assertEqual(peers.named("none"), [])
        self.assertEqual(len(peers.named("all")), len(peers.PEERS))


    def test_a_program_is_built_again_when_a_file_that_it_shares_is_newer(self):
        with tempfile.TemporaryDirectory() as folder:
            program, own, shared = (pathlib.Path(folder, name) for name in ("program", "own/main.cpp", "shared/problems.hpp"))
            for age, path in ((30, own), (20, program), (10, shared)):
                path.parent.mkdir(exist_ok=True)
                path.touch()
                os.utime(path, (1_000_000 - age, 1_000_000 - age))
            self.assertTrue(peers.is_newer(program, own.parent))
            self.assertFalse(peers.is_newer(program, own.parent, shared.parent))


class Page(html.parser.HTMLParser):
    """Checks that each element is closed by its own end tag, and keeps what a test asks for."""
    EMPTY = ("meta", "rect", "line")

    def __init__(self, content):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes another element")

    def handle_data(self, data):
        self.words.append(data)

    def widths(self):
        """Of the bars, in per cent."""
        return [float(a["width"].rstrip("%")) for a in self.attributes if a.get("class") == "fill"]

    def text(self):
        return " ".join(word.strip() for word in self.words if word.strip()).replace("\u00a0", " ")


class Report(unittest.TestCase):
    def page(self, *rows, facts=("machine    a processor, 2 processors",)):
        self.html = report.page(list(facts), list(rows))
        page = Page(self.html)
        self.assertEqual(page.open, [])
        return page

    def test_bars_are_as_long_as_medians_and_their_lines_reach_from_min_to_max(self):
        page = self.page(a_row("yield_alone", "rota", 20.0, min=10.0, max=40.0), a_row("yield_alone", "go", 80.0, max=100.0))
        self.assertEqual(page.widths(), [20.0, 80.0])
        lines = [(a["x1"], a["x2"]) for a in page.attributes if a.get("class") == "spread" and a["x1"] != a["x2"]]
        self.assertEqual(lines, [("10.00%", "40.00%"), ("80.00%", "100.00%")])

    def test_ratio_goal_unit_and_words_are_there(self):
        said = self.page(a_row("spawn_await", "rota", 50.0), a_row("spawn_await", "tokio", 200.0),
                         a_row("spawn_await", "go", 100.0), a_row("spawn_await.cpu", "rota", 33.0)).text()
        for words in ("machine a processor", "a task is spawned and awaited, by a worker. Goal: ≤ 0.2 × tokio.", "median, ns",
                      "0.50 × go", "33.0 ns", "spawn_await missed", "1 missed."):
            self.assertIn(words, said)
        self.assertNotIn("spawn_await.cpu", said)

    def test_allocations_stand_beside_the_time_and_are_judged(self):
        rows = [a_row("mutex", "rota", 1.0, "sync"), a_row("mutex.bytes", "rota", 16.0, "sync"),
                a_row("mutex.allocs", "rota", 1.0, "sync"), a_row("mutex", "tokio", 10.0, "sync")]
        page = self.page(*rows)
        for words in ("allocated", "16.0 B, 1.00", "1 missed."):
            self.assertIn(words, page.text())
        self.assertEqual(page.widths(), [10.0, 100.0])

    def test_a_goal_of_a_part_is_a_goal_of_the_case(self):
        rows = [a_row("echo_50_64", "rota", 100.0, "echo"), a_row("echo_50_64", "go", 90.0, "echo"),
                a_row("echo_50_64.p99", "rota", 12.0, "echo"), a_row("echo_50_64.p99", "go", 10.0, "echo")]
        said = self.page(*rows).text()
        self.assertIn("Goal: ≥ 1 × best, p99 ≤ 1.1 × best.", said)
        self.assertIn("1 missed.", said)
        rows[2]["median"] = 11.0
        self.assertIn("1 reached.", self.page(*rows).text())
        self.assertIn("1 not judged.", self.page(*rows[:2]).text())

    def test_goals_are_reached_missed_or_not_judged(self):
        said = self.page(a_row("yield_alone", "rota", 20.0), a_row("yield_1000", "rota", 41.0),
                         a_row("spawn_await", "rota", 1.0)).text()
        self.assertIn("1 reached, 1 missed, 1 not judged.", said)

    def test_a_case_without_peers_has_no_ratio(self):
        self.assertNotIn("×", self.page(a_row("yield_alone", "rota", 20.0)).text().partition("Goals")[2])

    def test_a_case_with_only_peers_says_so_and_is_not_judged(self):
        page = self.page(a_row("yield_alone", "go", 20.0))
        self.assertIn("There is no figure of rota.", page.text())
        self.assertIn("1 not judged.", page.text())
        self.assertEqual(page.widths(), [100.0])

    def test_values_of_0_are_bars_without_length(self):
        page = self.page(a_row("yield_alone", "rota", 0.0), a_row("yield_alone", "go", 0.0))
        self.assertEqual(page.widths(), [0.0, 0.0])

    def test_parts_have_charts_of_their_own(self):
        page = self.page(a_row("fib", "rota", 9.0, "forkjoin"), a_row("fib.peak", "rota", 3.0, "forkjoin", unit="MiB"))
        self.assertEqual(page.widths(), [100.0, 100.0])
        self.assertIn("median, MiB", page.text())

    def test_what_a_suite_of_unknown_cases_has_is_shown_without_goal(self):
        self.assertNotIn("Goals", self.page(a_row("insert", "a wheel", 20.0, "micro")).text())

    def test_names_are_text_wherever_they_stand(self):
        name = "<script>\"a\" & 'b'</script>"
        page = self.page(a_row(name, name, 20.0, name, unit=name), facts=[f"machine    {name}"])
        self.assertNotIn("script", page.tags)
        self.assertGreaterEqual(page.text().count(name), 5)

    def test_it_needs_nothing_from_elsewhere(self):
        page = self.page(a_row("yield_alone", "rota", 20.0))
        self.assertFalse({"script", "link", "img", "iframe"} & set(page.tags))
        self.assertNotRegex(self.html, r"(?i)\bsrc=|https?:|url\(|@import")
        for link in (a["href"] for a in page.attributes if "href" in a):
            self.assertIn(link.removeprefix("#"), [a.get("id") for a in page.attributes])


class Http(unittest.TestCase):
    def test_a_process_and_its_children_are_one_family(self):
        shell = subprocess.Popen(["sh", "-c", "sleep 60 & wait"])
        try:
            for _ in range(500):
                if len(http_suite.family(shell.pid)) == 2:
                    break
            family = http_suite.family(shell.pid)
            self.assertEqual(len(family), 2)
            self.assertEqual(family[0], shell.pid)
        finally:
            for pid in http_suite.family(shell.pid):
                subprocess.run(["kill", str(pid)], check=False)
            shell.wait()

    def report_of(self, line, code=0):
        wrk = subprocess.Popen(["sh", "-c", f"echo '{line}'; exit {code}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return http_suite.report_of(wrk, FakeServer(), 1)

    def test_what_wrk_has_seen_is_taken_only_if_all_went_well(self):
        line = 'REPORT {"requests":%d,"bytes":9,"seconds":1.0,"errors":%d,"statuses":%d}'
        self.assertEqual(self.report_of(line % (3, 0, 0))["bytes"], 9)
        for bad, code in ((line % (0, 0, 0), 0), (line % (3, 1, 0), 0), (line % (3, 0, 1), 0), (line % (3, 0, 0), 1), ("", 0)):
            with self.assertRaises(runner.Failed):
                self.report_of(bad, code)

    def test_a_small_request_beside_bulk_must_bring_its_file(self):
        self.assertEqual(len(http_suite.ask_for(FakeServer(200, bytes(1024)), "1k", 0)), 1)
        for bad in (FakeServer(503, bytes(1024)), FakeServer(200, bytes(1023)), FakeServer()):
            with self.assertRaises(runner.Failed):
                http_suite.ask_for(bad, "1k", 0)

    def test_rounds_of_bulk_go_on_until_there_is_a_99th_percentile(self):
        rounds = iter([([1.0] * 120, 5.0, 10.0), ([2.0] * 120, 7.0, 20.0), ([3.0] * 120, 9.0, 30.0)])
        with unittest.mock.patch.object(http_suite, "load_under_bulk", lambda *_: next(rounds)):
            seen = http_suite.run_under_bulk(FakeServer(), None, 1)
        self.assertEqual(seen, {"": ("us", 2.0), ".p50": ("us", 1.5), ".bulk": ("us/MiB", 6.0), ".cpu": ("us/MiB", 15.0)})


class FakeServer:
    name = "fake"

    def __init__(self, *answer):
        self.answer = answer

    def fetch(self, _):
        if not self.answer:
            raise ConnectionResetError
        return self.answer


class Command(WithFolder):
    def bench(self, *arguments):
        return subprocess.run([sys.executable, HERE / "bench.py", *map(str, arguments)], capture_output=True, text=True,
                              check=False)

    def test_list_names_every_suite_case_and_peer(self):
        done = self.bench("--list")
        self.assertEqual(done.returncode, 0)
        for name in [*suites.SUITES, *peers.PEERS, *(case.name for cases in suites.SUITES.values() for case in cases)]:
            self.assertIn(name, done.stdout)

    def test_the_whole_way_to_a_table_and_a_file(self):
        self.fake("rota", all_cases("task"))
        out = self.folder / "out.json"
        done = self.bench("task", "--quick", "--peers", "none", "--build", self.folder, "--json", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        results = json.loads(out.read_text())["results"]
        self.assertEqual({tuple(r) for r in results},
                         {("suite", "case", "subject", "workers", "unit", "median", "min", "max", "runs")})
        self.assertEqual([r["case"] for r in results if not r["case"].endswith(".cpu")], all_cases("task"))
        for case in all_cases("task"):
            self.assertRegex(done.stdout, rf"(?m)^{case} +rota +2 +3\.0 +2\.0 +4\.0 ns ")

    def test_only_some_cases_of_a_suite(self):
        self.fake("rota", all_cases("task"))
        out = self.folder / "out.json"
        done = self.bench("--quick", "--only", "yield_*0,ping_pong", "--peers", "none", "--build", self.folder, "--json", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        cases = [row["case"] for row in json.loads(out.read_text())["results"] if not row["case"].endswith(".cpu")]
        self.assertEqual(cases, ["yield_1000", "ping_pong"])
        self.assertNotIn("== timer", done.stdout)
        wrong = self.bench("task", "--only", "yield_alone,nosuch", "--plan")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("there is no case nosuch", wrong.stderr)

    def test_a_suite_whose_programs_could_not_be_built_is_skipped_visibly(self):
        done = self.bench("tls", "--quick", "--peers", "none", "--build", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("skipped: tls (rota::tls is not built", done.stdout)

    def test_a_page_is_made_with_the_run_and_from_its_file(self):
        self.fake("rota", all_cases("task"))
        out, page, later = (self.folder / name for name in ("out.json", "page.html", "later.html"))
        done = self.bench("task", "--quick", "--peers", "none", "--build", self.folder, "--json", out, "--html", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        runs = self.log.read_text()
        again = self.bench("--from", out, "--html", later)
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertEqual(later.read_text(), page.read_text())
        self.assertEqual(again.stdout, done.stdout)
        self.assertEqual(self.log.read_text(), runs)
        self.assertIn("quick sizes, 3 counted runs", page.read_text())

    def test_a_file_without_facts_will_do_and_suites_choose_from_it(self):
        old, page = self.folder / "old.json", self.folder / "page.html"
        old.write_text(json.dumps([a_row("fib", "rota", 1.0, "forkjoin"), a_row("yield_alone", "rota", 2.0)]))
        self.assertEqual(self.bench("--from", old, "--html", page, "task").returncode, 0)
        self.assertIn("does not say on which machine", page.read_text())
        self.assertIn("yield_alone", page.read_text())
        self.assertNotIn("fib", page.read_text())

    def test_what_is_no_file_of_results_is_an_error(self):
        wrong = self.folder / "wrong.json"
        for content in ("hello", "{}", "[1]", '[{"suite": "task"}]', '{"machine": [], "results": 1}'):
            wrong.write_text(content)
            done = self.bench("--from", wrong)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not what --json writes", done.stderr)
        self.assertEqual(self.bench("--from", self.folder / "nowhere.json").returncode, 1)

    def test_options_that_do_not_go_together_are_refused(self):
        for arguments in (["--from", "a.json", "--quick"], ["--from", "a.json", "--count"], ["--html", "a.html", "--list"],
                          ["--count", "--only", "mutex"], ["--from", "a.json", "--only", "mutex"]):
            self.assertEqual(self.bench("--plan", *arguments).returncode, 2)

    def test_a_suite_that_fails_ends_with_one_and_says_why(self):
        self.fake("rota", all_cases("task"), code=9)
        done = self.bench("task", "--quick", "--peers", "none", "--build", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("rota spawn_await ended with 9", done.stderr)

    def test_an_unknown_suite_or_peer_is_an_error_that_lists_the_known_ones(self):
        for arguments, words in ((["nosuch"], "no suite nosuch; there are: task, forkjoin, timer"),
                                 (["--peers", "nosuch"], "no peer nosuch; there are: tokio, go")):
            done = self.bench("--plan", *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)

    def test_the_plan_names_preset_targets_and_packages(self):
        plans = ((["task", "--peers", "go"], ["bench", "rota_benches", "golang-go"]),
                 (["http"], ["bench", "rota_benches example_file_server", "wrk openssl"]),
                 (["--count"], ["count", "rota_benches", "valgrind"]),
                 (["--list"], ["nothing"]), (["--from", "a.json", "--html", "a.html"], ["nothing"]))
        for arguments, lines in plans:
            self.assertEqual(self.bench("--plan", *arguments).stdout.splitlines(), lines)

    def test_every_case_has_one_name(self):
        names = [case for suite in suites.SUITES for case in all_cases(suite)]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
