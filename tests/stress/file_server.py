#!/usr/bin/env python3
"""The file server under load, and at rest.

load   wrk with 64 and 1000 connections on files of 1 KiB, 64 KiB and 1 MiB: no error, no status but 200; then resident
       memory over many requests: flat.
idle   1000 connections that have been served and now wait, each with a deadline of 60 s: in 10 s no thread of the server
       wakes up once.

usage: file_server.py PROGRAM [--only load|idle] [--seconds N] [--requests N] [--seed S]
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

IDLE_CONNECTIONS = 1000
IDLE_SECONDS = 10
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--only', choices=('load', 'idle'))
    parser.add_argument('--seconds', type=int, default=10)
    parser.add_argument('--requests', type=int, default=1_000_000)
    parser.add_argument('--seed')  # as every stress program has; nothing here is drawn
    chosen = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 65536), limit[1]))
    try:
        if chosen.only != 'load':
            idle(chosen.program)
        if chosen.only != 'idle':
            load(chosen.program, chosen.seconds, chosen.requests)
    except Failure as failure:
        print(f'file_server: FAILED: {failure}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
