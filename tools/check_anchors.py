#!/usr/bin/env python3
"""Every reference leads somewhere: links in Markdown, `some/file.md#anchor` in comments, `Example <file>` in headers.

Anchors are those that GitHub makes of headings. Web addresses are not visited.
"""
import re
import urllib.parse

import project

LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\s*\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
IN_CODE = re.compile(r"(?<![\w:/.-])((?:[\w.-]+/)*[\w.-]+\.md)(?:#([\w-]+))?")
EXAMPLE = re.compile(r"^\s*///\s*Example\s+(\S+/\S+\.\w+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE_SUFFIXES = {".hpp", ".cpp", ".py", ".sh", ".cmake", ".txt"}


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def slug(heading):
    """GitHub's anchor: link text and code spans without their marks, lower case, no punctuation, dashes for blanks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[`*]|(?<!\w)_|_(?!\w)", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path, known={}):
    if path not in known:
        found, times = set(), {}
        text = FENCED.sub(blank, path.read_text())
        for line in text.splitlines():
            if hit := HEADING.match(line):
                name = slug(hit[1])
                times[name] = times.get(name, -1) + 1
                found.add(f"{name}-{times[name]}" if times[name] else name)
        found |= set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
        known[path] = found
    return known[path]


def leads_nowhere(target, anchor):
    if not target.exists():
        return "there is no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return "there is no such heading"
    return None


def check_markdown(path, root):
    text = re.sub(r"`[^`\n]*`", blank, FENCED.sub(blank, path.read_text()))
    for hit in LINK.finditer(text):
        link = hit[1] or hit[2]
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        name, _, anchor = urllib.parse.unquote(link).partition("#")
        target = (root / name.lstrip("/") if name.startswith("/") else path.parent / name) if name else path
        if why := leads_nowhere(target, anchor):
            yield text.count("\n", 0, hit.start(hit.lastindex)) + 1, f"{link}: {why}"


def check_code(path, root):
    text = path.read_text()
    for hit in IN_CODE.finditer(text):
        near, far = path.parent / hit[1], root / hit[1]
        if why := leads_nowhere(near if near.exists() else far, hit[2]):
            yield text.count("\n", 0, hit.start()) + 1, f"{hit[0]}: {why}"
    for hit in EXAMPLE.finditer(text):
        if not (root / hit[1]).exists():
            yield text.count("\n", 0, hit.start(1)) + 1, f"{hit[1]}: there is no such example"


def main():
    root = project.root_from_arguments()
    complaints, documents = [], 0
    for path in project.all_files(root):
        if "lint_planted" in path.parts or path.parent == root / "tools":
            continue
        if path.suffix == ".md":
            documents += 1
            found = check_markdown(path, root)
        elif path.suffix in CODE_SUFFIXES:
            found = check_code(path, root)
        else:
            continue
        complaints += [f"{path.relative_to(root)}:{line}: {words}" for line, words in found]
    project.finish(complaints, f"{documents} documents, every reference leads somewhere")


if __name__ == "__main__":
    main()
