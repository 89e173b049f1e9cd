#!/usr/bin/env python3
"""The coroutine law, as far as a look at the text can hold it. g++ 12 compiles the broken shapes wrongly and silently.

  L1       no co_await in the condition of if, while, for or switch, nor in a test macro, which hides one: name it first
  L2       no lambda with a by-value or init capture and no braced temporary in a full expression with co_await or
           co_yield: name it first ([&], [this] and braces of plain numbers, durations and spans are right)
  life     no task that starts when what it refers to is gone: the captures of a lambda that is called where it stands and not awaited there,
           `spawn([s]() -> task<> {...}())`; the locals of a detached task, `spawn([&]() -> task<> {...});`; a temporary for a parameter by
           reference or view, `spawn(length(std::string()))`, of a coroutine that is declared in the same file
  fence    no stand-alone fence: ThreadSanitizer does not see it
  spin     a wait for a step of another thread goes through base::back_off(), which sleeps in the end: a thread of a lower priority comes to its
           step. Spinning and giving way stay in src/base, but for a loop that ends by itself: `// bounded: why` on its line
  machine  atomics, threads, locks, clocks, randomness, thread-local storage and raw system calls only in src/base

Without arguments: rota's own sources, tests, examples and the C++ blocks of its Markdown files. A block that shows what
is wrong opens with ```cpp wrong, and must be caught. With files as arguments: checks L1, L2, life and fence in those files, of any project.
--self-test: the planted lines are flagged, and nothing else is.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent

TOKEN = re.compile(r'operator\s+co_await|[A-Za-z_]\w*|0[xX][\w\']+|\d[\w\'.]*|"[^"\n]*"|->|::|&&|\|\||==|!=|<=|>=|\.\.\.|[^\s\w]')
LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\ ]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)

CONDITIONS = {"if", "while", "for", "switch"}
TEST_MACRO = re.compile(r"(EXPECT|ASSERT)_[A-Z_]+|ROTA_ASSERT|assert")
BLOCK_STARTS = CONDITIONS | {"do", "try"}
NOT_A_TYPE = {"co_await", "co_return", "co_yield", "return", "throw", "new", "else", "case", "delete", "and", "or", "not"}
BODY_FOLLOWS = {")", "]", "else", "do", "try", "noexcept", "mutable", "const", "override", "final", ":", ";", "}", "{"}
PLAIN = re.compile(
    r"(nano|micro|milli)?seconds|minutes|hours|span|byte|string_view|size_t|ptrdiff_t|monostate|"
    r"u?int(\d+|ptr|max)?(_t)?|unsigned|long|short|bool|char|float|double|nullopt_t|source_location")

FENCE = re.compile(r"\batomic_(?:thread|signal)_fence\b|\b__atomic_(?:thread|signal)_fence\b|\b__sync_synchronize\b")
MACHINE = [
    (re.compile(r"\bstd::(?:atomic\w*\b|jthread|thread\b|this_thread|call_once|once_flag|condition_variable\w*|"
                r"(?:recursive_|shared_|timed_|recursive_timed_|shared_timed_)?mutex\b|lock_guard|unique_lock|"
                r"scoped_lock|shared_lock|counting_semaphore|binary_semaphore|latch\b|barrier\b)"), "a standard primitive"),
    (re.compile(r"#\s*include\s*<(?:atomic|thread|mutex|shared_mutex|condition_variable|semaphore|latch|barrier|"
                r"pthread\.h|threads\.h|linux/futex\.h|random)>"), "a header of primitives"),
    (re.compile(r"\bthread_local\b|\b__thread\b"), "thread-local storage"),
    (re.compile(r"\bSYS_\w+|\bFUTEX_\w+|(?<!\w)syscall\s*\("), "a raw system call"),
    (re.compile(r"\bpthread_\w+"), "a pthread call"),
    (re.compile(r"\b(?:steady|system|high_resolution)_clock::now\b|\b(?:clock_gettime|gettimeofday|clock_nanosleep|"
                r"nanosleep|usleep)\s*\("), "a clock"),
    (re.compile(r"\bstd::(?:random_device|mt19937\w*|default_random_engine|rand\b)|\bgetrandom\s*\("), "randomness"),
]
SPIN = re.compile(r"\b(?:cpu_relax|yield_thread|sched_yield)\s*\(")
# Where the names of the machine are spelled: the seam, on the real machine and on the model.
SEAM = ("src/base/", "src/testing/", "include/rota/detail/base")
SIMULATED = "src/simulated/"


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """Comments and the insides of literals blanked; lines and columns stay."""
    def replace(match):
        found = match[0]
        return found[0] + blank(found[1:-1]) + found[-1] if found[0] in "\"'" else blank(found)
    return LITERAL.sub(replace, text)


class Item:
    """A token; or, if `items` is a list, what stands between two brackets, or the whole file."""

    def __init__(self, text, line, items=None):
        self.text, self.line, self.items = text, line, items

    def is_token(self, *texts):
        return self.items is None and (not texts or self.text in texts)

    def is_group(self, bracket):
        return self.items is not None and self.text == bracket


def parse(code):
    """The file as a tree of brackets. Brackets that do not match are taken as they come: a fragment is no error."""
    stack = [Item("", 1, [])]
    line, at = 1, 0
    for match in TOKEN.finditer(code):
        line += code.count("\n", at, match.start())
        at = match.start()
        text = match[0]
        if text in "([{":
            group = Item(text, line, [])
            stack[-1].items.append(group)
            stack.append(group)
        elif text in ")]}":
            opening = {")": "(", "]": "[", "}": "{"}[text]
            if opening in [group.text for group in stack[1:]]:
                while stack.pop().text != opening:
                    pass
        else:
            stack[-1].items.append(Item(text, line))
    return stack[0].items


def is_word(item):
    return item.is_token() and bool(re.match(r"[A-Za-z_]", item.text))


def ends_return_type(items, at):
    """Does a trailing return type, `-> task<int>`, end before items[at]?"""
    back = at - 1
    while back >= 0 and (is_word(items[back]) or items[back].is_token("::", "<", ">", ",", "&", "*")):
        back -= 1
    return back >= 0 and back < at - 1 and items[back].is_token("->")


def is_body(items, at):
    """Is the brace group items[at] a block of statements, and not an initialiser?"""
    inside = items[at].items
    if any(item.is_token(";") for item in inside):
        return True
    if inside and inside[0].is_token(*BLOCK_STARTS):
        return True
    if at == 0:
        return False
    before = items[at - 1]
    if before.is_group("["):
        return not is_subscript(items, at - 1)
    return not before.is_token() or before.text in BODY_FOLLOWS or ends_return_type(items, at)


def is_attribute(item):
    return item.is_group("[") and bool(item.items) and item.items[0].is_group("[")


def is_subscript(items, at):
    """Is the square group items[at] an index or a binding, and not what opens a lambda?"""
    if at == 0:
        return False
    before = items[at - 1]
    if before.is_token("&", "&&"):
        return at >= 2 and items[at - 2].is_token("auto")
    if not before.is_token():
        return before.text in "(["
    return is_word(before) and before.text not in NOT_A_TYPE


def contains(items, *words):
    """Is one of the words in here? Blocks are left out: they are other functions."""
    for at, item in enumerate(items):
        if item.is_token(*words):
            return True
        if item.items is not None and not is_block(items, at) and contains(item.items, *words):
            return True
    return False


def is_block(items, at):
    return items[at].is_group("{") and is_body(items, at)


def captures_by_value(introducer):
    """Does it copy or initialise something? [&], [&x], [this] and [] do not."""
    parts = [[]]
    for item in introducer.items:
        if item.is_token(","):
            parts.append([])
        else:
            parts[-1].append(item.text)
    return any(part and part != ["this"] and part[0] != "&" for part in parts)


def type_before(items, at):
    """The name before the initialiser items[at], '' for a bare list, None if it initialises a variable declared here."""
    back = at - 1
    if back >= 0 and items[back].is_token(">"):
        depth = 1
        while depth and back > 0:
            back -= 1
            depth += {">": 1, "<": -1}.get(items[back].text, 0) if items[back].is_token() else 0
        back -= 1
    if back < 0 or not is_word(items[back]) or items[back].text in NOT_A_TYPE:
        return ""
    before = items[back - 1] if back > 0 else None
    declared = before is not None and before.text not in NOT_A_TYPE and (is_word(before) or before.is_token(">", "&", "*"))
    return None if declared else items[back].text


def law_two(items, complain):
    """L2 in a full expression that has a co_await somewhere."""
    for at, item in enumerate(items):
        if item.items is None or is_block(items, at) or is_attribute(item):
            continue
        if item.text == "{":
            name = type_before(items, at)
            if name is not None and not PLAIN.fullmatch(name):
                what = f"{name}{{...}}" if name else "a braced list"
                complain(item.line, "L2", f"{what} in an expression with co_await: name it first")
        elif item.text == "[" and not is_subscript(items, at) and captures_by_value(item):
            complain(item.line, "L2", "a lambda that captures by value in an expression with co_await: name it first")
        law_two(item.items, complain)


STARTERS = ("spawn", "fork")
# In an expression with one of these the task has ended when the expression has.
WAITS = ("co_await", "co_yield", "join", "block_on", "run")
COROUTINE = {"co_await", "co_return", "co_yield", "task"}
MAKES_TEMPORARY = {"string", "vector", "to_string", "format", "path", "array", "map", "set", "optional", "make_unique", "make_shared"}
DECLARED_TASK = re.compile(r"\btask\s*<[^;{}()]*>\s+(\w+)\s*\(([^(){};]*)\)\s*(?:noexcept\s*)?[{;]")


def mentions(items, words):
    return any(item.text in words if item.items is None else mentions(item.items, words) for item in items)


def split_at_commas(items):
    """The arguments of a call. Commas between < and > separate nothing."""
    parts, depth = [[]], 0
    for item in items:
        depth += item.is_token("<") - item.is_token(">")
        if item.is_token(",") and depth <= 0:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def coroutine_lambda(items, at):
    """(its body's position, or None) of a lambda with captures at items[at] that is a coroutine, as far as one can see."""
    introducer = items[at]
    if not introducer.is_group("[") or is_attribute(introducer) or is_subscript(items, at) or not introducer.items:
        return None
    for body in range(at + 1, len(items)):
        if items[body].is_group("{"):
            return body if mentions(items[at + 1:body + 1], COROUTINE) else None
        if items[body].is_token(";", "="):
            return None
    return None


def is_called_where_it_stands(items, at):
    body = coroutine_lambda(items, at)
    return body is not None and body + 1 < len(items) and items[body + 1].is_group("(")


def captures_a_reference(introducer):
    return any(part and part[0].is_token("&") for part in split_at_commas(introducer.items))


def reference_parameters(code):
    """name -> for each parameter of the coroutines of that name in this text: '' (kept), '&' or 'view'. Overloads that differ: left out."""
    found = {}
    for name, parameters in DECLARED_TASK.findall(code):
        kinds = []
        for part in re.sub(r"<[^<>]*>", "<>", parameters).split(","):
            if re.search(r"\b(?:string_view|span)\b", part):
                kinds.append("view")
            elif "&&" in part or ("&" in part and re.search(r"\bconst\b", part)):
                kinds.append("text&" if re.search(r"\bstring\b", part) else "&")
            else:
                kinds.append("")
        found[name] = kinds if found.get(name, kinds) == kinds else []
    return found


def is_temporary(argument, kind):
    """Does the argument, for a parameter of that kind, name an object that is gone after the expression?"""
    if not argument:
        return False
    last = argument[-1]
    if last.is_token():
        return kind == "text&" and len(argument) == 1 and last.text.startswith('"')
    if last.is_group("{"):
        return kind != "view" or mentions(argument[:-1], MAKES_TEMPORARY)
    names = [item.text for item in argument[:-1]]
    plain = all(is_word(item) or item.is_token("::", "<", ">", ",", "&", "*") for item in argument[:-1])
    return last.is_group("(") and plain and names[:1] == ["std"] and len(names) > 2 and names[2] in MAKES_TEMPORARY


def law_of_starts(items, at, references, complain):
    """items[at] are the arguments of a spawn or fork."""
    arguments = items[at].items
    for inside in range(len(arguments)):
        if is_called_where_it_stands(arguments, inside):
            complain(arguments[inside].line, "life", f"the lambda's captures are gone when the task starts: hand the lambda to "
                     f"{items[at - 1].text} uncalled")
    for inside in range(1, len(arguments)):
        kinds = references.get(arguments[inside - 1].text, []) if is_word(arguments[inside - 1]) else []
        if not kinds or not arguments[inside].is_group("("):
            continue
        for argument, kind in zip(split_at_commas(arguments[inside].items), kinds):
            if kind and is_temporary(argument, kind):
                complain(arguments[inside].line, "life", f"{arguments[inside - 1].text}() keeps a reference to a temporary that is gone when "
                         f"the task starts: give the function and its arguments to {items[at - 1].text} apart")


def is_detached(items, at):
    """items[at] are the arguments of a free spawn() whose handle nothing keeps."""
    first = at - 1
    while first > 0 and items[first - 1].is_token("::") and first > 1 and is_word(items[first - 2]):
        first -= 2
    if not items[at - 1].is_token("spawn") or first > 0:
        return False
    return at + 1 == len(items) or (items[at + 1].is_token(".") and items[at + 2].is_token("detach"))


def drops_its_value(items, at):
    """Is the group items[at] that of a static_cast<void>(...)?"""
    return at > 3 and [item.text for item in items[at - 4:at]] == ["static_cast", "<", "void", ">"]


def law_of_lifetimes(items, references, complain, is_dropped=True):
    """In a full expression that does not wait for the task. `is_dropped`: nothing uses its value."""
    for at, item in enumerate(items):
        if item.items is None or is_block(items, at) or is_attribute(item):
            continue
        if item.text == "(" and at > 0 and items[at - 1].is_token(*STARTERS):
            law_of_starts(items, at, references, complain)
            lambdas = [inside for inside in item.items if inside.is_group("[")]
            if is_dropped and is_detached(items, at) and lambdas and lambdas[0] is item.items[0] and captures_a_reference(lambdas[0]):
                complain(lambdas[0].line, "life", "a detached task refers to locals that may be gone: capture by value, or await its handle")
        law_of_lifetimes(item.items, references, complain, is_dropped and drops_its_value(items, at))


def full_expression(items, complain):
    if contains(items, "co_await", "co_yield"):
        law_two(items, complain)
    if not contains(items, *WAITS):
        law_of_lifetimes(items, complain.references, complain)


def statements(items, complain):
    """Checks a sequence of statements, and every block inside of it."""
    expression = []

    def end():
        full_expression(expression, complain)
        expression.clear()

    for at, item in enumerate(items):
        if item.items is not None:
            inner_blocks(item, is_block(items, at), complain)
        # A block ends an expression below, so the call behind the lambda's body is looked for here.
        if item.is_group("[") and at > 0 and items[at - 1].is_token("=", "return") and is_called_where_it_stands(items, at):
            complain(item.line, "life", "the lambda's captures are gone when the task starts: name the lambda first")
        if item.is_token(";"):
            end()
        elif item.is_group("(") and is_condition(items, at):
            end()
            if contains(item.items, "co_await"):
                complain(item.line, "L1", f"co_await in the condition of {items[at - 1].text}: name it first")
            statement_list(item.items, complain)
        else:
            if item.is_group("(") and at > 0 and TEST_MACRO.fullmatch(items[at - 1].text) and contains(item.items, "co_await"):
                complain(item.line, "L1", f"co_await in {items[at - 1].text}, which is an if inside: name it first")
            expression.append(item)
            if is_block(items, at):
                end()
    end()


def statement_list(items, complain):
    """The full expressions of a condition: `for (a; b; c)`."""
    expression = []
    for item in items:
        if item.is_token(";"):
            full_expression(expression, complain)
            expression = []
        else:
            expression.append(item)
    full_expression(expression, complain)


def is_condition(items, at):
    back = at - 1
    if back >= 0 and items[back].is_token("constexpr"):
        back -= 1
    return back >= 0 and items[back].is_token(*CONDITIONS)


def inner_blocks(group, block, complain):
    """Checks the blocks inside a group: the bodies of functions and lambdas."""
    if block:
        statements(group.items, complain)
        return
    for at, item in enumerate(group.items):
        if item.items is not None:
            inner_blocks(item, is_block(group.items, at), complain)


def check_laws(text, complain):
    """L1, L2 and fences in a text of C++."""
    code = PREPROCESSOR.sub(lambda match: blank(match[0]), without_comments(text))
    complain.references = reference_parameters(code)
    statements(parse(code), complain)
    for hit in FENCE.finditer(code):
        complain(code.count("\n", 0, hit.start()) + 1, "fence", f"{hit[0]}: order the words themselves")


def check_machine(text, complain):
    code = without_comments(text)
    for pattern, what in MACHINE:
        for hit in pattern.finditer(code):
            complain(code.count("\n", 0, hit.start()) + 1, "machine", f"{hit[0].strip()}: {what}, outside src/base")


def check_spins(text, complain):
    lines = text.splitlines()
    code = without_comments(text)
    for hit in SPIN.finditer(code):
        line = code.count("\n", 0, hit.start()) + 1
        if "// bounded: " not in lines[line - 1]:
            complain(line, "spin", "use base::back_off(looks), or say `// bounded: why` on this line")


class Report:
    def __init__(self):
        self.found = []

    def about(self, path, first_line=0):
        return lambda line, rule, words: self.found.append((str(path), line + first_line, rule, words))

    def lines(self):
        return [f"{path}:{line}: {rule}: {words}" for path, line, rule, words in sorted(set(self.found))]


def markdown_blocks(text):
    """(first line, is marked wrong, code) of every C++ block."""
    for match in re.finditer(r"^```(cpp|c\+\+)( wrong)?[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start(3)), bool(match[2]), match[3]


def check_markdown(path, report):
    for first, wrong, code in markdown_blocks(path.read_text()):
        block = Report()
        check_laws(code, (block if wrong else report).about(path, first))
        if wrong and not block.found:
            report.about(path)(first, "wrong", "this block is marked wrong, and nothing in it is")


def check_project(root):
    report, count = Report(), 0
    for folder in ("src", "include", "examples", "tests", "bench"):
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            if path.name.endswith("_fails.cpp"):
                continue
            count += 1
            text, name = path.read_text(), path.relative_to(root).as_posix()
            check_laws(text, report.about(path))
            if folder in ("src", "include") and not name.startswith(SEAM):
                check_machine(text, report.about(path))
                if not name.startswith(SIMULATED):
                    check_spins(text, report.about(path))
    for path in sorted(root.rglob("*.md")):
        if not {"build", ".git"} & set(path.relative_to(root).parts):
            count += 1
            check_markdown(path, report)
    return report.lines(), f"{count} files keep the law"


def check_files(names):
    report = Report()
    for name in names:
        check_laws(pathlib.Path(name).read_text(errors="replace"), report.about(name))
    return report.lines(), f"{len(names)} files keep the law"


def misuse(words):
    print(f"check_coroutines: {words}; --help says how it is called", file=sys.stderr)
    sys.exit(2)


def self_test():
    """bad.cpp.txt: every line that ends in `// FLAG rule` is flagged with that rule, and no other. good.cpp.txt: none."""
    wrong, planted = [], 0
    for path in sorted((HERE / "lint_planted").glob("*.cpp.txt")):
        text, report = path.read_text(), Report()
        check_laws(text, report.about(path))
        check_machine(text, report.about(path))
        check_spins(text, report.about(path))
        expected = {(number, rule) for number, line in enumerate(text.splitlines(), 1)
                    for rule in re.findall(r"// FLAG (\w+)", line)}
        found = {(line, rule) for _, line, rule, _ in report.found}
        planted += len(expected)
        wrong += [f"{path}:{line}: {rule} is planted and not found" for line, rule in sorted(expected - found)]
        wrong += [f"{path}:{line}: {rule} is found and not there" for line, rule in sorted(found - expected)]
    if planted < 12:
        wrong.append(f"only {planted} lines are planted")
    return wrong, f"self-test: all {planted} planted lines found, nothing else"


def main():
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        print(f"usage: check_coroutines.py [FILE... | --self-test]\n\n{__doc__.strip()}")
        return
    options = [a for a in arguments if a.startswith("-")]
    try:
        if arguments == ["--self-test"]:
            complaints, summary = self_test()
        elif options:
            misuse(f"unknown option {options[0]}")
        elif arguments and not pathlib.Path(arguments[0]).is_dir():
            complaints, summary = check_files(arguments)
        else:
            complaints, summary = check_project(pathlib.Path(arguments[0]) if arguments else HERE.parent)
    except OSError as error:
        misuse(f"cannot read {error.filename}: {error.strerror}")
    print("\n".join(complaints) if complaints else summary)
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
