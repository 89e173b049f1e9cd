"""What a result depends on: the machine, the compiler and its flags, the peers' versions."""
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return ""
    if done.returncode != 0:
        return ""
    return ((done.stdout or done.stderr).splitlines() or [""])[0].strip()


def file_text(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def processor():
    name = re.search(r"^model name\s*:\s*(.*)$", file_text("/proc/cpuinfo"), re.MULTILINE)
    return name[1] if name else platform.machine()


def cache_value(build, name):
    found = re.search(rf"^{name}:\w+=(.*)$", file_text(build / "CMakeCache.txt"), re.MULTILINE)
    return found[1] if found else ""


def compiler(build):
    """Such as `clang 19.1.7`."""
    path = cache_value(build, "CMAKE_CXX_COMPILER") or "c++"
    line = first_line(path, "--version")
    version = re.search(r"\d+\.\d+\.\d+", line)
    return f"{'clang' if 'clang' in line else 'g++'} {version[0] if version else 'unknown'}"


def flags(build):
    """Those of a benchmark of rota, and of the library, without folders and names of files."""
    try:
        commands = json.loads((build / "compile_commands.json").read_text())
    except (OSError, ValueError):
        return "unknown"
    return "; library: ".join(flags_of(commands, file) for file in ("bench/task/rota.cpp", "src/task/header.cpp"))


def flags_of(commands, file):
    for one in commands:
        if one["file"].endswith(file):
            words = shlex.split(one["command"])
            return " ".join(w for w in words[1:] if re.match(r"-(O|m|f|std|D|g|pthread|stdlib)", w))
    return "unknown"


def allocator():
    return os.environ.get("LD_PRELOAD") or "glibc " + (platform.libc_ver()[1] or "?")


def facts(build, root, peers):
    governor = file_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "none to be seen"
    commit = first_line("git", "-C", str(root), "describe", "--always", "--dirty")
    yield f"machine    {processor()}, {os.cpu_count()} processors, governor {governor}"
    yield f"system     {platform.system()} {platform.release()}, load {os.getloadavg()[0]:.2f} at the start"
    yield f"rota       {commit or 'unknown'}, {compiler(build)}, {flags(build)}"
    yield f"allocator  {allocator()}, for rota and for peers in C++ and Rust"
    for peer in peers:
        yield f"{peer.name:10} {peer.version()}"
