#!/usr/bin/env bash
# http_get_test.sh PROGRAM: examples/http_get beside a server of Python's, over HTTP and HTTPS.
set -euo pipefail
export LC_ALL=C

program=$1
work=$(mktemp -d)
server=
trap 'if [[ -n $server ]]; then kill -KILL "$server"; wait "$server"; fi 2>/dev/null || true; rm -rf "$work"' EXIT
for needed in python3 openssl; do
  command -v "$needed" >/dev/null || { echo "FAILED: this test needs $needed" >&2; exit 1; }
done

fail() {
  printf '%s\n' "FAILED: $*" >&2
  exit 1
}
# ends_with CODE ARGUMENTS...: of the program.
ends_with() {
  local wanted=$1 code=0
  shift
  (cd "$work/here" && "$program" "$@") >"$work/out" 2>"$work/errors" || code=$?
  ((code == wanted)) || { cat "$work/errors" >&2; fail "exit code $code, and not $wanted: $*"; }
}
# says_nothing: of its own. rota reports a task that computes for 25 ms, as the checks of a sanitizer make it do.
says_nothing() { ! grep -vE '^rota: (worker|thread) .* (has run|still runs|has left) task ' "$work/errors" >&2; }
complains() { grep -qF -- "$1" "$work/errors" || { cat "$work/errors" >&2; fail "no word of: $1"; }; }
is_whole() { cmp "$1" "$work/file" || fail "$1 is not what was served"; }

mkdir "$work/here"
head -c 3000000 /dev/urandom >"$work/file"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
  -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

cat >"$work/server.py" <<'PYTHON'
import http.server, re, ssl, sys, threading, time
work = sys.argv[1]
data = open(work + "/file", "rb").read()
ports = {}

class handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def answer(self, code, body=b"", **fields):
        self.send_response(code)
        for name, value in fields.items(): self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True
    def do_GET(self):
        path, size = self.path.partition("?")[0], str(len(data))
        if path == "/file":
            part = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            first = int(part[1]) if part else 0
            if part and first >= len(data): return self.answer(416, Content_Range=f"bytes */{size}", Content_Length="0")
            if part: return self.answer(206, data[first:], Content_Length=str(len(data) - first),
                                        Content_Range=f"bytes {first}-{len(data) - 1}/{size}")
            return self.answer(200, data, Content_Length=size)
        if path == "/no-ranges": return self.answer(200, data, Content_Length=size)
        if path == "/wrong-range": return self.answer(206, data[7:], Content_Range=f"bytes 7-{len(data) - 1}/{size}")
        if path == "/short-range":
            first = int(re.fullmatch(r"bytes=(\d+)-", self.headers["Range"])[1])
            return self.answer(206, data[first:first + 2], Content_Length="2", Content_Range=f"bytes {first}-{first + 1}/{size}")
        if path == "/chunked":
            body = b"".join(b"%x\r\n%s\r\n" % (len(data[i:i + 7001]), data[i:i + 7001]) for i in range(0, len(data), 7001))
            return self.answer(200, body + b"0\r\n\r\n", Transfer_Encoding="chunked")
        if path == "/tiny-chunks":
            body = b"".join(b"1\r\n%c\r\n" % byte for byte in data[:200_000])
            return self.answer(200, body + b"0\r\n\r\n", Transfer_Encoding="chunked")
        if path in ("/early", "/early-ends"):
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 3)
            self.wfile.flush()
            time.sleep(0.05)
            self.close_connection = True
            return None if path == "/early-ends" else self.answer(200, data, Content_Length=size)
        if path == "/switches":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
            self.close_connection = True
            return
        if path == "/-": return self.answer(200, data, Content_Length=size)
        if path == "/until-end": return self.answer(200, data)
        if path == "/short": return self.answer(200, data[:1000], Content_Length=size)
        if path == "/stall":
            self.answer(200, data[:1000], Content_Length=size)
            self.wfile.flush()
            return time.sleep(8)
        if path == "/silent": return time.sleep(8)
        if path == "/large-head": return self.answer(200, b"x", X_Long="y" * 100_000)
        if path == "/garbage":
            self.wfile.write(b"what do you want?\r\n\r\n")
            self.close_connection = True
            return
        if path == "/sub/relative": return self.answer(302, Location="../file", Content_Length="0")
        if path == "/relative": return self.answer(302, Location="file", Content_Length="0")
        if path == "/loop": return self.answer(301, Location="/loop", Content_Length="0")
        if path == "/three": return self.answer(307, Location="/two", Content_Length="0")
        if path == "/two": return self.answer(308, Location="/relative", Content_Length="0")
        if path == "/to-https": return self.answer(302, Location=f"https://localhost:{ports['https']}/file", Content_Length="0")
        if path == "/to-http": return self.answer(302, Location=f"http://localhost:{ports['http']}/file", Content_Length="0")
        if path == "/strange": return self.answer(302, Location="gopher://x/", Content_Length="0")
        self.answer(404, b"no\n", Content_Length="3")

# Python ends a connection without a close_notify, unless it is asked.
class announcing(handler):
    def finish(self):
        try:
            super().finish()
            if self.path != "/until-end?cut": self.connection.unwrap()
        except (OSError, ValueError): pass
    def do_GET(self):
        if self.path == "/until-end?cut": return self.answer(200, data)
        super().do_GET()

def serve(name, kind, secure):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(work + "/cert.pem", work + "/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, suppress_ragged_eofs=True)
    ports[name] = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
serve("http", handler, False)
serve("https", announcing, True)
print(ports["http"], ports["https"], flush=True)
threading.Event().wait()
PYTHON
coproc SERVER { exec python3 "$work/server.py" "$work" 2>"$work/server.log"; }
server=$SERVER_PID
read -r -u "${SERVER[0]}" http https || { cat "$work/server.log" >&2; fail "the server has not begun"; }
plain=http://127.0.0.1:$http
secure=https://localhost:$https
trusted=(--ca-file "$work/cert.pem")

echo "== bodies of all kinds"
for path in file chunked until-end early; do
  ends_with 0 "$plain/$path" -o got
  is_whole "$work/here/got"
  ends_with 0 "$secure/$path" -o got "${trusted[@]}"
  is_whole "$work/here/got"
done
says_nothing || fail "something is said without a terminal"
ends_with 0 "$plain/file"
is_whole "$work/here/file"
ends_with 0 "$plain/file" -o -
is_whole "$work/out"
ends_with 0 "$plain/file" -o got --progress always
complains '100 %'
ends_with 0 "$plain/-" # a file's name, since nobody has asked for the standard output
is_whole "$work/here/-"
[[ ! -s $work/out ]] || fail "the file went to the standard output"
ends_with 0 "$plain/tiny-chunks" -o got
cmp <(head -c 200000 "$work/file") "$work/here/got" || fail "a body of small chunks is another"

echo "== what does not come wholly"
ends_with 1 "$plain/short" -o short
complains 'the connection ended before the answer did'
[[ $(stat -c %s "$work/here/short") == 1000 ]] || fail "what has come is not there"
ends_with 1 "$secure/until-end?cut" -o got "${trusted[@]}"
ends_with 1 "$plain/stall" -o got --idle-timeout 1
complains 'nothing more has come in time'
ends_with 1 "$plain/silent" -o got --timeout 1
complains 'no answer in time'
ends_with 1 "$plain/nothing" -o new
complains '404 Not Found'
[[ ! -e $work/here/new ]] || fail "a file was made of no answer"
echo precious >"$work/here/old"
for path in nothing garbage early-ends switches; do
  ends_with 1 "$plain/$path" -o old
  [[ $(<"$work/here/old") == precious ]] || fail "$path: the file was touched"
done
ends_with 1 "$plain/early-ends" -o got
complains 'the connection ended before the answer'
ends_with 1 "$plain/switches" -o got
complains '101 Switching Protocols'
ends_with 1 "$plain/garbage" -o got
ends_with 1 "$plain/large-head" -o got
complains 'header limit'
ends_with 1 "http://127.0.0.1:1/file" -o got
complains 'Connection refused'
ends_with 1 "$plain/file" -o "$work/none/got"
complains 'No such file or directory'
ends_with 1 "$plain/file" -o /dev/full
complains 'No space left on device'

# Some file systems say only at the end that there was no room. ptrace may be forbidden.
if strace -o /dev/null true 2>/dev/null; then
  code=0
  strace -f -qq -o /dev/null -P "$work/here/late" -e trace=close -e inject=close:error=EDQUOT \
    "$program" "$plain/file" -o "$work/here/late" 2>"$work/errors" || code=$?
  ((code == 1)) || fail "exit code $code although the file could not be closed"
  complains 'Disk quota exceeded'
fi

echo "== the rest of a file"
head -c 1234567 "$work/file" >"$work/here/part"
for url in "$plain/file" "$secure/file"; do
  cp "$work/here/part" "$work/here/got"
  ends_with 0 "$url" -o got --resume "${trusted[@]}"
  is_whole "$work/here/got"
  ends_with 0 "$url" -o got --resume "${trusted[@]}" # all of it is there
  is_whole "$work/here/got"
done
cp "$work/here/part" "$work/here/got"
ends_with 0 "$plain/no-ranges" -o got --resume
is_whole "$work/here/got"
cp "$work/here/part" "$work/here/got"
ends_with 1 "$plain/wrong-range" -o got --resume
complains 'a part that nobody has asked for'
cmp "$work/here/part" "$work/here/got" || fail "a wrong part was written"
ends_with 1 "$plain/short-range" -o got --resume
complains 'only a part of the rest came'
rm "$work/here/got"
ends_with 0 "$plain/file" -o got --resume # there is nothing yet
is_whole "$work/here/got"

echo "== redirects"
for path in relative three to-https; do
  ends_with 0 "$plain/$path" -o got "${trusted[@]}"
  is_whole "$work/here/got"
done
ends_with 1 "$plain/three" -o got --max-redirects 2
complains 'too many redirects'
ends_with 0 "$plain/three" -o got --max-redirects 3
ends_with 1 "$plain/loop" -o got
complains 'too many redirects'
ends_with 1 "$secure/to-http" -o got "${trusted[@]}"
complains 'from https to http'
ends_with 1 "$plain/strange" -o got
complains 'cannot be fetched'

echo "== whom to trust"
ends_with 1 "$secure/file" -o got
complains 'self-signed certificate'
ends_with 0 "$secure/file" -o got --insecure
is_whole "$work/here/got"
ends_with 0 "https://127.0.0.1:$https/file" -o got "${trusted[@]}"
ends_with 1 "https://127.0.0.1:$https/file" -o got --ca-file /nowhere
complains 'client_config.ca_file'
ends_with 1 "https://127.0.0.1:$http/file" -o got "${trusted[@]}" # no TLS there

echo "== the command line"
for wrong in ftp://x/ 'http://' 'http://a b/' 'http://u@x/' 'http://x:0/' 'http://x:99999/' 'http://[::1/'; do
  ends_with 2 "$wrong"
done
ends_with 2
ends_with 2 "$plain/file" -o - --resume
ends_with 2 "$plain/file" --max-redirects 51
ends_with 0 --help
echo "all good"
