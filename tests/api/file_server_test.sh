#!/usr/bin/env bash
# file_server_test.sh PROGRAM: examples/file_server over HTTPS, beside curl and openssl; and what it says of wrong certificates.
set -euo pipefail
export LC_ALL=C

program=$1
work=$(mktemp -d)
server=
trap 'if [[ -n $server ]]; then kill -KILL "$server"; wait "$server"; fi 2>/dev/null || true; rm -rf "$work"' EXIT

fail() {
  printf '%s\n' "FAILED: $*" >&2
  sed 's/^/  said: /' "$work/out" "$work/errors" >&2
  exit 1
}
# refuses ARGUMENTS...: the program, which ends with exit code 2 and listens nowhere.
refuses() {
  local code=0
  timeout 20 "$program" "$work/www" --port 0 "$@" >"$work/out" 2>"$work/errors" || code=$?
  ((code == 2)) || fail "exit code $code: $*"
  [[ ! -s $work/out ]] || fail "it has begun to serve: $*"
}
complains() { grep -qF -- "$1" "$work/errors" || fail "no word of: $1"; }

mkdir "$work/www"
: >"$work/out"
: >"$work/errors"
head -c 3000000 /dev/urandom >"$work/www/file"

echo "== both or neither"
refuses --certificate "$work/cert.pem"
complains '--certificate requires --key'
refuses --key "$work/key.pem"
complains '--key requires --certificate'
refuses --certificate "$work/none.pem" --key "$work/key.pem"
complains '--certificate'
if grep -qF 'without OpenSSL' "$work/errors"; then
  echo "all good: this program has no HTTPS, and says so"
  exit 0
fi

for needed in curl openssl; do
  command -v "$needed" >/dev/null || { echo "FAILED: this test needs $needed" >&2; exit 1; }
done
certificate() { # FILE KEY
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
    -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout "$2" -out "$1" 2>/dev/null
}
certificate "$work/cert.pem" "$work/key.pem"
certificate "$work/other.pem" "$work/other-key.pem"

echo "== what is of no use"
refuses --certificate "$work/none.pem" --key "$work/key.pem"
complains "--certificate $work/none.pem: "
complains 'No such file or directory'
refuses --certificate "$work/cert.pem" --key "$work/none.pem"
complains "--key $work/none.pem: "
refuses --certificate "$work/www/file" --key "$work/key.pem"
complains "--certificate $work/www/file: "
refuses --certificate "$work/cert.pem" --key "$work/other-key.pem"
complains "--key $work/other-key.pem: not the key of the certificate: "
complains 'key values mismatch'
openssl pkey -in "$work/key.pem" -aes256 -passout pass:secret -out "$work/encrypted.pem"
refuses --certificate "$work/cert.pem" --key "$work/encrypted.pem"
complains 'encrypted'

echo "== files"
"$program" "$work/www" --port 0 --certificate "$work/cert.pem" --key "$work/key.pem" >"$work/out" 2>"$work/errors" &
server=$!
url=
until [[ -n $url ]]; do
  kill -0 "$server" 2>/dev/null || fail "the server ended at once"
  url=$(sed -n 's|.*\(https://[0-9.:]*/\)$|\1|p' "$work/out")
  sleep 0.02
done
at=${url#https://}
at=${at%/}
fetch() { curl -sSf --max-time 60 --cacert "$work/cert.pem" "$@"; }
fetch -o "$work/got" "${url}file" || fail "curl"
cmp "$work/got" "$work/www/file" || fail "other bytes than the file's"
fetch -o "$work/got" -r 1000-2000000 "${url}file" || fail "a range by curl"
cmp "$work/got" <(tail -c +1001 "$work/www/file" | head -c 1999001) || fail "other bytes than the range's"
length=$(fetch -I "${url}file" | tr -d '\r' | sed -n 's/^Content-Length: //p')
[[ $length == 3000000 ]] || fail "HEAD says $length"
used=$(fetch -o /dev/null -o /dev/null -w '%{num_connects} ' "${url}file" "${url}file")
[[ $used == '1 0 ' ]] || fail "new connections for two files: $used"

echo "== a browser"
browser=$(command -v chromium || command -v chromium-browser || true)
if [[ -n $browser ]]; then
  # A page, what it loads, and what its script asks for: over as many connections as the browser likes.
  cat >"$work/www/index.html" <<'PAGE'
<!doctype html><title>nothing yet</title><script src="script.js"></script>
PAGE
  cat >"$work/www/script.js" <<'SCRIPT'
Promise.all([1, 2, 3].map(n => fetch(`file?${n}`).then(answer => answer.arrayBuffer())))
  .then(all => { document.title = "bytes: " + all.reduce((sum, one) => sum + one.byteLength, 0); });
SCRIPT
  # --no-sandbox: as root there is none.
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --ignore-certificate-errors \
    --virtual-time-budget=20000 --dump-dom "$url" >"$work/got" 2>/dev/null || fail "the browser ended with $?"
  grep -q '<title>bytes: 9000000</title>' "$work/got" || fail "the browser has $(head -c 300 "$work/got")"
else
  echo "skipped: there is no chromium"
fi

echo "== how it begins and ends"
said=$(openssl s_client -connect "$at" -CAfile "$work/cert.pem" -alpn h2,http/1.1 -verify_return_error </dev/null 2>&1) || fail "s_client"
grep -q 'ALPN protocol: http/1.1' <<<"$said" || fail "no ALPN"
grep -q 'TLSv1.3' <<<"$said" || fail "no TLS 1.3"
code=0
curl -s --max-time 20 -o /dev/null "http://$at/file" || code=$?
((code != 0 && code != 28)) || fail "a plain request: curl says $code"
head -c 40000000 /dev/zero >"$work/www/big" # more than any socket buffers hold
rm "$work/got"
fetch --limit-rate 20M -o "$work/got" "${url}big" &
client=$!
until [[ -s $work/got ]]; do
  kill -0 "$client" 2>/dev/null || fail "the download has ended"
  sleep 0.02
done
kill -TERM "$server"
wait "$client" || fail "the download was cut by the drain"
cmp "$work/got" "$work/www/big" || fail "other bytes than the file's after the drain"
code=0
wait "$server" || code=$?
server=
((code == 0)) || fail "the server ended with $code"
grep -qx "signal 15: draining 1 connections" "$work/out" || fail "it was over before the signal"
grep -qx drained "$work/out" || fail "the server did not drain"
echo "all good"
