#!/usr/bin/env bash
# chat_test.sh PROGRAM: examples/chat as a process: its port, its clients, how it ends.
set -euo pipefail
export LC_ALL=C

program=$1
work=$(mktemp -d)
server=
trap 'if [[ -n $server ]]; then kill -KILL "$server" 2>/dev/null || true; fi; rm -rf "$work"' EXIT

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

# start OPTIONS...: what it prints goes through a pipe, so that its first line can be waited for.
start() {
  coproc SERVER { exec "$program" --port 0 "$@"; }
  # The array goes when the process does.
  server=$SERVER_PID
  exec {output}<&"${SERVER[0]}"
  local first
  read -r -u "$output" first
  [[ $first == "listening on 127.0.0.1:"* ]] || fail "it says: $first"
  port=${first##*:}
}
# stops SIGNAL: it ends with 0.
stops() {
  local code=0
  kill "-$1" "$server"
  wait "$server" || code=$?
  server=
  ((code == 0)) || fail "$1 ends it with $code"
  cat <&"$output" >"$work/log"
  exec {output}<&-
}
# hears CLIENT LINE
hears() {
  local got
  read -r -u "$1" got || fail "the end, and not: $2"
  [[ $got == "$2" ]] || fail "$got, and not: $2"
}
# skips CLIENT BEGINNING: up to a line that begins so.
skips() {
  local got
  while read -r -u "$1" got; do
    [[ $got != "$2"* ]] || return 0
  done
  fail "the end, and not: $2"
}
ended() {
  local got
  ! read -r -u "$1" got || fail "a line, and not the end: $got"
}

echo "== how it is called"
ends_with 0 "$program" --help
grep -q -- '--slow drop|disconnect' "$work/out" || fail "no help"
ends_with 2 "$program" --slow down
complains "neither drop nor disconnect"
ends_with 2 "$program" --port 65536
complains "--port"
ends_with 2 "$program" somewhere

for signal in INT TERM; do
  echo "== two clients, and SIG$signal"
  start
  exec {ann}<>"/dev/tcp/127.0.0.1/$port" {bob}<>"/dev/tcp/127.0.0.1/$port"
  printf '/nick ann\n/join den\n' >&"$ann"
  skips "$ann" "-- in den: ann"
  printf '/nick bob\r\n/join den\r\n' >&"$bob"
  skips "$bob" "-- in den: ann, bob"
  hears "$ann" "-- bob joined den"
  for i in 1 2 3; do
    printf 'line %s\n' "$i" >&"$ann"
    hears "$ann" "ann: line $i"
    hears "$bob" "ann: line $i"
  done
  stops "$signal"
  for each in "$ann" "$bob"; do
    hears "$each" "-- the server is going down"
    ended "$each"
  done
  exec {ann}>&- {bob}>&-
  grep -qx 'stopped: 2 clients came, 3 lines were said, 0 dropped' "$work/log" || { cat "$work/log" >&2; fail "its last line"; }
done

echo "== a port that is taken"
start --max-line 64
ends_with 1 "$program" --port "$port"
complains "cannot listen: Address already in use"

echo "== too long a line; a client who is gone before it has read anything, which resets the connection"
exec {ann}<>"/dev/tcp/127.0.0.1/$port"
printf '/nick ann\n/join den\n' >&"$ann"
skips "$ann" "-- in den: ann"
exec {bob}<>"/dev/tcp/127.0.0.1/$port"
printf '/nick bob\n/join den\n%0100d\n' 0 >&"$bob"
skips "$bob" "!! a line has at most 64 bytes"
ended "$bob"
exec {bob}>&-
hears "$ann" "-- bob joined den"
hears "$ann" "-- bob was disconnected: too long a line"
for i in 1 2 3 4 5; do
  exec {bob}<>"/dev/tcp/127.0.0.1/$port"
  printf '/nick b%s\n/join den\n' "$i" >&"$bob"
  hears "$ann" "-- b$i joined den"
  exec {bob}>&-
  skips "$ann" "-- b$i l"
done
stops INT
hears "$ann" "-- the server is going down"
ended "$ann"
exec {ann}>&-

echo "== a client who never reads is disconnected, and holds up nobody"
start --slow disconnect --outbox 16 --send-buffer 8192
exec {ann}<>"/dev/tcp/127.0.0.1/$port" {zed}<>"/dev/tcp/127.0.0.1/$port"
printf '/nick ann\n/join den\n' >&"$ann"
skips "$ann" "-- in den:"
printf '/nick zed\n/join den\n' >&"$zed"
hears "$ann" "-- zed joined den"
printf -v long '%0500d' 0
got=
until [[ $got == "-- zed was disconnected: too slow" ]]; do
  printf '%s\n' "$long" >&"$ann"
  read -r -u "$ann" got || fail "ann was disconnected"
done
stops INT
exec {ann}>&- {zed}>&-
