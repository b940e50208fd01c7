# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev test: what its stages do; a test counts once wherever it runs. What is skipped is counted: a
# program prints "[skip] reason" for each thing it could not do.
export every_model=${every_model:-}  # 1: the emulated machine runs the large networks too
stages_quick=(lint quick)
# every subsystem, for who wants to believe it
stages_test=(lint gcc models package firmware sizes demo)
stages_full=(overlay asan aarch64 slow nodes cuda cross fuzz python tidy tsan)          # what ./.ci/run adds
# What shared material adds (tests/support/shared.py), in the trees that the others left.
stages_shared=(shared_gcc shared_models shared_boards shared_python shared_aarch64 shared_asan)
stages_long=(parsers asan_slow fuzz_long mutants narrow peers abi browser pages torch trial torch-list decoders vits keras tflite integers board "${target_names[@]/#/target_}")

# As many tests at once as there are processors; one that counts what threads do is RUN_SERIAL. A test
# without a limit of its own hangs after half an hour, on a slow machine beside another stage.
run_ctest() {  # TREE [ctest options]
  local tree=$1; shift
  ctest --test-dir "build/$tree" --output-on-failure -V -j "$jobs" --timeout 1800 "$@"
}

# Builds what the tests that ctest's options choose need, and TARGETs, and no more: the programs of
# other tests are most of a tree.
build_for_ctest() {  # TREE [TARGET..] -- [cmake options] -- [ctest options]
  local tree=$1 targets=() options=() files; shift
  while [ "$1" != -- ]; do targets+=("$1"); shift; done
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  configure_and_build "$tree" help -- "${options[@]}" >/dev/null
  files=build/logs/needed-$tree.txt
  ctest --test-dir "build/$tree" -N "$@" | sed -nE 's/^ *Test +#[0-9]+: (.*)/\1/p' |
    python3 cmake/dev/one_test.py "build/$tree" --listed >"$files"
  mapfile -t -O ${#targets[@]} targets < <(ninja -C "build/$tree" -t targets all | sed 's/: .*//' | grep -Fx -f "$files")
  configure_and_build "$tree" "${targets[@]}" -- "${options[@]}"
}

stage_lint() { lint_sources; }

stage_tidy() { lint_tidy 450; }  # 110 s alone, three times as long beside another
stage_gcc() {
  build_gcc all
  # stage models has the first, with models; in CI stage slow has every case of the second
  run_ctest gcc -LE slow -E "^(onnx_models${INGOT_DROP_TREES:+|conformance_combinations})\$"
}
# Tests of minutes, in the tree of stage gcc.
stage_slow() {
  build_gcc all
  run_ctest gcc -L slow
}
# The command line and other targets, where a stage is run without the ones before it.
need_ingot() {  # [TARGET..]
  [ $# -eq 0 ] && [ -x build/gcc/bin/ingot ] || build_gcc ingot_cli "$@"
}
model_runners=(raw_runner state_runner place_runner trap_runner)
gcc_options=(-DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc -DINGOT_WERROR=ON -DINGOT_TESTS=ON -DINGOT_CUDA=AUTO)
build_gcc() { configure_and_build gcc "$@" -- "${gcc_options[@]}" -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)"; } # TARGET..

# The inner loop: what can be run within seconds.
stage_quick() {
  build_gcc all
  run_ctest gcc -L quick
}

stage_sizes() {
  need_ingot raw_runner
  (need_packages "counted instructions" qemu-user) || true
  side_by_side instruction_counts "python3 tests/figures/binary_sizes.py --ingot build/gcc/bin/ingot --work build/sizes"
}

instruction_counts() { # [OPTION ..]
  python3 tests/figures/instruction_counts.py --ingot build/gcc/bin/ingot --models build/models \
    --runner build/gcc/tests/support/raw_runner --work build/instructions "$@"
}

stage_models() {
  need_ingot "${model_runners[@]}" micro_runner
  need_python "models from packages" numpy onnx==1.23.2 || { echo "[skip] no model was run: numpy and onnx are not to be had"; return 0; }
  need_python "goldens of the zoo" onnxruntime || echo "[skip] onnxruntime is not to be had: the zoo has no goldens"
  need_python "goldens of TFLite models" ai-edge-litert flatbuffers || echo "[skip] ai-edge-litert is not to be had: TFLite is compared with no runtime"
  local failed=0 decoder tflite scripts
  "$python" tests/models/run_models.py --part first --ingot build/gcc/bin/ingot --work build/models || failed=1
  INGOT_MODELS=$PWD/build/models run_ctest gcc -R '^onnx_models$' || failed=1
  decoder=(decoder chat experts hybrids lfm2 quantize gpt_oss packed_int4 encoders gemma3n gemma4)
  decoder+=(windows folders latents float8 ternary conversation perplexity)
  decoder=("${decoder[@]/#/import/decoder/}")
  # Small networks of every kind of operator that TFLite's published models have (integers, recurrent
  # layers, hybrids, detectors) against LiteRT; stage tflite has more of each.
  tflite=("integer_operators.py --exact-to litert --seeds 2" "integer_recurrent.py --exact-to litert --seeds 2"
    "hybrid_operators.py --seeds 2" "run_operators.py --seeds 3" "detection.py --seeds 20")
  "$python" -c 'import ai_edge_litert, flatbuffers' 2>/dev/null || tflite=()  # counted above
  scripts=("micro/streams.py --work build/models" "compile/stream/streaming.py --work build/streaming"
    "${tflite[@]/#/frameworks/litert/}" "${decoder[@]/%/_test.py}")
  scripts=("${scripts[@]/#/$python tests/}")
  side_by_side "${scripts[@]/%/ --ingot build/gcc/bin/ingot}" || failed=1
  return $failed
}

# The tests that read shared material, with it.
stage_shared_gcc() {
  need_shared || return 0
  build_gcc all
  run_ctest gcc -L shared
}

stage_shared_models() {
  need_shared || return 0
  need_ingot "${model_runners[@]}"
  need_python "models" numpy onnx==1.23.2 onnxruntime || { echo "[skip] no model was run: numpy, onnx and onnxruntime are not to be had"; return 0; }
  local failed=0
  "$python" tests/models/run_models.py --part shared --ingot build/gcc/bin/ingot --work build/models || failed=1
  "$python" tests/weights/overlay/goldens.py --ingot build/gcc/bin/ingot --work build/models || failed=1
  return $failed
}

# A published network on a bare board, MLPerf Tiny's in a project, their figures; what a published
# language model answers.
stage_shared_boards() {
  need_shared || return 0
  need_ingot
  local models=$INGOT_SHARED/models failed=0
  bash tests/firmware/run.sh build/gcc/bin/ingot build/firmware_mnist_8 "$models/xboot__libonnx/mnist_8/model.onnx" \
    "$models/golden/xboot__libonnx__mnist_8__model.onnx.npz" || failed=1
  need_riscv
  python3 tests/firmware/boards.py --ingot build/gcc/bin/ingot --work build/boards_tiny --boards mps2-an386,riscv32-virt \
    --networks str_ww_ref_model || failed=1
  python3 tests/firmware/story.py --ingot build/gcc/bin/ingot --work build/story --part shared || failed=1
  python3 tests/figures/binary_sizes.py --part shared --ingot build/gcc/bin/ingot --work build/sizes_shared || failed=1
  return $failed
}

stage_shared_python() {
  need_shared || return 0
  python_needed || return 0
  "$clean" tests/python/run_models.py --ingot build/gcc/bin/ingot --work build/models mnist_8 dtln_1
}

# The models of stage shared_models on the other processor, as stage aarch64 has the others.
stage_shared_aarch64() {
  need_shared || return 0
  need_ingot
  local names
  mapfile -t names < <(awk -F'\t' '$2 ~ /^shared:/ { print $1 }' tests/models/models.tsv)
  emulate_models "${names[@]}"
}

need_shared() {
  [ "$INGOT_SHARED" = none ] || return 0
  echo "[skip] there is no shared material: INGOT_SHARED names the folder that has it"
  return 1
}

# The same models on one scalar core, checkpoints laid over them, the decoder's bits, figures of dynamic shapes.
stage_overlay() {
  need_ingot "${model_runners[@]}"
  need_python "models from packages" numpy onnx==1.23.2 || { echo "[skip] no checkpoint was laid over a model: numpy and onnx are not to be had"; return 0; }
  need_python "goldens of the zoo" onnxruntime || echo "[skip] onnxruntime is not to be had: the zoo has no goldens"
  local scripts=(weights/overlay/goldens models/decoder_bits figures/dynamic)
  local options="--ingot build/gcc/bin/ingot --work build/models"
  scripts=("models/run_models.py --part rest" "${scripts[@]/%/.py}")
  scripts=("${scripts[@]/#/$python tests/}")
  side_by_side "${scripts[@]/%/ $options}"
}

stage_aarch64() {
  need_ingot raw_runner state_runner
  local options
  mapfile -t options < <(target_options aarch64)
  # An emulator inside an emulator: whole models run on it below, every case in stage target_aarch64.
  options+=(-DINGOT_CONFORMANCE_GPU=OFF)
  build_for_ctest aarch64 raw_runner state_runner gpu_runner fake_cuda -- "${options[@]}" -- -L per_isa
  # A quarter of the random cases, in which all pairs of values meet; stage target_aarch64 has all.
  INGOT_ONE_CASE_IN=4 run_ctest aarch64 -L per_isa
  emulate_models
}
# The answers of stage models again, on an emulated processor.
emulate_models() {  # [NAME..]
  if [ ! -f build/models/hashes.json ] || ! "$python" -c "import numpy" 2>/dev/null; then
    echo "[skip] no model was emulated: stage models ran none"
    return 0
  fi
  [ -x build/aarch64/tests/support/raw_runner ] || { echo "[skip] no model was emulated: stage aarch64 built no runner"; return 0; }
  local qemu="qemu-aarch64 -L /usr/aarch64-linux-gnu" sm=0
  local models="--ingot build/gcc/bin/ingot --work build/models --emulated"
  # The host side of the GPU, with the cubins that an Orin would get where a compiler made some: the
  # fake driver looks kernels up in them.
  if compgen -G "build/aarch64/kernels/cuda/cubin/*.sm87.*.cubin" >/dev/null; then sm=87; else echo "[skip] cubins in aarch64: no nvcc"; fi
  local gpu="$qemu -E FAKE_CUDA_SM=$sm -E INGOT_CUDA_DRIVER='$PWD/build/aarch64/tests/cuda/libfake_cuda.so'"
  # One network of each kind, as stage cuda runs the kernels on this machine's processor.
  local on_gpu="$*"
  [ -n "$on_gpu$every_model" ] ||
    on_gpu="digits looping detector decoder_state ppocr_cls pulsevad_2.1k_int8 silero_vad_16k_op15_state silero_vad_half tflite_wake_okay_nabu_int8"
  side_by_side "$python tests/models/run_models.py ${every_model:+--full} $models '$qemu build/aarch64/tests/support/raw_runner' $*" \
    "$python tests/cuda/run_models.py $models \"$gpu build/aarch64/tests/cuda/gpu_runner\" $on_gpu"
}

stage_firmware() {
  need_ingot
  need_riscv
  # projects as `ingot firmware` writes them; all boards and networks: ./dev show firmware
  side_by_side "bash tests/firmware/run.sh build/gcc/bin/ingot build/firmware" \
    "python3 tests/firmware/boards.py --ingot build/gcc/bin/ingot --work build/boards \
      --boards mps2-an386,riscv32-virt --networks digits,digits_f32,stream,svdf,alexa" \
    "python3 tests/firmware/story.py --ingot build/gcc/bin/ingot --work build/story --part own"
}

stage_nodes() {
  need_ingot graph_runner
  need_python "the operators' published tests" numpy onnx==1.23.2 || { echo "[skip] no node test was run: numpy and onnx are not to be had"; return 0; }
  local published="tests/frameworks/onnx_backend" peers="tests/frameworks/onnxruntime" ingot="--ingot build/gcc/bin/ingot"
  side_by_side "$python $published/run_forms.py $ingot" "$python $published/run_nodes.py $ingot" \
    "$python $published/run_attributes.py $ingot" || return 1
  need_python "integer operators of ONNX" numpy onnx onnxruntime || { echo "[skip] no integer operator was compared with onnxruntime: it is not to be had"; return 0; }
  side_by_side "$python $peers/integer_operators.py $ingot --seeds 3" "$python $peers/dynamic_operators.py $ingot --seeds 3" \
    "$python $peers/contrib_operators.py $ingot --seeds 2" "$python $peers/ml_operators.py $ingot --seeds 2" || return 1
  fuzz_onnx_ready || { echo "[skip] no graph was drawn: onnx, onnxruntime and ml_dtypes are not to be had"; return 0; }
  "$python" tests/frameworks/random_graphs/fuzz.py --runner build/gcc/tests/frameworks/random_graphs/graph_runner --graphs 800 --jobs 2
  "$python" tests/frameworks/onnxruntime/value_extents.py --ingot build/gcc/bin/ingot --runner build/gcc/tests/frameworks/random_graphs/graph_runner
}

# The quick check of the C interface is a test of stage gcc (api_promise); this is the one of the
# types as compiled.
stage_abi() {
  command -v abidw >/dev/null || (need_packages "the interface as compiled" abigail-tools) || echo "abigail-tools could not be installed"
  bash packaging/abi/compare.sh build/abi
}

# The library as a Jetson with JetPack 5 would load it: its C library, its device code, under qemu.
stage_board() {
  dev_build_tests
  bash tests/cuda/old_glibc.sh build/gcc
}

stage_package() { bash tests/package/run.sh build/gcc build/package; }
# In the tree of stage aarch64, whose objects are most of it.
stage_cross() {
  need_ingot
  local options
  mapfile -t options < <(target_options aarch64)
  ! command -v aarch64-linux-gnu-g++ >/dev/null ||
    configure_and_build aarch64 all -- "${options[@]}" -DINGOT_CONFORMANCE_GPU=OFF -DINGOT_TOOLS=DEVICE -DINGOT_TESTS=OFF
  bash tests/package/cross.sh build/gcc build/aarch64 build/cross
}
stage_demo() { dev_demo --check; }
stage_peers() { dev_bench --check; }
stage_pages() { dev_pages && show_pages; }
stage_browser() {
  dev_build_gcc
  command -v chromium >/dev/null || (need_packages "pages in a browser" chromium) || echo "chromium could not be installed"
  # the script counts what it then skips
  need_python "a large network's pages" numpy onnx==1.23.2 || python=python3
  "$python" tests/browser/pages.py --ingot build/gcc/bin/ingot
}

# What a test needs built; ends where there is no test of that name.
files_of_test() {  # NAME
  command -v python3 >/dev/null || {
    echo "dev: one test by its name needs python3: apt-get install python3" >&2
    exit 7
  }
  # `./dev build` and `./dev show` leave the tree without tests
  { [ -f build/gcc/CTestTestfile.cmake ] && grep -q '^INGOT_TESTS:BOOL=ON' build/gcc/CMakeCache.txt; } || build_gcc help >/dev/null || exit 1
  local refreshed= lacks=  # a tree that lacks a package has fewer tests
  until test_files=$(python3 cmake/dev/one_test.py build/gcc "$1" test full quick long \
    "${stages_test[@]}" "${stages_full[@]}" "${stages_shared[@]}" "${stages_long[@]}"); do
    # the source of a test may have come since the tree was configured
    [ -n "$refreshed" ] || { refreshed=1; build_gcc help >/dev/null && continue; }
    ! grep -q 'not found: .*(install' build/logs/configure-gcc.log 2>/dev/null ||
      lacks="; $(explain_configure gcc | sed 's/^dev: //')"
    echo "dev: no stage or test '$1'${test_files:+; did you mean: $test_files}; ./dev test --list has all$lacks" >&2
    exit 1
  done
}

# One test by its name, with what it needs built and no more.
run_named_test() {  # NAME
  local name=$1 log=build/logs/test-$1.log files status=0 test_files
  files_of_test "$name"
  files=$test_files
  ninja -C build/gcc -t targets all | sed 's/: .*//' | grep -Fx "$files" >"$log" || true
  local targets=()
  mapfile -t targets <"$log"
  [ ${#targets[@]} -eq 0 ] || build_gcc "${targets[@]}"
  local began=$SECONDS
  # What prepares it (a fixture) is run before it.
  run_ctest gcc -R "^$name\$" >"$log" 2>&1 || status=$?
  count_log "$log"
  if [ $status -ne 0 ]; then
    [ $stage_failed -gt 0 ] || stage_failed=1
    grep -vE '^(UpdateCTest|Parse Config|Test timeout|Test command|Working Dir)' "$log" | tail -n 60
  elif [ $((stage_passed + stage_skipped)) -eq 0 ]; then
    stage_passed=1
  fi
  say_stage "$name" $stage_passed $stage_failed $stage_skipped $((SECONDS - began))
  passed=$((passed + stage_passed)) failed=$((failed + stage_failed)) skipped=$((skipped + stage_skipped))
}

list_tests() {
  echo "./dev test        ${stages_test[*]}"
  echo "./dev test full   ${stages_full[*]}"
  echo "./dev test quick  ${stages_quick[*]}"
  echo "./dev test shared ${stages_shared[*]}"
  echo "./dev test long   all of these and ${stages_long[*]}"
  echo "./dev test --target NAME   the suite on another processor: ${target_names[*]}"
  if [ -f build/gcc/CTestTestfile.cmake ]; then
    ctest --test-dir build/gcc -N | sed -nE 's/.*Test +#[0-9]+: (.*)/\1/p'
  else
    echo "the names of the tests: after the first ./dev build, or ./dev test NAME"
  fi
}

dev_test() {
  local list=() stages=() tests=() s began=$SECONDS
  case "${1:-}" in
    --list) list_tests; return 0 ;;
    --target) ;;
    -*) echo "dev: test has no option '$1'; ./dev --help" >&2; exit 1 ;;
  esac
  [ $# -gt 0 ] || set -- test
  if [ "$1" = --target ]; then
    target_row "${2:-}" >/dev/null || exit 1
    set -- "target_$2"
  fi
  for s in "$@"; do
    case "$s" in
      test) list+=("${stages_test[@]}") ;;
      full) list+=("${stages_full[@]}") ;;
      quick) list+=("${stages_quick[@]}") ;;
      shared) list+=("${stages_shared[@]}") ;;
      processors) list+=("${target_names[@]/#/target_}") ;;
      long) list+=("${stages_test[@]}" "${stages_full[@]}" "${stages_long[@]}") every_model=1 ;;
      *) list+=("$s") ;;
    esac
  done
  need_packages "the build" "${build_packages[@]}"
  need_packages "the tests" "${test_packages[@]}" "${demo_packages[@]}"
  mkdir -p build/logs  # a tree that cmake alone configured has none
  local test_files
  for s in "${list[@]}"; do  # a wrong name is not found after half an hour
    declare -F "stage_$s" >/dev/null || files_of_test "$s"
  done
  # A test may have the name of a stage (demo): the stage is meant.
  weight_all=0
  for s in "${list[@]}"; do
    if declare -F "stage_$s" >/dev/null; then stages+=("$s") weight_all=$((weight_all + $(stage_weight "$s"))); else tests+=("$s"); fi
  done
  run_stages "${stages[@]}"
  for s in "${tests[@]}"; do run_named_test "$s"; done
  [ "$INGOT_SHARED" != none ] || printf '%s\n' "on the repository alone: ./dev test shared has what shared material adds (INGOT_SHARED names it)"
  echo "took $((SECONDS - began)) s"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $failed -eq 0 ]
}
