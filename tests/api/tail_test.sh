#!/bin/bash
# examples/tail: the last lines, a file that grows, is rotated, cut, and missing at first.
set -u

tail=$1
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT
log=$work/log

fail() {
  echo "FAILED: $*" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}
start() {
  # Emptied here: the background process may open the file after the caller has looked at what an earlier one wrote.
  : >"$work/out"
  "$tail" "$@" >"$work/out" 2>"$work/err" &
  pid=$!
}
# Until the output is exactly this; it is sure to come.
expect() {
  for _ in $(seq 1500); do
    [ "$(cat "$work/out")" = "$1" ] && return
    kill -0 "$pid" 2>/dev/null || fail "it has ended: $2"
    sleep 0.02
  done
  fail "$2"
}
stop() {
  kill -TERM "$pid"
  wait "$pid" || fail "a signal ends it well"
  pid=
}

seq 20000 >"$log"
start -n 3 "$log"
expect $'19998\n19999\n20000' "the last lines"
echo one >>"$log"
expect $'19998\n19999\n20000\none' "what is appended"

# Written to after it was renamed, too.
mv "$log" "$log.1"
echo two >>"$log.1"
expect $'19998\n19999\n20000\none\ntwo' "the end of the old one"
echo three >"$log"
expect $'19998\n19999\n20000\none\ntwo\nthree' "the new one from its start"

printf 'x' >"$log"
expect $'19998\n19999\n20000\none\ntwo\nthree\nx' "one that was cut"
grep -q 'was cut' "$work/err" || fail "that is said"

# However often it is rotated: the folder and the file that is there are watched, and nothing else.
expected=$(cat "$work/out")
for i in 1 2 3 4; do
  mv "$log" "$log.old$i"
  echo "again $i" >"$log"
  expected+=$'\n'"again $i"
  [ "$i" = 1 ] && expected="${expected/x$'\n'again/xagain}"
  expect "$expected" "a file that is rotated often"
done
watches() { cat /proc/"$pid"/fdinfo/* 2>/dev/null | grep -c '^inotify wd'; }
[ "$(watches)" = 2 ] || fail "there are $(watches) watches"
stop

# Nobody can read it.
"$tail" "$log" >/dev/full 2>"$work/err" && fail "what cannot be printed is an error"
grep -q 'No space left' "$work/err" || fail "which one"

rm "$log"
start "$log"
echo late >"$log"
expect "late" "one that comes later"
stop

printf 'a\nb\nc' >"$log"
start -n 2 "$log"
expect $'b\nc' "a line without an end is one"
stop
start -n 0 "$log"
# It does not say when it is there: whatever comes first of what is written meanwhile, none of it was there before.
for _ in $(seq 1500); do
  echo d >>"$log"
  [ -s "$work/out" ] && break
  sleep 0.02
done
grep -q '^d$' "$work/out" || fail "what is new"
grep -qv '^d$' "$work/out" && fail "none of those that were there"
stop

"$tail" "$work/nowhere/log" 2>"$work/err" && fail "without its folder there is nothing to wait for"
grep -q 'No such file' "$work/err" || fail "why"
"$tail" -n x "$log" 2>"$work/err"
[ $? = 2 ] || fail "a number that is none"
exit 0
