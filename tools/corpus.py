#!/usr/bin/env python3
"""The committed inputs of the fuzz targets: one archive each, tests/fuzz/corpus/<name>.tar.xz, of few inputs that reach as much as all.

    corpus.py pack FOLDER ARCHIVE             makes an archive of a folder
    corpus.py unpack ARCHIVE FOLDER           and a folder of an archive
    corpus.py merge [--programs DIR] NAME...  adds the inputs of build/fuzz/NAME, keeps few, and rewrites the archive

The same inputs make the same archive, byte for byte. An input is called by the first digits of its SHA-1; one with a name in
words is a regression: it keeps its name and is never left out. libfuzzer_NAME decides which others stay, by the features that
they reach, among which are the states that a target notes.
"""
import argparse
import functools
import hashlib
import io
import lzma
import os
import pathlib
import re
import signal
import sys
import tarfile
import tempfile

import processes
import project

HASH = re.compile(r"[0-9a-f]{8}|[0-9a-f]{40}")
REACHED = re.compile(r"\bcov: (\d+) ft: (\d+)")
ATTEMPTS = re.compile(r"successful in (\d+) attempt")
OPTIONS = ("-max_len=4096", "-timeout=10", "-rss_limit_mb=2048", "-seed=1", "-shuffle=0")


class CorpusError(Exception):
    """The archive stays as it was; the text says why."""


# --- archives

def inputs_of(folder):
    """{name: bytes} of the files of a folder, without doubles. Names in words stay; each other input is called by its hash."""
    files = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())] if folder.is_dir() else []
    found = {name: data for name, data in files if has_words(name)}
    for data in sorted({data for _, data in files} - set(found.values())):
        digest = hashlib.sha1(data).hexdigest()
        found[digest[:8] if digest[:8] not in found else digest] = data
    return found


def has_words(name):
    return not HASH.fullmatch(name)


def packed(inputs):
    """The bytes of the archive: short inputs first, no times, no owners."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(inputs.items(), key=lambda item: (len(item[1]), item[1], item[0])):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return lzma.compress(tar.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def unpacked(archive):
    """{name: bytes} of an archive, or nothing if there is none."""
    if not archive.exists():
        return {}
    try:
        # All at once: tarfile takes a compressed stream that is cut for one that ends.
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(archive.read_bytes()))) as tar:
            entries = tar.getmembers()
            if any(not entry.isfile() or "/" in entry.name or entry.name.startswith(".") for entry in entries):
                raise CorpusError(f"{archive} holds more than plain inputs")
            return {entry.name: tar.extractfile(entry).read() for entry in entries}
    except (tarfile.TarError, lzma.LZMAError) as error:
        raise CorpusError(f"{archive} cannot be read: {error}") from error


def write_archive(archive, inputs):
    """Replaces the archive in one step, if it changes."""
    if not inputs:
        raise CorpusError(f"no inputs for {archive}")
    data = packed(inputs)
    if archive.exists() and archive.read_bytes() == data:
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        fresh.write_bytes(data)
        fresh.replace(archive)
    finally:
        fresh.unlink(missing_ok=True)


def write_folder(folder, inputs):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in inputs.items():
        (folder / name).write_bytes(data)


# --- merging

@functools.cache
def fixed_addresses():
    """What to put before a command so that its addresses are the same each time: what some targets reach depends on them."""
    command = ["setarch", "-R"]
    try:
        return command if processes.run([*command, "true"])[0] == 0 else []
    except FileNotFoundError:
        return []


def said_by(program, *arguments, scratch):
    """What a libFuzzer program prints. An input that breaks the target is left to ./dev fuzz to tell of."""
    code, said = processes.run([*fixed_addresses(), program, *OPTIONS, f"-artifact_prefix={scratch}/broken-", *arguments])
    if skipped := re.search(r"^skipped: .*$", said, re.MULTILINE):
        raise CorpusError(skipped[0])
    if code != 0:
        raise CorpusError(f"{program} fails: an input breaks the target, and ./dev fuzz names it\n{said[-2000:]}")
    return said


def reached_by(program, inputs, scratch):
    """(edges, features) that the inputs reach together, one after the other, in the order of the archive."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    write_folder(folder, inputs)
    found = REACHED.findall(said_by(program, "-runs=0", folder, scratch=scratch))
    if not found:
        raise CorpusError(f"{program} does not say what it reaches")
    return tuple(map(int, found[-1]))


def merge_into(program, kept, everything, scratch):
    """Adds to a folder few inputs of another that reach what those in it do not."""
    said = said_by(program, "-set_cover_merge=1", kept, everything, scratch=scratch)
    attempts = ATTEMPTS.search(said)
    if not attempts or attempts[1] != "1":
        raise CorpusError(f"{program}: an input breaks the target while they are merged\n{said[-2000:]}")


def merged(program, old, new, scratch):
    """(inputs, what all reach, what these reach): few of all inputs. Those with words for a name come first, and all of them stay.

    What an input reaches depends a little on those before it, and on threads. A second round adds what the first has missed.
    If something is missing still, none of the old inputs goes.
    """
    everything, kept = scratch / "everything", scratch / "kept"
    write_folder(everything, new | old)
    write_folder(kept, {name: data for name, data in (new | old).items() if has_words(name)})
    before = reached_by(program, new | old, scratch)
    for keeps_old in (False, False, True):
        if keeps_old:
            write_folder(kept, old)
        else:
            merge_into(program, kept, everything, scratch)
        after = reached_by(program, inputs_of(kept), scratch)
        if after[0] >= before[0] and after[1] >= before[1]:
            break
    return inputs_of(kept), before, after


def merge(name, programs, root):
    """Rewrites the archive of one target. Returns a line that says what it reaches."""
    archive = root / f"tests/fuzz/corpus/{name}.tar.xz"
    program = programs / f"libfuzzer_{name}"
    if not program.exists():
        raise CorpusError(f"there is no {program}")
    old, new = unpacked(archive), inputs_of(root / "build/fuzz" / name)
    if not old and not new:
        raise CorpusError(f"there are no inputs: ./dev fuzz {name} makes some")
    with tempfile.TemporaryDirectory() as folder:
        kept, before, after = merged(program, old, new, pathlib.Path(folder))
    size = archive.stat().st_size if archive.exists() else 0
    write_archive(archive, kept)
    return (f"{name}: {len(old)} inputs and {len(new)} new ones, {before[0]} edges, {before[1]} features; kept {len(kept)}, "
            f"{after[0]} edges, {after[1]} features; {size} bytes before, {archive.stat().st_size} now")


def merge_all(names, programs, root):
    """Returns whether one could not be merged."""
    failed = 0
    for name in names:
        try:
            print(merge(name, programs, root), flush=True)
        except CorpusError as error:
            failed += 1
            print(f"{name}: not merged: {error}", flush=True)
    return failed > 0


def interrupt(*_):
    raise KeyboardInterrupt


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, first, second in (("pack", "folder", "archive"), ("unpack", "archive", "folder")):
        command = commands.add_parser(name)
        command.add_argument(first, type=pathlib.Path)
        command.add_argument(second, type=pathlib.Path)
    command = commands.add_parser("merge")
    command.add_argument("names", nargs="+", metavar="NAME")
    command.add_argument("--programs", type=pathlib.Path, default=project.HERE / "build/dev/tests/libfuzzer")
    command.add_argument("--root", type=pathlib.Path, default=project.HERE, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, interrupt)  # clean up as after Ctrl-C
    try:
        if options.command == "merge":
            sys.exit(merge_all(options.names, options.programs, options.root))
        if options.command == "pack":
            write_archive(options.archive, inputs_of(options.folder))
        else:
            write_folder(options.folder, unpacked(options.archive))
    except (CorpusError, OSError) as error:
        sys.exit(f"corpus: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
