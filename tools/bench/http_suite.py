"""The suite `http`: examples/file_server and nginx serve the same files, and wrk loads them in turns.

Requests a second say what the pair of server and wrk can do on these processors; the server's processor time for each
request is what the server costs. An error or an answer that is not 200 fails the run. `latency_under_bulk`: wrk fetches a large
file without an end, and this process asks for a small one again and again, each time over a connection of its own.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import statistics
import subprocess
import tempfile
import time

import runner
import suites

FILES = {"1k": 1024, "64k": 64 * 1024, "1m": 1024 * 1024, "bulk": 64 * 1024 * 1024}
UNDER_BULK = "latency_under_bulk"
LEAST_ASKED = 200  # small requests in a run: fewer have no 99th percentile
LONGEST = 120      # seconds for these
BULK_CONNECTIONS = 4
PAUSE = 0.005  # seconds between two small requests
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


def insecure_context():
    """The certificate is one that this run has made."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Server:
    """A server that runs on a port of its own."""

    def __init__(self, name, command, port, log, tls=False):
        self.name, self.port, self.log = name, port, log
        self.context = insecure_context() if tls else None
        with open(log, "wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output)

    def fetch(self, name):
        if self.context:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=self.context)
        else:
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


def make_certificate(work):
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
               "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "certificate.pem"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise runner.Failed(f"openssl makes no certificate: {done.stderr.strip()}")


def file_server(build, work, workers, tls):
    port = free_port()
    command = [str(build / "examples/file_server"), str(work / "files"), "--port", str(port), "--workers", str(workers)]
    if tls:
        command += ["--certificate", str(work / "certificate.pem"), "--key", str(work / "key.pem")]
    return Server("rota", command, port, work / "rota.out", tls)


def nginx(root, work, workers, tls):
    port = free_port()
    text = (root / "bench/peers/nginx/nginx.conf.in").read_text()
    secured = f" ssl; ssl_certificate {work}/certificate.pem; ssl_certificate_key {work}/key.pem" if tls else ""
    for name, value in (("WORK", work), ("FILES", work / "files"), ("PORT", port), ("WORKERS", workers), ("TLS", secured)):
        text = text.replace(f"@{name}@", str(value))
    (work / "nginx.conf").write_text(text)
    command = ["nginx", "-e", str(work / "nginx.log"), "-p", str(work), "-c", str(work / "nginx.conf")]
    return Server("nginx", command, port, work / "nginx.out", tls)


@contextlib.contextmanager
def running(build, root, work, with_nginx, workers, tls=False):
    """The servers; they listen, and end when the block does."""
    with contextlib.ExitStack() as at_end:
        servers = []
        for make in [lambda: file_server(build, work, workers, tls)] + [lambda: nginx(root, work, workers, tls)] * with_nginx:
            servers.append(make())
            at_end.callback(servers[-1].stop)
        for server in servers:
            server.wait_until_it_listens()
        yield servers


def start_wrk(server, root, name, connections, seconds, threads=2):
    url = f"{'https' if server.context else 'http'}://127.0.0.1:{server.port}/{name}"
    command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s",
               str(root / "bench/http/report.lua"), url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def report_of(wrk, server, seconds):
    """What one run of wrk has seen. An error, or another status than 200, fails."""
    what = f"{server.name}: {' '.join(wrk.args)}"
    try:
        printed, errors = wrk.communicate(timeout=seconds + 60)
    except subprocess.TimeoutExpired:
        wrk.kill()
        wrk.wait()
        raise runner.Failed(f"{what}: no end after {seconds + 60} s") from None
    found = re.search(r"^REPORT (.*)$", printed, re.MULTILINE)
    if wrk.returncode != 0 or not found:
        raise runner.Failed(f"{what} ended with {wrk.returncode}: {errors.strip()}")
    seen = json.loads(found[1])
    if seen["errors"] or seen["statuses"] or not seen["requests"]:
        raise runner.Failed(f"{what}: {seen['requests']} answers, {seen['errors']} errors of the connection, "
                            f"{seen['statuses']} of another status than 200")
    return seen


def load(server, root, name, connections, seconds):
    """One run of wrk: requests a second, processor time for each, latencies."""
    before = server.cpu_seconds()
    seen = report_of(start_wrk(server, root, name, connections, seconds), server, seconds)
    cpu = server.cpu_seconds() - before
    return {"": ("req/s", seen["requests"] / seen["seconds"]), ".cpu": ("us", cpu * 1e6 / seen["requests"]),
            ".p50": ("us", seen["p50"]), ".p99": ("us", seen["p99"])}


def fetch_small(server, name):
    """How long one request takes, with its connection, in microseconds."""
    began = time.perf_counter()
    try:
        status, body = server.fetch(name)
    except (OSError, http.client.HTTPException) as failure:
        raise runner.Failed(f"{server.name} gives no /{name} beside the bulk: {failure!r}") from None
    took = (time.perf_counter() - began) * 1e6
    if status != 200 or len(body) != FILES[name]:
        raise runner.Failed(f"{server.name} answers /{name} with {status} and {len(body)} bytes beside the bulk")
    return took


def ask_for(server, name, until):
    """How long each of one request after the other takes, until that moment."""
    took = [fetch_small(server, name)]
    while time.monotonic() < until:
        time.sleep(PAUSE)
        took.append(fetch_small(server, name))
    return took


def load_under_bulk(server, root, seconds):
    """Small requests beside bulk: their latencies; and for each MiB of bulk the time and the server's processor time."""
    before = server.cpu_seconds()
    bulk = start_wrk(server, root, "bulk", BULK_CONNECTIONS, seconds, threads=1)
    try:
        time.sleep(0.3)
        took = ask_for(server, "1k", time.monotonic() + seconds - 0.6)
        seen = report_of(bulk, server, seconds)
    finally:
        bulk.kill()
        bulk.wait()
    mib = seen["bytes"] / 2**20
    return took, seen["seconds"] * 1e6 / mib, (server.cpu_seconds() - before) * 1e6 / mib


def run_under_bulk(server, root, seconds):
    """As many rounds of bulk as the small requests need."""
    took, for_a_mib, cpu = [], [], []
    until = time.monotonic() + LONGEST
    while len(took) < LEAST_ASKED:
        if for_a_mib and time.monotonic() > until:
            raise runner.Failed(f"{server.name}: only {len(took)} small requests beside the bulk in {LONGEST} s")
        asked, time_of_each, cpu_of_each = load_under_bulk(server, root, seconds)
        took += asked
        for_a_mib.append(time_of_each)
        cpu.append(cpu_of_each)
    hundredths = statistics.quantiles(took, n=100, method="inclusive")
    return {"": ("us", hundredths[98]), ".p50": ("us", hundredths[49]), ".bulk": ("us/MiB", statistics.mean(for_a_mib)),
            ".cpu": ("us/MiB", statistics.mean(cpu))}


def measure(servers, root, case, quick):
    name, _, connections = case.name.partition("_")
    values = runner.Values("http")
    for counted in range(runner.counted_runs(quick) + 1):
        for server in servers:
            if case.name.startswith(UNDER_BULK):
                seen = run_under_bulk(server, root, 2 if quick or not counted else 5)
            else:
                seen = load(server, root, name, int(connections), 1 if quick or not counted else 3)
            for suffix, (unit, value) in seen.items() if counted else ():
                values.add(server.name, {"case": case.name + suffix, "workers": case.workers, "unit": unit, "value": value})
    return values.results()


def asks_for_tls(case):
    return "_tls" in case.name


def run_case(build, root, work, quick, with_nginx, case, contents):
    name = "bulk" if case.name.startswith(UNDER_BULK) else case.name.partition("_")[0]
    with running(build, root, work, with_nginx, case.workers, asks_for_tls(case)) as servers:
        for server in servers:
            server.check(name, contents[name])
        return measure(servers, root, case, quick)


def run(build, root, quick, with_nginx, with_tls):
    """A generator of each case's results; of those by TLS only if rota has it."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)  # nginx's workers run as an unprivileged user
        (work / "files").mkdir()
        if any(map(asks_for_tls, suites.SUITES["http"])) and with_tls:
            make_certificate(work)
        contents = {name: os.urandom(size) for name, size in FILES.items()}
        for name, content in contents.items():
            (work / "files" / name).write_bytes(content)
        for case in suites.SUITES["http"]:
            if asks_for_tls(case) and not with_tls:
                continue
            yield run_case(build, root, work, quick, with_nginx, case, contents)
