# ./dev gpu [--fake]: everything that only a machine with a GPU can show, in one report, build/gpu/report.md and .json, to be kept as
# bench/results/gpu/NAME.md. Without a GPU each part says so and is skipped. --fake: over the driver's stand-in, to try this command itself.

gpu_part() {  # TITLE COMMAND...: its output in the log and, shortened, in the report
  local title=$1 log=build/gpu/$2.log status=0
  shift 2
  "$@" >"$log" 2>&1 || status=$?
  if [ $status -eq 77 ]; then status=0; fi
  count_log "$log"
  if [ $status -ne 0 ] && [ $stage_failed -eq 0 ]; then stage_failed=1; fi
  if [ $status -eq 0 ] && [ $((stage_passed + stage_failed + stage_skipped)) -eq 0 ]; then stage_passed=1; fi
  gpu_passed=$((gpu_passed + stage_passed)) gpu_failed=$((gpu_failed + stage_failed)) gpu_skipped=$((gpu_skipped + stage_skipped))
  printf '%-44s %4d passed %3d failed %3d skipped\n' "$title" $stage_passed $stage_failed $stage_skipped
  grep -h '\[skip\]' "$log" | sort -u | head -5 | sed 's/^/    /' || true
  [ $stage_failed -eq 0 ] || { tail -5 "$log" | sed 's/^/    /'; echo "    whole log: $log"; }
  {
    printf '\n## %s\n\n%d passed, %d failed, %d skipped\n\n```\n' "$title" $stage_passed $stage_failed $stage_skipped
    grep -v '^\[doctest\] \(doctest\|run\)\|^=====' "$log" | tail -120
    printf '```\n'
  } >>build/gpu/report.md
}

# The vendor's checks of device code: over conformance, which launches every kernel with guarded operands.
gpu_sanitizers() {
  local program tool status=0 passed=0 failed=0
  program=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
  if [ -z "$program" ]; then echo "[skip] compute-sanitizer is not on this machine"; return 0; fi
  if [ -n "${INGOT_CUDA_DRIVER:-}" ]; then echo "[skip] compute-sanitizer: no GPU is behind the stand-in of the driver"; return 0; fi
  for tool in memcheck racecheck synccheck; do
    status=0
    timeout 1800 "$program" --tool $tool --error-exitcode 9 build/gcc/tests/conformance/test_conformance_driver >build/gpu/$tool.log 2>&1 || status=$?
    tail -3 build/gpu/$tool.log
    if [ $status -eq 0 ]; then passed=$((passed + 1))
    elif [ $status -eq 77 ]; then echo "[skip] $tool: no GPU was found"
    elif grep -qi 'not supported\|permission\|debugger' build/gpu/$tool.log; then echo "[skip] $tool: this machine does not allow it"
    else failed=$((failed + 1)); fi
  done
  echo "sanitizers: $passed passed, $failed failed"
  [ $failed -eq 0 ]
}

gpu_models() {
  need_python "models on a GPU" numpy onnx==1.23.2 || { echo "[skip] no model ran: numpy and onnx are not to be had"; return 0; }
  local fake=() names=()
  if [ -n "${INGOT_CUDA_DRIVER:-}" ]; then
    fake=(--fake "$INGOT_CUDA_DRIVER")
    mapfile -t names < <(awk -F'\t' '$4 == 1 { print $1 }' tests/models/models.tsv)
  fi
  "$python" tests/cuda/run_models.py --ingot build/gcc/bin/ingot --work build/models "${fake[@]}" "$@" "${names[@]}"
}

dev_gpu() {
  local title gpu
  gpu_passed=0 gpu_failed=0 gpu_skipped=0
  export INGOT_CUDA_DRIVER=  # empty: the machine's own; unset, the tests' programs would name none
  configure_and_build gcc gpu_runner test_conformance_driver fake_cuda ingot_cli -- -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc \
    -DINGOT_WERROR=ON -DINGOT_TESTS=ON -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)"
  mkdir -p build/gpu
  if [ "${1:-}" = --fake ]; then export INGOT_CUDA_DRIVER=$PWD/build/gcc/tests/cuda/libfake_cuda.so; fi
  gpu=$(build/gcc/tests/cuda/gpu_runner --name || true)
  title="${gpu:-no GPU was found}"
  printf '# %s\n\nMade by `./dev gpu%s` at %s.\n' "$title" "${1:+ $1}" "$(git rev-parse --short HEAD 2>/dev/null || echo '?')" >build/gpu/report.md
  [ -z "${INGOT_CUDA_DRIVER:-}" ] || printf '\nEmulated: no time in it means anything.\n' >>build/gpu/report.md
  echo "$title"
  gpu_part "doctor" doctor build/gcc/bin/ingot doctor
  gpu_part "conformance through the driver" conformance build/gcc/tests/conformance/test_conformance_driver
  gpu_part "whole models, the bits of the CPU" models gpu_models --report build/gpu/models.json
  if [ -n "${INGOT_CUDA_DRIVER:-}" ]; then
    gpu_part "30 replays, the same bits each time" replays gpu_models --replays 30 --report build/gpu/replays.json
  else
    gpu_part "1000 replays, the same bits each time; p50, p99" replays gpu_models --replays 1000 --seconds 2 --report build/gpu/replays.json
  fi
  gpu_part "the vendor's sanitizers" sanitizers gpu_sanitizers
  echo "report: build/gpu/report.md"
  echo "gpu: $gpu_passed passed, $gpu_failed failed, $gpu_skipped skipped"
  [ $gpu_failed -eq 0 ]
}
