#!/usr/bin/env bash
# hardened.sh PROGRAM [LIBRARY.so]: the hardening flags have done what they are there for.
set -euo pipefail
export LC_ALL=C

failed=0
say() { # yes or NO, what
  printf '%-4s %s\n' "$1" "$2"
  [[ $1 == yes ]] || failed=1
}

must() { # what, pattern, text
  if grep -Eq -- "$2" <<<"$3"; then say yes "$1"; else say NO "$1"; fi
}

must_not() { # what, pattern, text
  if grep -Eq -- "$2" <<<"$3"; then say NO "$1"; else say yes "$1"; fi
}

look() { # file
  local file=$1 dynamic segments
  echo "== $file"
  dynamic=$(readelf -dW "$file")
  segments=$(readelf -lW "$file")
  must "read-only relocations" 'GNU_RELRO' "$segments"
  must "all symbols bound at start" 'BIND_NOW|Flags:.*\bNOW\b' "$dynamic"
  must "no executable stack" 'GNU_STACK.* RW ' "$segments"
  must_not "no relocations in code" 'TEXTREL' "$dynamic"
  must "position independent" 'Elf file type is DYN' "$segments"
}

look "$1"
must "marked as a program" 'Flags:.*\bPIE\b' "$(readelf -dW "$1")"
must "stack guards" '__stack_chk_fail' "$(readelf -sW "$1")"
case ${2:-} in
  *.so*) look "$2" ;;
  *) must_not "no library path inside" 'RPATH|RUNPATH' "$(readelf -dW "$1")" ;;
esac
exit "$failed"
