#!/usr/bin/env python3
"""Public headers compile alone, with every warning an error, with both compilers; and they stay small.

Small: what `clang++ -E` makes of a header has at most 1.1 times the bytes of a file that includes chrono, string, vector,
expected and span; rota.hpp 1.5 times. Headers in detail/ only have to compile. clang compiles with ROTA_CHECK_LIFETIMES: it then refuses
a function that returns a task and is neither a coroutine nor marked as a wrapper. <stop_token> only comes in through
rota/stop_token.hpp. Headers of the model (testing/, base_model.hpp) are compiled for the model. What is counted does not depend on where the
checkout lies: the preprocessor names each file it reads, so it reads them by a path from the root.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess

import project

REFERENCE = "clang++-19"
COMPILERS = (REFERENCE, "g++")
FLAGS = ["-std=c++2b", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
YARDSTICK = ("chrono", "string", "vector", "expected", "span")
UNWANTED = re.compile(r"^\s*#\s*include\s+<(functional|iostream|thread|ranges|atomic|memory)>")
LIMIT, LIMIT_OF_ALL = 1.12, 1.5


def flags_for(header):
    model = header.startswith("testing/") or header == "detail/base_model.hpp"
    return ["-Iinclude"] + (["-DROTA_MODEL=1"] if model else [])


def run(compiler, flags, text, root):
    return subprocess.run([compiler, *flags, "-x", "c++", "-"], input=text.encode(), capture_output=True, check=False, cwd=root)


def compile_alone(compiler, header, root):
    """Included twice: a header without #pragma once is found, too."""
    text = f"#include <rota/{header}>\n#include <rota/{header}>\n"
    lifetimes = ["-DROTA_CHECK_LIFETIMES"] if compiler == REFERENCE else []
    done = run(compiler, [*FLAGS, *lifetimes, *flags_for(header), "-fsyntax-only"], text, root)
    if done.returncode == 0:
        return []
    return [f"rota/{header}: does not compile alone with {compiler}:\n{done.stderr.decode(errors='replace')}"]


def preprocess(flags, text, root):
    done = run(REFERENCE, ["-std=c++2b", "-E", *flags], text, root)
    return done.stdout if done.returncode == 0 else b""


def check_size(header, root, yardstick):
    text = preprocess(flags_for(header), f"#include <rota/{header}>\n", root)
    limit = LIMIT_OF_ALL if header == "rota.hpp" else LIMIT
    ratio = len(text) / yardstick
    if ratio > limit:
        yield f"rota/{header}: {len(text)} preprocessed bytes are {ratio:.2f} times the yardstick; at most {limit}"
    if header != "stop_token.hpp" and re.search(rb'^# \d+ "[^"]*/stop_token"', text, re.MULTILINE):
        yield f"rota/{header}: brings in <stop_token>, which only rota/stop_token.hpp may"


def check_includes(header, root):
    lines = (root / "include/rota" / header).read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if hit := UNWANTED.match(line):
            yield f"include/rota/{header}:{number}: no <{hit[1]}> in a public header"


def jobs_for(header, root, compilers, yardstick):
    yield check_includes, (header, root)
    for compiler in compilers:
        yield compile_alone, (compiler, header, root)
    if REFERENCE in compilers and not header.startswith("detail/"):
        yield check_size, (header, root, yardstick)


def main():
    root = project.root_from_arguments()
    compilers = [c for c in COMPILERS if shutil.which(c)]
    if not compilers:
        project.finish([f"none of {', '.join(COMPILERS)} is installed"], "")
    yardstick = len(preprocess([], "".join(f"#include <{name}>\n" for name in YARDSTICK), root))
    headers = [p.relative_to(root / "include/rota").as_posix() for p in project.cxx_files(root, "include/rota")]
    jobs = [job for header in headers for job in jobs_for(header, root, compilers, yardstick)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda job: list(job[0](*job[1])), jobs)
        complaints = [complaint for complaints in found for complaint in complaints]
    project.finish(complaints, f"{len(headers)} headers, each alone, with {' and '.join(compilers)}")


if __name__ == "__main__":
    main()
