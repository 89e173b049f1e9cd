#!/usr/bin/env bash
# log_analyzer_test.sh PROGRAM: examples/log_analyzer with mailboxes and without, and how it ends.
set -euo pipefail
export LC_ALL=C

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf '%s\n' "FAILED: $*" >&2
  exit 1
}
# ends_with CODE COMMAND...
ends_with() {
  local wanted=$1 code=0
  shift
  "$@" >"$work/out" 2>"$work/errors" || code=$?
  ((code == wanted)) || { cat "$work/errors" >&2; fail "exit code $code, and not $wanted: $*"; }
}
complains() { grep -qF -- "$1" "$work/errors" || { cat "$work/errors" >&2; fail "no word of: $1"; }; }

echo "== the same output, byte for byte"
"$program" --generate 8000000 --seed 5 >"$work/log"
"$program" "$work/log" --plain --top 100000 >"$work/plain"
for threads in 0 1 2 4; do
  "$program" "$work/log" --threads "$threads" --top 100000 | cmp - "$work/plain" || fail "$threads threads say something else"
done
(($(wc -l <"$work/plain") > 1000)) || fail "there are few clients"
head -n 3 "$work/plain"

echo "== counted by others"
lines=$(wc -l <"$work/log")
grep -q "^lines $lines, malformed $(grep -c '^worker' "$work/log")," "$work/plain" || fail "the lines"
read -r most client < <(grep -v '^worker' "$work/log" | cut -d ' ' -f 1 | sort | uniq -c | sort -k1,1nr -k2 | head -n 1)
sed -n 2p "$work/plain" | grep -q "^$client requests $most " || fail "the client with the most requests"

echo "== how it ends"
: >"$work/empty"
ends_with 0 "$program" "$work/empty"
ends_with 0 "$program" --help
ends_with 1 "$program" "$work/none"
complains "$work/none"
ends_with 1 "$program" "$work"
complains "Is a directory"
ends_with 2 "$program"
complains "FILE, or --generate,"
ends_with 2 "$program" "$work/log" --threads 257
complains "threads"
ends_with 2 "$program" "$work/log" --generate 5
ends_with 2 "$program" "$work/log" --seed 5
if [[ -c /dev/full ]]; then
  code=0
  "$program" --generate 100000 >/dev/full 2>"$work/errors" || code=$?
  ((code == 1)) || fail "a full disk ends it with $code"
fi
