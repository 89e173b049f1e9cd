"""Finds the functions and classes of a C++ file: their names and where they begin and end.

Reads text without comments and literals (project.code_only) by its brackets. It does not parse C++: it tells a function from an
initialiser by what stands before the brace. That is enough for code that clang-format has laid out.
"""
import re
from typing import NamedTuple

import project


class Scope(NamedTuple):
    kind: str  # "function", "class"
    name: str  # with the classes around it, without namespaces and template arguments
    start: int  # the first character of its declaration
    end: int  # the one after its closing brace


_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_BRACKET = re.compile(r"[(){};]")
_ACCESS = re.compile(r"\s*(?:(?:public|protected|private)\s*:(?!:)\s*)*")
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]", re.DOTALL)
_CLASS = re.compile(r"(?:typedef\s+)?(?:class|struct|union|enum(?:\s+class|\s+struct)?)\b\s*"
                    r"(?:ROTA_\w+\s+|alignas\s*\([^()]*(?:\([^()]*\))?[^()]*\)\s*)*([\w:]*)")
_NAME = re.compile(r"((?:\w+\s*(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>)?\s*::\s*)*"
                   r"(?:\boperator\b\s*(?:\(\s*\)|[^\w\s(]+|[\w:<>&* ]+?)|~?\b\w+))\s*\(")
_NO_FUNCTION = {"alignas", "decltype", "noexcept", "requires", "explicit", "sizeof", "if", "for", "while", "switch", "catch",
                "static_assert", "__attribute__", "asm"}


def _after_angles(text):
    """The text behind a leading `template <...>`; several may follow each other."""
    while hit := re.match(r"\s*template\s*<", text):
        depth, at = 1, hit.end()
        while at < len(text) and depth:
            if text[at] == "<":
                depth += 1
            elif text[at] == ">" and text[at - 1] != "-":
                depth -= 1
            at += 1
        text = text[at:]
    return text.strip()


def closing(text, at):
    """The index behind the bracket that closes the one before `at`."""
    depth = 1
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def _function_of(head):
    """(name, what follows its parameters) of a declaration, or None."""
    at = 0
    while hit := _NAME.search(head, at):
        behind = closing(head, hit.end())
        name = re.sub(r"\s+", " ", hit[1])
        is_pointer = head.startswith("*", hit.end())  # `void (*call)(int)`
        if name not in _NO_FUNCTION and not is_pointer:
            is_initialised = "=" in head[:hit.start(1)] and "operator" not in head[:hit.start(1)]
            return None if is_initialised else (name, head[behind:])
        at = behind
    return None


def _is_member_initialiser(behind):
    """Whether the brace that follows belongs to `b_{2}` in `f() : a_(1), b_{2} {`."""
    return bool(re.search(r"(?<!:):(?!:)", behind)) and bool(re.search(r"[\w>]$", behind))


def _without_arguments(name):
    while (shorter := re.sub(r"<[^<>]*>(?=\s*::)", "", name)) != name:
        name = shorter
    return re.sub(r"\s*::\s*", "::", name)


def _classify(head):
    """What a brace opens: (kind, name). Kinds besides those of Scope: namespace, other."""
    head = _after_angles(_ATTRIBUTE.sub("", head))
    if re.match(r"(?:inline\s+)?namespace\b|extern\s*\"", head):
        return "namespace", ""
    if hit := _CLASS.match(head):
        return "class", hit[1]
    if re.match(r"concept\b", head) or re.search(r"(?:=|,|\breturn)$", head):
        return "other", ""
    found = _function_of(head)
    if not found or _is_member_initialiser(found[1].strip()):
        return "other", ""
    name = found[0]
    if re.fullmatch(r"(?:TYPED_)?TEST(?:_[FP])?", name):
        name = ".".join(re.findall(r"\w+", head[head.index("("):])[:2])
    return "function", _without_arguments(name)


def _first_character(code, start, end):
    """Where the declaration in [start, end) begins, behind blanks and access specifiers."""
    return _ACCESS.match(code, start, end).end()


def scopes(code):
    """All functions, outside of each other, and all classes outside of functions."""
    code = _DIRECTIVE.sub(lambda hit: re.sub(r"[^\n]", " ", hit[0]), code)
    found, stack, begin = [], [], 0
    for hit in _BRACKET.finditer(code):
        bracket, at = hit[0], hit.start()
        is_inside = bool(stack) and stack[-1][0] in ("function", "other", "(")
        if bracket == "(":
            stack.append(("(", "", 0))
        elif bracket == "{":
            start = _first_character(code, begin, at)
            kind, name = ("other", "") if is_inside else _classify(code[start:at])
            stack.append((kind, name, start))
            if kind in ("namespace", "class"):
                begin = at + 1
        elif bracket == ";":
            if not is_inside:
                begin = at + 1
        elif stack:
            kind, name, start = stack.pop()
            if kind in ("function", "class"):
                outer = [entry[1] for entry in stack if entry[0] == "class" and entry[1]]
                found.append(Scope(kind, "::".join([*outer, name]), start, at + 1))
            if kind in ("function", "class", "namespace"):
                begin = at + 1
    return found


def innermost(found, start, end):
    """The function that holds [start, end); else the class; else None."""
    around = [s for s in found if s.start <= start and end <= s.end]
    return min(around, key=lambda s: (s.kind != "function", s.end - s.start), default=None)


def named(found, name):
    """The extents of all functions that are called so, else of all classes."""
    of_name = [s for s in found if s.name == name]
    functions = [s for s in of_name if s.kind == "function"]
    return [(s.start, s.end) for s in functions or of_name]


def of_file(text):
    return scopes(project.code_only(text))
