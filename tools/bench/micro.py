"""The suite `micro`: programs that compare parts of rota within one process, and print whole results themselves."""
import json
import os
import subprocess

import runner

FIELDS = ("suite", "case", "subject", "workers", "unit", "median", "min", "max", "runs")


def result_of(text, where):
    try:
        line = json.loads(text)
        return {field: line[field] for field in FIELDS}
    except (ValueError, KeyError, TypeError):
        raise runner.Failed(f"{where} printed what is no result: {text}") from None


def run(folder, quick):
    """A generator of each program's results."""
    for program in sorted(folder.glob("micro_*")):
        environment = dict(os.environ, **({"ROTA_BENCH_QUICK": "1"} if quick else {}))
        done = subprocess.run([program], capture_output=True, text=True, env=environment, check=False)
        if done.returncode != 0:
            raise runner.Failed(f"{program.name} ended with {done.returncode}: {done.stderr.strip()}")
        yield [result_of(text, program.name) for text in done.stdout.splitlines()]
