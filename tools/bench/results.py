"""The file that --json writes and --from reads: the facts of the machine, and a row for each case and subject."""
import json

import runner

FIELDS = {"suite": str, "case": str, "subject": str, "workers": int, "unit": str, "median": float, "min": float, "max": float,
          "runs": int}


def write(path, facts, rows):
    path.write_text(json.dumps({"machine": facts, "results": rows}, indent=1) + "\n")


def read(path):
    """Facts and rows. A list of rows alone, as the file was before it had facts, will do."""
    try:
        content = json.loads(path.read_text())
        facts, rows = ([], content) if isinstance(content, list) else (content["machine"], content["results"])
        return [str(fact) for fact in facts], [{name: kind(row[name]) for name, kind in FIELDS.items()} for row in rows]
    except (ValueError, KeyError, TypeError) as wrong:
        raise runner.Failed(f"{path} is not what --json writes: {type(wrong).__name__} {wrong}") from None
