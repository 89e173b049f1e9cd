#!/usr/bin/env bash
# run.sh BUILD CXX [FLAG...]: installs the build into a new folder and builds the programs beside this script against it
# (consumers.sh); find_package must refuse another compiler. FLAGS are those without which nothing links (-fsanitize=...).
set -euo pipefail

build=$1 cxx=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Installed in one place and used in another: an installed tree may be moved.
cmake --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
prefix=$work/prefix
mv "$work/first" "$prefix"
# As a whole path: a clone in /rota is not named by include/rota/task.hpp.
root=$(cd "$here/../.." && pwd | sed 's/[^[:alnum:]_/]/[&]/g')
if grep -rIlE -e "(^|[^[:alnum:]_./+-]|-[IL])($root|$work/first)(/|[^[:alnum:]_.+-]|\$)" "$prefix"; then
  echo "these installed files name the folder they were built or installed in"
  exit 1
fi
# Code and data of the libraries do not either. Debug information does, for debuggers, and so do a sanitizer's tables.
if (($# == 0)); then
  while read -r library; do
    strip --strip-debug -o "$work/stripped" "$library"
    if grep -aqE -e "(^|[^[:alnum:]_./+-])$root/(include|src)/" "$work/stripped"; then
      echo "$library names the folder that it was built in: $(strings -a "$work/stripped" | grep -m1 -E -e "$root/(include|src)/")"
      exit 1
    fi
  done < <(find "$prefix" -type f -name 'librota*' ! -name '*.pc')
fi
find "$prefix" -name check_coroutines.py -executable | grep -q . || { echo "the lint is not installed"; exit 1; }

"$here/consumers.sh" "$prefix" "$cxx" "$@"

echo "== another compiler"
if "$cxx" --version | grep -qi clang; then
  own='clang [0-9]*' other=g++ others='g++ [0-9]*'
else
  own='g++ [0-9]*' other=clang++-19 others='clang 19'
fi
if ! command -v "$other" >/dev/null; then
  echo "$other is not installed: this part is not run"
elif cmake -G Ninja -S "$here" -B "$work/other" -DCMAKE_CXX_COMPILER="$other" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
  echo "find_package accepts a library of another compiler"
  exit 1
else
  # CMake breaks the lines of a message.
  said=$(tr -s ' \n' ' ' <"$work/log")
  expected="rota in $prefix was built by $own; this project uses $others: choose .*ROTA_CXX=$other ./dev install $prefix"
  grep -o -- "$expected" <<<"$said" || { cat "$work/log"; echo "find_package does not say: $expected"; exit 1; }
fi
