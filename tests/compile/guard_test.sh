#!/usr/bin/env bash
# guard_test.sh CXX ROOT LIBRARY [FLAG...]: a program built unlike the library must not link, and the linker must name
# what is missing. The same program, built alike, must link.
set -euo pipefail

cxx=$1 root=$2 library=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

printf '%s\n' '#include <rota/detail/guard.hpp>' 'int main() {}' >"$work/main.cpp"

link_with() {  # compiler, object file's further flags...
  local compiler=$1
  shift
  "$compiler" -std=c++2b -I"$root/include" "$@" -c "$work/main.cpp" -o "$work/main.o" &&
    "$cxx" "${common[@]}" "$work/main.o" "$library" -pthread -Wl,-rpath,"$(dirname "$library")" -o "$work/program" 2>"$work/log"
}

must_be_refused() {  # symbol, compiler, flags...
  local symbol=$1
  shift
  if link_with "$@"; then
    echo "a program compiled by '$*' links with ${library##*/}"
    exit 1
  fi
  grep -q "$symbol" "$work/log" || {
    cat "$work/log"
    echo "the linker does not name $symbol"
    exit 1
  }
  echo "refused: $* ($symbol)"
}

common=("$@")
link_with "$cxx" "$@" || { cat "$work/log"; echo "a program built alike does not link"; exit 1; }
must_be_refused rota_model_library_was_not_built_with_ "$cxx" "$@" -DROTA_MODEL=1

if "$cxx" --version | grep -qi clang; then
  other=g++ symbol='rota_library_was_not_built_with_gcc_[0-9]*_as_this_file_was'
else
  other=clang++-19 symbol='rota_library_was_not_built_with_clang_[0-9]*_as_this_file_was'
fi
if command -v "$other" >/dev/null; then must_be_refused "$symbol" "$other"; fi
