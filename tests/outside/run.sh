#!/usr/bin/env bash
# run.sh BUILD CXX [FLAG...]: installs the build into a new folder and builds the program beside this script against it,
# with find_package and with pkg-config; find_package must refuse another compiler. FLAGS are those without which nothing
# links (-fsanitize=...).
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
if [[ -x $work/build/outside_tls ]]; then "$work/build/outside_tls"; fi
# A failure is repeated byte for byte by another process.
if [[ -x $work/build/outside_race ]]; then
  "$work/build/outside_race" >"$work/found" || { cat "$work/found"; exit 1; }
  replay=$(sed -n 's/.*ROTA_MODEL_REPLAY=\([0-9a-f]*\).*/\1/p' "$work/found")
  ROTA_MODEL_REPLAY=$replay "$work/build/outside_race" >"$work/first" 2>&1
  ROTA_MODEL_REPLAY=$replay "$work/build/outside_race" >"$work/second" 2>&1
  cmp "$work/first" "$work/second"
  cat "$work/first"
fi

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

echo "== pkg-config"
if ! command -v pkg-config >/dev/null; then
  echo "pkg-config is not installed: this half is not run"
  exit 0
fi
libdir=$(dirname "$(find "$prefix" -name rota.pc)")
read -ra flags <<<"$(PKG_CONFIG_PATH=$libdir pkg-config --cflags --libs rota)"
"$cxx" -std=c++2b "$@" "$here/main.cpp" "${flags[@]}" -Wl,-rpath,"$(dirname "$libdir")" -o "$work/by_pkg_config"
"$work/by_pkg_config"
if [[ -f $libdir/rota-tls.pc ]]; then
  read -ra flags <<<"$(PKG_CONFIG_PATH=$libdir pkg-config --cflags --libs rota-tls)"
  "$cxx" -std=c++2b "$@" "$here/tls.cpp" "${flags[@]}" -Wl,-rpath,"$(dirname "$libdir")" -o "$work/tls_by_pkg_config"
  "$work/tls_by_pkg_config"
fi
