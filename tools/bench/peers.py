"""The peers: where their sources are, what they need, how they are built. Sources of ours, packages of Debian's."""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing

import machine
import runner

CRATES = pathlib.Path("/usr/share/cargo/registry")


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    packages: tuple
    is_there: typing.Callable    # what it needs is installed
    version: typing.Callable
    build: typing.Callable       # (sources, folder for what is built) -> command, or None: it is no program of ours

    def missing(self):
        """Why it is skipped, or nothing."""
        if self.is_there():
            return ""
        first, *others = self.packages
        return f"not all are installed: {', '.join(self.packages)}" if others else f"{first} is not installed"


def has(*programs):
    return all(shutil.which(program) for program in programs)


def make(command, folder, **environment):
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise runner.Failed(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")


def is_newer(program, *folders):
    """Built already, and from these sources."""
    return program.exists() and all(
        program.stat().st_mtime >= s.stat().st_mtime for folder in folders for s in folder.rglob("*") if s.is_file())


def has_crate(name, version="1"):
    return pathlib.Path("/usr/bin/cargo").exists() and any(CRATES.glob(f"{name}-{version}.*"))


def crate_version(*names):
    found = [max(CRATES.glob(name + "-[0-9]*"), default=None) for name in names]
    return f"{', '.join(one.name if one else '?' for one in found)}, {machine.first_line('/usr/bin/rustc', '--version')}, release"


def build_crate(sources, out):
    program = out / "target/release" / f"rota_bench_{sources.name}"
    if not is_newer(program, sources):
        # A copy: cargo writes its lock file beside what it builds.
        shutil.copytree(sources, out / "source", dirs_exist_ok=True)
        make(["/usr/bin/cargo", "build", "--release", "--offline", "--target-dir", out / "target"], out / "source",
             PATH="/usr/bin:/bin", RUSTFLAGS="-C target-cpu=native")
    return [str(program)]


def build_go(sources, out):
    program = out / "rota_bench_go"
    if not is_newer(program, sources):
        make(["go", "build", "-o", program, "."], sources, GOCACHE=str(out / "cache"), GOFLAGS="-buildvcs=false")
    return [str(program)]


ASIO_HEADERS = ("boost/asio.hpp", "openssl/ssl.h")
ASIO_FLAGS = ("-std=c++20", "-O3", "-march=native", "-DNDEBUG", "-pthread")


def build_asio(sources, out):
    program = out / "rota_bench_asio"
    bench = sources.parent.parent
    if not is_newer(program, sources, bench / "support"):
        make(["g++", *ASIO_FLAGS, f"-I{bench}", "-o", program, *sorted(sources.glob("*.cpp")), "-lssl", "-lcrypto"], sources)
    return [str(program)]


def build_libuv(sources, out):
    program = out / "rota_bench_libuv"
    if not is_newer(program, sources):
        make(["g++", *ASIO_FLAGS, "-o", program, *sorted(sources.glob("*.cpp")), "-luv"], sources)
    return [str(program)]


def libuv_version():
    text = machine.file_text(UV_HEADER)
    parts = [re.search(rf"#define UV_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    return f"libuv {'.'.join(part[1] if part else '?' for part in parts)}, {machine.first_line('g++', '--version')}"


def asio_version():
    text = machine.file_text("/usr/include/boost/version.hpp")
    version = next((line.split('"')[1] for line in text.splitlines() if "BOOST_LIB_VERSION \"" in line), "?")
    return f"Boost.Asio {version}, {machine.first_line('g++', '--version')}, {' '.join(ASIO_FLAGS)}"


# Of the suites forkjoin and pool: the compiler and the level of rota's own measurements, and the same problems.
FORK_FLAGS = ("-std=c++20", "-O3", "-march=native", "-DNDEBUG", "-pthread")


def build_fork(*libraries):
    """How a peer in C++ is built that shares the problems of the suites forkjoin or pool."""
    def build(sources, out):
        program = out / f"rota_bench_{sources.name}"
        bench = sources.parent.parent
        if not is_newer(program, sources, bench / "support"):
            make(["clang++-19", *FORK_FLAGS, f"-I{bench}", "-o", program, *sorted(sources.glob("*.cpp")), *libraries], sources)
        return [str(program)]
    return build


def clang_and_flags():
    return f"{machine.first_line('clang++-19', '--version')}, {' '.join(FORK_FLAGS)}"


def tbb_version():
    text = machine.file_text("/usr/include/oneapi/tbb/version.h")
    parts = [re.search(rf"#define TBB_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    return f"oneTBB {'.'.join(part[1] if part else '?' for part in parts)}, {clang_and_flags()}"


UV_HEADER = pathlib.Path("/usr/include/uv/version.h")
OMP_HEADER = pathlib.Path("/usr/lib/llvm-19/lib/clang/19/include/omp.h")

PEERS = {peer.name: peer for peer in (
    # async-channel: Tokio has no channel with several receivers that take from one another.
    Peer("tokio", ("librust-tokio-dev", "librust-async-channel-dev", "librust-tokio-openssl-dev", "cargo", "rustc"),
         lambda: has_crate("tokio") and has_crate("async-channel") and has_crate("tokio-openssl", "0.6"),
         lambda: crate_version("tokio", "async-channel", "tokio-openssl"), build_crate),
    Peer("go", ("golang-go",), lambda: has("go"), lambda: machine.first_line("go", "version"), build_go),
    Peer("asio", ("libboost1.81-dev", "libssl-dev", "g++"),
         lambda: has("g++") and all(pathlib.Path("/usr/include", each).exists() for each in ASIO_HEADERS), asio_version,
         build_asio),
    Peer("tbb", ("libtbb-dev", "clang-19"),
         lambda: has("clang++-19") and pathlib.Path("/usr/include/oneapi/tbb/version.h").exists(), tbb_version,
         build_fork("-ltbb")),
    Peer("std", ("clang-19",), lambda: has("clang++-19"), lambda: f"threads and a queue, {clang_and_flags()}", build_fork()),
    Peer("openmp", ("libomp-19-dev", "clang-19"), lambda: has("clang++-19") and OMP_HEADER.exists(),
         lambda: f"LLVM's runtime, {clang_and_flags()} -fopenmp", build_fork("-fopenmp")),
    Peer("rayon", ("librust-rayon-dev", "cargo", "rustc"),
         lambda: has_crate("rayon"), lambda: crate_version("rayon"), build_crate),
    Peer("libuv", ("libuv1-dev", "g++"), lambda: has("g++") and UV_HEADER.exists(), libuv_version, build_libuv),
    Peer("nginx", ("nginx-light", "wrk"), lambda: has("nginx", "wrk"), lambda: machine.first_line("nginx", "-v"),
         lambda sources, out: None),
)}


def named(text):
    """The peers of --peers a,b; ends the program for one that there is not."""
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in (*PEERS, "all", "none")]
    if unknown:
        sys.exit(f"bench: there is no peer {', '.join(unknown)}; there are: {', '.join(PEERS)}, all, none")
    return [peer for peer in PEERS.values() if peer.name in names or "all" in names]


def chosen(text):
    """Those that were asked for, or all; and why some of them are skipped."""
    wanted = list(PEERS.values()) if text is None else named(text)
    skipped = [f"skipped: {peer.name} ({peer.missing()})" for peer in wanted if peer.missing()]
    return [peer for peer in wanted if not peer.missing()], skipped


def subject(peer, root, build):
    """Builds a peer's program."""
    out = build / "peers" / peer.name
    out.mkdir(parents=True, exist_ok=True)
    command = peer.build(root / "bench/peers" / peer.name, out)
    return runner.Subject(peer.name, command) if command else None
