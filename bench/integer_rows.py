# SPDX-License-Identifier: Apache-2.0
"""The integer networks of the comparison: TFLite files of shared material as they are, and networks
of the zoo that onnxruntime's tools quantize (weights and calibration data seeded).

A golden is made by the runtime that a file was made for: LiteRT, whose integers ours must equal,
and onnxruntime without optimizations, whose outputs ours must be near (one step in an early layer
becomes several at the end, between onnxruntime's own two graphs too).
"""

import sys

import numpy as np

from rows import ROOT, SHARED, Unavailable, call, write_golden

TINY = "models/mlcommons__tiny"
CORAL = "models/google-coral__test_data"
INTEGERS = {
    "tiny_kws": f"tflite:{TINY}/kws_ref_model.tflite",
    "tiny_ic": f"tflite:{TINY}/pretrainedResnet_quant.tflite",
    "tiny_vww": f"tflite:{TINY}/vww_96_int8.tflite",
    "tiny_ad": f"tflite:{TINY}/ad01_int8.tflite",
    "tiny_ww": f"tflite:{TINY}/str_ww_ref_model.tflite",
    "micro_svdf": "tflite:models/tensorflow__tflite-micro/keyword_scrambled.tflite",
    "mobilenetv1_025_128": f"tflite:{CORAL}/mobilenet_v1_0.25_128_quant.tflite",
    "movenet_lightning": f"tflite:{CORAL}/movenet_single_pose_lightning_ptq.tflite",
    "mobilenetv2_s8s8": "quantized:mobilenetv2_224",
    "mobilenetv2_u8s8": "quantized:mobilenetv2_224",
    "resnet50_s8s8": "quantized:resnet50_224",
    "resnet50_u8s8": "quantized:resnet50_224",
}
CALLS = {  # what a call through Python costs a peer: next to no work
    "call_tflite": "tflite:models/tensorflow__tflite-micro/hello_world_int8.tflite",
    "call_onnx": "null",
}
WRONG = 0.2  # of the largest output, for those that are not the runtime of the golden
NEAR = 0.12  # ours, compared with onnxruntime without optimizations


def litert_golden(path, npz):
    from ai_edge_litert.interpreter import Interpreter

    machine = Interpreter(model_path=str(path), num_threads=1)
    machine.allocate_tensors()
    rng, arrays = np.random.default_rng(5), {}
    for port in machine.get_input_details():
        kind = np.dtype(port["dtype"])
        array = rng.uniform(-1, 1, port["shape"]).astype(kind)
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            array = rng.integers(limits.min, limits.max + 1, port["shape"]).astype(kind)
        machine.set_tensor(port["index"], array)
        arrays["in:" + port["name"]] = array
    machine.invoke()
    for port in machine.get_output_details():
        arrays["out:" + port["name"]] = machine.get_tensor(port["index"])
    return arrays


def own_names(inspected, arrays):
    """The same arrays under the names that the converted file gives its ports; both have one of
    each."""
    ports = {"in:": inspected["inputs"], "out:": inspected["outputs"]}
    renamed = {}
    for kind, own in ports.items():
        theirs = [k for k in arrays if k.startswith(kind)]
        if len(theirs) != 1 or len(own) != 1:
            raise Unavailable("more than one input or output")
        renamed[kind + own[0]["name"]] = arrays[theirs[0]]
    return renamed


def quantize(plain, path, activations):
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        def __init__(self):
            rng = np.random.default_rng(3)
            self.rest = [rng.standard_normal((1, 3, 224, 224)).astype(np.float32) for _ in range(4)]

        def get_next(self):
            return {"input": self.rest.pop()} if self.rest else None

    quantization.quantize_static(
        str(plain),
        str(path),
        Samples(),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType[activations],
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
        extra_options={"ActivationSymmetric": False, "WeightSymmetric": True},
    )


def plain_of(name, work):
    """The floats that a network of the zoo was quantized from; None of the others."""
    kind, _, rest = {**INTEGERS, **CALLS}[name].partition(":")
    return work / f"{rest}.onnx" if kind == "quantized" else None


def prepare_integers(name, work, inspect):
    """(model, golden, .tflite or None) of a row; inspect(model) says the ports of what Ingot makes
    of it."""
    kind, _, rest = {**INTEGERS, **CALLS}[name].partition(":")
    npz = work / f"{name}_int.npz"
    if kind == "tflite":
        path = SHARED / rest
        if not path.exists():
            raise Unavailable("there is no shared material")
        if not npz.exists():
            np.savez(npz, **own_names(inspect(path), litert_golden(path, npz)))
        return path, npz, path
    path = work / f"{name}_int.onnx"
    if not npz.exists() and kind == "null":
        import onnx
        from rows import make_null

        onnx.save(
            onnx.helper.make_model(
                make_null(), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
            ),
            path,
        )
        write_golden(path, npz)
    elif not npz.exists():
        plain = plain_of(name, work)
        if not plain.exists():
            call([sys.executable, ROOT / "tests/models/make_zoo.py", work, rest, "--folded"])
        quantize(plain, path, "QInt8" if name.endswith("_s8s8") else "QUInt8")
        write_golden(path, npz)
    return path, npz, None
