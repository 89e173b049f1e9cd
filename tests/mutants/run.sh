#!/bin/bash
# Breaks the sources on purpose, one patch at a time, and expects a model test to notice.
#
#   run.sh [--compiler CXX] [--jobs N] [--limit SECONDS] [--draw N] [--seed TEXT] [--work FOLDER] [name-part...]
#
# Every tests/mutants/<model test>__<what>.diff is applied (`patch -p1`, no fuzz) to a copy of src/ and include/,
# and tests/model/<model test>.cpp is built against the copy, on the model. The unmodified sources must pass;
# every mutant must fail within the limit. A row of the table: how many executions the model's explorations had made when one
# of them failed, the seconds, the test and the exploration that failed; `-` if it died before it could say.
# At the end: how many of each model, and how long they took; the aim is 10 s each.
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

included_rooms() {
  grep -rhoP '^#include ("\K\w+(?=/)|<rota/\Ktime(?=\.hpp>))' "$@" 2>/dev/null | sort -u
}

# The rooms that a test includes, that these include, and so on. Public headers are defined in base and testing
# for all, and in the room of the same name; time.hpp in time, shields and deadlines in flow, what others wait in in task. A test of
# the whole has all of them.
rooms_of() {
  local rooms='' wanted room
  if grep -q '^#include <rota/rota.hpp>' "$root/tests/model/$1.cpp"; then
    (cd "$root/src" && printf '%s\n' */ | tr -d / | grep -vx simulated) # that is another machine
    return
  fi
  wanted="base testing $(included_rooms "$root/tests/model/$1.cpp")"
  ! grep -q '^#include <rota/cancel.hpp>' "$root/tests/model/$1.cpp" || wanted="$wanted flow"
  ! grep -q '^#include <rota/gate/' "$root/tests/model/$1.cpp" || wanted="$wanted gate"
  for room in sync channel io; do
    ! grep -q "^#include <rota/$room/" "$root/tests/model/$1.cpp" || wanted="$wanted $room task time flow"
  done
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

row() { printf '%-74s %-9s %10s %7s  %s\n' "$@"; }

# seconds_since NANOSECONDS, with two decimals.
seconds_since() {
  local hundredths=$((($(date +%s%N) - $1) / 10000000))
  printf '%d.%02d' $((hundredths / 100)) $((hundredths % 100))
}

# From the lines of ROTA_MODEL_TABLE: the executions up to the first exploration that failed, and its name, search and memory.
executions_until() {
  [ ! -f "$1" ] || awk -F '\t' '{ n += $6 } $7 == "FAILED" { print n "\t" $2 ", " $3 ", " $4; exit }' "$1"
}

# apply_and_build FOLDER MUTANT
apply_and_build() {
  cd "$1" && patch -s -p1 --fuzz=0 --no-backup-if-mismatch <"$here/$2.diff" && ninja -j1 run
}

# Prints its row; the status: 0 killed, 1 survived, 2 broken.
run_mutant() {
  local name=$1 folder="$work/$1" begin status seconds killer executions='' exploration=''
  rm -rf "$folder"
  cp -a "$work/base_${name%%__*}" "$folder" || return 2
  if ! (apply_and_build "$folder" "$name") >"$folder/log" 2>&1; then
    row "$name" BROKEN - - "does not apply or compile: $(grep -m1 -E 'error:|FAILED|malformed' "$folder/log")"
    return 2
  fi
  rm -f "$folder/table"
  begin=$(date +%s%N)
  # Most of them fail at once; the others have the whole search.
  (cd "$folder" && export ROTA_MODEL_TABLE=$folder/table ROTA_MODEL_BRIEF=1 &&
    timeout "$limit" ./run --gtest_fail_fast --gtest_brief=1 && unset ROTA_MODEL_BRIEF &&
    timeout "$limit" ./run --gtest_fail_fast --gtest_brief=1) >"$folder/log" 2>&1
  status=$?
  seconds=$(seconds_since "$begin")
  killer=$(grep -m1 -oP '\[  FAILED  \] \K[\w./]+' "$folder/log")
  IFS=$'\t' read -r executions exploration < <(executions_until "$folder/table")
  rm -rf "$folder"
  case $status in
    0) row "$name" SURVIVED - "$seconds" ''; return 1 ;;
    124) row "$name" LIMIT - "$seconds" 'no check failed in time'; return 1 ;;
    1) row "$name" killed "${executions:--}" "$seconds" "$killer${exploration:+: $exploration}" ;;
    *) row "$name" killed "${executions:--}" "$seconds" "${killer:-} died with status $status" ;;
  esac
  echo "${name%%__*} $seconds ${executions:-0}" >>"$work/kills"
}

# The sources as they are must pass. 0 passed, 2 not.
run_unmodified() {
  local base="$work/base_$1" begin
  begin=$(date +%s%N)
  if (cd "$base" && ROTA_MODEL_TABLE=$base/table timeout $((limit * 5)) ./run --gtest_brief=1) >"$base/log" 2>&1; then
    row "$1, unmodified" passed "$(awk -F '\t' '{ n += $6 } END { print n + 0 }' "$base/table")" "$(seconds_since "$begin")" ''
    return 0
  fi
  row "$1, unmodified" BROKEN - "$(seconds_since "$begin")" "it fails unmodified"
  cat "$base/log" >&2
  return 2
}

# One line of the list: a mutant, or a model test as it is.
if [ -n "$one" ]; then
  case $one in
    *__*) run_mutant "$one"; echo $? >>"$work/verdicts" ;;
    *) run_unmodified "$one" || echo "$one" >>"$work/broken" ;;
  esac
  exit 0
fi

# --- all

prepare() {
  local test=$1 base="$work/base_$1" folder
  rm -rf "$base"/{src,include,tests,table}
  mkdir -p "$base/tests"
  for folder in src include tests/model tests/support; do
    [ ! -d "$root/$folder" ] || cp -a --no-target-directory "$root/$folder" "$base/$folder" || die "cannot copy $folder"
  done
  write_build "$base" "$test"
  (cd "$base" && ninja -j"$jobs" run) >"$base/log" 2>&1 || die "$test does not compile: $(cat "$base/log")"
}

# The protocols that a model test names in its first lines.
protocols_of() { sed -n 1,4p "$root/tests/model/$1.cpp" | grep -oE '\bP[0-9]+\b' | sort -Vu | paste -sd, ; }

print_summary() {
  local test rows count executions most seconds slowest
  printf '\n%-20s %-12s %8s %7s %12s %12s %9s %9s %9s\n' model protocols mutants killed 'median exec.' 'most exec.' \
    'median s' 'slowest s' 'over 10 s'
  for test in "${tests[@]}"; do
    count=$(printf '%s\n' "${mutants[@]}" | grep -c "^${test}__")
    rows=$(sed -n "s/^$test //p" "$work/kills")
    read -r executions most < <(middle_and_last 2 <<<"$rows")
    read -r seconds slowest < <(middle_and_last 1 <<<"$rows")
    printf '%-20s %-12s %8d %7d %12s %12s %9s %9s %9d\n' "$test" "$(protocols_of "$test")" "$count" \
      "$(grep -c . <<<"$rows")" "$executions" "$most" "$seconds" "$slowest" "$(awk '$1 > 10 { n++ } END { print n + 0 }' <<<"$rows")"
  done
}

# middle_and_last COLUMN, of the sorted column.
middle_and_last() { sort -n -k "$1,$1" | awk -v c="$1" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] + 0, v[NR] + 0 }'; }

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
: >"$work/broken"

mapfile -t tests < <(printf '%s\n' "${mutants[@]%%__*}" | sort -u)
for test in "${tests[@]}"; do prepare "$test"; done
row mutant verdict executions seconds by
printf '%s\n' "${tests[@]}" "${mutants[@]}" |
  xargs -P "$jobs" -I{} "$here/run.sh" --compiler "$compiler" --limit "$limit" --work "$work" --one {}

print_summary
killed=$(grep -c '^0$' "$work/verdicts")
echo "mutants: $killed of ${#mutants[@]} killed in $SECONDS seconds, builds included"
[ ! -s "$work/broken" ] || die "these fail unmodified: $(paste -sd ' ' "$work/broken")"
[ "$killed" -ne ${#mutants[@]} ] || exit 0
! grep -q '^2$' "$work/verdicts" || exit 2
exit 1
