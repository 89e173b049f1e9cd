#!/usr/bin/env bash
# consumers.sh [--all] PREFIX CXX [FLAG...]: builds the programs beside this script against the rota in PREFIX, with find_package
# and with pkg-config, and runs them. FLAGS are those without which nothing links (-fsanitize=...). --all: rota::testing and
# rota::tls must be there, too; otherwise the programs that use them are left out.
set -euo pipefail

components=''
if [[ ${1:-} == --all ]]; then components='testing;tls' && shift; fi
(($# >= 2)) || { echo "usage: consumers.sh [--all] PREFIX CXX [FLAG...]" >&2; exit 2; }
prefix=$1 cxx=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ -d $prefix ]] || { echo "$prefix is not a folder" >&2; exit 1; }
command -v "$cxx" >/dev/null || { echo "$cxx is not installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

by_find_package() {
  local program
  echo "== find_package"
  CXXFLAGS="$*" cmake -G Ninja -S "$here" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" \
    -DOUTSIDE_COMPONENTS="$components" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  cmake --build "$work/build" -j1
  for program in "$work"/build/outside*; do
    [[ $program != *_race ]] || continue # is run below
    "$program"
  done
  [[ ! -x $work/build/outside_race ]] || race
}

# The model finds a failure, and another process repeats it byte for byte.
race() {
  local replay
  "$work/build/outside_race" >"$work/found" || { cat "$work/found"; exit 1; }
  replay=$(sed -n 's/.*ROTA_MODEL_REPLAY=\([0-9a-f]*\).*/\1/p' "$work/found")
  ROTA_MODEL_REPLAY=$replay "$work/build/outside_race" >"$work/first" 2>&1
  ROTA_MODEL_REPLAY=$replay "$work/build/outside_race" >"$work/second" 2>&1
  cmp "$work/first" "$work/second"
  cat "$work/first"
}

by_pkg_config() {
  local libdir name source
  local -a flags
  echo "== pkg-config"
  command -v pkg-config >/dev/null || { echo "pkg-config is not installed"; exit 1; }
  libdir=$(dirname "$(find "$prefix" -name rota.pc)")
  for name in rota rota-tls; do
    [[ -f $libdir/$name.pc ]] || continue
    source=main
    [[ $name == rota ]] || source=tls
    read -ra flags <<<"$(PKG_CONFIG_PATH=$libdir pkg-config --cflags --libs "$name")"
    "$cxx" -std=c++2b "$@" "$here/$source.cpp" "${flags[@]}" -Wl,-rpath,"$(dirname "$libdir")" -o "$work/by_$name"
    "$work/by_$name"
  done
}

find "$prefix" -name rota.pc | grep -q . || { echo "there is no rota.pc below $prefix" >&2; exit 1; }
by_find_package "$@"
by_pkg_config "$@"
echo "consumers: all that use $prefix work, by find_package and by pkg-config"
