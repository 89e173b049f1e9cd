"""Makes commands that can be run of those that documents name.

A form, such as `./dev stress [NAME] [--build dev|asan]`, stands for several: the one without what is optional, and for each
optional part, and each alternative in it, one that has only this part. Placeholders are filled from tools/commands_table.py.
What the table does not know is a complaint about the document.
"""
import collections
import dataclasses
import itertools
import re

import commands_table as table
import documents

TOKEN = re.compile(r"""\[|\]|'[^']*'|"[^"]*"|(?:(?!\.\.\.)[^\s\[\]'"])+(?:'[^']*'|"[^"]*")?|\.\.\.""")
PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*(?:,[A-Z])*|<\w+>")


class Unknown(Exception):
    """A command that names something which is not there."""


@dataclasses.dataclass
class Command:
    """A command that can be run, and the documents that name it."""
    words: str               # as in the document, filled and made short
    before: str              # what makes what it needs, or nothing
    after: str               # what looks at its result, or nothing
    cost: str
    named: list
    left_out: str = ""       # why it is not run

    def script(self):
        ended = next((start for pattern, start in table.ENDED if pattern.search(self.words)), "")
        return " && ".join(part for part in (self.before, ended + self.words, self.after) if part)


# --- forms

def parsed(tokens):
    """The tokens up to the next `]` as a list, in which each optional part is a list."""
    items = []
    for token in tokens:
        if token == "[":
            items.append(parsed(tokens))
        elif token == "]":
            break
        elif token != "...":
            items.append(token)
    return items


def alternatives(word):
    quoted = word[0] in "'\"" or "://" in word
    return [word] if quoted else word.split("|")


def choices(items):
    """All ways to say the items without what is optional."""
    words = [alternatives(item) for item in items if isinstance(item, str)]
    return [list(way) for way in itertools.product(*words)]


def ways(items):
    """Pairs of a list of words, and whether they have an optional part: first without any, then with each one."""
    for way in choices(items):
        yield way, False
    for at, part in enumerate(items):
        if isinstance(part, list):
            for inner, _ in ways(part):
                for front, back in itertools.product(choices(items[:at]), choices(items[at + 1:])):
                    yield front + inner + back, True


# --- words of ./dev

def split(words):
    """The variables before ./dev, the sub-command, and what follows."""
    at = words.index("./dev")
    rest = words[at + 1:]
    return words[:at], (rest[0] if rest else "help"), rest[1:]


def filled(name, word):
    """The word, or what stands for it if it is a placeholder."""
    if not PLACEHOLDER.fullmatch(word):
        return word
    key = "NAME" if word.startswith("<") else word
    if (name, key) in table.FILLED_FOR:
        return table.FILLED_FOR[name, key]
    if key in table.FILLED:
        return table.FILLED[key]
    raise Unknown(f"nothing is known to stand for {word}")


def check_argument(root, name, form, word):
    if word in table.ARGUMENTS.get(form.names, (word,)) and "NAME" not in form.names:
        return
    if "NAME" in form.names and list(root.glob(form.names.replace("NAME", word))):
        return
    raise Unknown(f"./dev {name}: there is no {word}")


def arguments_of(root, name, form, words):
    """The arguments among the words; raises Unknown if an option or an argument is not what the table has."""
    found, rest = [], iter(words)
    for word in rest:
        if word.startswith("-"):
            if word not in form.options:
                raise Unknown(f"./dev {name} has no option {word}")
            value = form.options[word]
            given = next(rest, None) if value is not None else None
            if value is not None and (given is None or given.startswith("-")):
                raise Unknown(f"./dev {name} {word} needs a value")
            if isinstance(value, tuple) and given not in value:
                raise Unknown(f"./dev {name} {word}: there is no {given}")
            if value == table.NUMBER and not given.isdigit():
                raise Unknown(f"./dev {name} {word} needs a number, not {given}")
        else:
            check_argument(root, name, form, word)
            found.append(word)
    if not form.least <= len(found) <= form.most:
        raise Unknown(f"./dev {name} takes {form.least} to {form.most} arguments, not {len(found)}")
    return found


def shortened(name, form, words):
    """The words with those that make it short."""
    short, text = form.short, " ".join([name, *words])
    if table.NOT_SHORTENED.search(text):
        short = next((other for pattern, other in table.SHORTENED if pattern.search(text)), ())
    if not short:
        return words
    if not short[0].startswith("-"):
        return words if any(not word.startswith("-") for word in words) else [*words, *short]
    if short[0] in words:
        at = words.index(short[0])
        return words[:at] + list(short) + words[at + len(short):]
    return [*words, *short]


def dev_command(root, words, optional):
    """The words of a ./dev command, checked, filled and short."""
    before, name, rest = split(words)
    form = table.FORMS.get(name)
    if form is None:
        raise Unknown(f"./dev {name}: there is no such command")
    rest = [filled(name, word) for word in rest]
    given = arguments_of(root, name, form, rest)
    if optional and not given:
        rest = [*form.narrow, *rest]
        arguments_of(root, name, form, rest)
    return [*before, "./dev", name, *shortened(name, form, rest)]


# --- other words

def other_command(root, words):
    """The words of cmake, ctest, or a program in a build folder, filled."""
    text = " ".join(words)
    for preset in re.findall(r"--preset (\S+)", text):
        if preset not in presets_of(root):
            raise Unknown(f"there is no preset {preset}")
    program = re.search(r"build/[\w-]+/\S+", text)
    name = "libfuzzer" if "libfuzzer_" in text else program[0].rpartition("/")[2] if program else ""
    words = [re.sub(r"\bNAME\b|<name>", lambda hit: filled(name, hit[0]), word) for word in words]
    if hit := re.search(r"build/\w+/bench/(\w+?)_rota", text):
        if hit[1] not in table.suites.SUITES:
            raise Unknown(f"there is no suite {hit[1]}")
        words = [first_case(hit[1]) if word == "CASE" else word for word in words]
    return [filled(name, word) for word in words]


def presets_of(root):
    path = root / "CMakePresets.json"
    return re.findall(r'"name": "([\w-]+)"', path.read_text()) if path.exists() else []


def first_case(suite):
    return table.suites.SUITES[suite][0].name


def before(words):
    for pattern, made_by in table.BEFORE:
        if hit := pattern.search(words):
            found = hit.groupdict()
            if "suite" in found:
                found["case"] = first_case(found["suite"])
            return made_by.replace("{scratch}", "{{scratch}}").format(**found)
    return ""


def after(words):
    for pattern, looks in table.AFTER:
        if hit := pattern.search(words):
            return looks.format(**hit.groupdict())
    return ""


# --- all of it

def concrete(root, named):
    """The commands that a named one stands for, as texts."""
    for words, optional in ways(parsed(iter(TOKEN.findall(named.text)))):
        if "./dev" in words and "&&" not in words:
            yield " ".join(dev_command(root, words, optional))
        else:
            yield " ".join(other_command(root, words))


def collect(root):
    """Every command that can be run, each once; and complaints about those that cannot."""
    known, complaints = collections.OrderedDict(), []
    for named in documents.named_commands(root):
        try:
            for words in concrete(root, named):
                if words not in known:
                    why = next((why for pattern, why in table.LEFT_OUT if pattern.search(words)), "")
                    known[words] = Command(words, before(words), after(words), table.cost_of(words), [], why)
                if named not in known[words].named:
                    known[words].named.append(named)
        except Unknown as unknown:
            complaints.append(f"{named.where()}: {unknown} (`{named.text}`)")
    return list(known.values()), complaints
