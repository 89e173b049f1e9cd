"""Builds model tests, and the same tests with some files changed, of which it compiles only what depends on them.

The first objects are CMake's. For a changed file, its dependents are those that ninja knows from the compiler's dependency
files. They are compiled with a folder of changed files in front of the include path, and linked in front of the archive of the
first objects, so that the linker takes them instead.
"""
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import threading

CMAKE_OPTIONS = {
    # An unknown build type has no flags of its own.
    "CMAKE_BUILD_TYPE": "Mutants", "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
    # A mutant may leave a variable unused.
    "ROTA_WERROR": "OFF", "ROTA_BUILD_EXAMPLES": "OFF", "ROTA_BUILD_BENCH": "OFF",
    "ROTA_URING": "off", "ROTA_CARES": "off", "ROTA_TLS": "off",
}
INCLUDED = ("include", "src", "tests")
LIBRARY = "CMakeFiles/rota_model.dir/"


class BuildError(Exception):
    """A command failed. The first line says what is wrong; all that it printed follows."""


# --- running programs

_running = set()
_lock = threading.Lock()
_stopped = False


def run(command, folder, output, limit=None, environment=()):
    """The exit status; None if the limit is reached. The program and all its children are ended then.

    Of the variables that begin with ROTA_ it has only those of `environment`: the caller's would change what a test does."""
    with _lock:
        if _stopped:
            raise KeyboardInterrupt
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ROTA_")}
        process = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, env={**inherited, **dict(environment)}, start_new_session=True)
        _running.add(process)
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        _end(process)
        with _lock:
            _running.discard(process)
    if _stopped:
        raise KeyboardInterrupt
    return status


def _end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def stop_all():
    """Ends all programs that run() has started, and lets it start no more."""
    global _stopped
    with _lock:
        _stopped = True
        for process in _running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _checked(command, folder, log):
    """What the command prints, also into `log`."""
    with open(log, "wb") as output:
        status = run(command, folder, output)
    said = pathlib.Path(log).read_text(errors="replace")
    if status != 0:
        hit = re.search(r"^.*(?:error:|undefined symbol|undefined reference).*$", said, re.MULTILINE)
        raise BuildError(f"{hit[0].strip() if hit else f'status {status}'}\n{shlex.join(map(str, command))}\n{said}")
    return said


# --- building

class Build:
    def __init__(self, root, work, compiler, jobs, header):
        """`header`: included in front of each translation unit."""
        self.root = root
        self.header = header
        self.folder = work / "build"
        self.archive = work / "members.a"
        self.programs = work / "programs"
        self.compiler = shutil.which(compiler)
        self.jobs = jobs
        self.launcher = [found] if (found := shutil.which("ccache")) else []
        self.commands = {}  # of each object, without its output and its source: (words, source)
        self.users = {}  # of each source and header: the objects that depend on it
        self.linked = {}  # of each model: the objects in its program
        self.beside = None  # an object that is linked to all programs
        self.member = {}  # of each object of the library: its name in the archive
        self.linker = []

    # The programs without changes

    def prepare(self, models, source, more):
        """Builds the programs of these models. `source` is one more file of all of them, and compiled with the options `more`."""
        for tool in ("cmake", "ninja", "ar"):
            if not shutil.which(tool):
                raise BuildError(f"needs {tool}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.programs.mkdir(exist_ok=True)
        self._configure()
        self._read_commands()
        objects = [self._test_object(model) for model in models]
        _checked(["ninja", f"-j{self.jobs}", "-k0", "rota_model", *objects], self.folder, self.folder / "build.log")
        self._read_dependencies()
        self._make_archive()
        self._read_linker(models[0])
        self.beside = self.folder / "beside.o"
        self._compile([*self.commands[objects[0]][0], *more], source, self.beside)
        for model in models:
            said = self.link(model, {}, self.programs / model, self.programs / f"{model}.log")
            self.linked[model] = self._members_in(said) | {self._test_object(model)}

    def program(self, model):
        return self.programs / model

    def _configure(self):
        options = {**CMAKE_OPTIONS, "CMAKE_CXX_COMPILER": self.compiler, "CMAKE_CXX_FLAGS": f"-O1 -include {self.header}"}
        words = [f"-D{key}={value}" for key, value in options.items()]
        _checked(["cmake", "-S", self.root, "-B", self.folder, "-G", "Ninja", *words], self.root, self.folder / "configure.log")

    def _read_commands(self):
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if pathlib.Path(words[0]).name == "ccache":
                del words[0]
            at = words.index("-o")
            output = words[at + 1]
            if output.startswith((LIBRARY, "CMakeFiles/model_")):
                self.commands[output] = ([w for w in words[:at] if w != "-Werror"] + ["-w"], entry["file"])

    def _test_object(self, model):
        found = [output for output in self.commands if output.startswith(f"CMakeFiles/model_{model}.dir/")]
        if len(found) != 1:
            raise BuildError(f"CMake knows {len(found)} objects of the model test {model}, not one")
        return found[0]

    def _read_dependencies(self):
        said = _checked(["ninja", "-t", "deps"], self.folder, self.folder / "deps.log")
        # Thousands of objects name the same files.
        from_root = functools.cache(lambda file: os.path.relpath(os.path.join(self.folder, file), self.root))
        for block in said.split("\n\n"):
            first, *files = block.splitlines() or [""]
            output = first.partition(": #deps")[0]
            for file in files if output in self.commands else []:
                self.users.setdefault(from_root(file.strip()), set()).add(output)

    def _make_archive(self):
        """The library's objects by names that tell them apart: the linker names members without their folders."""
        members = self.folder / "members"
        shutil.rmtree(members, ignore_errors=True)
        members.mkdir()
        self.member = {output: output.removeprefix(LIBRARY).replace("/", ".") for output in self.commands
                       if output.startswith(LIBRARY)}
        for output, name in self.member.items():
            os.link(self.folder / output, members / name)
        self.archive.unlink(missing_ok=True)
        _checked(["ar", "rcs", self.archive, *sorted(self.member.values())], members, self.folder / "archive.log")

    def _members_in(self, said):
        """The members of the archive that the linker has taken."""
        taken = set(re.findall(r"[\w.]+\.o\b", said))
        return {output for output, name in self.member.items() if name in taken}

    def _read_linker(self, model):
        """The linker that CMake has chosen."""
        said = _checked(["ninja", "-t", "commands", "-s", f"model_{model}"], self.folder, self.folder / "link.log")
        self.linker = [w for w in shlex.split(said) if w.startswith(("-fuse-ld=", "-B/"))]

    def link(self, model, made, program, log):
        """What the linker prints. `made`: objects by the names of those that they replace."""
        test = self._test_object(model)
        objects = [made.get(test, test), *(path for output, path in made.items() if output != test)]
        return _checked([self.compiler, "-pthread", *self.linker, *objects, self.beside, self.archive, "-lgtest", "-lgtest_main",
                         "-Wl,-t,-t", "-o", program], self.folder, log)

    # Programs with changes: {file: text}

    def dependents(self, changes):
        """The objects that depend on one of the changed files."""
        return set().union(*(self.users.get(file, set()) for file in changes))

    def write_changes(self, changes, folder):
        for file, text in changes.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def changed_program(self, model, changes, folder):
        """Builds the test with the changes in `folder`."""
        self.write_changes(changes, folder)
        wanted = self.dependents(changes) & self.linked[model]
        if not wanted:
            raise BuildError(f"no part of {model} depends on {' and '.join(sorted(changes))}")
        made = {}
        while wanted:
            for output in sorted(wanted):
                made[output] = self.compile(output, changes, folder)
            said = self.link(model, made, folder / "run", folder / "log")
            # A change may need an object that the unmodified program does not have.
            wanted = (self._members_in(said) & self.dependents(changes)) - set(made)
        return folder / "run"

    def compile(self, output, changes, folder):
        """An object like the first `output`, with the changes that write_changes() has put into the folder."""
        words, source = self.commands[output]
        made = folder / "objects" / output
        front = [f"-I{folder / name}" for name in INCLUDED if (folder / name).is_dir()]
        self._compile([words[0], *front, *words[1:]], self._changed_source(output, pathlib.Path(source), changes, folder), made)
        return made

    def _changed_source(self, output, source, changes, folder):
        """The source of an object: a changed file, or one that CMake has made and that includes a changed file."""
        if (file := os.path.relpath(source, self.root)) in changes:
            return folder / file
        if not source.is_relative_to(self.folder):
            return source
        text = source.read_text()
        for file in changes:
            included = f'"{self.root / file}"'
            if file.endswith(".cpp") and output in self.users[file] and included not in text:
                raise BuildError(f"{source} does not include {included}")
            text = text.replace(included, f'"{folder / file}"')
        changed = folder / "made" / source.name
        changed.parent.mkdir(exist_ok=True)
        changed.write_text(text)
        return changed

    def _compile(self, words, source, made):
        made.parent.mkdir(parents=True, exist_ok=True)
        log = pathlib.Path(f"{made}.log")
        _checked([*self.launcher, *words, "-c", source, "-o", made], self.folder, log)
