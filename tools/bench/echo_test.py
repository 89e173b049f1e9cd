#!/usr/bin/env python3
"""The suite `echo`: its turns, on a server and a load that are made up, and the load itself, on servers that do wrong."""
import contextlib
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import echo_suite
import runner
import suites
import table

# A server that notes how it was called and "listens" until it is killed; a load that says what it was asked.
SERVER = """#!{python}
import pathlib, sys, time
if sys.argv[1] == "--list":
    print("\\n".join({servers!r}))
    sys.exit()
with pathlib.Path({log!r}).open("a") as log:
    log.write({name!r} + " " + " ".join(sys.argv[1:]) + "\\n")
print({says!r}, flush=True)
print("what it has to say", file=sys.stderr, flush=True)
time.sleep(60)
"""
LOAD = """#!{python}
import os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
os.kill(int(options["--server"]), 0)
if {fails}:
    sys.exit("load: other bytes came back than were sent")
print('{{"bytes":600.0}}' if "--idle" in options else
      '{{"requests":3000,"seconds":2.0,"server_seconds":0.03,"p50":10.0,"p99":20.0,"p999":30.0}}')
"""


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "calls"
        self.log.touch()

    def program(self, name, text, **values):
        path = self.folder / name
        path.write_text(text.format(python=sys.executable, log=str(self.log), name=name, **values))
        path.chmod(0o755)
        return path

    def server(self, name, servers, says='{"port": 7}'):
        return runner.Subject(name, [str(self.program(name, SERVER, servers=servers, says=says))])

    def measure(self, case, *subjects, fails=False):
        known = [(subject, subject.cases()) for subject in subjects]
        return echo_suite.measure(self.program("load", LOAD, fails=fails), known, suites.case_of("echo", case), True, self.folder)


class Turns(WithFolder):
    def test_each_run_has_a_new_server_and_the_first_of_each_does_not_count(self):
        rows = self.measure("echo_50_16k", self.server("rota", ["echo_64", "echo_16k"]), self.server("go", ["echo_16k"]))
        self.assertEqual(self.log.read_text().splitlines(),
                         ["rota echo_16k --workers 2", "go echo_16k --workers 2"] * 4)
        found = {(row["case"], row["subject"]): row for row in rows}
        self.assertEqual(found["echo_50_16k", "rota"], {
            "suite": "echo", "case": "echo_50_16k", "subject": "rota", "workers": 2, "unit": "req/s", "median": 1500.0,
            "min": 1500.0, "max": 1500.0, "runs": 3})
        self.assertEqual(found["echo_50_16k.cpu", "go"]["median"], 10.0)
        self.assertEqual([found[f"echo_50_16k.{part}", "go"]["median"] for part in ("p50", "p99", "p999")], [10.0, 20.0, 30.0])

    def test_who_has_one_worker_only_is_not_asked_for_two(self):
        alone = self.server("libuv", ["echo_64_1"])
        self.assertEqual({row["workers"] for row in self.measure("echo_1_64_1", alone)}, {1})
        self.assertEqual(self.log.read_text().splitlines(), ["libuv echo_64_1 --workers 1"] * 4)
        self.assertEqual(self.measure("echo_1_64", alone), [])

    def test_what_is_idle_is_measured_in_bytes(self):
        (row,) = self.measure("echo_idle_10000", self.server("rota", ["echo_64"]))
        self.assertEqual((row["case"], row["unit"], row["median"]), ("echo_idle_10000", "bytes", 600.0))

    def test_a_load_that_fails_fails_everything_and_the_server_is_heard(self):
        with self.assertRaisesRegex(runner.Failed, "rota, 50 connections, 64 bytes: load: other bytes .* what it has to say"):
            self.measure("echo_50_64", self.server("rota", ["echo_64"]), fails=True)

    def test_a_server_that_names_no_port_fails_everything(self):
        for says in ("", "listening", '{"port": "here"}', "[]"):
            with self.assertRaisesRegex(runner.Failed, "rota says no port"):
                self.measure("echo_50_64", self.server("rota", ["echo_64"], says=says))

    def test_cases_for_which_there_are_no_descriptors_are_left_out(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2000:
            self.skipTest("there are fewer descriptors than the test takes away")
        done = subprocess.run([sys.executable, "-c", f"""
import resource, sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import echo_suite
resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1500))
seen = []
echo_suite.measure = lambda program, subjects, case, quick, folder: seen.append(case.name)
list(echo_suite.run("load", [], True))
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1500
print(",".join(seen))
"""], capture_output=True, text=True, check=True)
        self.assertIn("echo_10000_64 is left out: `ulimit -Hn` allows 1500 descriptors", done.stdout)
        measured = done.stdout.splitlines()[-1].split(",")
        self.assertEqual(measured, [case.name for case in suites.SUITES["echo"] if "10000" not in case.name])

    def test_names_say_connections_and_sizes(self):
        self.assertEqual(echo_suite.parts_of("echo_50_16k_1"), (50, "16k"))
        self.assertEqual(echo_suite.parts_of("echo_1_64"), (1, "64"))
        self.assertEqual(echo_suite.parts_of("echo_idle_10000"), (10000, ""))
        for case in suites.SUITES["echo"]:
            self.assertIn(echo_suite.parts_of(case.name)[1], ("", *echo_suite.BYTES))
            self.assertEqual(case.workers, 1 if case.name.endswith("_1") else 2)


class Goals(unittest.TestCase):
    @staticmethod
    def row(case, subject, median, workers=2):
        return {"suite": "echo", "case": case, "subject": subject, "workers": workers, "unit": "req/s", "median": median,
                "min": median, "max": median, "runs": 3}

    def test_a_part_is_judged_in_its_own_row_against_the_least_of_the_peers(self):
        rows = [self.row("echo_50_64", "rota", 100.0), self.row("echo_50_64", "go", 90.0),
                self.row("echo_50_64.p99", "rota", 11.0), self.row("echo_50_64.p99", "go", 10.0),
                self.row("echo_50_64.p99", "tokio", 20.0)]
        lines = [line for line in table.rows_text(rows).splitlines() if " rota " in line]
        self.assertRegex(lines[0], r" 1\.11 +>= 1 x best: reached")
        self.assertRegex(lines[1], r" 1\.10 +<= 1\.1 x best: reached")
        rows[2]["median"] = 11.5
        self.assertRegex(table.rows_text(rows), r"echo_50_64\.p99 +rota .* <= 1\.1 x best: MISSED")
        self.assertRegex(table.rows_text(rows[2:3]), "not judged")

    def test_more_requests_of_two_workers_are_a_speed_up(self):
        rows = [self.row("echo_50_64", "rota", 150.0), self.row("echo_50_64_1", "rota", 100.0, workers=1)]
        self.assertRegex(table.speed_ups_text("echo", rows), "echo_50_64 +rota 1.50; at most 2")


@unittest.skipUnless("ROTA_ECHO_LOAD" in os.environ, "ctest says where the load is")
class Load(unittest.TestCase):
    """`answer(connection, data)` is what a server does with what it has received."""

    def load(self, answer, *options, timeout=60):
        listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.addCleanup(listener.close)
        threading.Thread(target=self.accept, args=(listener, answer), daemon=True).start()
        command = [os.environ["ROTA_ECHO_LOAD"], "--port", str(listener.getsockname()[1]), "--server", str(os.getpid()), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)

    def accept(self, listener, answer):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self.serve, args=(connection, answer), daemon=True).start()

    @staticmethod
    def serve(connection, answer):
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                answer(connection, data)

    @staticmethod
    def echo(connection, data):
        connection.sendall(data)

    def test_a_server_that_echoes_is_measured(self):
        for options in (["--bytes", "64", "--connections", "3"], ["--bytes", "65536", "--connections", "5", "--threads", "2"]):
            done = self.load(self.echo, *options, "--warm-up", "50", "--window", "200")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            seen = json.loads(done.stdout)
            self.assertEqual(seen["seconds"], 0.2)
            self.assertGreater(seen["requests"], 0)
            self.assertGreater(seen["server_seconds"], 0)
            self.assertTrue(0 < seen["p50"] <= seen["p99"] <= seen["p999"])

    def test_what_waits_is_measured_in_bytes(self):
        done = self.load(self.echo, "--connections", "20", "--idle", "10")
        self.assertEqual((done.returncode, list(json.loads(done.stdout))), (0, ["bytes"]))

    def test_answers_in_pieces_are_whole(self):
        def in_pieces(connection, data):
            for at in range(0, len(data), 1000):
                connection.sendall(data[at:at + 1000])
        self.assertEqual(self.load(in_pieces, "--bytes", "5000", "--window", "100").returncode, 0)

    def fails(self, answer, words, *options):
        done = self.load(answer, "--window", "200", *options)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, words)

    def test_a_byte_that_is_another_fails(self):
        self.fails(lambda connection, data: connection.sendall(data[:-1] + bytes([data[-1] ^ 1])), "other bytes came back")

    def test_an_answer_to_an_earlier_request_fails(self):
        first = []

        def always_the_first(connection, data):
            first.append(data)
            connection.sendall(first[0])
        self.fails(always_the_first, "other bytes came back")

    def test_a_byte_too_many_fails(self):
        self.fails(lambda connection, data: connection.sendall(data + b"x"), "more bytes came back|other bytes came back")

    def test_a_connection_that_is_closed_fails(self):
        self.fails(lambda connection, data: connection.shutdown(socket.SHUT_RDWR), "has closed a connection|Connection reset")

    def test_an_answer_that_does_not_come_fails(self):
        self.fails(lambda connection, data: None, "2 of 2 connections got no answer", "--connections", "2", "--patience", "100")

    def test_a_port_where_nobody_listens_fails(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        done = subprocess.run([os.environ["ROTA_ECHO_LOAD"], "--port", str(port), "--server", str(os.getpid()), "--window", "10"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("connect: Connection refused", done.stderr)

    def test_options_that_are_wrong_are_refused(self):
        for options in (["--window", "0"], ["--window", "1s"], ["--nosuch", "1"], ["--window"], [], ["--window", "1", "--idle", "1"],
                        ["--bytes", "65537", "--window", "1"]):
            self.assertEqual(self.load(self.echo, *options).returncode, 2, options)


if __name__ == "__main__":
    unittest.main()
