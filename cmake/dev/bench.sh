# SPDX-License-Identifier: Apache-2.0
# ./dev bench: networks compared with onnxruntime, OpenVINO and the others, in separate processes, interleaved.
dev_bench() {
  dev_build_gcc
  need_python "the benchmark" numpy onnx==1.23.2 onnxruntime
  local peer
  for peer in openvino ncnn pnnx MNN ai-edge-litert; do  # each may be missing; the table names what is
    case " $* $peer " in
      *" --check "*" openvino ") ;;
      *" --check "* | *" --integers "*" ncnn " | *" --integers "*" pnnx " | *" --integers "*" MNN ") continue ;;
    esac
    need_python_alone "the benchmark" $peer || echo "[skip] $peer is not to be had"
  done
  case " $* " in
    *" --integers "*) need_python_alone "the benchmark" executorch && need_python "ExecuTorch" torch torchao torchvision \
        || echo "[skip] executorch is not to be had" ;;
  esac
  "$python" bench/run.py --ingot build/gcc/bin/ingot --work build/bench --results bench/results "$@"
}

# The integer networks of ./dev bench and the transformers of quantize_dynamic, in one table.
dev_bench_integers() {
  mkdir -p build/bench
  dev_bench --integers --json build/bench/integers.json "$@"
  "$python" bench/dynamic_transformers.py --ingot build/gcc/bin/ingot --json build/bench/dynamic.json
  "$python" bench/run.py --tables build/bench/integers.json build/bench/dynamic.json --integers \
    --results bench/results
}

show_lot() { # [SEED [OPTION OF bench ..]]
  show_needs torch torchvision timm onnx==1.23.2
  local seed=${1:-2026-11-29} lot
  lot=build/bench/lot-$seed
  "$python" bench/lot.py "$seed" "$lot"
  dev_bench --json "$lot.json" "${@:2}" "$lot"/*.onnx
}

show_roofline() { # [NETWORK ..]
  show_needs numpy onnx==1.23.2 onnxruntime
  dev_build_gcc >/dev/null
  "$python" bench/roofline.py --ingot build/gcc/bin/ingot --work build/bench --svg docs/roofline.svg "$@"
}

show_instructions() { # [COMMIT [NETWORK ..]]
  need_ingot raw_runner
  need_packages "counted instructions" qemu-user
  [ $# -gt 0 ] || { instruction_counts; return; }
  show_before "$1"
  local tree=build/before/$before/build/gcc
  cmake -DINGOT_TESTS=ON "$tree" >build/logs/before.log
  ninja -C "$tree" raw_runner >>build/logs/before.log || return 1
  instruction_counts --before "$tree/tests/support/raw_runner" "${@:2}"
}
