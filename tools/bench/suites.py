"""What there is to measure: the suites, their cases, and what rota is to reach."""
import dataclasses
import fnmatch
import re
import sys


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    says: str               # one operation of it
    at_most: float = None   # rota's goal, in the case's unit, on the machine that the peers were first measured on
    ratio: float = None     # rota's goal as a share of a peer's median in the same run
    peer: str = None        # which peer, or the better of "one/another"; none: the best
    at_least: bool = False  # more is better, and `ratio` is a lower limit
    bytes: float = None     # rota's goal for what an operation asks of the allocator, beside the others
    parts: tuple = ()       # pairs: a part, as p99, and rota's goal for it as a share of the best peer's, less being better
    workers: int = 2
    counted: bool = False   # by --count
    exact: bool = True      # counted alike each time: one thread does it all
    work: float = None      # of a full run, in any unit
    span: float = None      # in the same unit, along the longest chain of parts of which each must wait for the one before

    def parallelism(self):
        """More workers than this cannot be busy all the time; None: as many as there are."""
        return self.work / self.span if self.span else None

    def says_all(self):
        return self.says + (f"; work / span = {self.parallelism():,.0f}" if self.parallelism() else "")

    def goal(self):
        """The goals of the case and of its parts."""
        own = [self.goal_of(self.name)] if self.goal_of(self.name) else []
        return ", ".join(own + [f"{part} {self.goal_of(f'{self.name}.{part}')}" for part, _ in self.parts])

    def share_of(self, name):
        """The goal of a part, such as spawn_idle.p99: a share of the best peer's; or None."""
        return dict(self.parts).get(name.partition(".")[2])

    def goal_of(self, name):
        """What the row of that name is to reach: the case's own, or that of a part; or nothing."""
        if name != self.name:
            return f"<= {self.share_of(name):g} x best" if self.share_of(name) else ""
        parts = [f"<= {self.at_most:g}"] if self.at_most is not None else []
        if self.ratio is not None:
            parts.append(f"{'>=' if self.at_least else '<='} {self.ratio:g} x {self.peer or 'best'}")
        if self.bytes is not None:
            parts.append(f"{self.bytes:g} B")
        return ", ".join(parts)


def two_shapes(name, says, **more):
    """A case whose root was spawned and runs on a worker, and the same with its root on the calling thread. A plain goal is for the
    first, which is the one that is counted: the second wakes threads."""
    other = {**more, "counted": False}
    if other.pop("at_most", None) is not None:
        other.setdefault("ratio", 1.0)
    return [Case(name, says, **more), Case(name + "_block_on", "the same, the root on the calling thread", **other)]


# What the suites sync and channel are to reach against Tokio: 1.5 times as fast alone, 1.2 times among others.
ALONE = {"ratio": 0.67, "peer": "tokio"}
AMONG = {"ratio": 0.83, "peer": "tokio"}

# The goal of the suite tls: no more time than the peers that also use OpenSSL.
SAME_LIBRARY = {"ratio": 1.0, "peer": "tokio/asio"}

# Of these, the run that warms up says what an operation asks of the allocator.
COUNTING_ALLOCATIONS = ("sync", "channel")

# What runs beside rota without being a peer: its name, the program bench/<suite>/<program>.cpp, and what is set in its environment. In
# such a suite rota itself waits by epoll, whatever the environment says.
BESIDE = {"file": (("rota_uring", "rota", "ROTA_IO=uring"), ("threads", "threads", ""), ("loop", "loop", "")),
          "echo": (("rota_uring", "rota", "ROTA_IO=uring"), ("epoll", "epoll", "")),
          "tls": (("openssl", "openssl", ""),)}

SUITES = {
    "task": [
        Case("spawn_await", "a task is spawned and awaited, by a worker", ratio=0.2, peer="tokio", counted=True),
        Case("spawn_await_block_on", "the same, the root on the calling thread", counted=True, exact=False),
        Case("child_await", "co_await of a child that is not spawned", at_most=4.5, counted=True),
        Case("child_await_block_on", "the same, the root on the calling thread", counted=True),
        Case("spawn_100k_outside", "an empty task from a foreign thread, and the wait for all of them", at_most=130,
             counted=True, exact=False),
        Case("yield_alone", "a yield of the only task", at_most=20, counted=True),
        Case("yield_alone_block_on", "the same, the root on the calling thread", counted=True),
        Case("yield_1000", "a yield of one of 1000 tasks", at_most=40, counted=True),
        Case("ping_pong", "a notification there and one back between two tasks", at_most=120, counted=True),
    ],
    "forkjoin": [
        Case("fib", "a call of fib(35), which forks one for n - 1 and one for n - 2, without a cut-off", ratio=0.95,
             work=29_860_703, span=35),
        Case("fib_spawn", "as fib, but each child is spawned and its handle awaited", work=29_860_703, span=35),
        Case("skynet", "one of 10^8 leaves below nodes with ten children each, summed up", ratio=0.95,
             work=111_111_111, span=9),
        Case("nqueens", "a queen placed on a board of its own: all ways to place 14", ratio=0.95,
             work=27_358_552, span=14),
        Case("matmul", "a product of 32 x 32 integers: matrices of 2048 x 2048 in quarters", ratio=0.95,
             work=64 ** 3, span=64),
        Case("quicksort", "one of 10^7 keys; 2048 and less are left to a plain sort",
             work=1e7 * 23.3, span=2e7),
        Case("uts", "a node of an uneven tree of 5 million, which is known only when it is reached",
             work=5_047_965, span=1996),
        Case("sort", "one of 10^8 keys of 64 bits, by the library's own parallel sort", ratio=1.0, peer="tbb",
             work=1e8 * 26.6, span=2e8),
        Case("loop", "one of 10^9 items of a loop: a hash and a comparison"),
        Case("loop_by_hand", "the same, cut by hand into a part for each worker"),
        Case("fib_1", "as fib, with one worker: nobody steals", workers=1, counted=True),
        Case("fib_spawn_1", "as fib_spawn, with one worker", workers=1),
        Case("skynet_1", "as skynet, with one worker", workers=1, counted=True),
        Case("nqueens_1", "as nqueens, with one worker", workers=1),
        Case("matmul_1", "as matmul, with one worker", workers=1),
    ],
    "timer": [
        Case("arm_cancel", "a timer of a task, armed and taken back", at_most=50, counted=True),
        Case("arm_cancel_shard", "the same below: no task, no clock, no waker", at_most=50, counted=True),
        Case("ping_pong_timeout", "as ping_pong, both waits under a timeout", counted=True),
        Case("sleeps_100k", "processor time of a task that sleeps once, among 100k", at_most=1200),
    ],
    "gate": [
        Case("gate_message", "through a bare gate, from idle to idle, by one thread", workers=1, counted=True),
        Case("hop", "a message from a handler to another one, nothing else under way", ratio=0.33, peer="tokio", workers=1,
             counted=True),
        Case("fan_in_1", "a message from one thread to one mailbox"),
        Case("fan_in_8", "a message from one of 8 threads to one mailbox"),
        Case("fan_in_64", "a message from one of 64 threads to one mailbox"),
        Case("segments_1", "an item from one thread to one that takes: fan_in, segments of 1024"),
        Case("segments_8", "an item from one of 8 threads to one that takes, each with a segment"),
        Case("boxes_64", "a message to one of 64 mailboxes"),
        Case("boxes_4032", "a message to one of 64 mailboxes among 4032"),
        Case("boxes_100k", "a message to one of 64 mailboxes among 100000"),
        Case("ring", "a message on its way round a million mailboxes", workers=1),
        Case("gate_wake", "from a send to an executor that sleeps to the handler's first line"),
        Case("gate_idle", "processor time in a second in which nothing happens, 4032 mailboxes"),
    ],
    "pool": [
        Case("submit_outside", "an empty closure from a foreign thread, and the wait for all of them", ratio=0.5),
        Case("submit_outside_4", "the same from four foreign threads", ratio=0.5),
        Case("submit_inside", "an empty closure from one that runs: 64 chains in which each submits the next", ratio=0.5),
        Case("submit_wait", "one from a foreign thread that waits for its end before the next"),
        Case("submit_idle", "from a submit on a foreign thread to the first line, nothing else to do"),
        Case("submit_busy", "an empty closure while the only thread is busy, and its run when that is not", workers=1,
             counted=True),
        Case("submit_inside_alone", "as submit_inside, with one thread", workers=1, counted=True),
        Case("cancel_queued", "the same, but taken back before the thread comes to it", workers=1, counted=True),
        Case("burst", "64 works that block: until all of them run, and from their end until no thread is left; "
             "keep-alive 100 ms"),
        Case("sync_works", "a work of 100,000 square roots, among 1000"),
        Case("short_works", "a work of 10 square roots, among a million"),
        Case("timer_works", "a coroutine that sleeps three times for 10 ms, among 50"),
        Case("yield_works", "a yield of a coroutine that has ten of them, among 10,000"),
        Case("priority_works", "until the 200 (quick: 20) works of the highest of three priorities have ended, and until all have"),
        Case("priority_inversion", "until a work of high priority has ended that waits for one of low priority"),
        *(Case(f"pop_{size}", f"a submit with one of 8 priorities, the pop and the run, while {words} works wait", workers=1,
               counted=True)
          for size, words in (("1k", "10^3"), ("10k", "10^4"), ("100k", "10^5"), ("1m", "10^6"))),
        *(Case(f"queue_{size}", f"a pop from a worker's queue of {words} works with 8 priorities, and a push", workers=1,
               counted=True)
          for size, words in (("1k", "10^3"), ("10k", "10^4"), ("100k", "10^5"), ("1m", "10^6"))),
        Case("dag_100k", "a node of a graph of 10^5, each after two of the layer before: submitted and run", ratio=1.0,
             peer="tbb"),
        Case("graph_100k", "the same as a graph that is built and run; its part `run` is of one that has been built", ratio=1.0,
             peer="tbb"),
        Case("pool_idle", "processor time in a second in which nothing happens"),
    ],
    "sync": [
        Case("mutex", "a try_lock and an unlock, by one thread without a runtime", **ALONE, bytes=0, workers=1, counted=True),
        Case("rwlock_read", "a try_lock_shared of a shared_mutex, and an unlock, likewise", **ALONE, bytes=0, workers=1, counted=True),
        Case("rwlock_write", "a try_lock of it, and an unlock, likewise", **ALONE, bytes=0, workers=1, counted=True),
        Case("semaphore", "a try_acquire of one of ten permits, and its release, likewise", **ALONE, bytes=0, workers=1, counted=True),
        Case("oncecell_get", "a look at a once_cell that is full", ratio=1.1, peer="tokio", bytes=0, workers=1, counted=True),
        Case("oncecell_set", "a new once_cell, and a set", **ALONE, bytes=0, workers=1, counted=True),
        *two_shapes("notify", "a new notify, a notify_one, and the wait that uses it up", **ALONE, bytes=0, workers=4, counted=True),
        *two_shapes("barrier", "a new barrier for one, and the wait that passes", **ALONE, bytes=0, workers=4, counted=True),
        *two_shapes("mutex_contended", "a lock and an unlock of 2500 by each of 4 tasks, and their share of spawns and joins",
                    **AMONG, workers=4, counted=True),
        *two_shapes("rwlock_contended", "a lock and an unlock of 1666 by each of 4 readers and 2 writers, likewise", **AMONG, workers=4,
                    counted=True),
        *two_shapes("semaphore_contended", "an acquire and a release of 1250 by each of 8 tasks with 2 permits, likewise",
                    **AMONG, workers=4, counted=True),
        *two_shapes("task_spawn", "an empty task is spawned and awaited", **ALONE, workers=4),
        *two_shapes("task_spawn_batch", "one of 100 empty tasks that are spawned, and then awaited", **ALONE, workers=4),
        *two_shapes("blocking_spawn", "an empty function is spawned as a blocking one, and awaited", **AMONG, workers=4),
        *two_shapes("mutex_lock", "a lock and an unlock by the only task", ratio=1.3, peer="two_fetch_adds", counted=True),
        *(case for tasks in (2, 8, 64) for case in two_shapes(
            f"mutex_{tasks}", f"a lock and an unlock by one of {tasks} tasks; max_wait: the longest that one waited",
            ratio=1.0, counted=True)),
    ],
    "channel": [
        Case("channel_send", "a try_send into a channel for 100,000", **ALONE, workers=1, counted=True),
        Case("channel_recv", "a try_recv out of one that is full", **ALONE, workers=1, counted=True),
        Case("channel_roundtrip", "a try_send and a try_recv, a channel for one", **ALONE, bytes=0, workers=1, counted=True),
        Case("oneshot", "a new oneshot, a send and a try_recv", **ALONE, bytes=0, workers=1, counted=True),
        Case("broadcast", "a value through a broadcast for 100,000: a send, and a try_recv by each of 4", **ALONE, workers=1, counted=True),
        Case("watch", "a send and a borrow of a watch", **ALONE, bytes=0, workers=1, counted=True),
        *two_shapes("channel_mpmc", "an item of 2500 of each of 4 senders to 4 receivers, a channel for 1000, and its share of spawns, "
                    "joins and the channel", **AMONG, workers=4, counted=True),
        *two_shapes("round_trip", "an item there and one back between two tasks, channels for one", at_most=119, counted=True),
        *two_shapes("mpsc_1", "an item from one task to another, a channel for 128", at_most=50, counted=True),
        *two_shapes("mpsc_1_unbounded", "the same, a channel without a limit", at_most=22, counted=True),
        *two_shapes("mpsc_4", "an item from one of 4 tasks to another, a channel for 128", at_most=46, counted=True),
        *two_shapes("mpsc_4_unbounded", "the same, a channel without a limit", at_most=46, counted=True),
        *two_shapes("select", "an item from one of two tasks, each with a channel for 128, to another that selects", **AMONG,
                    counted=True),
    ],
    "latency": [
        Case("spawn_idle", "from a spawn on a foreign thread to the task's first line, nothing else to do"),
        Case("wake_idle", "from a wake on a foreign thread to the task's next line, nothing else to do"),
    ],
    "memory": [
        Case("sleeping_task", "resident bytes for each task that sleeps", at_most=340),
        Case("idle_connection", "resident bytes of the server for each connection that waits for a byte"),
    ],
    "file": [
        Case("seq_read", "a MiB of a file of 256 (quick: 16) in the page cache, read by 64 KiB"),
        Case("seq_write", "a MiB of the same, written over what is there, by 64 KiB"),
        Case("random_read_1", "a read of 4 KiB by chance in 64 MiB, one at a time"),
        Case("random_read_32", "the same, 32 in flight"),
        Case("random_write_1", "a write of 4 KiB by chance in 64 MiB, one at a time"),
        Case("random_write_32", "the same, 32 in flight"),
        Case("small_files", "a file of 4 KiB, read as a whole, of a thousand in ten folders, one after the other"),
        Case("tree_files", "the same, found by a walk"),
        Case("tree_batches", "the same, found by a walk, 64 handed to a thread at a time; one thread alone has no need of that"),
        Case("copy_file", "a MiB of a file that is copied by its name"),
        Case("copy_stream", "a MiB that is copied from an open file to another"),
    ],
    "tls": [
        *(Case(name + suffix, says + ", one worker" * (workers == 1), **SAME_LIBRARY, workers=workers)
          for suffix, workers in (("", 2), ("_1", 1))
          for name, says in (
              ("handshake", "a connection: a full handshake, a byte from the server, both goodbyes; 8 at a time"),
              ("handshake_resumed", "the same, by a ticket of the connection before"),
              ("echo_1", "64 bytes there and back, one connection"),
              ("echo_50", "the same, 50 connections at a time"),
              ("bulk", "a MiB from the client to the server in writes of 16 KiB"))),
    ],
    "http": [
        *(Case(f"{size}_{connections}", f"a file of {words} over {connections} connections",
               ratio=1.0 if (size, connections) == ("1k", 64) else 0.9, peer="nginx", at_least=True)
          for size, words in (("1k", "1 KiB"), ("64k", "64 KiB"), ("1m", "1 MiB")) for connections in (64, 1000)),
        *(Case(f"latency_under_bulk{tls}{'_1' if workers == 1 else ''}", "the 99th percentile of a request for 1 KiB over a "
               "connection of its own, while 4 connections fetch 64 MiB without an end" + ", by TLS" * bool(tls) +
               ", one worker" * (workers == 1), ratio=1.0, peer="nginx", workers=workers)
          for tls in ("", "_tls") for workers in (2, 1)),
    ],
    "echo": [
        *(Case(f"echo_{connections}_{size}{'_1' if workers == 1 else ''}", f"{words} there and back over "
               f"{'one connection' if connections == 1 else f'{connections} connections'}" + ", one worker" * (workers == 1),
               ratio=1.0, at_least=True, parts=(("p99", 1.1),) if connections in (50, 1000) else (), workers=workers)
          for connections, size, words in ((1, "64", "64 bytes"), (50, "64", "64 bytes"), (1000, "64", "64 bytes"),
                                           (10000, "64", "64 bytes"), (50, "16k", "16 KiB"), (1000, "16k", "16 KiB"))
          for workers in (1, 2)),
        Case("echo_idle_10000", "resident bytes of the server for each of 10000 connections that wait", at_most=1536),
    ],
    "micro": [],  # programs of their own: bench/micro
}


def chosen(names):
    """The suites that were asked for, all of them if none was; ends the program for one that there is not."""
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        sys.exit(f"bench: there is no suite {', '.join(unknown)}; there are: {', '.join(SUITES)}")
    return [name for name in SUITES if name in names or not names]


def keep(names):
    """Of all suites only the cases whose names match one of these, with * and ?; ends the program for one that matches none."""
    for name in names:
        if not any(fnmatch.fnmatchcase(case.name, name) for cases in SUITES.values() for case in cases):
            sys.exit(f"bench: there is no case {name}; --list says which there are")
    for suite, cases in SUITES.items():
        SUITES[suite] = [case for case in cases if any(fnmatch.fnmatchcase(case.name, name) for name in names)]


def counted():
    """The suites that --count knows."""
    return [name for name, cases in SUITES.items() if any(case.counted for case in cases)]


def case_of(suite, name):
    """The case that a measured name belongs to: spawn_idle.p99 is a part of spawn_idle."""
    stem = re.sub(r"\..*", "", name)
    return next((case for case in SUITES.get(suite, []) if case.name == stem), None)
