#!/bin/bash
# examples/run: lines and exit codes; and a signal ends its commands, with what they have started.
set -u

run=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$work/out" >&2
  exit 1
}

"$run" 'echo one; exit 3' 'echo two >&2' >"$work/out" 2>&1
[ $? = 3 ] || fail "the worst exit code is its own"
grep -qx '\[1\] one' "$work/out" || fail "a line of the first"
grep -qx '\[1\] exit code 3' "$work/out" || fail "how the first has ended"
grep -qx '\[2\] two' "$work/out" || fail "a line of the second"

# It says its group, and is stopped while a process of that group sleeps.
"$run" 'echo $$; sleep 1000 & wait' 'trap "" TERM; echo deaf; sleep 1000; sleep 1000' >"$work/out" 2>&1 &
pid=$!
until grep -qx '\[1\] [0-9]*' "$work/out" && grep -q deaf "$work/out"; do sleep 0.02; done
group=$(sed -n 's/^\[1\] \([0-9]*\)$/\1/p' "$work/out")
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "a signal is its exit code"
for _ in $(seq 500); do
  kill -0 -- "-$group" 2>/dev/null || break
  sleep 0.02
done
! kill -0 -- "-$group" 2>/dev/null || fail "the group has ended"
