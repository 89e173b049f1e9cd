#!/usr/bin/env bash
# cost_test.sh CXX ROOT: in a release build the seam costs nothing. The same hot functions, compiled with the seam and with
# the standard library in its place, must be the same instructions.
set -euo pipefail

cxx=$1 root=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$root/include" "$work/include"
cp "$here/base_native.hpp" "$work/include/rota/detail/base_native.hpp"

instructions_of() { # include folder, name
  "$cxx" -std=c++2b -O2 -DNDEBUG -I"$1" -I"$root/src" -c "$here/hot.cpp" -o "$work/$2.o"
  objdump -dr --no-show-raw-insn --no-addresses -C "$work/$2.o" | sed '1,/^Disassembly/d' >"$work/$2"
}
instructions_of "$root/include" seam
instructions_of "$work/include" standard

for name in hot_wake hot_release hot_push; do
  grep -q "^<$name(" "$work/seam" || { echo "$name is not there"; exit 1; }
done
diff "$work/standard" "$work/seam" || { echo "the seam is not free"; exit 1; }
echo "$(grep -cP "^\t" "$work/seam") instructions, the same with std::atomic and plain fields"
