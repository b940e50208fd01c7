# SPDX-License-Identifier: Apache-2.0
# ./dev gpu [OPTION...] [PART...]: everything that only a machine with a GPU can show, part by part, into one report: bench/results/gpu/NAME.md, to be
# committed. What was done at this commit is kept and not done again, so that several short calls make one report; it is written
# whole, under its name, after every part. Without a GPU each part says so and is skipped.
#   --fake        over the driver's stand-in, to try this command itself; the report is build/gpu/fake/report.md
#   --minutes N   ends within N minutes; the next call goes on
#   --prebuilt    configures and builds nothing: a tree that was built elsewhere, for a machine without compilers and packages
#   --prepare     only builds, for every architecture that the compilers at hand can make
#                 (INGOT_CUDA_ARCHITECTURES names others), and makes every model and file that the
#                 parts need, so that --prebuilt finds them
#   --pack ARCH   one folder with the programs, models and device code of that architecture, for a
#                 machine that has a driver, a shell and nothing else: PACK/run --minutes N --out DIR
#   --learn FILE  the results.json of a pack: what was measured by what was predicted goes into the cost model (docs/cuda-cost.md)
#   --fresh       forgets what was done
#   --list        the parts, and what each shows
gpu_parts=(doctor fragments conformance fast branches models replays pipeline torch sanitizers)

gpu_title() {
  case $1 in
    doctor) echo "driver, GPU, which device code fits, clocks and power" ;;
    fragments) echo "fragments of tensor cores, loads, copies and conversions beside the emulator's" ;;
    conformance) echo "conformance through the driver, exact" ;;
    fast) echo "tensor cores through the driver, fast and fp16" ;;
    branches) echo "Ifs and Loops, decided inside graphs and by the CPU" ;;
    models) echo "whole models, the bits of the CPU" ;;
    replays) [ -n "$gpu_fake" ] && echo "30 replays, the same bits each time" || echo "1000 replays, the same bits each time; load to first result, p50, p99" ;;
    pipeline) echo "items: naive loop, run(), pipeline" ;;
    torch) [ -n "$gpu_fake" ] && echo "the comparison with torch, tried on this CPU" || echo "compared with torch: eager, CUDA graph, torch.compile(mode=\"max-autotune\")" ;;
    sanitizers) echo "the vendor's sanitizers" ;;
  esac
}

# ---- the parts; each a process of its own (./dev --gpu-part NAME) with gpu_dir, gpu_fake, gpu_seconds (left; empty: no end) and gpu_commit

# Sets `python` to one with numpy and onnx: the machine's own if it has them, so that no network is asked for.
gpu_need_python() {
  if python3 -c 'import numpy, onnx' 2>/dev/null; then python=python3; return 0; fi
  need_python "$1" numpy onnx==1.23.2
}

# A python with torch and onnx: the one that is named, the machine's, or that of build/venv.
gpu_torch_python() {
  local candidate
  for candidate in "${INGOT_TORCH_PYTHON:-}" python3 "$python"; do
    [ -n "$candidate" ] && "$candidate" -c 'import torch, onnx, numpy' 2>/dev/null && { echo "$candidate"; return 0; }
  done
  return 1
}

gpu_part_doctor() {
  build/gcc/bin/ingot doctor
  if [ -n "$gpu_fake" ]; then return 0; fi
  nvidia-smi --query-gpu=name,driver_version,pstate,clocks.sm,clocks.max.sm,clocks.mem,power.limit,persistence_mode --format=csv 2>/dev/null || echo "nvidia-smi: not here"
  if command -v nvpmodel >/dev/null; then nvpmodel -q 2>&1 | head -4; fi
}

gpu_part_fragments() { build/gcc/tests/cuda/test_cuda_fragments_gpu; }

gpu_part_conformance() {
  build/gcc/tests/conformance/test_conformance_driver "-tce=*tensor cores*"
}

# Products and attention of tensor cores: every kernel variant in fast and fp16, within the
# tolerance table.
gpu_part_fast() { build/gcc/tests/conformance/test_conformance_driver "-tc=*tensor cores*"; }

# A loop that did not end would hold the GPU: its process is ended, so that the parts behind have it.
gpu_part_branches() {
  local replays=1000
  [ -z "$gpu_fake" ] || replays=20
  timeout --kill-after=10 300 build/gcc/tests/cuda/test_cuda_branches_gpu --replays $replays
}

gpu_models() {
  gpu_need_python "models on a GPU" || { echo "[skip] no model ran: numpy and onnx are not to be had"; return 0; }
  local options=(--commit "$gpu_commit") names=()
  if [ -n "$gpu_fake" ]; then
    options+=(--fake "$INGOT_CUDA_DRIVER")
    mapfile -t names < <(awk -F'\t' '$4 == 1 { print $1 }' tests/models/models.tsv)
  fi
  [ -z "$gpu_seconds" ] || options+=(--budget "$gpu_seconds")
  "$python" tests/cuda/run_models.py --ingot build/gcc/bin/ingot --work build/models "${options[@]}" "$@" "${names[@]}"
}
gpu_part_models() { gpu_models --report "$gpu_dir/models.json"; }
gpu_part_replays() {
  if [ -n "$gpu_fake" ]; then gpu_models --replays 30 --report "$gpu_dir/replays.json"
  else gpu_models --replays 1000 --seconds 2 --report "$gpu_dir/replays.json"; fi
}

# Static networks of different weight between copying and computing; each f32 and in f16.
gpu_pipeline_models() {
  local name
  if [ -n "$gpu_fake" ]; then
    [ -f build/gpu/digits.ingot ] || build/gcc/bin/ingot convert examples/digits/digits.onnx --input-shape image=1x1x28x28 -o build/gpu/digits.ingot >/dev/null
    echo build/gpu/digits.ingot
    return
  fi
  for name in mobilenetv2_224 yolov8n_320 unet_192 resnet50_224; do
    "$python" -c 'import pathlib, sys; sys.path.insert(0, "tests/models"); from sources import convert_from_zoo
convert_from_zoo(sys.argv[1], sys.argv[2], pathlib.Path("build/models"))' build/gcc/bin/ingot $name >&2 || continue
    [ -f build/models/$name.fp16.ingot ] || build/gcc/bin/ingot convert build/models/zoo/$name.onnx --precision fp16 --precision-check off -o build/models/$name.fp16.ingot >/dev/null || continue
    printf '%s\n' build/models/$name.ingot build/models/$name.fp16.ingot
  done
}
gpu_part_pipeline() {
  gpu_need_python "models of the pipeline" || { echo "[skip] pipelines: numpy and onnx are not to be had"; return 0; }
  local options=(--seconds 0.3) models
  mapfile -t models < <(gpu_pipeline_models)
  if [ -n "$gpu_fake" ]; then options=(--seconds 0.02 --rounds 3); fi
  build/gcc/tests/cuda/pipeline_bench --device cuda "${options[@]}" --json "$gpu_dir/pipeline.json" "${models[@]}"
  if [ -z "$gpu_fake" ]; then build/gcc/tests/cuda/pipeline_bench --device cpu "${options[@]}" "${models[0]}"; fi
}

gpu_part_torch() {
  local torch options=(--commit "$gpu_commit" --report "$gpu_dir/torch.json") names=()
  torch=$(gpu_torch_python) || {
    if [ -n "$gpu_fake" ]; then echo "[skip] comparison with torch: torch is gigabytes, and not here"; return 0; fi
    need_python "the comparison with torch" numpy onnx==1.23.2 torch || { echo "[skip] comparison with torch: torch is not to be had"; return 0; }
    torch=$python
  }
  if [ -n "$gpu_fake" ]; then
    options+=(--device cpu --batches 1,8 --rounds 2 --seconds 0.05)
    names=(digits mnist_8)
  elif ! build/gcc/tests/cuda/gpu_runner --name >/dev/null; then
    echo "[skip] comparison with torch: no GPU was found"
    return 0
  fi
  [ -z "$gpu_seconds" ] || options+=(--budget "$gpu_seconds")
  "$torch" bench/cuda_torch.py --ingot build/gcc/bin/ingot --models build/models --work build/gpu/networks "${options[@]}" "${names[@]}"
}

# The programs that the vendor's checks watch; tests/cuda/kernel_coverage.py has the kernels that
# they launch: all of them.
gpu_watched() {  # TOOL PROGRAM: one program under one check
  local limit=$((${gpu_seconds:-1800}))
  case $2 in
    conformance) set -- "$1" build/gcc/tests/conformance/test_conformance_driver ;;
    branches) set -- "$1" build/gcc/tests/cuda/test_cuda_branches_gpu --replays 3 ;;
  esac
  timeout "$limit" "$sanitizer" --tool "$1" --error-exitcode 9 "${@:2}"
}

# gpu_sanitizer_verdict STATUS LOG: passed, failed, or why it says nothing.
gpu_sanitizer_verdict() {
  if [ "$1" -eq 0 ]; then echo passed
  elif [ "$1" -eq 77 ]; then echo "[skip] no GPU was found"
  elif [ "$1" -eq 124 ] && ! grep -qE '=== (ERROR SUMMARY: [1-9]|Invalid|Error)' "$2"; then
    echo "[skip] the time was over, and nothing was found until then"
  elif grep -qi 'not supported\|permission\|debugger' "$2"; then
    echo "[skip] this machine does not allow it"
  else echo failed; fi
}

# The vendor's checks of device code, over programs that launch every kernel.
gpu_part_sanitizers() {
  local sanitizer tool program log status verdict passed=0 failed=0
  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer || true)
  if [ -z "$sanitizer" ]; then echo "[skip] compute-sanitizer is not on this machine"; return 0; fi
  if [ -n "$gpu_fake" ]; then
    echo "[skip] compute-sanitizer: no GPU is behind the fake driver"
    return 0
  fi
  for tool in memcheck racecheck synccheck; do
    for program in conformance branches; do
      log=$gpu_dir/$tool-$program
      if [ "$(cat "$log.done" 2>/dev/null)" = "$gpu_commit" ]; then
        echo "$tool, $program: passed in an earlier call"
        passed=$((passed + 1))
        continue
      fi
      status=0
      gpu_watched "$tool" "$program" >"$log.log" 2>&1 || status=$?
      verdict=$(gpu_sanitizer_verdict $status "$log.log")
      echo "$tool, $program: $verdict"
      tail -3 "$log.log"
      case $verdict in
        passed) passed=$((passed + 1)); echo "$gpu_commit" >"$log.done" ;;
        failed) failed=$((failed + 1)) ;;
      esac
    done
  done
  echo "sanitizers: $passed passed, $failed failed"
  [ $failed -eq 0 ]
}

# ---- the report

# What a figure cannot be read without.
gpu_heading() {
  printf '# %s\n\nMade by `./dev gpu%s` at %s, %s.\n\n' "$1" "${gpu_fake:+ --fake}" "$gpu_commit" "$(date -u +%Y-%m-%d)"
  if [ -n "$gpu_fake" ]; then printf 'Emulated: no time in it means anything.\n\n'; fi
  printf '```\n'
  build/gcc/bin/ingot doctor 2>/dev/null | grep -E '^(system|processor|memory|board|power|clocks|cuda)' || true
  if [ -z "$gpu_fake" ]; then
    nvidia-smi --query-gpu=driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit --format=csv,noheader 2>/dev/null | sed 's/^/driver, clock now, most, of memory, power limit: /' || true
    nvpmodel -q 2>/dev/null | grep -i mode || true
  fi
  printf '```\n'
}

# gpu_section PART LOG SECONDS STATE: as markdown; what a log says behind "<!-- markdown -->" is markdown already.
gpu_section() {
  printf '\n## %s\n\n%d passed, %d failed, %d skipped; %d s%s\n\n' "$(gpu_title "$1")" $stage_passed $stage_failed $stage_skipped "$3" "$4"
  if grep -q '^<!-- markdown -->' "$2"; then
    sed '1,/^<!-- markdown -->/d' "$2"
  else
    printf '```\n'
    grep -v '^\[doctest\] \(doctest\|run\)\|^=====' "$2" | tail -150 || true  # an empty log
    printf '```\n'
  fi
}

# Every part that has a section, in order; whole or not at all.
gpu_write_report() {  # TITLE FILE
  local part missing
  mkdir -p "$(dirname "$2")"
  {
    gpu_heading "$1"
    for part in "${gpu_parts[@]}"; do [ ! -f "$gpu_dir/$part.md" ] || cat "$gpu_dir/$part.md"; done
    missing=$(for part in "${gpu_parts[@]}"; do [ -f "$gpu_dir/$part.md" ] || printf '%s ' "$part"; done)
    printf '\nNot there: %s\n' "${missing:-nothing}"
  } >"$2.tmp"
  mv "$2.tmp" "$2"
}

# gpu_run_part PART SECONDS (empty: no end)
gpu_run_part() {
  local part=$1 log=$gpu_dir/$1.log status=0 began=$SECONDS state= limit=()
  [ -z "$2" ] || limit=(timeout --kill-after=20 "$2")
  # A tenth is kept for ending well.
  gpu_seconds=${2:+$(($2 * 9 / 10))} "${limit[@]}" "$BASH" ./dev --gpu-part "$part" >"$log" 2>&1 &
  local pid=$!
  trap 'kill $pid 2>/dev/null; exit 130' INT TERM
  wait $pid || status=$?
  trap - INT TERM
  count_log "$log"
  if { [ $status -eq 124 ] || [ $status -eq 137 ]; } && [ -n "$2" ]; then
    state="; not finished, the time was over"
    stage_skipped=$((stage_skipped + 1))
  elif grep -q '\[skip\].*the next call goes on' "$log"; then
    state="; not finished, the next call goes on"
  elif [ $status -eq 77 ]; then status=0
  elif [ $status -ne 0 ] && [ $stage_failed -eq 0 ]; then stage_failed=1
  elif [ $status -eq 0 ] && [ $((stage_passed + stage_failed + stage_skipped)) -eq 0 ]; then stage_passed=1; fi
  gpu_passed=$((gpu_passed + stage_passed)) gpu_failed=$((gpu_failed + stage_failed)) gpu_skipped=$((gpu_skipped + stage_skipped))
  printf '%-12s %5d passed %3d failed %3d skipped  %4d s%s\n' "$part" $stage_passed $stage_failed $stage_skipped $((SECONDS - began)) "$state"
  grep -h '\[skip\]' "$log" | sort -u | head -5 | sed 's/^/    /' || true
  [ $stage_failed -eq 0 ] || { tail -5 "$log" | sed 's/^/    /'; echo "    whole log: $log"; }
  gpu_section "$part" "$log" $((SECONDS - began)) "$state" >"$gpu_dir/$part.md.tmp"
  mv "$gpu_dir/$part.md.tmp" "$gpu_dir/$part.md"
  rm -f "$gpu_dir/$part.done"
  if [ -n "$state" ]; then gpu_unfinished+=("$part"); elif [ $stage_failed -eq 0 ] && [ $stage_passed -gt 0 ]; then echo "$gpu_commit" >"$gpu_dir/$part.done"; fi
}

# gpu_build ARCHITECTURES: empty, all that the compilers at hand can make.
gpu_build() {
  configure_and_build gcc gpu_runner state_runner trap_runner rebind_runner test_conformance_driver test_cuda_fragments_gpu test_cuda_branches_gpu pipeline_bench fake_cuda ingot_cli -- -DCMAKE_CXX_COMPILER=g++ \
    -DCMAKE_C_COMPILER=gcc -DINGOT_WERROR=ON -DINGOT_TESTS=ON -DINGOT_CUDA_ARCHITECTURES="$1"
}

# What a tree is built for: this machine's GPUs; one that is prepared for another machine, all
# architectures (or those of the variable).
gpu_architectures() {  # PREPARE
  if [ -n "$1" ]; then echo "${INGOT_CUDA_ARCHITECTURES:-}"; else cuda_architectures; fi
}

gpu_pack_programs=(ingot_cli gpu_runner test_conformance_driver test_cuda_fragments_gpu pipeline_bench
  pack_tool pack_run fake_cuda)

# gpu_pack ARCHITECTURE: build/gpu/pack-ARCHITECTURE, which runs on a machine with a driver and a
# shell (PACK/run).
gpu_pack() {
  local architecture=${1#sm_} nvcc version=13.0 makes="75 80 86 89 90 100 120"
  local programs=("${gpu_pack_programs[@]}")
  [ "$(uname -m)" != aarch64 ] || makes="72 87 90 100 110"
  if [[ " $makes " != *" $architecture "* ]] || [ -z "$architecture" ]; then
    echo "dev: gpu: --pack: on $(uname -m) for one of $makes, found '${1:-}';" \
      "a Jetson's (72 87 110) is made on aarch64" >&2
    return 1
  fi
  [[ " 72 87 " != *" $architecture "* ]] || version=11.8
  [[ " 75 80 86 89 90 " != *" $architecture "* ]] || version=12.4  # drivers of CUDA 12 take it, too
  gpu_need_python "models of a pack" || {
    echo "dev: gpu: --pack: its models need numpy and onnx" >&2
    return 7
  }
  if [ "$(uname -m)" = aarch64 ]; then  # a Jetson has the compiler that its driver takes
    nvcc=$(cuda_nvcc $version 2>/dev/null || PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || {
      echo "dev: gpu: --pack: no nvcc: JetPack has it (apt-get install cuda-nvcc, or nvidia-jetpack)" >&2
      return 7
    }
  elif ! nvcc=$(cuda_nvcc $version); then
    echo "dev: gpu: --pack: no CUDA $version, and none could be assembled" >&2
    [ $version = 12.4 ] && nvcc=$(cuda_nvcc 13.0) || return 7
    echo "dev: gpu: --pack: made by CUDA 13.0 instead: a driver before CUDA 13 does not take it" >&2
  fi
  configure_and_build "pack-$architecture" "${programs[@]}" -- "${gcc_options[@]}" -DINGOT_CUDA=ON \
    "-DINGOT_NVCC=$nvcc" "-DINGOT_CUDA_ARCHITECTURES=$architecture" || return 1
  mkdir -p build/gpu
  "$python" tests/cuda/gpu_pack/make_pack.py --build "build/pack-$architecture" \
    --models build/models --architecture "$architecture" --commit "$(gpu_code)" \
    --out "build/gpu/pack-$architecture"
}

# gpu_learn RESULTS.json
gpu_learn() {
  [ -f "$1" ] || { echo "dev: gpu: --learn: no file '$1'; a pack leaves results.json" >&2; return 1; }
  python3 tests/figures/gpu_factors.py "$1" --write tools/diagnose/gpu_cost/measured.inl
}

# gpu_rehearse TREE: a small pack of its programs, on hostile machines over the fake driver; a minute.
gpu_rehearse() {
  mkdir -p build/gpu
  python3 tests/cuda/gpu_pack/make_pack.py --build "$1" --models build/models --architecture 0 --small --commit "$(gpu_code)" \
    --out build/gpu/pack-small && python3 tests/cuda/gpu_pack/rehearse.py build/gpu/pack-small "$1/tests/cuda/libfake_cuda.so" "${@:2}"
}

# The last commit of what is measured: one of a report or a page makes nothing old.
gpu_code() {
  local code=(runtime kernels tools tests schema cmake ':!cmake/dev' CMakeLists.txt bench/pipeline bench/cuda_torch.py bench/onnx_as_torch.py) last
  if ! last=$(git log -1 --format=%h -- "${code[@]}" 2>/dev/null) || [ -z "$last" ]; then cat build/gpu/commit 2>/dev/null || echo unknown; return; fi
  [ -z "$(git status --porcelain -- "${code[@]}")" ] || last=$last+
  echo "$last"
}

# Files that need a network or hours of a CPU, for a machine that has neither.
gpu_prepare() {
  gpu_need_python "models on a GPU" || return 1
  mkdir -p build/gpu
  gpu_code >build/gpu/commit.tmp && mv build/gpu/commit.tmp build/gpu/commit
  "$python" tests/cuda/run_models.py --ingot build/gcc/bin/ingot --work build/models --prepare
  gpu_fake='' gpu_pipeline_models
  local torch
  torch=$(gpu_torch_python) || { echo "[skip] files of the comparison with torch: torch is not here"; return 0; }
  "$torch" bench/cuda_torch.py --ingot build/gcc/bin/ingot --models build/models --work build/gpu/networks --prepare
}

dev_gpu() {
  local minutes='' prebuilt='' prepare='' fresh='' asked=() part name report left deadline
  gpu_fake='' gpu_passed=0 gpu_failed=0 gpu_skipped=0 gpu_unfinished=()
  while [ $# -gt 0 ]; do
    case $1 in
      --fake) gpu_fake=1 ;;
      --minutes) minutes=${2:-}; shift; [[ $minutes =~ ^[0-9]+$ ]] || { echo "dev: gpu: --minutes takes a number" >&2; return 1; } ;;
      --prebuilt) prebuilt=1 ;;
      --prepare) prepare=1 ;;
      --fresh) fresh=1 ;;
      --pack) gpu_pack "${2:-}"; return ;;
      --learn) gpu_learn "${2:-}"; return ;;
      --list) for part in "${gpu_parts[@]}"; do printf '%-12s %s\n' "$part" "$(gpu_title "$part")"; done; return 0 ;;
      -*) echo "dev: gpu: no option $1; see cmake/dev/gpu.sh" >&2; return 1 ;;
      *) [[ " ${gpu_parts[*]} " == *" $1 "* ]] || { echo "dev: gpu: no part '$1'; parts: ${gpu_parts[*]}" >&2; return 1; }
         asked+=("$1") ;;
    esac
    shift
  done
  deadline=$((SECONDS + ${minutes:-0} * 60))
  export INGOT_CUDA_DRIVER=  # empty: the machine's own; unset, the tests' programs would name none
  [ -n "$prebuilt" ] || gpu_build "$(gpu_architectures "$prepare")" || return 1
  if [ -n "$prepare" ]; then gpu_prepare; return; fi
  if [ -n "$gpu_fake" ]; then export INGOT_CUDA_DRIVER=$PWD/build/gcc/tests/cuda/libfake_cuda.so; fi
  name=$(build/gcc/tests/cuda/gpu_runner --name || true)
  gpu_dir=build/gpu/$(echo "${name:-none}" | tr -cs 'A-Za-z0-9\n' - | sed 's/-$//') report=
  [ -z "$gpu_fake" ] || gpu_dir=build/gpu/fake
  gpu_commit=$(gpu_code)
  [ -z "$fresh" ] || rm -rf "$gpu_dir"
  mkdir -p "$gpu_dir"
  report=$gpu_dir/report.md
  if [ -z "$gpu_fake" ] && [ -n "$name" ]; then report=bench/results/gpu/$(basename "$gpu_dir").md; fi
  export gpu_dir gpu_fake gpu_commit
  echo "${name:-no GPU was found}"
  for part in "${asked[@]:-${gpu_parts[@]}}"; do
    if [ ${#asked[@]} -eq 0 ] && [ "$(cat "$gpu_dir/$part.done" 2>/dev/null)" = "$gpu_commit" ]; then printf '%-12s done at this commit\n' "$part"; continue; fi
    left=
    if [ -n "$minutes" ]; then
      left=$((deadline - SECONDS))
      if [ $left -lt 20 ]; then gpu_unfinished+=("$part"); continue; fi
    fi
    gpu_run_part "$part" "$left"
    gpu_write_report "${name:-no GPU was found}" "$report"
  done
  echo "report: $report"
  [ ${#gpu_unfinished[@]} -eq 0 ] || echo "not finished: ${gpu_unfinished[*]}; call again"
  echo "gpu: $gpu_passed passed, $gpu_failed failed, $gpu_skipped skipped"
  [ $gpu_failed -eq 0 ]
}
