#!/bin/bash
# Breaks the sources on purpose, one patch at a time, and expects a model test to notice.
#
#   run.sh [--compiler CXX] [--jobs N] [--limit SECONDS] [--draw N] [--seed TEXT] [--work FOLDER] [name-part...]
#
# Every tests/mutants/<model test>__<what>.diff is applied (`patch -p1`, no fuzz) to a copy of src/ and include/,
# and tests/model/<model test>.cpp is built against the copy, on the model. The unmodified sources must pass;
# every mutant must fail within the limit. At the end: how many of each model, and how long they took; the aim is 10 s each.
#
#   name-part   only mutants whose name contains one of these
#   --draw      only N of them, chosen by --seed
#   --work      build here, and keep it: a second run builds only what has changed. Otherwise below $TMPDIR
#
# Exit: 0 all killed; 1 one survived, or ran into the limit; 2 one does not apply or compile, or the original
# fails.
set -u -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
compiler=${ROTA_CXX:-}
jobs=2 limit=60 draw=0 seed=rota work='' one='' parts=()

die() {
  echo "mutants: $*" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --compiler) compiler=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    --draw) draw=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    --work) work=$2; shift 2 ;;
    --one) one=$2; shift 2 ;;
    -*) die "unknown option $1" ;;
    *) parts+=("$1"); shift ;;
  esac
done

# --- what to build

included_rooms() { grep -rhoP '^#include "\K\w+(?=/)' "$@" 2>/dev/null | sort -u; }

# The rooms that a test includes, that these include, and so on. Public headers are defined in base and testing
# for all, and in the room of the same name. A test of the whole has all of them.
rooms_of() {
  local rooms='' wanted
  if grep -q '^#include <rota/rota.hpp>' "$root/tests/model/$1.cpp"; then
    (cd "$root/src" && printf '%s\n' */ | tr -d /)
    return
  fi
  wanted="base testing $(included_rooms "$root/tests/model/$1.cpp")"
  while [ -n "$wanted" ]; do
    # shellcheck disable=SC2086 # lists of words
    rooms=$(printf '%s\n' $rooms $wanted | sort -u)
    wanted=$(for room in $wanted; do included_rooms "$root/src/$room"; done | sort -u | comm -13 <(echo "$rooms") -)
  done
  echo "$rooms"
}

# Their sources, without those that the model replaces: cmake/library.cmake names them. Exploring tasks needs a runtime.
sources_of() {
  local replaced room
  local -a without=(-e /none/)
  rooms_of "$1" | grep -qx runtime || without+=(-e src/testing/tasks.cpp)
  replaced=$(sed -n 's/^set(ROTA_NATIVE_ONLY \(.*\))/\1/p' "$root/cmake/library.cmake" | tr ' ' '\n' | sed 's|.*|src/&/|')
  for room in $(rooms_of "$1"); do
    (cd "$root" && find "src/$room" -name '*.cpp' 2>/dev/null)
  done | grep -vF "${replaced:-/none/}" | grep -vF "${without[@]}" | sort
}

# A build of one model test in `$1`. A copy of the folder, patched, builds again what the patch has touched.
write_build() {
  local folder=$1 test=$2 launcher='' objects='' source
  command -v ccache >/dev/null && launcher=ccache
  {
    echo "flags = -std=c++2b -O1 -pthread -DROTA_MODEL=1 -Iinclude -Isrc -Itests"
    echo "rule cxx"
    echo "  command = $launcher $compiler \$flags -MMD -MF \$out.d -c \$in -o \$out"
    echo "  depfile = \$out.d"
    echo "  deps = gcc"
    echo "rule link"
    echo "  command = $compiler -pthread \$in -lgtest -lgtest_main -o \$out"
    for source in "tests/model/$test.cpp" $(sources_of "$test"); do
      echo "build o/$source.o: cxx $source"
      objects="$objects o/$source.o"
    done
    echo "build run: link$objects"
  } >"$folder/build.ninja"
}

# --- one mutant

row() { printf '%-58s %-9s %7s  %s\n' "$@"; }

# apply_and_build FOLDER MUTANT
apply_and_build() {
  cd "$1" && patch -s -p1 --fuzz=0 --no-backup-if-mismatch <"$here/$2.diff" && ninja -j1 run
}

# Prints its row; the status: 0 killed, 1 survived, 2 broken.
run_mutant() {
  local name=$1 folder="$work/$1" begin status seconds killer
  rm -rf "$folder"
  cp -a "$work/base_${name%%__*}" "$folder" || return 2
  if ! (apply_and_build "$folder" "$name") >"$folder/log" 2>&1; then
    row "$name" BROKEN - "does not apply or compile: $(grep -m1 -E 'error:|FAILED|malformed' "$folder/log")"
    return 2
  fi
  begin=$(date +%s%N)
  (cd "$folder" && timeout "$limit" ./run --gtest_fail_fast --gtest_brief=1) >"$folder/log" 2>&1
  status=$?
  seconds=$((($(date +%s%N) - begin) / 10000000))
  seconds=$((seconds / 100)).$(printf '%02d' $((seconds % 100)))
  killer=$(grep -m1 -oP '\[  FAILED  \] \K[\w./]+' "$folder/log")
  rm -rf "$folder"
  case $status in
    0) row "$name" SURVIVED "$seconds" ''; return 1 ;;
    124) row "$name" LIMIT "$seconds" 'no check failed in time'; return 1 ;;
    1) row "$name" killed "$seconds" "$killer" ;;
    *) row "$name" killed "$seconds" "${killer:-} died with status $status" ;;
  esac
  echo "${name%%__*} $seconds" >>"$work/kills"
}

if [ -n "$one" ]; then
  run_mutant "$one"
  echo $? >>"$work/verdicts"
  exit 0
fi

# --- all

prepare() {
  local test=$1 base="$work/base_$1" folder begin=$SECONDS
  rm -rf "$base"/{src,include,tests}
  mkdir -p "$base/tests"
  for folder in src include tests/model tests/support; do
    [ ! -d "$root/$folder" ] || cp -a --no-target-directory "$root/$folder" "$base/$folder" || die "cannot copy $folder"
  done
  write_build "$base" "$test"
  (cd "$base" && ninja -j"$jobs" run) >"$base/log" 2>&1 || die "$test does not compile: $(cat "$base/log")"
  begin=$SECONDS
  (cd "$base" && timeout $((limit * 5)) ./run --gtest_brief=1) >"$base/log" 2>&1 ||
    die "$test fails unmodified: $(cat "$base/log")"
  row "$test, unmodified" passed $((SECONDS - begin)) ''
}

# The protocols that a model test names in its first lines.
protocols_of() { sed -n 1,4p "$root/tests/model/$1.cpp" | grep -oE '\bP[0-9]+\b' | sort -Vu | paste -sd, ; }

print_summary() {
  local test times count
  printf '\n%-18s %-12s %8s %7s %9s %9s %9s\n' model protocols mutants killed 'median s' 'slowest s' 'over 10 s'
  for test in $(printf '%s\n' "${mutants[@]%%__*}" | sort -u); do
    times=$(sed -n "s/^$test //p" "$work/kills" | sort -n)
    count=$(printf '%s\n' "${mutants[@]}" | grep -c "^${test}__")
    awk -v test="$test" -v protocols="$(protocols_of "$test")" -v count="$count" 'NF { t[++n] = $1; slow += $1 > 10 }
      END { printf "%-18s %-12s %8d %7d %9s %9s %9d\n", test, protocols, count, n, t[int((n + 1) / 2)], t[n], slow }' <<<"$times"
  done
}

wants() {
  local part
  [ ${#parts[@]} -gt 0 ] || return 0
  for part in "${parts[@]}"; do
    case $1 in *"$part"*) return 0 ;; esac
  done
  return 1
}

[ -n "$compiler" ] || compiler=$(command -v clang++-19 || command -v g++) || die 'no compiler'
for tool in ninja patch timeout shuf; do
  command -v $tool >/dev/null || die "needs $tool"
done

mutants=()
for file in "$here"/*.diff; do
  name=$(basename "$file" .diff)
  [ -e "$root/tests/model/${name%%__*}.cpp" ] || die "$name: there is no tests/model/${name%%__*}.cpp"
  ! wants "$name" || mutants+=("$name")
done
[ ${#mutants[@]} -gt 0 ] || die 'no mutant has such a name'
if [ "$draw" -gt 0 ]; then
  mapfile -t mutants < <(printf '%s\n' "${mutants[@]}" | shuf -n "$draw" --random-source=<(yes "$seed"))
fi

if [ -z "$work" ]; then
  work=$(mktemp -d "${TMPDIR:-/tmp}/rota_mutants.XXXXXX") || die 'no folder to work in'
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work" && work=$(cd "$work" && pwd) || die "cannot use $work"
: >"$work/verdicts"
: >"$work/kills"

row mutant verdict seconds by
for test in $(printf '%s\n' "${mutants[@]%%__*}" | sort -u); do prepare "$test"; done
printf '%s\n' "${mutants[@]}" |
  xargs -P "$jobs" -I{} "$here/run.sh" --compiler "$compiler" --limit "$limit" --work "$work" --one {}

print_summary
killed=$(grep -c '^0$' "$work/verdicts")
echo "mutants: $killed of ${#mutants[@]} killed"
[ "$killed" -ne ${#mutants[@]} ] || exit 0
! grep -q '^2$' "$work/verdicts" || exit 2
exit 1
