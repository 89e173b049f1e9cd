#!/usr/bin/env bash
# Searches the models in src/*/models, each in every way that its head lists: lines of `holds` or `fails`, `always` for the
# property of liveness under weak fairness, and the model's -D flags. Exits 0 if each does as it says.
# usage: spin.sh [MODEL.pml...]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 runs=0
readonly row='%-10s %-58s %10s  %-12s %7s\n'

# Prints: states, errors, seconds. A search that was cut short, or did not run, has no number of errors.
search() { # model, `always` or nothing, flags...
  local model=$1 property=$2
  local -a compile=(-DSAFETY -DNOCLAIM) options=()
  shift 2
  if [[ $property == always ]]; then compile=(-DNFAIR=3) options=(-a -f); fi
  rm -rf "${work:?}"/*
  (
    cd "$work" && spin -a "$@" "$model" && gcc -O2 -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=4096 "${compile[@]}" -o pan pan.c &&
      timeout 600 ./pan -m1000000 -w24 ${options[@]+"${options[@]}"}
  ) >"$work/said" 2>&1
  awk '/errors:/ { errors = $NF } /states, stored/ { states = $1 } /elapsed time/ { seconds = $4 }
    /max search depth too small|out of memory|reached -DMEMLIM/ { cut = 1 }
    END { print states + 0, cut || errors == "" ? "none" : errors, seconds + 0 }' "$work/said"
}

one() { # model, promise, property, flags...
  local model=$1 promise=$2 property=$3 states errors seconds result=fails
  shift 3
  read -r states errors seconds < <(search "$PWD/$model" "$property" "$@")
  runs=$((runs + 1))
  if [[ $errors == 0 ]]; then result=holds; elif [[ $errors == none ]]; then result='not finished'; fi
  # shellcheck disable=SC2059
  printf "$row" "$(basename "$model" .pml)" "${property:+$property }$*" "$states" "$result" "$seconds"
  [[ $result == "$promise" ]] && return
  failed=$((failed + 1))
  echo "  this one should be: $promise"
  [[ $result != 'not finished' ]] || tail -n 5 "$work/said"
}

if (($# == 0)); then set -- src/*/models/*.pml; fi
# shellcheck disable=SC2059
printf "$row" model variant states result seconds
for model in "$@"; do
  while read -r promise words; do
    property='' flags=()
    for word in $words; do
      if [[ $word == always ]]; then property=always; elif [[ $word == -D* ]]; then flags+=("$word"); else break; fi
    done
    one "$model" "$promise" "$property" ${flags[@]+"${flags[@]}"}
  done < <(sed -n 's/^ *\(runs: \)\{0,1\} *\(\(holds\|fails\) .*-D.*\)/\2/p' "$model")
done
echo "spin: $((runs - failed)) of $runs as they should be"
((failed == 0 && runs > 0))
