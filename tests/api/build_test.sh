#!/usr/bin/env bash
# build_test.sh PROGRAM: examples/build on a small tree of C++ beside a plain shell, and ninja where that is installed; and how it ends.
# shellcheck disable=SC2016 # what a shell is to expand, and not this one
set -euo pipefail
export LC_ALL=C

program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cxx=${CXX:-c++}

fail() {
  printf '%s\n' "FAILED: $*" >&2
  for file in "$work"/out "$work"/errors; do [[ ! -s $file ]] || sed "s/^/  ${file##*\/}: /" "$file" >&2; done
  exit 1
}
# ends_with CODE ARGUMENT...: the program; its standard output and error go to files.
ends_with() {
  local wanted=$1 code=0
  shift
  "$program" "$@" >"$work/out" 2>"$work/errors" </dev/null || code=$?
  ((code == wanted)) || fail "exit code $code, and not $wanted: $*"
}
says() { grep -qF -- "$1" "$work/out" || fail "no word of: $1"; }
says_not() { ! grep -qF -- "$1" "$work/out" || fail "a word of: $1"; }
complains() { grep -qF -- "$1" "$work/errors" || fail "no word of: $1"; }
# ran TITLE...: these and no others, in any order.
ran() {
  sed -n 's/^\[[0-9]*\/[0-9]*\] //p' "$work/out" | sort >"$work/ran"
  printf '%s\n' "$@" | sort | cmp - "$work/ran" || fail "ran: $(tr '\n' ',' <"$work/ran")"
}
is_gone() { ! kill -0 "$1" 2>/dev/null || fail "process $1 is left"; }
# start FOLDER ARGUMENT...: the program in the background, as $child.
start() {
  local folder=$1
  shift
  : >"$work/out" # not by the process alone: the caller looks at once, and an earlier one has written here
  (cd "$folder" && exec env --default-signal=INT,TSTP "$program" "$@" >"$work/out" 2>"$work/errors" </dev/null) &
  child=$!
}
# ended CODE: what was started last.
ended() {
  local code=0
  wait "$child" || code=$?
  ((code == $1)) || fail "exit code $code, and not $1"
}
# folder NAME: an empty one, with the rules of a build.ninja.
folder() {
  mkdir "$work/$1"
  cd "$work/$1"
  printf 'rule sh\n  command = $do\n  description = $out\n' >build.ninja
}
# statement LINE DO [BINDING]...: one that runs DO.
statement() {
  printf 'build %s\n  do = %s\n' "$1" "$2" >>build.ninja
  shift 2
  ((0 == $#)) || printf '  %s\n' "$@" >>build.ninja
}

# --- a tree of C++

libraries=(base math text net main_lib)
write_sources() {
  local lib part
  for lib in "${libraries[@]}"; do
    mkdir -p "src/$lib"
    echo "int ${lib}_a(); int ${lib}_b(); int ${lib}_c();" >"src/$lib/$lib.h"
    for part in a b c; do
      printf '#include "%s.h"\n#include "version.h"\nint %s_%s() { return VERSION + %d; }\n' \
        "$lib" "$lib" "$part" "$((${#lib} + ${#part}))" >"src/$lib/$part.cpp"
    done
  done
  {
    printf '#include "%s"\n' base/base.h math/math.h text/text.h net/net.h main_lib/main_lib.h
    echo 'extern "C" int printf(const char*, ...);'
    printf '%s\n' 'int main() { printf("%d\n", base_a() + math_b() + text_c() + net_a() + main_lib_b()); }'
  } >src/main.cpp
  echo 7 >src/version
}
# The same commands for a Ninja file, and for a shell.
edge() { # RULE OUTPUTS INPUTS [IMPLICIT] [ORDER-ONLY]
  printf 'build %s: %s %s%s%s\n' "$2" "$1" "$3" "${4:+ | $4}" "${5:+ || $5}" >>build.ninja
  local in=$3 out=$2
  case $1 in
    version) echo "{ printf '#define VERSION '; cat $in; } >gen/version.h; cp $in gen/version.txt" ;;
    cc) echo "$cxx -O1 -Igen -Isrc -c $in -o $out" ;;
    ar) echo "rm -f $out; ar rcsD $out $in" ;;
    link) echo "$cxx $in -o $out" ;;
    run) echo "./$in >$out" ;;
    cp) echo "cp $in $out" ;;
  esac >>commands.sh
}
write_build() {
  local lib part objects archives=
  cat >build.ninja <<END
# A tree of libraries.
cxx = $cxx
flags = -O1 \$
    -Igen -Isrc
pool links
  depth = 1
rule version
  command = { printf '#define VERSION '; cat \$in; } >gen/version.h; cp \$in gen/version.txt
  description = VERSION
rule cc
  command = \$cxx \$flags -c \$in -o \$out
  description = CC \$out
rule ar
  command = rm -f \$out; ar rcsD \$out \$in
  description = AR \${out}
rule link
  command = \$cxx \$in -o \$out
  description = LINK \$out
  pool = links
rule run
  command = ./\$in >\$out
  description = RUN \$out
rule cp
  command = cp \$in \$out
  description = CP \$out
END
  echo 'set -e; mkdir -p gen obj/base obj/math obj/text obj/net obj/main_lib lib bin' >commands.sh
  edge version 'gen/version.h gen/version.txt' src/version
  for lib in "${libraries[@]}"; do
    objects=
    for part in a b c; do
      edge cc "obj/$lib/$part.o" "src/$lib/$part.cpp" "src/$lib/$lib.h gen/version.h"
      objects+=" obj/$lib/$part.o"
    done
    edge ar "lib/$lib.a" "${objects# }"
    archives+=" lib/$lib.a"
  done
  edge cc obj/main.o src/main.cpp src/net/net.h gen/version.h
  edge link bin/app "obj/main.o$archives"
  edge run result bin/app
  edge cp bin/version.txt gen/version.txt
  printf 'build all: phony result bin/version.txt\nbuild extra: cp src/version\ndefault all\n' >>build.ninja
}
tree=$work/tree
mkdir "$tree"
cd "$tree"
write_sources
write_build
cp -r "$tree" "$work/plain"
cp -r "$tree" "$work/other"
# same_as FOLDER: what was made there.
same_as() { diff -r -x extra -x .build_log -x .ninja_log -x .ninja_deps "$tree" "$1" || fail "other files than in $1"; }

echo "== the files that a plain shell makes"
(cd "$work/plain" && sh commands.sh)
ends_with 0 -n
says "[25/25]"
[[ ! -e bin ]] || fail "a dry run made something"
ends_with 0 -j 4 --trace "$work/trace.json" --dot "$work/graph.dot"
same_as "$work/plain"
says "[25/25]"
says "build: 25 commands"
[[ ! -e extra ]] || fail "more than the default"
if command -v ninja >/dev/null; then
  (cd "$work/other" && ninja >/dev/null)
  same_as "$work/other"
else
  echo "ninja is not installed: this part is not run"
fi
grep -q '^digraph build {$' "$work/graph.dot" || fail "no graph"
if command -v python3 >/dev/null; then
  python3 - "$work/trace.json" <<'END' || fail "the trace"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
assert len(events) == 25 and {e["tid"] for e in events} <= {0, 1, 2, 3}
for slot in range(4):
    spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == slot)
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans
END
fi

echo "== a second run, and what has to be run after a change"
ends_with 0
says "build: nothing to do"
touch src/math/b.cpp
ends_with 0
ran 'CC obj/math/b.o' 'AR lib/math.a' 'LINK bin/app' 'RUN result'
touch src/net/net.h
ends_with 0 -n
ran 'CC obj/net/a.o' 'CC obj/net/b.o' 'CC obj/net/c.o' 'CC obj/main.o' 'AR lib/net.a' 'LINK bin/app' 'RUN result'
cp "$work/out" "$work/dry"
ends_with 0 -j 3
cmp <(sed -n 's/^\[.*\] //p' "$work/dry" | sort) "$work/ran" || fail "a dry run says something else"
ran 'CC obj/net/a.o' 'CC obj/net/b.o' 'CC obj/net/c.o' 'CC obj/main.o' 'AR lib/net.a' 'LINK bin/app' 'RUN result'
sed -i 's/^cxx = .*/& -g0/' build.ninja
ends_with 0 lib/text.a
ran 'CC obj/text/a.o' 'CC obj/text/b.o' 'CC obj/text/c.o' 'AR lib/text.a'
sed -i 's/^cxx = \(.*\) -g0/cxx = \1/' build.ninja
rm bin/version.txt
ends_with 0 bin/version.txt
ran 'CP bin/version.txt'
ends_with 0
same_as "$work/plain"
ends_with 0 extra
ran 'CP extra'

echo "== a compiler's error"
cp src/text/b.cpp "$work/good.cpp"
echo 'int wrong() { return; }' >src/text/b.cpp
touch src/base/a.cpp
ends_with 1 -j 1 -k
says "FAILED: obj/text/b.o (exit code 1)"
says "b.cpp:1"
ran 'CC obj/base/a.o' 'AR lib/base.a' 'CC obj/text/b.o'
says "2 done, 1 failed, 3 not done"
cp "$work/good.cpp" src/text/b.cpp
ends_with 0
same_as "$work/plain"

echo "== failures"
folder failures
statement 'half: sh' 'echo half >half; echo to one; echo to two >&2; exit 3'
statement 'next: sh half' 'cp half next'
statement 'last: sh next' 'cp next last'
statement 'a: sh' 'touch a'
statement 'b: sh a' 'cp a b'
ends_with 1 -j 1
says $'FAILED: half (exit code 3)'
says "0 done, 1 failed, 4 not done"
grep -A 1 '^to one$' "$work/out" | grep -qx 'to two' || fail "an output that is not whole"
[[ ! -e half ]] || fail "the output of a command that failed is left"
ends_with 1 -j 1 -k
says "2 done, 1 failed, 2 not done"
[[ -e b && ! -e next ]] || fail "-k does not go on, or too far"
ends_with 0 a b
says "nothing to do"

echo "== again"
folder again
statement 'a: sh' 'echo x >>tries; [ $$(wc -l <tries) = 3 ] && cp tries a'
ends_with 1 --retry 1 --backoff 0.001
says "AGAIN: a (exit code 1, attempt 1 of 2)"
says "FAILED: a (exit code 1)"
rm tries
ends_with 0 --retry 5 --backoff 0.001
says "attempt 2 of 6"
says_not "attempt 3 of 6"
(($(wc -l <a) == 3)) || fail "not three attempts"

echo "== at a time"
folder pools
printf 'pool one\n  depth = 1\n' >>build.ninja
for i in $(seq 12); do statement "p$i: sh" "mkdir lock && touch p$i && rmdir lock" 'pool = one'; done
mkfifo there here
statement 'left: sh' 'echo 1 >there; read line <here; touch left'
statement 'right: sh' 'read line <there; echo 1 >here; touch right'
ends_with 0 -j 8
says "[14/14]"
folder order
for i in 1 2 3; do statement "alone$i: sh" "touch alone$i"; done
for i in 1 2 3; do statement "chain$i: sh $( ((i > 1)) && echo "chain$((i - 1))")" "touch chain$i"; done
ends_with 0 -j 1
head -n 1 "$work/out" | grep -qF chain1 || fail "the longest chain is not the first"

echo "== the end by a signal"
folder signals
mkfifo told deaf_told back
statement 'half | more_half: sh' 'echo half >half; echo half >more_half; sleep 1000 & echo $$$$ $$! >told; wait'
statement 'next: sh half' 'cp half next'
statement 'deaf: sh' "trap '' TERM; echo half >deaf; echo \$\$\$\$ >deaf_told; while :; do sleep 1000; done"
statement 'careful: sh' "trap 'echo told >back' TERM; echo half >careful; echo \$\$\$\$ >told; while :; do sleep 1000 & wait; done"
for signal in INT TERM HUP; do
  start . -j 2 --grace 0.05 next deaf
  read -r -a pids < <(head -n 1 told)
  read -r -a pids2 < <(head -n 1 deaf_told)
  [[ -e half && -e deaf ]] || fail "nothing was begun"
  kill "-$signal" "$child"
  ended $((128 + $(kill -l "$signal")))
  says "interrupted: 0 done, 0 failed, 3 not done"
  ((${#pids[@]} + ${#pids2[@]} == 3)) || fail "not three processes: ${pids[*]} ${pids2[*]}"
  for pid in "${pids[@]}" "${pids2[@]}"; do is_gone "$pid"; done
  [[ ! -e half && ! -e more_half && ! -e deaf ]] || fail "what was half written is left"
done
start . --grace 1000 careful
pid=$(head -n 1 told)
kill -INT "$child"
head -n 1 back >/dev/null
kill -INT "$child"
ended 130
is_gone "$pid"
[[ ! -e careful ]] || fail "what was half written is left"

echo "== killed"
start . half
read -r pid other < <(head -n 1 told)
kill -KILL "$child"
ended 137 2>/dev/null
kill -KILL -- "-$pid"
[[ -e half ]] || fail "nothing was begun"
sed -i 's/^  do = echo half >half.*/  do = echo whole >half; echo >more_half/' build.ninja
ends_with 0 half
ran 'half'
[[ $(cat half) == whole && -n $other ]] || fail "what was half written is taken for whole"

echo "== too late"
folder late
statement 'a: sh' 'echo half >a; echo $$$$ >told; sleep 1000'
start . --timeout 1 --retry 3
ended 1
says "FAILED: a (timed out after 1.000 s)"
is_gone "$(cat told)"
[[ ! -e a ]] || fail "what was half written is left"

echo "== a pause"
state_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c 1; }
folder pause
mkfifo told back
statement 'a: sh' 'echo $$$$ >told; read line <back; echo $$line >a'
statement 'b: sh a' 'cp a b'
set -m
start . --timeout 500
set +m
pid=$(head -n 1 told)
for _ in 1 2; do
  kill -TSTP "$child"
  until [[ $(state_of "$child") == T && $(state_of "$pid") == T ]]; do sleep 0.01; done
  kill -CONT "$child"
  while [[ $(state_of "$child") == T || $(state_of "$pid") == T ]]; do sleep 0.01; done
done
echo line >back
ended 0
[[ $(cat b) == line ]] || fail "it does not go on"

echo "== what is refused before anything runs"
# refused TEXT LINE...: a file of these lines, behind three of a rule.
refused() {
  local text=$1
  shift
  printf '%s\n' 'rule sh' '  command = $do' 'build first: sh' '  do = touch first' "$@" >build.ninja
  ends_with 2
  complains "$text"
  [[ ! -e first ]] || fail "something ran"
}
folder refused
refused "build: build.ninja:5: unknown rule 'cc'" 'build a: cc b'
refused "build: build.ninja:6: 'a' is made twice: also in line 5" 'build a: sh' 'build b a: sh'
refused "build: build.ninja:5: dependency cycle: a -> b -> c -> a" 'build a: sh b' 'build b: sh c' 'build c: sh || a'
refused "build: build.ninja:5: 'missing', needed by 'a', is missing, and no statement makes it" 'build a: sh missing'
refused "build: build.ninja:6: 'depfile' is not supported" 'build a: sh' '  depfile = d'
refused "build: build.ninja:5: 'include' is not supported" 'include x'
refused "build: build.ninja:5: unknown target 'x'" 'default x'
ends_with 2 -f none.ninja
complains "build: none.ninja: cannot be read"
ends_with 2 nothing
ends_with 2 -j 0
complains "build: "
ends_with 0 --help

echo "== a terminal"
folder terminal
for i in 1 2 3; do statement "a$i: sh" "touch a$i"; done
statement 'loud: sh a1 a2 a3' 'echo word; touch loud'
if command -v script >/dev/null; then
  script -qec "$program -j 1" /dev/null </dev/null >"$work/out" || fail "exit code $?"
  grep -qF $'\r[2/4] a2\e[K\r[2/4] a3\e[K\r[3/4] a3\e[K' "$work/out" || fail "lines are not written over"
  grep -qF $'[4/4] loud\e[K' "$work/out" && grep -q '^word' "$work/out" || fail "an output in a line that is written over"
else
  echo "script is not installed: this part is not run"
fi
echo "all as it must be"
