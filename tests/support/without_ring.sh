#!/usr/bin/env bash
# without_ring.sh PROGRAM ERROR asks|does_not_ask: a program of GoogleTest cases on a system that refuses io_uring_setup with ERROR. What chooses no
# backend runs on epoll, passes as ever, and has asked for no ring unless its tests ask themselves; in the pass for the ring every test is skipped, by
# that error. 77: nobody can stand in for the system here.
set -euo pipefail
readonly program=$1 error=$2 asks=$3

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "without_ring: $*" >&2
  tail -n 40 "$folder/said" >&2
  exit 1
}

command -v strace >/dev/null || skip "strace is not installed"
folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT

refused() {
  strace -f -qq -o "$folder/calls" -e signal=none -e trace=io_uring_setup -e "inject=io_uring_setup:error=$error" "$@"
}
refused true >"$folder/said" 2>&1 || skip "strace may not trace: $(head -n 1 "$folder/said")"

unset ROTA_IO
refused "$program" --gtest_brief=1 >"$folder/said" 2>&1 || fail "with $error, and no backend chosen"
grep -q '^\[  PASSED  \] [1-9]' "$folder/said" || fail "no test has passed"
asked=$(grep -c 'io_uring_setup(' "$folder/calls" || true)
case $asks in
  asks) ((asked > 0)) || fail "no test has asked for a ring" ;;
  does_not_ask) ((asked == 0)) || fail "who chooses no backend has asked for a ring" ;;
esac
grep '^\[==\|^\[  [PS]' "$folder/said"
echo "asked for a ring: $asked times"

case $error in
  ENOSYS) why='Function not implemented' ;;
  EPERM) why='Operation not permitted' ;;
  ENOMEM) why='Cannot allocate memory' ;;
  *) fail "what is $error?" ;;
esac
ROTA_IO=uring refused "$program" >"$folder/said" 2>&1 || fail "with $error, and the ring chosen"
if grep -q '^\[ RUN ' "$folder/said"; then fail "a test has run without the ring that it is for"; fi
grep "^\[  SKIPPED \] every test: $why" "$folder/said" || fail "it is not said why"
