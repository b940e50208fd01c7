#!/usr/bin/env python3
"""One peer runtime in a process of its own: prints one JSON line with its times and its error against the golden.

  peer.py {onnxruntime|openvino} MODEL.onnx GOLDEN.npz THREADS SECONDS
"""
import json
import sys
import time

import numpy as np


def onnxruntime_runner(path, inputs, threads):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    names = [o.name for o in session.get_outputs()]
    for name in names:
        binding.bind_output(name)

    def outputs():
        session.run_with_iobinding(binding)
        return dict(zip(names, binding.copy_outputs_to_cpu()))
    return lambda: session.run_with_iobinding(binding), outputs


def openvino_runner(path, inputs, threads):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(path)
    model.reshape({name: array.shape for name, array in inputs.items()})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                                                 "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, ov.Tensor(array))

    def outputs():
        request.infer()
        return {o.get_any_name(): request.get_tensor(o).data for o in compiled.outputs}
    return request.infer, outputs


def main():
    runtime, path, golden, threads, seconds = sys.argv[1], sys.argv[2], np.load(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    inputs = {k[3:]: golden[k] for k in golden.files if k.startswith("in:")}
    expected = {k[4:]: golden[k] for k in golden.files if k.startswith("out:")}
    began = time.perf_counter()
    run, outputs = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner}[runtime](path, inputs, threads)
    loaded = time.perf_counter()
    results = outputs()
    first = time.perf_counter()
    error = max(float(np.abs(results[k] - v).max() / max(np.abs(v).max(), 1e-30)) for k, v in expected.items() if k in results)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        t = time.perf_counter()
        run()
        times.append(time.perf_counter() - t)
    print(json.dumps({"median_ms": float(np.median(times)) * 1e3, "load_ms": (loaded - began) * 1e3, "first_ms": (first - loaded) * 1e3,
                      "error": error, "runs": len(times)}))


main()
