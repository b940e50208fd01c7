#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Mutants of whole models with sound hashes (run_mutants.cpp): $mutants of them (default 20000),
# shared by the models of seeds/run_mutants and all of tests/golden/accept, under ASan and UBSan (every instruction
# set with asan_isas=""), and a tenth as many under MSan with the scalar kernels. INGOT_MUTANT_SEED picks others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/dev/build.sh
mutants=${mutants:-20000} seed=${INGOT_MUTANT_SEED:-1}
msan_options=(-DINGOT_CUDA=OFF -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DINGOT_SANITIZE=memory -DINGOT_ISAS=none
  -DINGOT_SANITIZE_LEVEL=$((${asan_isas+1} + 0))
  -DINGOT_TOOLS=OFF -DINGOT_SHARED_LIBRARY=OFF -DINGOT_TESTS=ON -DINGOT_WERROR=ON)
configure_and_build asan run_mutants -- "${asan_options[@]}"
configure_and_build msan run_mutants -- "${msan_options[@]}"
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export MSAN_OPTIONS=allocator_may_return_null=1

mkdir -p build/fuzz/mutants build/fuzz/finds build/logs
files=()
rm -f build/fuzz/mutants/*.ingot
for seed_file in tests/fuzz/seeds/run_mutants/*.ingot $(find tests/golden/accept -name '*.ingot' | sort); do
  name=${seed_file#tests/golden/}
  name=${name#tests/fuzz/seeds/run_mutants/}
  whole=build/fuzz/mutants/${name//\//_}
  build/asan/tests/fuzz/run_mutants --expand "$seed_file" "$whole"
  files+=("$whole")
done

# try TREE FIRST EACH FILE...: what it did, or 1 and what it found. A sanitizer ends the process:
# the mutants behind are then not tried.
try() {
  local tree=$1 from=$2 each=$3; shift 3
  local log=build/logs/run_mutants.$tree.$from.log
  if "build/$tree/tests/fuzz/run_mutants" --mutants "$each" --seed "$seed" --from "$from" --finds build/fuzz/finds "$@" \
      >"$log" 2>&1; then
    sed "s/^/$tree: /" "$log"
  else
    echo "ERROR run_mutants $tree: finding in build/fuzz/finds, log $log"
    grep -E 'FIND|ERROR|SUMMARY|runtime error|findings|cannot|does not' "$log" | tail -8
    return 1
  fi
}

passed=0 failed=0 processes=${jobs:-1}
each=$((mutants / ${#files[@]} / processes + 1))
ids=()
for ((p = 0; p < processes; p++)); do
  try asan $((p * each)) $each "${files[@]}" &
  ids+=($!)
done
for id in "${ids[@]}"; do
  if wait "$id"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
if try msan 0 $((mutants / 10 / ${#files[@]} + 1)) "${files[@]}"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
echo "run_mutants: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
