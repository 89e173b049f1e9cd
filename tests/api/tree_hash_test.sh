#!/usr/bin/env bash
# tree_hash_test.sh PROGRAM: examples/tree_hash beside sha256sum, and how it ends.
set -euo pipefail
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# A copy that others may run, too.
program=$work/tree_hash
cp "$1" "$program"

fail() {
  printf '%s\n' "FAILED: $*" >&2
  exit 1
}
# ends_with CODE COMMAND...: standard output and error go to files.
ends_with() {
  local wanted=$1 code=0
  shift
  "$@" >"$work/out" 2>"$work/errors" || code=$?
  ((code == wanted)) || { cat "$work/errors" >&2; fail "exit code $code, and not $wanted: $*"; }
}
# says_nothing: of its own. rota reports a task that computes for 25 ms, as the checks of a sanitizer make it do.
says_nothing() { ! grep -vE '^rota: (worker|thread) .* (has run|still runs|has left) task ' "$work/errors" >&2; }
complains() { grep -qF -- "$1" "$work/errors" || { cat "$work/errors" >&2; fail "no word of: $1"; }; }
without_comments() { grep -v '^#' "$1" || true; }

echo "== the same lines as sha256sum, in the order of sort"
tree=$work/tree
mkdir -p "$tree/a/b" "$tree/a-b" "$tree/empty" "$tree/"$'new\nline'
for i in $(seq 1 200); do
  mkdir -p "$tree/d$((i % 9))/e$((i % 4))"
  head -c $((i * i * 7)) /dev/urandom >"$tree/d$((i % 9))/e$((i % 4))/f$i"
done
head -c 2000000 /dev/urandom >"$tree/large"
: >"$tree/nothing"
for name in a/b/x a.txt a-b/y 'with space' $'new\nline/z' $'cr\rname' 'back\slash' $'tab\tname' $'\xff\xfe' -- '#'; do
  printf '%s' "$name" >"$tree/$name"
done
ln -s a.txt "$tree/link"
ln -s nowhere "$tree/broken"
find "$tree" -type f -print0 | sort -z | xargs -0 sha256sum >"$work/expected"
ends_with 0 "$program" "$tree"
cmp <(without_comments "$work/out") "$work/expected" || fail "other lines than sha256sum's"
sha256sum --check --strict --quiet "$work/out" || fail "sha256sum --check does not like the lines"
says_nothing || fail "errors, or a bar without a terminal"
cp "$work/out" "$work/first"
for options in '--threads 1' '--threads 16 --workers 3' '--workers 1'; do
  # shellcheck disable=SC2086
  ends_with 0 "$program" "$tree" $options
  cmp "$work/out" "$work/first" || fail "another output with $options"
done
ends_with 0 "$program" "$tree" --directories none
cmp "$work/out" "$work/expected" || fail "comments in spite of --directories none"

echo "== digests of directories, by their definition"
small=$work/small
mkdir -p "$small/d"
printf 1 >"$small/a"
printf 2 >"$small/d/b"
ln -s a "$small/l"
mkfifo "$small/p"
hex() { sha256sum | cut -d ' ' -f 1; }
folder=$(printf 'file %s b\0' "$(printf 2 | hex)" | hex)
root=$({
  printf 'file %s a\0directory %s d\0' "$(printf 1 | hex)" "$folder"
  printf 'link %s l\0fifo - p\0' "$(printf a | hex)"
} | hex)
ends_with 0 "$program" "$small" --directories all
complains "$small/p: skipped: a fifo"
grep -qxF "# directory $folder  $small/d" "$work/out" || fail "the digest of a directory"
grep -qxF "# directory $root  $small" "$work/out" || fail "the digest of the root"

echo "== what cannot be read"
chmod 0 "$small/a"
runner=()
if ((EUID == 0)); then runner=(setpriv --reuid 65534 --regid 65534 --clear-groups); fi
if ${runner[@]+"${runner[@]}"} test -x "$program"; then
  ends_with 1 ${runner[@]+"${runner[@]}"} "$program" "$small"
  complains "tree_hash: $small/a: Permission denied"
  complains "tree_hash: $small: no digest of the directory"
  grep -q "  $small/d/b\$" "$work/out" || fail "the others do not go on"
else
  echo "nobody cannot run the program here: this part is not run"
fi

echo "== outputs that take nothing"
code=0
"$program" "$tree" >/dev/full 2>"$work/errors" || code=$?
((code == 1)) || fail "exit code $code for a full disk"
complains "standard output: No space left on device"
mkfifo "$work/pipe"
exec 3<>"$work/pipe"
exec 4>"$work/pipe"
exec 3<&- # nobody reads any more
code=0
"$program" "$tree" >&4 2>"$work/errors" || code=$?
exec 4>&-
((code == 1)) || fail "exit code $code for a closed pipe"
complains "standard output: Broken pipe"

code=0
"$program" "$tree" >&- 2>"$work/errors" || code=$?
((code == 1)) || fail "exit code $code without a standard output"
complains "standard output: Bad file descriptor"
"$program" "$tree" <&- 2>&- >"$work/out" || fail "exit code $? without a standard error"
cmp "$work/out" "$work/first" || fail "another output without a standard error"

echo "== the command line"
ends_with 2 "$program"
complains "DIR"
ends_with 2 "$program" "$tree" --threads 257
complains "0..256"
ends_with 0 "$program" --help

echo "== signals"
endless=$work/endless
mkdir "$endless"
printf 1 >"$endless/a"
truncate -s 200G "$endless/z"
# interrupt CODE ENV_OPTION SIGNAL...: as soon as the first line is there.
interrupt() {
  local wanted=$1 code=0 child number line
  mkfifo "$work/lines"
  env "$2" "$program" "$endless" >"$work/lines" 2>"$work/errors" &
  child=$!
  shift 2
  exec 5<"$work/lines"
  read -r line <&5
  for number in "$@"; do kill "-$number" "$child"; done
  wait "$child" || code=$?
  exec 5<&-
  rm "$work/lines"
  ((code == wanted)) || fail "exit code $code after $*"
  [[ $line == *"  $endless/a" ]] || fail "another first line: $line"
  grep -qE '^tree_hash: interrupted: 1 of 2 files, [0-9]+ of 214748364801 bytes' "$work/errors" ||
    { cat "$work/errors" >&2; fail "no word of how far it came"; }
}
interrupt 130 --default-signal=INT INT
interrupt 143 --default-signal=INT TERM
interrupt 143 --ignore-signal=INT INT TERM
echo "all as it must be"
