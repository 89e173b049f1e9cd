#!/usr/bin/env bash
# Starts the file server on a free port, fetches files and compares them, loads it, drains it. Exit 0 or a clear error.
# usage: demo_check.sh PROGRAM [DIR]
set -euo pipefail

program=$1
work=$(mktemp -d)
server=''
cleanup() {
  if [[ -n $server ]] && kill -0 "$server" 2>/dev/null; then kill -KILL "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT

fail() {
  printf '%s\n' "demo: FAILED: $*" >&2
  [[ -f $work/log ]] && sed 's/^/  server: /' "$work/log" >&2
  exit 1
}
pass() { printf '  %-58s ok\n' "$*"; }

for tool in curl wrk cmp; do command -v "$tool" >/dev/null || fail "$tool is not installed"; done

root=${2:-}
if [[ -z $root ]]; then
  root=$work/www
  mkdir -p "$root/folder"
  printf '<!doctype html><title>rota</title><p>It works.\n' >"$root/index.html"
  : >"$root/empty.txt"
  head -c 1024 /dev/urandom >"$root/1k.bin"
  head -c 65536 /dev/urandom >"$root/64k.bin"
  head -c 1048576 /dev/urandom >"$root/1m.bin"
  cp "$root/1k.bin" "$root/folder/a name with spaces.bin"
fi

: >"$work/log" # it is looked at before the server has opened it
"$program" "$root" --port 0 >"$work/log" 2>&1 &
server=$!
url=''
for _ in $(seq 1 100); do
  url=$(sed -n 's|.*\(http://[0-9.:]*/\)$|\1|p' "$work/log")
  [[ -n $url ]] && break
  kill -0 "$server" 2>/dev/null || fail "the server ended at once"
  sleep 0.1
done
[[ -n $url ]] || fail "the server did not say where it listens"
echo "file_server serves $root on $url"

count=0
while IFS= read -r -d '' file; do
  name=${file#"$root"/}
  encoded=${name//%/%25}
  encoded=${encoded// /%20}
  curl -sSf --max-time 20 -o "$work/got" "$url$encoded" || fail "GET /$encoded"
  cmp -s "$file" "$work/got" || fail "GET /$encoded: other bytes than the file's"
  count=$((count + 1))
done < <(find "$root" -type f -not -path '*/.*' -not -name '*[#?%]*' -print0 | head -z -n 200)
((count > 0)) || fail "no file to fetch in $root"
pass "$count files fetched, byte for byte"

expect() { # status, curl arguments...
  local wanted=$1 got
  shift
  got=$(curl -s --max-time 20 -o /dev/null -w '%{http_code}' --path-as-is "$@") || true
  [[ $got == "$wanted" ]] || fail "expected $wanted, got $got: $*"
}
expect 404 "${url}no-such-file"
expect 404 "${url}../../etc/passwd"
expect 404 "${url}%2e%2e/%2e%2e/etc/passwd"
expect 405 -X DELETE "$url"
expect 414 "$url$(printf 'a%.0s' {1..5000})"
expect 431 -H "X-Long: $(printf 'a%.0s' {1..20000})" "$url"
pass "refusals: 404, 405, 414, 431, traversal"
# A file of at least two bytes, for what is asked of parts of it.
part=$(cd "$root" && find . -type f -size +1c -not -path '*/.*' -not -name '*[#?% ]*' | head -n 1)
[[ -n $part ]] || fail "no file of two bytes in $root"
curl -sSf --max-time 20 -r 0-1 -o "$work/got" "$url${part#./}" || fail "a range of $part"
cmp -s <(head -c 2 "$root/$part") "$work/got" || fail "a range of $part: other bytes than the file's"
expect 206 -r 0-1 "$url${part#./}"
expect 416 -r 99999999999999- "$url${part#./}"
pass "ranges: 206, 416"

fields=$(curl -sSf --max-time 20 -I "$url${part#./}" | tr -d '\r') || fail "HEAD $part"
grep -qx "Content-Length: $(stat -c %s "$root/$part")" <<<"$fields" || fail "HEAD $part: the wrong length"
tag=$(sed -n 's/^ETag: //p' <<<"$fields")
date=$(sed -n 's/^Last-Modified: //p' <<<"$fields")
expect 304 -H "If-None-Match: $tag" "$url${part#./}"
expect 304 -H "If-Modified-Since: $date" "$url${part#./}"
expect 412 -H 'If-Match: "another"' "$url${part#./}"
pass "HEAD, and conditions: 304, 412"

curl -sSf --max-time 20 "$url-/stats" | grep -q '"connections_accepted":' || fail "/-/stats"
pass "/-/stats is JSON"

target=$(cd "$root" && find . -type f -size -64k -size +0 -not -path '*/.*' -not -name '*[#?% ]*' | head -n 1)
wrk -t1 -c64 -d5s "$url${target#./}" >"$work/wrk" || fail "wrk"
if grep -qE 'Socket errors|Non-2xx' "$work/wrk"; then
  cat "$work/wrk" >&2
  fail "errors under load"
fi
pass "5 s of load, 64 connections, no error: $(awk '/Requests\/sec/ {print $2}' "$work/wrk") requests/s"

kill -TERM "$server"
for _ in $(seq 1 150); do
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
if kill -0 "$server" 2>/dev/null; then fail "the server did not end within 15 s of SIGTERM"; fi
code=0
wait "$server" || code=$?
((code == 0)) || fail "the server ended with $code"
grep -q '^drained$' "$work/log" || fail "the server did not drain"
pass "drained on SIGTERM, exit code 0"
echo "demo: all checks passed"
