"""Runs a program in a session of its own, so that all that it has started ends with it."""
import contextlib
import os
import signal
import subprocess
import time


def end_group(process):
    """Ends a process that leads a session, and everything that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def run(command, cwd=None, deadline=None):
    """(exit code, what it printed), or None if the deadline (of time.monotonic()) came first. No process is left either way."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    try:
        said, _ = process.communicate(timeout=None if deadline is None else max(0, deadline - time.monotonic()))
        return process.returncode, said
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.returncode is None:
            end_group(process)
