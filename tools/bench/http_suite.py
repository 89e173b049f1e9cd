"""The suite `http`: examples/file_server and nginx serve the same files, and wrk loads them in turns.

Requests a second say what the pair of server and wrk can do on these processors; the server's processor time for each
request is what the server costs. An error or an answer that is not 200 fails the run.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import runner
import suites

FILES = {"1k": 1024, "64k": 64 * 1024, "1m": 1024 * 1024}
TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stat_fields(pid):
    """/proc/PID/stat behind the name: state, parent, ..."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def family(pid):
    """A process and its children, which end no earlier than it."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = int(stat_fields(folder.name)[1])
    return [pid] + [child for child, parent in parents.items() if parent == pid]


def cpu_seconds(pid):
    """Processor time of a process, all its threads and its children."""
    ticks = sum(int(ticks) for one in family(pid) for ticks in stat_fields(one)[11:13])
    return ticks / TICK


class Server:
    """A server that runs on a port of its own."""

    def __init__(self, name, command, port, log):
        self.name, self.port, self.log = name, port, log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output)

    def fetch(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", "/" + name)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def wait_until_it_listens(self):
        for _ in range(100):
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.05)
        raise runner.Failed(f"{self.name} does not listen on {self.port}: {pathlib.Path(self.log).read_text()}")

    def check(self, name, content):
        status, body = self.fetch(name)
        if status != 200 or body != content:
            raise runner.Failed(f"{self.name} answers /{name} with {status} and {len(body)} bytes, not those of the file")

    def cpu_seconds(self):
        if self.process.poll() is not None:
            raise runner.Failed(f"{self.name} has ended with {self.process.returncode}: {pathlib.Path(self.log).read_text()}")
        return cpu_seconds(self.process.pid)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(build, root, work, with_nginx):
    """The servers, one after the other; they end when the block does."""
    port = free_port()
    yield Server("rota", [str(build / "examples/file_server"), str(work / "files"), "--port", str(port),
                          "--workers", "2"], port, work / "rota.out")
    if with_nginx:
        port = free_port()
        text = (root / "bench/peers/nginx/nginx.conf.in").read_text()
        for name, value in (("WORK", work), ("FILES", work / "files"), ("PORT", port)):
            text = text.replace(f"@{name}@", str(value))
        (work / "nginx.conf").write_text(text)
        command = ["nginx", "-e", str(work / "nginx.log"), "-p", str(work), "-c", str(work / "nginx.conf")]
        yield Server("nginx", command, port, work / "nginx.out")


def load(server, root, name, connections, seconds):
    """One run of wrk: requests a second, processor time for each, latencies."""
    url = f"http://127.0.0.1:{server.port}/{name}"
    command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s",
               str(root / "bench/http/report.lua"), url]
    before = server.cpu_seconds()
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    cpu = server.cpu_seconds() - before
    found = re.search(r"^REPORT (.*)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not found:
        raise runner.Failed(f"wrk {url} ended with {done.returncode}: {done.stderr.strip()}")
    seen = json.loads(found[1])
    if seen["errors"] or seen["statuses"] or not seen["requests"]:
        raise runner.Failed(f"{server.name} {url} over {connections} connections: {seen['requests']} answers, "
                            f"{seen['errors']} errors of the connection, {seen['statuses']} of another status than 200")
    return {"": ("req/s", seen["requests"] / seen["seconds"]), ".cpu": ("us", cpu * 1e6 / seen["requests"]),
            ".p50": ("us", seen["p50"]), ".p99": ("us", seen["p99"])}


def measure(servers, root, case, quick):
    name, _, connections = case.name.partition("_")
    values = runner.Values("http")
    for counted in range(runner.counted_runs(quick) + 1):
        for server in servers:
            seen = load(server, root, name, int(connections), 1 if quick or not counted else 3)
            for suffix, (unit, value) in seen.items() if counted else ():
                values.add(server.name, {"case": case.name + suffix, "workers": 2, "unit": unit, "value": value})
    return values.results()


def run(build, root, quick, with_nginx):
    """A generator of each case's results."""
    with contextlib.ExitStack() as at_end:
        work = pathlib.Path(at_end.enter_context(tempfile.TemporaryDirectory()))
        work.chmod(0o755)  # nginx's workers are nobody
        (work / "files").mkdir()
        contents = {name: os.urandom(size) for name, size in FILES.items()}
        for name, content in contents.items():
            (work / "files" / name).write_bytes(content)
        servers = []
        for server in start(build, root, work, with_nginx):
            at_end.callback(server.stop)
            servers.append(server)
        for server in servers:
            server.wait_until_it_listens()
        for case in suites.SUITES["http"]:
            for server in servers:
                name = case.name.partition("_")[0]
                server.check(name, contents[name])
            yield measure(servers, root, case, quick)
