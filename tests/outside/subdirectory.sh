#!/usr/bin/env bash
# subdirectory.sh ROOT CXX: a project that says add_subdirectory(rota) gets the library: no tests, no examples, no
# install rules, and none of rota's own flags on its own files. The path has characters that mean something in a regular expression.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/c++ cxx=$2
ln -s "$1" "$root"

cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
add_subdirectory("$root" rota)
add_executable(parent parent.cpp)
target_link_libraries(parent PRIVATE rota::rota)
END
cp "$root/tests/outside/main.cpp" "$work/parent.cpp"

cmake -G Ninja -S "$work" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/log" ||
  { cat "$work/log"; exit 1; }

fail() {
  echo "$1"
  exit 1
}
commands=$work/build/compile_commands.json
own=$(grep -A1 -B3 '"file".*parent.cpp' "$commands" | grep '"command"')
for flag in -Wall -Werror -Wshadow -ftls-model -fno-semantic -fvisibility -UNDEBUG ccache prefix-map \
  ROTA_DETAIL_LIBRARY; do
  if grep -q -- "$flag" <<<"$own"; then fail "$flag reaches the parent's files: $own"; fi
done
if grep -q '"command".*-Werror' "$commands"; then fail "rota's files are compiled with -Werror in somebody else's project"; fi
if grep '"file"' "$commands" | grep -qF -e "$root/tests/" -e "$root/examples/" -e "$root/bench/"; then fail "tests, examples or benchmarks are built"; fi
if grep -q "ROTA_MODEL" "$commands"; then fail "the model is built"; fi
[[ ! -e $work/build/rota/rotaConfig.cmake ]] || fail "rota makes install rules in somebody else's project"
grep -qF "$root/src/base/guard.cpp" "$commands" || fail "the library is not built"
echo "add_subdirectory: $(grep -c '"file"' "$commands") files, no flags leaked"
