#!/usr/bin/env bash
# run_case.sh CXX ROOT FILE: compiles one case as a user would.
#
# x_ok.cpp must compile. x_fails.cpp must not, and the compiler must say what every `// EXPECT: regex` of the file says
# (grep -E): a case that fails for another reason is no check. `// FLAGS: ...` adds flags. `// ONLY: clang` is skipped (77) by others.
set -euo pipefail

cxx=$1 root=$2 file=$3
export LC_ALL=C

if grep -q '^// ONLY: clang$' "$file" && ! "$cxx" --version | grep -q clang; then exit 77; fi
read -ra flags <<<"$(sed -n 's|^// FLAGS: ||p' "$file" | tr '\n' ' ')"
set +e
output=$("$cxx" -std=c++2b -Wall -Wextra -Wshadow -Wconversion -Werror ${flags[@]+"${flags[@]}"} \
  -I"$root/include" -I"$root/src" -c "$file" -o /dev/null 2>&1)
status=$?
set -e

complain() {
  printf '%s\n\n%s: %s\n' "$output" "${file##*/}" "$1"
  exit 1
}

case $file in
  *_ok.cpp)
    ((status == 0)) || complain "does not compile, and should"
    ;;
  *_fails.cpp)
    mapfile -t expectations < <(sed -n 's|^// EXPECT: ||p' "$file")
    ((${#expectations[@]} > 0)) || complain "has no '// EXPECT: regex' line"
    ((status != 0)) || complain "compiles, and should not"
    for expected in "${expectations[@]}"; do
      grep -Eq -- "$expected" <<<"$output" || complain "fails, but not with: $expected"
    done
    ;;
  *)
    complain "is named neither _ok.cpp nor _fails.cpp"
    ;;
esac
