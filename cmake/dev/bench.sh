# ./dev bench: networks beside onnxruntime, OpenVINO and the others, in separate processes, interleaved.
dev_bench() {
  dev_build_gcc
  need_python "the benchmark" numpy onnx==1.23.2 onnxruntime openvino
  "$python" bench/run.py --ingot build/gcc/bin/ingot --work build/bench "$@"
}
