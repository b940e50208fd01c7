#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target, or those named (fuzz_onnx ..), for $fuzz_seconds (default 30) each, or
# $fuzz_runs inputs, under ASan and UBSan, from the committed seeds and those of make_archive_seeds.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/dev/build.sh
bound=-max_total_time=${fuzz_seconds:-30}
[ -z "${fuzz_runs:-}" ] || bound=-runs=$fuzz_runs
# the tree of stage asan: nearly all of it is needed by both
named=("$@")
for name in "${named[@]}"; do
  # fuzz_reader.cpp is many
  [ -f "tests/fuzz/$name.cpp" ] || [ -d "tests/fuzz/seeds/$name" ] ||
    { echo "ERROR no fuzz target $name: tests/fuzz/$name.cpp"; exit 2; }
done
configure_and_build asan "${named[@]:-fuzz_targets}" -- "${asan_options[@]}"

# One target: 0 and what it did, or 1 and what it found.
fuzz_one() {
  local target=$1 name work seeds=()
  name=$(basename "$target")
  work=build/fuzz/corpus/$name
  mkdir -p "$work" "build/fuzz/finds"
  [ -d "tests/fuzz/seeds/$name" ] && seeds=("tests/fuzz/seeds/$name")
  if [ "$name" = fuzz_archive ]; then
    seeds=("$work.seeds")
    python3 tests/fuzz/make_archive_seeds.py "${seeds[0]}"
  fi
  [ "$name" = fuzz_micro ] && seeds+=(tests/fuzz/seeds/fuzz_open)
  [ "$name" = fuzz_gguf ] && seeds+=(tests/fuzz/seeds/fuzz_decoder)
  # whole files too, with what came after v1
  [ "$name" = fuzz_open ] && seeds+=(tests/fuzz/seeds/fuzz_ingot_weights)
  # Weighing inputs by how rare their features are, and where memory came from in 30 frames, took half
  # of the time: more runs find more.
  if ASAN_OPTIONS=malloc_context_size=4 "$target" -entropic=0 "$bound" -timeout=100 \
      -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=build/fuzz/finds/ "$work" "${seeds[@]}" \
      >"build/logs/$name.log" 2>&1; then
    echo "$name: no finding in $(sed -nE 's/^Done .* in ([0-9]+) second.*/\1/p' "build/logs/$name.log") s, $(grep -o 'number_of_executed_units: *[0-9]*' "build/logs/$name.log" | grep -o '[0-9]*$') runs"
  else
    echo "ERROR $name: finding in build/fuzz/finds, log build/logs/$name.log"
    grep -E 'ERROR|SUMMARY|runtime error' "build/logs/$name.log" | head -5
    return 1
  fi
}

# As many at once as there are processors: each has one thread.
passed=0 failed=0 running=0
end_one() {
  local status=0
  wait -n || status=$?
  if [ $status -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  running=$((running - 1))
}
for target in build/asan/tests/fuzz/fuzz_*; do
  [ -x "$target" ] && [ -f "$target" ] || continue
  case " ${named[*]} " in "  " | *" $(basename "$target") "*) ;; *) continue ;; esac
  [ $running -lt "$jobs" ] || end_one
  fuzz_one "$target" &
  running=$((running + 1))
done
while [ $running -gt 0 ]; do end_one; done
echo "fuzz: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
