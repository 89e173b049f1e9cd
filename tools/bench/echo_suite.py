"""The suite `echo`: a server in a process of its own, loaded by bench/echo/load.cpp; subjects take turns, each time with a new server.

Requests a second say what the pair of server and load can do on these processors; the server's processor time for each request is
what the server costs. An error of any connection, or a byte that did not come back as it was sent, fails the run.
"""
import contextlib
import json
import pathlib
import re
import resource
import selectors
import subprocess
import tempfile

import runner
import suites

BYTES = {"64": 64, "16k": 16384}
START_SECONDS = 20
IDLE_MILLISECONDS = 300  # until a server has gone to sleep
SPARE_DESCRIPTORS = 64


def spans(connections, quick):
    """Milliseconds to warm up, and of the window: with many connections a round of them takes longer."""
    warm_up, window = (150, 350) if quick else (500, 2000)
    return (2 * warm_up, 2 * window) if connections >= 10_000 else (warm_up, window)


def parts_of(name):
    """echo_50_16k_1: 50 connections, messages of 16k. echo_idle_10000: 10000 connections that wait, and no message but the first."""
    connections, size = (re.fullmatch(r"echo_idle_(\d+)()", name) or re.fullmatch(r"echo_(\d+)_(\w+?)(?:_1)?", name)).groups()
    return int(connections), size


def server_of(known, size, workers):
    """The name by which a subject serves that, or nothing: it does not. One that ends in _1 has one worker and no more."""
    names = [f"echo_{size}"] + [f"echo_{size}_1"] * (workers == 1)
    return next((name for name in names if name in known), None)


class Server:
    """A subject that serves, on a port that it has printed."""

    def __init__(self, subject, name, workers, log):
        self.name, self.log = subject.name, pathlib.Path(log)
        with open(log, "wb") as errors:
            self.process = subprocess.Popen([*subject.command, name, "--workers", str(workers)], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=errors)
        try:
            self.port = self._port()
        except BaseException:
            self.stop()
            raise

    def _port(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            line = self.process.stdout.readline() if selector.select(START_SECONDS) else b""
        try:
            return int(json.loads(line)["port"])
        except (ValueError, KeyError, TypeError):
            raise runner.Failed(f"{self.name} says no port, but {line!r}: {self.said()}") from None

    def said(self):
        return self.log.read_text(errors="replace").strip()[-2000:]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def load(program, server, connections, size, *options):
    """What the load measures of a server."""
    command = [str(program), "--port", str(server.port), "--server", str(server.process.pid), "--connections", str(connections),
               "--bytes", str(BYTES[size]), *map(str, options)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=runner.RUN_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise runner.Failed(f"the load of {server.name}: no end after {runner.RUN_SECONDS} s") from None
    if done.returncode != 0:
        raise runner.Failed(f"{server.name}, {connections} connections, {size} bytes: {done.stderr.strip()} {server.said()}".strip())
    return json.loads(done.stdout)


def values_of(program, server, case, quick):
    """One run: unit and value of each part of the case."""
    connections, size = parts_of(case.name)
    if not size:
        return {"": ("bytes", load(program, server, connections, "64", "--idle", IDLE_MILLISECONDS)["bytes"])}
    warm_up, window = spans(connections, quick)
    seen = load(program, server, connections, size, "--warm-up", warm_up, "--window", window)
    return {"": ("req/s", seen["requests"] / seen["seconds"]),
            ".cpu": ("us", seen["server_seconds"] * 1e6 / seen["requests"]),
            **{"." + name: ("us", seen[name]) for name in ("p50", "p99", "p999")}}


def measure(program, subjects, case, quick, folder):
    """`subjects`: pairs of a subject and the names of its servers."""
    _, size = parts_of(case.name)
    values = runner.Values("echo")
    for counted in range(runner.counted_runs(quick) + 1):
        for subject, known in subjects:
            name = server_of(known, size or "64", case.workers)
            if name is None:
                continue
            server = Server(subject, name, case.workers, pathlib.Path(folder) / "log")
            with contextlib.ExitStack() as at_end:
                at_end.callback(server.stop)
                seen = values_of(program, server, case, quick)
            for suffix, (unit, value) in seen.items() if counted else ():
                values.add(subject.name, {"case": case.name + suffix, "workers": case.workers, "unit": unit, "value": value})
    return values.results()


def most_connections():
    """As many as a process may have; the children are allowed that, too."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return float("inf") if hard == resource.RLIM_INFINITY else hard - SPARE_DESCRIPTORS


def run(program, subjects, quick):
    """A generator of each case's results. `program`: the load."""
    known = [(subject, subject.cases()) for subject in subjects]
    most = most_connections()
    with tempfile.TemporaryDirectory(prefix="rota_bench_") as folder:
        for case in suites.SUITES["echo"]:
            if parts_of(case.name)[0] > most:
                print(f"   {case.name} is left out: `ulimit -Hn` allows {most + SPARE_DESCRIPTORS} descriptors", flush=True)
                continue
            yield measure(program, known, case, quick, folder)
