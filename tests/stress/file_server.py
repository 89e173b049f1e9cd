#!/usr/bin/env python3
"""The file server under load, and at rest.

load   wrk with 64 and 1000 connections on files of 1 KiB, 64 KiB and 1 MiB: no error, no status but 200; then resident
       memory over many requests: flat.
idle   1000 connections that have been served and now wait, each with a deadline of 60 s: in 10 s no thread of the server
       wakes up once.
h2load 100000 requests of another client than wrk (h2load --h1) over 100 connections: each is answered with 200.
slow   1000 clients that send their heads slowly, or a body, or read slowly (slowhttptest -H, -B, -X): curl is answered meanwhile, and the
       server ends each of these connections by itself.

A part whose tool is not installed is skipped, and says so.

usage: file_server.py PROGRAM [--only PART] [--seconds N] [--requests N] [--seed S]
Prints one JSON line for each part; exit 1 if something is not as it must be.
"""
import argparse
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

IDLE_CONNECTIONS = 1000
IDLE_SECONDS = 10
SLOW_CONNECTIONS = 1000
LARGE = 64 << 20  # more than the kernel takes for a connection
FILES = {'1k.bin': 1 << 10, '64k.bin': 1 << 16, '1m.bin': 1 << 20}


class Failure(Exception):
    pass


def demand(condition, text):
    if not condition:
        raise Failure(text)


class Server:
    """The program on a free port, with a folder of files."""

    def __init__(self, program, *options):
        self.folder = tempfile.TemporaryDirectory(prefix='file_server_')
        for name, size in FILES.items():
            with open(os.path.join(self.folder.name, name), 'wb') as f:
                f.write(os.urandom(size))
        self.process = subprocess.Popen(
            [program, self.folder.name, '--port', '0', *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            found = re.search(r'http://127\.0\.0\.1:(\d+)/', line)
            if found:
                self.port = int(found.group(1))
                return
        raise Failure('the server did not say where it listens')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def url(self, name):
        return f'http://127.0.0.1:{self.port}/{name}'

    def resident_kib(self):
        with open(f'/proc/{self.process.pid}/status') as f:
            return int(re.search(r'^VmRSS:\s+(\d+)', f.read(), re.M).group(1))

    def switches(self):
        """Voluntary context switches, by thread: every sleep that was ended is one."""
        counts = {}
        for thread in os.listdir(f'/proc/{self.process.pid}/task'):
            with open(f'/proc/{self.process.pid}/task/{thread}/status') as f:
                text = f.read()
            name = re.search(r'^Name:\s+(\S+)', text, re.M).group(1)
            counts[f'{name}/{thread}'] = int(re.search(r'^voluntary_ctxt_switches:\s+(\d+)', text, re.M).group(1))
        return counts

    def stats(self):
        with urllib.request.urlopen(self.url('-/stats'), timeout=5) as answer:
            return json.load(answer)

    def drain(self):
        self.process.send_signal(signal.SIGTERM)
        demand(self.process.wait(timeout=30) == 0, f'after SIGTERM the server ended with {self.process.returncode}')


def wrk(server, connections, name, seconds):
    """Requests and requests per second."""
    done = subprocess.run(['wrk', '-t1', f'-c{connections}', f'-d{seconds}s', server.url(name)],
                          capture_output=True, text=True, check=False)
    demand(done.returncode == 0, f'wrk failed: {done.stderr}')
    demand('Socket errors' not in done.stdout and 'Non-2xx' not in done.stdout,
           f'{connections} connections, {name}:\n{done.stdout}')
    requests = int(re.search(r'(\d+) requests in', done.stdout).group(1))
    demand(requests > 0, f'{connections} connections, {name}: no request was answered')
    return requests, float(re.search(r'Requests/sec:\s+([\d.]+)', done.stdout).group(1))


def load(program, seconds, wanted):
    demand(shutil.which('wrk') is not None, 'wrk is not installed')
    with Server(program) as server:
        rates = {}
        for name in FILES:
            for connections in (64, 1000):
                rates[f'{name} x {connections}'] = round(wrk(server, connections, name, seconds)[1])
        first, _ = wrk(server, 64, '1k.bin', seconds)
        before = server.resident_kib()
        served = first
        while served < wanted:
            served += wrk(server, 64, '1k.bin', seconds)[0]
        after = server.resident_kib()
        server.drain()
    print(json.dumps({'part': 'load', 'requests_per_second': rates, 'requests': served, 'resident_kib_before': before,
                      'resident_kib_after': after}))
    demand(after <= before + 1024, f'resident memory grew from {before} to {after} KiB')


def open_idle(server):
    connections = []
    request = b'GET /1k.bin HTTP/1.1\r\nHost: localhost\r\n\r\n'
    for _ in range(IDLE_CONNECTIONS):
        one = socket.create_connection(('127.0.0.1', server.port))
        one.sendall(request)
        connections.append(one)
    for one in connections:
        got = b''
        while b'\r\n\r\n' not in got or len(got.split(b'\r\n\r\n', 1)[1]) < FILES['1k.bin']:
            part = one.recv(65536)
            demand(part != b'', 'a connection was closed')
            got += part
        demand(got.startswith(b'HTTP/1.1 200'), f'answered {got[:40]!r}')
    return connections


def idle(program):
    with Server(program, '--workers', '2', '--idle-timeout', '60s', '--max-connections', '2000') as server:
        connections = open_idle(server)
        time.sleep(2)  # until the last worker and the watchdog have gone to sleep
        before = server.switches()
        time.sleep(IDLE_SECONDS)
        after = server.switches()
        woken = {thread: after[thread] - before.get(thread, 0) for thread in after if after[thread] != before.get(thread)}
        for one in connections:
            one.close()
        server.drain()
    print(json.dumps({'part': 'idle', 'connections': len(connections), 'seconds': IDLE_SECONDS, 'threads': len(after),
                      'voluntary_switches': sum(woken.values())}))
    demand(not woken, f'threads woke up: {woken}')


def lacks(part, *tools):
    """True, and says so: one of the tools is not installed."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        print(json.dumps({'part': part, 'skipped': f'not installed: {", ".join(missing)}'}))
    return bool(missing)


def h2load(program):
    if lacks('h2load', 'h2load'):
        return
    clients, wanted = 100, 100_000
    with Server(program) as server:
        done = subprocess.run(['h2load', '--h1', f'-c{clients}', f'-n{wanted}', server.url('1k.bin')],
                              capture_output=True, text=True, check=False)
        demand(done.returncode == 0, f'h2load failed: {done.stderr}')
        for line in (f'{wanted} done, {wanted} succeeded, 0 failed, 0 errored, 0 timeout',
                     f'status codes: {wanted} 2xx, 0 3xx, 0 4xx, 0 5xx'):
            demand(line in done.stdout, f'h2load does not say "{line}":\n{done.stdout}')
        counted = server.stats()
        demand(counted['responses_2xx'] >= wanted, f'the server has counted {counted}')
        server.drain()
    rate = float(re.search(r'([\d.]+) req/s', done.stdout).group(1))
    print(json.dumps({'part': 'h2load', 'clients': clients, 'requests': wanted, 'requests_per_second': round(rate)}))


# What slowhttptest does, and what is asked of it; and of the server's counters, those that must have seen all of its connections.
SLOW = {'headers': (['-H', '-i', '1', '-t', 'GET'], '1k.bin', 'header_timeouts'),
        'body': (['-B', '-i', '1', '-s', '1000000'], '1k.bin', 'responses_4xx'),
        'read': (['-X', '-w', '1', '-y', '512', '-n', '1', '-z', '32', '-k', '1'], 'large.bin', 'responses_2xx')}


def curl(server):
    """Seconds until a file has come, as it is."""
    done = subprocess.run(['curl', '-sSf', '--max-time', '5', '-w', '%{stderr}%{time_total}', server.url('1k.bin')],
                          capture_output=True, check=False)
    demand(done.returncode == 0, f'beside slow clients curl said {done.returncode}: {done.stderr.decode()}')
    with open(os.path.join(server.folder.name, '1k.bin'), 'rb') as f:
        demand(done.stdout == f.read(), 'curl got other bytes than those of the file')
    return float(done.stderr)


def slow(program, kind):
    """All of them are there at once; the tool would go on for a minute, and ends when it has seen that the server has closed the last one: one that
    reads slowly sees it late."""
    options, name, counter = SLOW[kind]
    with Server(program, '--workers', '2', '--header-timeout', '3s', '--idle-timeout', '2s') as server:
        with open(os.path.join(server.folder.name, 'large.bin'), 'wb') as f:
            f.truncate(LARGE)
        command = ['slowhttptest', *options, '-c', str(SLOW_CONNECTIONS), '-r', str(SLOW_CONNECTIONS), '-l', '60', '-p', '5',
                   '-v', '1', '-u', server.url(name)]
        began = time.monotonic()
        tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        waited, most_open, last_open = [], 0, began
        while tool.poll() is None:
            waited.append(curl(server))
            others = server.stats()['connections_open'] - 1
            most_open = max(most_open, others)
            last_open = time.monotonic() if others > 0 else last_open
            time.sleep(0.1)
        ended = time.monotonic() - began
        said = tool.stdout.read()
        demand('No open connections left' in said, f'slowhttptest -{kind}: after {ended:.0f} s not all were closed:\n{said[-2000:]}')
        counted = server.stats()
        demand(counted[counter] >= SLOW_CONNECTIONS, f'{kind}: {counter} is {counted[counter]}, of {counted}')
        server.drain()
    print(json.dumps({'part': 'slow', 'kind': kind, 'connections': SLOW_CONNECTIONS, 'open_at_a_time': most_open,
                      'closed_after_seconds': round(last_open - began, 1), 'tool_saw_it_after_seconds': round(ended, 1),
                      'curls': len(waited),
                      'longest_curl_ms': round(max(waited) * 1000, 1)}))


def all_slow(program):
    if lacks('slow', 'slowhttptest', 'curl'):
        return
    for kind in SLOW:
        slow(program, kind)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--only', choices=('load', 'idle', 'h2load', 'slow'))
    parser.add_argument('--seconds', type=int, default=10)
    parser.add_argument('--requests', type=int, default=1_000_000)
    parser.add_argument('--seed')  # as every stress program has; nothing here is drawn
    chosen = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 65536), limit[1]))
    try:
        for part, run in (('idle', lambda: idle(chosen.program)),
                          ('load', lambda: load(chosen.program, chosen.seconds, chosen.requests)),
                          ('h2load', lambda: h2load(chosen.program)), ('slow', lambda: all_slow(chosen.program))):
            if chosen.only in (None, part):
                run()
    except Failure as failure:
        print(f'file_server: FAILED: {failure}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
