# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Stages of ./dev test with sanitizers and fuzzers (asan_options: build.sh).

# Where memory came from is told in four frames: with all of them a start of the command line takes a sixth longer.
sanitized_ctest() {  # TREE [ctest options]
  ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:malloc_context_size=4 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 run_ctest "$@"
}
stage_asan() {
  local chosen=(-LE 'no_asan|slow' -E "^($(IFS='|'; echo "${slow_with_asan[*]}"))\$")
  build_for_ctest asan -- "${asan_options[@]}" -- "${chosen[@]}"
  sanitized_ctest asan "${chosen[@]}"
}
# Minutes each under ASan (kernels against the oracle, and long input through what others cover as well):
# stage asan_slow has them.
slow_with_asan=('conformance_.*' 'cuda_attention' 'cuda_bottleneck' 'cuda_f16_weights.*' 'cuda_products' 'cuda_tensorcore' 'cli_tune' 'cli_gpu_memory' 'convert_work.*'
  'convert_patches' 'checkpoint_metadata' 'compare' 'decoder_import' 'keras_arguments' 'micro_files'
  'kernels_math' 'plan_greedy' 'worlds')
# Every test with every check, what takes minutes without a sanitizer too.
stage_asan_slow() {
  configure_and_build asan all -- "${asan_options[@]}" -DINGOT_ISAS= -DINGOT_SANITIZE_LEVEL=1
  sanitized_ctest asan -LE no_asan
}

# Whole sessions on many threads under ThreadSanitizer; one instruction set, since threads meet in
# the same templates. No suppressions.
stage_tsan() {
  build_gcc write_threads_network
  configure_and_build tsan "${tsan_tests[@]/#/test_}" -- -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DINGOT_SANITIZE=thread \
    -DINGOT_TESTS=ON -DINGOT_WERROR=ON -DINGOT_ISAS=none -DINGOT_SHARED_LIBRARY=OFF -DINGOT_CUDA=OFF
  build/gcc/tests/session/write_threads_network build/tsan/tests/session/threads.ingot
  local name
  for name in "${tsan_tests[@]}"; do
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 run_ctest tsan -R "^$name\$" -FA .
  done
}
tsan_tests=(session_threads session_run session_pipeline session_assignment device_thread_team api_callers)

# The readers of files, the importers and the session under AddressSanitizer and UBSan, in a build
# that is compiled fast: kernels of one lane. For who changes them; stage asan has all.
stage_parsers() {
  configure_and_build parsers "${parser_tests[@]/#/test_}" -- "${asan_options[@]}" -DINGOT_FUZZ=OFF -DINGOT_ISAS=none
  local names
  names=$(IFS='|'; echo "${parser_tests[*]}")
  sanitized_ctest parsers -R "^($names)\$"
}
parser_tests=(format_refuse format_sweep format_round_trip checkpoint_pickle checkpoint_gguf checkpoint_tflite
  checkpoint_hdf5 npz onnx_refuse tflite_import tflite_quantized torchscript_code
  session_run session_hostile session_state session_rebind)

stage_shared_asan() {
  need_shared || return 0
  build_for_ctest asan -- "${asan_options[@]}" -- -L shared -LE 'no_asan|slow'
  sanitized_ctest asan -L shared -LE 'no_asan|slow'
}

stage_fuzz() {
  fuzz_seconds=${INGOT_FUZZ_SECONDS:-4} bash tests/fuzz/run.sh
  mutants=4000 bash tests/fuzz/run_mutants.sh
  mutants=4000 mutant_seconds=8 bash tests/fuzz/operator_mutants/run.sh
}
# The readers of .ingot files compiled for 32 bits, and with every lossy conversion of integers a finding.
stage_narrow() {
  (need_packages "32-bit x86" "g++-$(gcc -dumpversion | cut -d. -f1)-multilib") || echo "g++ for 32 bits could not be installed"
  bash tests/fuzz/narrow.sh
}
stage_mutants() { asan_isas='' mutants=1000000 bash tests/fuzz/run_mutants.sh; }
stage_fuzz_long() { asan_isas='' fuzz_seconds=600 bash tests/fuzz/run.sh; }
