#!/usr/bin/env python3
"""model_table.py FILE: what the models have explored, from the lines that ROTA_MODEL_TABLE=FILE collects.

One row for each exploration, then one for each protocol, search and memory. The protocols of a model are those that the first
lines of its source name.
"""
import pathlib
import re
import sys

COLUMNS = ("model", "protocols", "exploration", "search", "memory", "bound", "executions", "complete", "seconds")
TOTALS = ("protocol", "search", "memory", "explorations", "bound", "executions", "complete", "seconds")
RIGHT = {"bound", "executions", "seconds", "explorations"}


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


def print_table(columns, rows):
    widths = {c: max([len(c)] + [len(r[c]) for r in rows]) for c in columns}
    for row in [{c: c for c in columns}] + rows:
        print("  ".join(row[c].rjust(widths[c]) if c in RIGHT else row[c].ljust(widths[c]) for c in columns).rstrip())


def span(numbers):
    """1, or 1-3."""
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least}-{most}"


def order_of(protocol):
    return (0, int(protocol[1:])) if re.fullmatch(r"P\d+", protocol) else (1, protocol)


def totals_of(rows):
    """What was done for each protocol; a model that names none stands for itself. A search of two protocols counts for both."""
    found = {}
    for row in rows:
        for protocol in row["protocols"].split(",") if row["protocols"] else [row["model"]]:
            found.setdefault((protocol, row["search"], row["memory"]), []).append(row)
    for key in sorted(found, key=lambda k: (order_of(k[0]), k[1], k[2])):
        group = found[key]
        complete = sum(r["complete"] == "complete" for r in group)
        yield dict(zip(TOTALS, (*key, str(len(group)), span([int(r["bound"]) for r in group]),
                                str(sum(int(r["executions"]) for r in group)),
                                f"{complete} of {len(group)}" if key[1] == "dfs" else "-",
                                f"{sum(float(r['seconds']) for r in group):.1f}")))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    table = pathlib.Path(sys.argv[1])
    models = pathlib.Path(__file__).resolve().parent.parent / "tests/model"
    lines = table.read_text().splitlines() if table.exists() else []
    rows = sorted(rows_of(lines, models), key=lambda r: (r["model"], r["exploration"]))
    print_table(COLUMNS, rows)
    print()
    print_table(TOTALS, list(totals_of(r for r in rows if not r["model"].startswith("checker_"))))
    print(f"{len(rows)} explorations, {sum(int(r['executions']) for r in rows)} executions, "
          f"{sum(float(r['seconds']) for r in rows):.0f} s of the processor, "
          f"{sum(r['complete'] == 'complete' for r in rows)} complete")


if __name__ == "__main__":
    main()
