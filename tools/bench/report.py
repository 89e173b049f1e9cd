"""The results as one HTML file: bars with their spread, ratios, goals. It needs no other file, no network and no script."""
import html
import pathlib
import re

import suites
import table

STYLE = pathlib.Path(__file__).with_name("report.css")
VERDICTS = {True: "reached", False: "missed", None: "not judged"}


def tag(name, content, **attributes):
    """An element; the content is HTML, the attributes are text. `class_` and the like: Python keeps the name itself."""
    words = "".join(f' {key.rstrip("_")}="{html.escape(str(value))}"' for key, value in attributes.items() if value)
    return f"<{name}{words}>{content}</{name}>"


def text(name, content, **attributes):
    return tag(name, html.escape(content), **attributes)


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def stem(row):
    """fib.peak belongs to fib."""
    return row["case"].partition(".")[0]


def anchor(suite, name):
    return re.sub(r"[^A-Za-z0-9_-]", "-", f"{suite}-{name}")


def row_of(rows, subject):
    return next((row for row in rows if row["subject"] == subject), None)


def named(rows, name):
    return [row for row in rows if row["case"] == name]


def verdicts(case, rows):
    """Of the case and of its parts that have a goal: True, False, or None for one that cannot be judged."""
    own = named(rows, case.name)
    rota, size = row_of(own, "rota"), row_of(named(rows, case.name + ".bytes"), "rota")
    yield table.reached(case, rota, own, size) if rota else None
    for part, _ in case.parts:
        rows_of_part = named(rows, f"{case.name}.{part}")
        rota = row_of(rows_of_part, "rota")
        yield table.part_reached(case, rota, rows_of_part) if rota else None


def verdict(case, rows):
    """In a word, or nothing where there is no goal. `rows`: those of the case with its parts."""
    if case is None or not case.goal():
        return ""
    each = set(verdicts(case, rows))
    return VERDICTS[False if False in each else None if None in each else True]


def goal_text(case):
    """As in the tables, with the signs that a page has; a sign stays with its number."""
    return case.goal().replace("<= ", "≤\u00a0").replace(">= ", "≥\u00a0").replace(" x ", "\u00a0×\u00a0")


def verdict_html(word):
    return text("span", word, class_=f"verdict {word.replace(' ', '-')}") if word else ""


def ratio_of(case, rows):
    """rota's median over that of the best peer, as text."""
    rota, best = row_of(rows, "rota"), table.best_peer(case, rows)
    ratio = table.ratio_text(rota["median"], best) if rota else ""
    names = [row["subject"] for row in rows if table.is_peer(row["subject"]) and row["median"] == best]
    return f"{ratio}\u00a0×\u00a0{names[0]}" if ratio else ""


def kind(subject):
    return "rota" if subject == "rota" else "peer" if table.is_peer(subject) else "side"


def share(value, of):
    return f"{100 * value / of if of else 0:.2f}%"


def bar(row, scale):
    """As wide as the median, with a line from the smallest run to the largest."""
    low, high = share(row["min"], scale), share(row["max"], scale)
    spread = "".join(f'<line class="spread" x1="{a}" x2="{b}" y1="{top}" y2="{bottom}"/>'
                     for a, b, top, bottom in ((low, high, 8, 8), (low, low, 4, 12), (high, high, 4, 12)))
    words = f'{row["subject"]}: {table.number(row["median"])} {row["unit"]}'
    return (f'<svg role="img" aria-label="{html.escape(words)}"><rect class="track" width="100%" height="16"/>'
            f'<rect class="fill" width="{share(row["median"], scale)}" height="16"/>{spread}</svg>')


def allocations_text(size, count):
    return f'{table.number(size["median"])} B, {count["median"]:.2f}' if size and count else ""


def subject_row(row, rows, beside, scale):
    case = suites.case_of(row["suite"], row["case"])
    cpu, size, count = table.columns_of(row, beside)
    cells = [text("th", row["subject"], class_="name", scope="row"),
             tag("td", bar(row, scale), class_="bar"),
             text("td", table.number(row["median"]), class_="figure median"),
             text("td", f'{table.number(row["min"])} – {table.number(row["max"])}', class_="figure range")]
    cells += [text("td", f'{table.number(cpu["median"])} {cpu["unit"]}' if cpu else "", class_="figure cpu")]
    if beside[".bytes"]:
        cells.append(text("td", allocations_text(size, count), class_="figure allocations"))
    cells.append(text("td", ratio_of(case, rows) if row["subject"] == "rota" else "", class_="figure ratio"))
    return tag("tr", "".join(cells), class_=kind(row["subject"]))


def caption(name, case, rows):
    """What the bars show: which part, its unit, which way is good."""
    workers = sorted({row["workers"] for row in rows})
    better = "more" if case is not None and case.at_least and name == case.name else "less"
    count = f'{" or ".join(map(str, workers))} worker{"s" if workers != [1] else ""}'
    return f'{name}: {rows[0]["unit"]}, {better} is better; {count}, {max(row["runs"] for row in rows)} runs'


def chart(name, rows, beside):
    unit = rows[0]["unit"]
    case = suites.case_of(rows[0]["suite"], name)
    heads = [("", "name"), ("", "bar"), (f"median, {unit}", "figure median"), ("min – max", "figure range"),
             ("cpu" if beside[".cpu"] else "", "figure cpu"), *([("allocated", "figure allocations")] if beside[".bytes"] else []),
             ("ratio" if ratio_of(case, rows) else "", "figure ratio")]
    scale = max(row["max"] for row in rows)
    return tag("table", text("caption", caption(name, case, rows))
               + tag("thead", tag("tr", "".join(text("th", word, class_=style) for word, style in heads)))
               + tag("tbody", "".join(subject_row(row, rows, beside, scale) for row in rows)), class_="chart")


def case_html(suite, name, rows):
    """A case with its parts. Processor time and allocations are columns, not parts."""
    case = suites.case_of(suite, name)
    parts = grouped(rows, lambda row: row["case"])
    words = [text("span", name), verdict_html(verdict(case, rows))]
    lines = [tag("h3", "".join(words))]
    if case is not None:
        goal = f" Goal: {goal_text(case)}." if case.goal() else ""
        lines.append(text("p", f"{case.says_all()}.{goal}", class_="says"))
    if row_of(rows, "rota") is None:
        lines.append(text("p", "There is no figure of rota.", class_="quiet"))
    lines += [chart(part, each, {column: parts.get(part + column, []) for column in table.COLUMNS})
              for part, each in parts.items() if not table.is_column(part)]
    return tag("article", "\n".join(lines), id=anchor(suite, name))


def goal_row(suite, name, rows):
    case = suites.case_of(suite, name)
    own = named(rows, name)
    rota = row_of(own, "rota")
    link = tag("a", html.escape(f"{suite} {name}"), href="#" + anchor(suite, name))
    median = f'{table.number(rota["median"])} {rota["unit"]}' if rota else ""
    return tag("tr", tag("td", link) + text("td", median, class_="figure")
               + text("td", ratio_of(case, own), class_="figure wide") + text("td", goal_text(case), class_="wide")
               + tag("td", verdict_html(verdict(case, rows))))


def goals(results):
    """The cases that have a goal, one a line."""
    judged = {key: rows for key, rows in grouped(results, lambda row: (row["suite"], stem(row))).items()
              if verdict(suites.case_of(*key), rows)}
    if not judged:
        return ""
    words = [verdict(suites.case_of(*key), rows) for key, rows in judged.items()]
    counts = ", ".join(f"{words.count(word)} {word}" for word in VERDICTS.values() if word in words)
    heads = (("case", ""), ("rota", "figure"), ("ratio to the best peer", "figure wide"), ("goal", "wide"), ("", ""))
    return "\n".join([
        text("h2", "Goals", id="goals"), text("p", counts + ".", class_="says"),
        tag("table", tag("tr", "".join(text("th", word, class_=style) for word, style in heads))
            + "\n".join(goal_row(*key, rows) for key, rows in judged.items()), class_="goals")])


def facts_html(facts):
    if not facts:
        return text("p", "The file does not say on which machine this was measured.", class_="quiet")
    pairs = [fact.partition(" ") for fact in facts]
    return tag("dl", "\n".join(text("dt", name.rstrip(":")) + text("dd", rest.strip()) for name, _, rest in pairs))


def suite_html(suite, rows):
    cases = grouped(rows, stem)
    return "\n".join([text("h2", suite, id=anchor("suite", suite)),
                      *(case_html(suite, name, each) for name, each in cases.items())])


HOW_TO_READ = ("A bar is the median of the runs, and its line reaches from the smallest run to the largest: where two lines "
               "overlap, the runs have shown no difference. Each chart has a scale of its own that begins at 0. Blue is rota, "
               "grey its peers, faint grey what was measured on the side. cpu: processor time of all threads for one "
               "operation. ratio: rota's median over that of the best peer in the same run; it is what to compare between "
               "two days. bench/README.md says more.")


def page(facts, results):
    """The whole file. `facts`: lines that begin with the name of a fact; `results`: as --json has them."""
    by_suite = grouped(results, lambda row: row["suite"])
    body = [text("h1", "rota’s benchmarks"), facts_html(facts), text("p", HOW_TO_READ, class_="says"), goals(results),
            *(suite_html(suite, rows) for suite, rows in by_suite.items())]
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', '<head>', '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        text("title", "rota’s benchmarks"), tag("style", STYLE.read_text()), "</head>", "<body>", *body, "</body>",
        "</html>", ""])
