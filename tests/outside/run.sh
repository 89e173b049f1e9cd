#!/usr/bin/env bash
# run.sh BUILD CXX [FLAG...]: installs the build into a new folder and builds the program beside this script against it,
# with find_package and with pkg-config. FLAGS are those without which nothing links (-fsanitize=...).
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
if grep -rIl -e "$work/first" -e "$(cd "$here/../.." && pwd)" "$prefix"; then
  echo "these installed files name the folder they were built or installed in"
  exit 1
fi
find "$prefix" -name check_coroutines.py -executable | grep -q . || { echo "the lint is not installed"; exit 1; }

echo "== find_package"
CXXFLAGS="$*" cmake -G Ninja -S "$here" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" -j1
"$work/build/outside"
if [[ -x $work/build/outside_testing ]]; then "$work/build/outside_testing"; fi

echo "== pkg-config"
if ! command -v pkg-config >/dev/null; then
  echo "pkg-config is not installed: this half is not run"
  exit 0
fi
libdir=$(dirname "$(find "$prefix" -name rota.pc)")
read -ra flags <<<"$(PKG_CONFIG_PATH=$libdir pkg-config --cflags --libs rota)"
"$cxx" -std=c++2b "$@" "$here/main.cpp" "${flags[@]}" -Wl,-rpath,"$(dirname "$libdir")" -o "$work/by_pkg_config"
"$work/by_pkg_config"
