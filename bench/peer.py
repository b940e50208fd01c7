#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One peer runtime in a process of its own.

  peer.py RUNTIME MODEL.onnx GOLDEN.npz THREADS [--work DIR] [--tflite FILE] [--plain FILE]
          [--precision f32|bf16]
  RUNTIME: onnxruntime openvino ncnn MNN litert executorch

Loads the model (converting it first where the runtime has a format of its own), compares its
outputs with the golden and prints one JSON line: load_ms, first_ms, error, version; or {"absent":
why}. Then each line of stdin, a number of seconds, is answered with median_ms, p99_ms and runs.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

from rounds import answer_rounds


class Absent(Exception):
    """Why this runtime cannot run this model."""


def convert(command, model, product, seconds=300):
    """Runs a converter unless its product is there and no older than the model."""
    if not product.exists() or product.stat().st_mtime < os.stat(model).st_mtime:
        product.unlink(missing_ok=True)
        product.parent.mkdir(parents=True, exist_ok=True)
        # mnnconvert would first install a package that reports its use: without an index it goes on
        # at once.
        done = subprocess.run(
            [str(c) for c in command],
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, "PIP_NO_INDEX": "1"},
        )
        if not product.exists():
            said = " ".join((done.stderr + done.stdout).split())
            raise Absent(f"its converter does not take the model: {said[-120:]}")
    return product


def onnxruntime_runner(a, inputs, names):
    if a.model.endswith(".tflite"):
        raise Absent("it reads no .tflite")
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = (
        a.threads,
        1,
        3,
    )
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(a.model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    own = [o.name for o in session.get_outputs()]
    for name in own:
        binding.bind_output(name)
    return lambda: session.run_with_iobinding(binding), lambda: dict(
        zip(own, binding.copy_outputs_to_cpu())
    )


def openvino_runner(a, inputs, names):
    import openvino as ov
    from openvino._pyopenvino import InferRequest

    core = ov.Core()
    compiled = core.compile_model(
        core.read_model(a.model),
        "CPU",
        {
            "INFERENCE_NUM_THREADS": a.threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": a.precision,
        },
    )
    request = compiled.create_infer_request()
    for name, array in inputs.items():
        if len(inputs) == 1:  # a .tflite's has another name there
            request.set_input_tensor(ov.Tensor(array))
        else:
            request.set_tensor(name, ov.Tensor(array))
    outputs = lambda: dict(
        zip(names, [request.get_output_tensor(i).data.copy() for i in range(len(compiled.outputs))])
    )
    return lambda: InferRequest.infer(
        request, {}, True, False
    ), outputs  # below the Python wrapper: inputs as set, outputs shared


def ncnn_runner(a, inputs, names):
    home = pathlib.Path(a.work) / "ncnn" / pathlib.Path(a.model).stem
    spec = importlib.util.find_spec("pnnx")
    if not spec and not (home / "m.param").exists():
        raise Absent("pnnx, its converter, is not installed")
    import ncnn

    # the program; the package itself asks for torch
    converter = pathlib.Path(spec.submodule_search_locations[0] if spec else home) / "pnnx"
    shape = lambda x: (
        "["
        + ",".join(map(str, x.shape or [1]))
        + "]"
        + {"float32": "f32", "int64": "i64"}[str(x.dtype)]
    )
    files = [
        f"{k}={home / v}"
        for k, v in dict(
            pnnxparam="p.param",
            pnnxbin="p.bin",
            pnnxpy="p.py",
            pnnxonnx="p.onnx",
            ncnnparam="m.param",
            ncnnbin="m.bin",
            ncnnpy="m.py",
        ).items()
    ]
    home.mkdir(parents=True, exist_ok=True)
    shapes = "inputshape=" + ",".join(map(shape, inputs.values()))
    convert(
        [converter, pathlib.Path(a.model).resolve(), shapes, "fp16=0", *files],
        a.model,
        home / "m.param",
    )
    net = ncnn.Net()
    net.opt.num_threads, net.opt.use_vulkan_compute = a.threads, False
    for key in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, key, False)
    if net.load_param(str(home / "m.param")) or net.load_model(str(home / "m.bin")):
        raise Absent("it does not load what pnnx made (operators without an ncnn form)")
    script = (home / "m.py").read_text()
    feeds = []
    for name, which, rest in re.findall(
        r'ex\.input\("(\w+)", ncnn\.Mat\((\w+)(.*)\)\.clone\(\)\)', script
    ):
        array = list(inputs.values())[int(which[2:])]
        array = array[0] if "squeeze(0)" in rest or "batch_index=0" in rest else array
        feeds.append(
            (
                name,
                ncnn.Mat(
                    np.ascontiguousarray(
                        array.astype(np.int32) if array.dtype == np.int64 else array
                    )
                ).clone(),
            )
        )
    wanted = re.findall(r'ex\.extract\("(\w+)"\)', script)
    if not feeds or not wanted:
        raise Absent("pnnx made a script that this harness does not read")
    last = []

    def run():
        extractor = net.create_extractor()
        for name, mat in feeds:
            extractor.input(name, mat)
        last[:] = [extractor.extract(name)[1] for name in wanted]

    return run, lambda: dict(zip(names, [np.array(m) for m in last]))


def mnn_runner(a, inputs, names):
    import MNN

    product = pathlib.Path(a.work) / "mnn" / f"{pathlib.Path(a.model).stem}.mnn"
    # not its script, whose first line names the Python that installed it
    converter = "from MNN.tools.mnnconvert import main; main()"
    convert(
        [
            sys.executable,
            "-c",
            converter,
            "-f",
            "ONNX",
            "--modelFile",
            a.model,
            "--MNNModel",
            product,
            "--bizCode",
            "bench",
        ],
        a.model,
        product,
    )
    interpreter = MNN.Interpreter(str(product))
    session = interpreter.createSession(
        {"backend": "CPU", "numThread": a.threads, "precision": "high"}
    )
    types = {"float32": MNN.Halide_Type_Float, "int32": MNN.Halide_Type_Int}
    have, feeds = interpreter.getSessionInputAll(session), []
    for name, array in inputs.items():
        array = array.astype(np.int32) if array.dtype == np.int64 else array
        if name not in have:
            continue  # an input that its converter folded away
        feeds.append(
            (
                have[name],
                MNN.Tensor(
                    tuple(array.shape) or (1,),
                    types[str(array.dtype)],
                    np.ascontiguousarray(array),
                    MNN.Tensor_DimensionType_Caffe,
                ),
            )
        )
    made = interpreter.getSessionOutputAll(session)
    results = []
    for name in names:
        if name not in made:
            raise Absent(f"output {name} is gone after its conversion")
        shape = made[name].getShape()
        results.append(
            (
                name,
                made[name],
                shape,
                MNN.Tensor(
                    shape,
                    MNN.Halide_Type_Float,
                    np.zeros(shape, np.float32),
                    MNN.Tensor_DimensionType_Caffe,
                ),
            )
        )

    def run():
        for to, host in feeds:
            to.copyFrom(host)
        interpreter.runSession(session)
        for _, of, _, host in results:
            of.copyToHostTensor(host)

    return run, lambda: {
        name: np.array(host.getNumpyData()).reshape(shape) for name, _, shape, host in results
    }


def litert_runner(a, inputs, names):
    if not a.tflite or not os.path.exists(a.tflite):
        raise Absent("no .tflite of this network")
    from ai_edge_litert import interpreter as litert

    machine = litert.Interpreter(model_path=a.tflite, num_threads=a.threads)
    machine.allocate_tensors()
    by_size = list(inputs.values())
    feeds, ports = [], machine.get_output_details()
    for port in (
        machine.get_input_details()
    ):  # matched by the number of elements: names differ between the two files
        at = next((i for i, x in enumerate(by_size) if x.size == int(np.prod(port["shape"]))), None)
        if at is None:
            raise Absent("its inputs are not those of the ONNX file")
        feeds.append((port["index"], by_size.pop(at).reshape(port["shape"]).astype(port["dtype"])))

    def outputs():  # inputs lie where later tensors may lie, so that each answer wants them anew
        for index, array in feeds:
            machine.set_tensor(index, array)
        machine.invoke()
        return {"by size": [machine.get_tensor(p["index"]) for p in ports]}

    return machine.invoke, outputs


def executorch_runner(a, inputs, names):
    """A network of the zoo, quantized by its own tools from the same floats."""
    if not a.plain:
        raise Absent("only the networks of the zoo are quantized for it")
    product = pathlib.Path(a.plain).with_suffix(".pte")
    script = pathlib.Path(__file__).with_name("executorch_model.py")
    convert([sys.executable, script, a.plain, product], a.plain, product, seconds=1800)
    import torch
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(a.threads)
    method = portable_lib._load_for_executorch(str(product))
    arrays = [torch.from_numpy(x) for x in inputs.values()]
    last = []

    def run():
        last[:] = method.forward(arrays)

    return run, lambda: {"by size": [np.asarray(x) for x in last]}


RUNNERS = {
    "onnxruntime": (onnxruntime_runner, "onnxruntime"),
    "openvino": (openvino_runner, "openvino"),
    "ncnn": (ncnn_runner, "ncnn"),
    "MNN": (mnn_runner, "MNN"),
    "litert": (litert_runner, "ai-edge-litert"),
    "executorch": (executorch_runner, "executorch"),
}


def worst(results, expected):
    """Largest difference relative to the largest value of each output; outputs under other names
    are matched by size."""
    error = 0.0
    for name, want in expected.items():
        offered = [results[name]] if name in results else results.get("by size", [])
        differences = [
            float(
                np.abs(np.asarray(got, np.float64).ravel() - want.ravel()).max()
                / max(np.abs(want).max(), 1e-30)
            )
            for got in offered
            if got.size == want.size
        ]
        error = max(error, min(differences, default=9.0))
    return error


def serve(a, say):
    make, package = RUNNERS[a.runtime]
    golden = np.load(a.golden)
    inputs = {k[3:]: np.array(golden[k], order="C") for k in golden.files if k.startswith("in:")}
    expected = {k[4:]: golden[k] for k in golden.files if k.startswith("out:")}
    began = time.perf_counter()
    run, outputs = make(a, inputs, list(expected))
    loaded = time.perf_counter()
    run()
    first = time.perf_counter()
    say(
        load_ms=(loaded - began) * 1e3,
        first_ms=(first - loaded) * 1e3,
        error=worst(outputs(), expected),
        version=importlib.metadata.version(package),
    )
    answer_rounds(run, say)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runtime", choices=list(RUNNERS))
    parser.add_argument("model")
    parser.add_argument("golden")
    parser.add_argument("threads", type=int)
    parser.add_argument("--work", default=".")
    parser.add_argument("--tflite")
    parser.add_argument("--plain")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    return parser


def main():
    args = arguments().parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a runtime prints is no answer
    say = lambda **fields: answers.write(json.dumps(fields) + "\n")
    try:
        if importlib.util.find_spec(RUNNERS[args.runtime][1].replace("-", "_")) is None:
            raise Absent("not installed")
        serve(args, say)
    except Absent as why:
        say(absent=str(why))
    except Exception as fault:  # a peer that fails is named, it does not end the comparison
        say(absent=f"{type(fault).__name__}: {' '.join(str(fault).split())[:160]}")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main()
