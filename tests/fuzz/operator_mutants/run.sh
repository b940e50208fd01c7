#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Single operators with wrong ranks, shapes, types and attributes (operator_mutants.cpp) under ASan,
# UBSan and the library's assertions. $mutants (default 4000) are shared by the families: onnx,
# contrib, tflite, aten, gguf, or those named. $mutant_seconds ends each family earlier; INGOT_MUTANT_SEED
# picks others. $mutant_tree=mutants: optimized, in a tree of its own, for long runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
. cmake/dev/build.sh
mutants=${mutants:-4000} seconds=${mutant_seconds:-100000} seed=${INGOT_MUTANT_SEED:-0}
families=("$@")
[ $# -gt 0 ] || families=(onnx contrib tflite aten gguf)
tree=${mutant_tree:-asan}
[ "$tree" = asan ] || asan_options+=(-DINGOT_ISAS=none -DINGOT_FUZZ=OFF -DINGOT_SANITIZE_LEVEL=1)
configure_and_build "$tree" operator_mutants -- "${asan_options[@]}"
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
mkdir -p build/logs

# try FAMILY FIRST COUNT: what it did, or 1 and what it found.
try() {
  local log=build/logs/operator_mutants.$1.$2.log templates=tests/fuzz/operator_mutants/onnx_templates.txt
  [ "$1" != tflite ] || templates=tests/fuzz/operator_mutants/tflite_templates.txt
  if build/$tree/tests/fuzz/operator_mutants/operator_mutants "$1" --first "$2" --count "$3" --seconds "$seconds" \
      "$templates" >"$log" 2>&1; then
    tail -n 1 "$log"
  else
    echo "ERROR operator_mutants $1: log $log"
    grep -E 'FINDING|ERROR|SUMMARY|runtime error|Assertion' "$log" | tail -8
    return 1
  fi
}

processes=${jobs:-1} passed=0 failed=0 running=0
each=$((mutants / ${#families[@]} / processes + 1))
end_one() {
  local status=0
  wait -n || status=$?
  if [ $status -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  running=$((running - 1))
}
for family in "${families[@]}"; do
  for ((p = 0; p < processes; p++)); do
    [ $running -lt "$processes" ] || end_one
    try "$family" $((seed * 1000000 + p * each)) "$each" &
    running=$((running + 1))
  done
done
while [ $running -gt 0 ]; do end_one; done
echo "operator_mutants: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
