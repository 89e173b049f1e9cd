"""How results look: a row for each case and subject, with the ratio to the best peer and the goal."""
import peers
import suites

ROW = "{:28} {:14} {:>7} {:>12} {:>12} {:>12} {:7} {:>11} {:>8} {:>6} {:>4}  {:>5} {:>5}  {}"
COLUMNS = (".cpu", ".bytes", ".allocs")  # parts of a case that are columns, not rows


def heading(suite):
    lines = [f"\n== {suite}"]
    lines += [f"   {case.name:24} {case.says_all()}" for case in suites.SUITES[suite]]
    lines.append(ROW.format("case", "subject", "workers", "median", "min", "max", "unit", "cpu", "B/op", "allocs", "runs",
                            "ratio", "cpu", "goal"))
    return "\n".join(lines)


def is_peer(name):
    """rota, and what it brings along to compare itself with in the same program, are none."""
    return name in peers.PEERS


def more_is_better(case, rows):
    """Of a case's own rows, not of those of its parts."""
    return case is not None and case.at_least and all(row["case"] == case.name for row in rows)


def best_peer(case, rows):
    medians = [row["median"] for row in rows if is_peer(row["subject"])]
    return (max if more_is_better(case, rows) else min)(medians, default=None)


def ratio_text(median, best):
    return f"{median / best:.2f}" if best else ""


def is_column(name):
    return name.endswith(COLUMNS)


def reached(case, rota, rows, bytes_row=None):
    """Whether rota's row meets the goals that can be judged: None if there is none, or its peer is not there."""
    verdicts = []
    if case.bytes is not None and bytes_row is not None:
        verdicts.append(bytes_row["median"] < case.bytes + 0.5)
    if case.at_most is not None:
        verdicts.append(rota["median"] <= case.at_most)
    by_name = {row["subject"]: row["median"] for row in rows}
    named = [by_name[name] for name in case.peer.split("/") if name in by_name] if case.peer else []
    against = (max if case.at_least else min)(named, default=None) if case.peer else best_peer(case, rows)
    if case.ratio is not None and against:
        share = rota["median"] / against
        verdicts.append(share >= case.ratio if case.at_least else share <= case.ratio)
    return all(verdicts) if verdicts else None


def part_reached(case, part, rows):
    """The same for the row of a part."""
    best = best_peer(case, rows)
    return part["median"] / best <= case.share_of(part["case"]) if best else None


def number(value):
    return f"{value:.1f}" if abs(value) < 100_000 else f"{value:.0f}"


def goal_text(case, row, rows, bytes_row):
    goal = case.goal_of(row["case"]) if case is not None else ""
    if not goal:
        return ""
    verdict = reached(case, row, rows, bytes_row) if row["case"] == case.name else part_reached(case, row, rows)
    return f"{goal}: " + {True: "reached", False: "MISSED", None: "not judged"}[verdict]


def columns_of(row, beside):
    """What stands beside a subject's row: its rows of the COLUMNS, or None. `beside`: all rows of each column."""
    return [next((one for one in beside[column] if one["subject"] == row["subject"]), None) for column in COLUMNS]


def row_text(row, beside, rows):
    case = suites.case_of(row["suite"], row["case"])
    cpu, size, count = columns_of(row, beside)
    last = ("", "", "")
    if row["subject"] == "rota":
        last = (ratio_text(row["median"], best_peer(case, rows)),
                ratio_text(cpu["median"], best_peer(None, beside[".cpu"])) if cpu else "",
                goal_text(case, row, rows, size))
    return ROW.format(row["case"], row["subject"], row["workers"], number(row["median"]), number(row["min"]),
                      number(row["max"]), row["unit"], f"{number(cpu['median'])} {cpu['unit']}" if cpu else "",
                      number(size["median"]) if size else "", f"{count['median']:.2f}" if count else "", row["runs"],
                      *last).rstrip()


def speed_ups(suite, results):
    """How many times as fast as one worker, by case: of each subject that was measured with one, too."""
    rows = {(row["case"], row["subject"]): row for row in results if row["suite"] == suite}
    by_case = {}
    for (name, subject), row in rows.items():
        alone = rows.get((name + "_1", subject))
        if alone and row["median"] and alone["median"]:
            times = alone["median"] / row["median"]
            more = more_is_better(suites.case_of(suite, name), [row])
            by_case.setdefault((name, row["workers"]), []).append((subject, 1 / times if more else times))
    return by_case


def speed_ups_text(suite, results):
    lines = [f"   {name:24} {', '.join(f'{subject} {times:.2f}' for subject, times in each)}; at most {workers}\n"
             for (name, workers), each in speed_ups(suite, results).items()]
    return "".join(["-- speed-up over one worker\n"] + lines) if lines else ""


def rows_text(results):
    """The rows of one case. Processor time and allocations are columns, not rows."""
    by_case = {}
    for row in results:
        by_case.setdefault(row["case"], []).append(row)
    return "\n".join(row_text(row, {column: by_case.get(case + column, []) for column in COLUMNS}, rows)
                     for case, rows in by_case.items() if not is_column(case) for row in rows)
