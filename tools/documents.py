"""Which commands the documents name, and where: `./dev ...`, cmake and ctest with a preset or a configuration, and programs in
build folders. `./dev help` is a document, too."""
import dataclasses
import re
import subprocess

import project

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/*.md", "src/*/README.md", "tests/README.md", "bench/README.md",
             "examples/**/README.md")
FENCED = re.compile(r"^(```|~~~)[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*\n)+")
INLINE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
# In a block of code a comment stands behind ` #` or a wide gap; there, a second command may follow.
FIELDS = re.compile(r"\s{2,}|\s#\s|^\s*\$\s")
VARIABLES = r"(?:[A-Z_]+=\S+ )*"
COMMAND = re.compile(
    VARIABLES + r"(?:\./dev\b(?!/)|(?:bash )?\.ci/run\b|(?:cmake|ctest) -|(?:[a-z]+ (?:\S+ )*?)?build/[\w-]+/[\w<>/-]+ \S)")
# The description follows behind a wide gap.
HELP = re.compile(r"^  ([a-z]\S*(?: \S+)*)")


@dataclasses.dataclass(frozen=True)
class Named:
    """A command as a document writes it."""
    text: str
    document: str
    line: int

    def where(self):
        return f"{self.document}:{self.line}"


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def blocks_of(text):
    """The lines of the blocks of code: pairs of an offset and a line."""
    for pattern, group in ((FENCED, 2), (INDENTED, 0)):
        for hit in pattern.finditer(text):
            at = hit.start(group)
            for line in hit[group].splitlines(keepends=True):
                yield at, line.rstrip("\n")
                at += len(line)


def pieces_of(text):
    """What may be a command: pairs of an offset and a text. Fields of lines in blocks of code; code in sentences."""
    for at, line in blocks_of(text):
        begin = 0
        for gap in [*FIELDS.finditer(line), None]:
            yield at + begin, line[begin:gap.start() if gap else None]
            begin = gap.end() if gap else begin
    rest = INDENTED.sub(blank, FENCED.sub(blank, text))
    for hit in INLINE.finditer(rest):
        yield hit.start(1), hit[1]


def commands_in(text, document):
    for at, piece in sorted(pieces_of(text)):
        words = " ".join(piece.replace("\\|", "|").split())
        if COMMAND.match(words):
            yield Named(words, document, text.count("\n", 0, at) + 1)


def commands_of_help(root):
    """The forms that `./dev help` lists, with the lines of `dev` that print them."""
    if not (root / "dev").exists():
        return
    said = subprocess.run(["bash", "dev", "help"], cwd=root, capture_output=True, text=True, check=True).stdout
    lines = (root / "dev").read_text().splitlines()
    for line in said.splitlines():
        if hit := HELP.match(line):
            yield Named(f"./dev {hit[1]}", "dev", lines.index(line) + 1)


def named_commands(root):
    """Every command that a document names, in the order of the documents and their lines."""
    files = set(project.all_files(root))
    found = []
    for pattern in DOCUMENTS:
        for path in sorted(p for p in root.glob(pattern) if p in files):
            found += commands_in(path.read_text(), path.relative_to(root).as_posix())
    return found + list(commands_of_help(root))
