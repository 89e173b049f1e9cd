"""What the checks share: which files the project has, and how C++ looks without its comments and strings."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = {"build", ".git", ".cache", "__pycache__"}


def root_from_arguments():
    """The tree to check: the argument, or the one that this file lies in."""
    return pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE


def all_files(root):
    """Every file that belongs to the project: tracked or not yet, but not ignored. Without git: every file."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if listed.returncode == 0 and (root / ".git").exists():
        paths = {root / name for name in listed.stdout.split("\0") if name}
    else:
        paths = {p for p in root.rglob("*") if not SKIPPED & set(p.relative_to(root).parts)}
    return sorted(p for p in paths if p.is_file())


def cxx_files(root, *folders):
    """The .hpp and .cpp files below the folders, sorted."""
    return sorted(p for folder in folders for p in (root / folder).rglob("*.[hc]pp"))


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\ ]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL)


def _blank(match):
    text = match[0]
    if text[0] in "\"R'":
        return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]
    return re.sub(r"[^\n]", " ", text)


def code_only(text):
    """The text with comments and the insides of literals blanked; every line keeps its number and its columns."""
    return _TOKEN.sub(_blank, text)


def without_comments(text):
    """The text with comments blanked; every line keeps its number and its columns."""
    return _TOKEN.sub(lambda match: _blank(match) if match[0].startswith(("//", "/*")) else match[0], text)


def comments_only(text):
    """The text with everything but comments blanked."""
    kept = [re.sub(r"[^\n]", " ", text[:0])]
    at = 0
    for match in _TOKEN.finditer(text):
        kept.append(re.sub(r"[^\n]", " ", text[at:match.start()]))
        is_comment = match[0].startswith(("//", "/*"))
        kept.append(match[0] if is_comment else re.sub(r"[^\n]", " ", match[0]))
        at = match.end()
    kept.append(re.sub(r"[^\n]", " ", text[at:]))
    return "".join(kept)


def finish(complaints, summary):
    """Prints what is wrong, or the one line that says what was looked at; exits accordingly."""
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"{len(complaints)} complaints")
        sys.exit(1)
    print(summary)
