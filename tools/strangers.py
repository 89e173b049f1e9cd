#!/usr/bin/env python3
"""Runs every command that a document names, each in a fresh clone of the current commit in which nothing has been built.

A command that works only after another one fails here. tools/commands_table.py fills placeholders, and shortens the commands that
run for long by design; --list shows the result. A command that names what does not exist is a failure of the document. The hash of
the commit decides the order.

With --bare each runs in a Debian 12 of its own, in which nothing but git is installed: then a command that forgets to install a
package fails. Prints a line for each: ok or FAILED, seconds, seconds of processors, the place in the document. Of a failure the
end of what it printed; all of it is in build/strangers/.
"""
import argparse
import contextlib
import ctypes
import dataclasses
import fcntl
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import bare_system
import commands
import commands_table
import project

ROOT = project.HERE
LOGS = ROOT / "build/strangers"
TAIL = 30
INSTALL = f"apt-get update -q; apt-get install -q -y --no-install-recommends {commands_table.PACKAGES}; "
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OF_DEV = re.compile(r"(\w+=\S+ )*\./dev\b")
# What a caller's environment may not decide.
FOREIGN = re.compile(r"ROTA_|CMAKE_|GIT_|GTEST_|CTEST_|NINJA|MAKE|(CC|CXX|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)$")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}


def arguments():
    parser = argparse.ArgumentParser(prog="./dev check --strangers", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--bare", action="store_true", help="each in a Debian 12 in which only git is installed; as root")
    parser.add_argument("--draw", type=number, metavar="N", help="only N of them, by the seed")
    parser.add_argument("--only", type=pattern, metavar="REGEX", help="only those in which this is found")
    parser.add_argument("--list", action="store_true", help="show what would be run, and run nothing")
    parser.add_argument("--keep", action="store_true", help="keep the clones, and say where they are")
    parser.add_argument("--ccache", action="store_true", help="compilers use a cache, bare systems that in build/strangers/ccache; "
                        "without, every file is compiled")
    parser.add_argument("--seed", metavar="S", help="the order, and what --draw takes; otherwise the commit's hash")
    parser.add_argument("--skip-done", type=pathlib.Path, metavar="FILE",
                        help="leave out the commands that are lines of this file, and add to it each that has passed")
    parser.add_argument("--ci", action="store_true",
                        help="what CI runs: a few that are fixed, and two drawn short ones; with the cache")
    options = parser.parse_args()
    if options.ci and (options.draw is not None or options.only or options.bare):
        parser.error("--ci says itself what is run")
    return options


def number(text):
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of commands")
    return int(text)


def pattern(text):
    try:
        return re.compile(text)
    except re.error as wrong:
        raise argparse.ArgumentTypeError(f"{text}: {wrong}") from wrong


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    if done.returncode != 0:
        sys.exit(f"strangers: git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


# --- which

def drawn(found, options, seed):
    """The commands to run, in their order."""
    able = [command for command in found if not command.left_out]
    random.Random(seed).shuffle(able)
    if options.ci:
        fixed = [command for command in able if commands_table.CI.search(command.words)]
        return fixed + [command for command in able if command not in fixed and command.cost != "long"][:2]
    if options.only:
        able = [command for command in able if options.only.search(command.words)]
    done = done_before(options.skip_done)
    return [command for command in able if command.words not in done][:options.draw]


def done_before(path):
    if path is None or not path.exists():
        return set()
    return set(path.read_text().splitlines())


def documented(command):
    """Where the command is named first, and how, if it is filled or made short."""
    first, others = command.named[0], len(command.named) - 1
    text = "" if first.text == command.words else f": {first.text}"
    return first.where() + text + (f" (and {others} more)" if others else "")


def show(found, chosen):
    for command in chosen:
        print(f"{command.cost:6}  {command.script()}\n          {documented(command)}")
    for reason in dict.fromkeys(command.left_out for command in found if command.left_out):
        print(f"not run, since it {reason}:")
        print("\n".join(f"        {command.words}" for command in found if command.left_out == reason))


# --- running

@dataclasses.dataclass
class Place:
    """Where commands run: the commit, a folder for clones, and the bare system, if there is one."""
    commit: str
    work: pathlib.Path
    base: pathlib.Path | None
    keep: bool
    ccache: bool
    cache: pathlib.Path | None  # of bare systems: kept from command to command

    @contextlib.contextmanager
    def clone(self, number_of_it):
        """A folder with a fresh clone and a scratch folder."""
        own = self.work / f"{number_of_it:03}"
        (own / "scratch").mkdir(parents=True)
        try:
            for words in (["clone", "-q", "--local", "--no-checkout", ROOT, own / "clone"],
                          ["-C", own / "clone", "checkout", "-q", "--detach", self.commit]):
                subprocess.run(["git", *words], check=True, env=ENVIRONMENT)
            yield own
        finally:
            if self.keep:
                print(f"        kept: {own}")
            else:
                shutil.rmtree(own, ignore_errors=True)

    def variables(self, own):
        if not self.ccache:
            return {"CCACHE_DISABLE": "1"}
        if self.base:
            return {"CCACHE_DIR": "/ccache"}
        # The clones lie in different folders, and compile the same.
        return {"CCACHE_BASEDIR": str(own / "clone"), "CCACHE_NOHASHDIR": "1"}

    def start(self, own, command, log):
        """Starts the command; in a session of its own, so that all its processes can be ended."""
        script = command.script()
        if self.base:
            installs = "" if OF_DEV.match(script) else INSTALL
            script = installs + script.replace("{scratch}", "/scratch")
            words = bare_system.command(self.base, own, script, self.variables(own), self.cache)
        else:
            words = ["bash", "-c", "set -eo pipefail; " + script.replace("{scratch}", shlex.quote(str(own / "scratch")))]
        return subprocess.Popen(words, cwd=own / "clone", env={**ENVIRONMENT, **self.variables(own)}, stdin=subprocess.DEVNULL,
                                stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def adopt_orphans():
    """From now on a process whose parent has ended is a child of this one, also if it has left its session."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def children():
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in brackets, may have brackets and blanks; the parent is the second field behind it.
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                yield int(path.parent.name)


def end_all(process):
    """Ends the process and all that it has started."""
    for number_of_signal, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number_of_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    while orphans := list(children()):
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)
            os.waitpid(orphan, 0)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(place, number_of_it, command):
    """Runs the command; returns whether it has passed. Prints its line."""
    path = LOGS / f"{number_of_it:03}.log"
    if sys.stdout.isatty():
        print(f"        {command.words} ...", flush=True)
    limit = commands_table.LIMITS[command.cost] + (commands_table.INSTALLING if place.base else 0)
    began, used, why = time.monotonic(), processor_seconds(), ""
    with place.clone(number_of_it) as own, open(path, "wb") as log:
        log.write(f"{command.script()}\n".encode())
        log.flush()
        process = place.start(own, command, log)
        try:
            code = process.wait(limit)
            why = f"exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            why = f"not over after {limit} s"
        finally:
            end_all(process)
    seconds = f"{time.monotonic() - began:6.0f} s {processor_seconds() - used:6.0f} s of processors"
    print(f"{'FAILED' if why else 'ok':7} {seconds}  {command.words}  [{documented(command)}]{': ' + why if why else ''}")
    if why:
        said = path.read_text(errors="replace").splitlines()
        print("\n".join(f"        | {line[:300]}" for line in said[-TAIL:]) + f"\n        all of it: {path}")
    sys.stdout.flush()
    return not why


def note_done(path, command):
    if path is not None:
        with open(path, "a") as out:
            out.write(command.words + "\n")


def run_all(place, chosen, skip_done):
    """Runs the commands one after the other; returns how many have failed."""
    failed = 0
    for number_of_it, command in enumerate(chosen, 1):
        if run(place, number_of_it, command):
            note_done(skip_done, command)
        else:
            failed += 1
    return failed


@contextlib.contextmanager
def work_folder(keep):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-strangers-", dir=os.environ.get("TMPDIR", "/var/tmp")))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def interrupted(_signal, _frame):
    """Once: what is cleaned up then is not interrupted again."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextlib.contextmanager
def log_folder():
    """An empty folder for logs, which no other run uses meanwhile."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(LOGS / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("strangers: another run is under way in this folder")
        for path in LOGS.glob("*.log"):
            path.unlink()
        yield


def try_all(options, chosen, commit):
    with log_folder(), work_folder(options.keep) as work:
        base = None
        if options.bare:
            base = work / "base"
            print(f"making a bare Debian 12: {LOGS}/debootstrap.log", flush=True)
            bare_system.make(base, LOGS / "debootstrap.log")
        cache = LOGS / "ccache" if options.bare and options.ccache else None
        if cache:
            cache.mkdir(exist_ok=True)
        place = Place(commit, work, base, options.keep, options.ccache or options.ci, cache)
        return run_all(place, chosen, options.skip_done)


def main():
    options = arguments()
    for one in SIGNALS:
        signal.signal(one, interrupted)
    adopt_orphans()
    found, complaints = commands.collect(ROOT)
    commit = git("rev-parse", "HEAD")
    seed = options.seed or commit
    chosen = drawn(found, options, seed)
    for complaint in complaints:
        print(f"FAILED  {complaint}")
    if options.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--list | head` is no failure
        show(found, chosen)
        sys.exit(bool(complaints))
    if git("status", "--porcelain"):
        print("what is not committed is not tried")
    if options.ci:
        print("./dev test is a step of its own")
    print(f"{len(chosen)} of {len(found)} commands, seed {seed}", flush=True)
    began, used = time.monotonic(), processor_seconds()
    try:
        failed = try_all(options, chosen, commit) + len(complaints)
    except KeyboardInterrupt:
        print("strangers: interrupted; the clones are gone" if not options.keep else "strangers: interrupted")
        sys.exit(130)
    except (bare_system.Failed, OSError, subprocess.CalledProcessError) as wrong:
        sys.exit(f"strangers: {wrong}")
    print(f"strangers: {len(chosen)} commands, {failed} failed; {time.monotonic() - began:.0f} s, "
          f"{processor_seconds() - used:.0f} s of processors")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
