#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The readers of .ingot files, of a host (fuzz_open) and of a microcontroller (fuzz_micro), over every
# file of tests/golden/accept, the seeds of fuzz_micro and a part of tests/golden/refuse, $mutants (default 40) damaged copies
# of each: compiled for 32 bits under ASan and UBSan, and for 64 with
# every lossy implicit conversion of integers a finding. INGOT_M32 names another compiler than g++ -m32.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/dev/build.sh
mutants=${mutants:-40} work=build/narrow
mkdir -p $work/schema/ingot_schema build/logs
for name in ingot metadata golden tunings text; do
  flatc --cpp --scoped-enums -o $work/schema/ingot_schema schema/$name.fbs
done

sources=(runtime/base/{sha256,sha256_x86,status,widen,widen_fast}.cpp runtime/base/os/{file,memory}.cpp runtime/op/*.cpp runtime/format/*.cpp
  runtime/micro/*.cpp tests/format/contracts.cpp tests/fuzz/replay.cpp)
flags=(-std=c++17 -O1 -g1 -I. -Iruntime/include -isystem $work/schema -D_GLIBCXX_ASSERTIONS -fno-sanitize-recover=all
  '-DFLATBUFFERS_ASSERT(condition)=static_cast<void>(0)' -ffp-contract=off)

# build NAME COMPILER..: what the sources have in common once, then a program for each target
build() {
  local name=$1; shift
  local out=$work/$name launcher=() source
  has_ccache && launcher=(ccache)
  mkdir -p "$out"
  for source in "${sources[@]}" tests/fuzz/fuzz_{open,micro}.cpp; do
    printf '%s\0' "$source"
  done | xargs -0 -P "$jobs" -I{} bash -c '
    object=$0/$(echo "$1" | tr / _).o
    [ "$object" -nt "$1" ] && exit 0
    shift
    "$@" -c -o "$object"' "$out" {} "${launcher[@]}" "$@" "${flags[@]}" {} || return 1
  local common=()
  for source in "${sources[@]}"; do common+=("$out/$(echo "$source" | tr / _).o"); done
  for target in fuzz_open fuzz_micro; do
    "$@" "${flags[@]}" "${common[@]}" "$out/tests_fuzz_$target.cpp.o" -o "$out/$target" ||
      return 1
  done
}

files=(tests/golden/accept/*/*.ingot tests/fuzz/seeds/fuzz_micro/*.ingot)
mapfile -t refused < <(find tests/golden/refuse -name '*.ingot' | sort | awk 'NR % 8 == 1')
passed=0 failed=0
run() {  # NAME
  local target log
  for target in fuzz_open fuzz_micro; do
    log=build/logs/narrow.$1.$target.log
    if "$work/$1/$target" --mutants "$mutants" "${files[@]}" "${refused[@]}" >"$log" 2>&1; then
      echo "$1 $target: $(tail -n 1 "$log")"
      passed=$((passed + 1))
    else
      echo "ERROR $1 $target: log $log"
      grep -aE 'ERROR|SUMMARY|runtime error|Assertion' "$log" | head -5
      failed=$((failed + 1))
    fi
  done
}

export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
# Debian's link to the kernel's headers is in gcc-multilib, which cross compilers conflict with
mkdir -p $work/headers
[ -e /usr/include/asm ] || ln -sfn "/usr/include/$(g++ -print-multiarch)/asm" $work/headers/asm
read -ra m32 <<<"${INGOT_M32:-g++ -m32 -msse2 -mfpmath=sse -idirafter $work/headers -Wno-stringop-overread}"
if echo 'int main() {}' | "${m32[@]}" -x c++ -fsanitize=address,undefined -o $work/probe - 2>/dev/null; then
  # FlatBuffers' verifier makes pointers of offsets before it looks whether they lie in the file
  build m32 "${m32[@]}" -fsanitize=address,undefined -fno-sanitize=pointer-overflow && run m32 || failed=$((failed + 1))
else
  echo "[skip] 32 bits: ${m32[*]} builds no program (Debian: apt-get install g++-12-multilib)"
fi
integers=-fsanitize=undefined,implicit-integer-truncation
if command -v clang++ >/dev/null; then
  build integers clang++ $integers -fsanitize-ignorelist=tests/fuzz/integers.txt && run integers || failed=$((failed + 1))
else
  echo "[skip] integers: no clang++"
fi
echo "narrow: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
