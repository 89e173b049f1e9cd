#!/usr/bin/env python3
"""model_table.py FILE: what the models have explored, from the lines that ROTA_MODEL_TABLE=FILE collects.

The protocols of a model are those that the first lines of its source name.
"""
import pathlib
import re
import sys

COLUMNS = ("model", "protocols", "exploration", "search", "memory", "bound", "executions", "complete", "seconds")
RIGHT = {"bound", "executions", "seconds"}


def protocols_of(source):
    if not source.exists():
        return ""
    head = "\n".join(source.read_text().splitlines()[:4])
    found = sorted(set(re.findall(r"\bP(\d+)\b", head)), key=int)
    return ",".join("P" + number for number in found)


def rows_of(lines, models):
    for line in lines:
        program, name, search, memory, bound, runs, complete, seconds = line.split("\t")
        model = program.removeprefix("model_")
        yield {"model": model.removesuffix("_model"), "protocols": protocols_of(models / f"{model}.cpp"),
               "exploration": name, "search": search, "memory": memory, "bound": bound, "executions": runs,
               "complete": complete, "seconds": seconds}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    table = pathlib.Path(sys.argv[1])
    models = pathlib.Path(__file__).resolve().parent.parent / "tests/model"
    lines = table.read_text().splitlines() if table.exists() else []
    rows = sorted(rows_of(lines, models), key=lambda r: (r["model"], r["exploration"]))
    widths = {c: max([len(c)] + [len(r[c]) for r in rows]) for c in COLUMNS}
    show = lambda values: "  ".join(
        values[c].rjust(widths[c]) if c in RIGHT else values[c].ljust(widths[c]) for c in COLUMNS).rstrip()
    print(show({c: c for c in COLUMNS}))
    for row in rows:
        print(show(row))
    print(f"{len(rows)} explorations, {sum(int(r['executions']) for r in rows)} executions, "
          f"{sum(float(r['seconds']) for r in rows):.0f} s of the processor, "
          f"{sum(r['complete'] == 'complete' for r in rows)} complete")


if __name__ == "__main__":
    main()
