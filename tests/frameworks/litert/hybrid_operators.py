#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators with weights of int8 and floating inputs ("dynamic range") against LiteRT's own
kernels, without XNNPACK: shapes, options and numbers drawn at random. A line for each operator:
models, numbers, how far at most, as a share of the largest; all of it in integer kernels.

  hybrid_operators.py --ingot BIN [--seeds N] [name ...]

Needs the package ai-edge-litert."""

import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from operator_cases import conv, depthwise, fully_connected
from recurrent_cases import sequence_lstm, sequence_rnn, svdf
from written_model import Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

PLAIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
PRODUCT = 1e-6  # f32 rounds in another order
STATES = 1e-2  # a state on the edge between two bytes

# name: (drawing, operands that become int8, axis of channels or None, whether the inputs may have
# zero points, how far numbers may be)
CASES = {
    "FULLY_CONNECTED": (fully_connected, [1], 0, True, PRODUCT),
    "CONV_2D": (conv, [1], 0, False, PRODUCT),
    "DEPTHWISE_CONV_2D": (depthwise, [1], 3, False, PRODUCT),
    "SVDF": (svdf, [1, 2], None, True, PRODUCT),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (sequence_lstm, [*range(1, 12), 16], None, True, STATES),
    "RNN": (sequence_rnn("RNN"), [1, 2], None, True, STATES),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (
        sequence_rnn("UNIDIRECTIONAL_SEQUENCE_RNN"), [1, 2], None, True, STATES),
}  # fmt: skip
FLOAT_KERNELS = (" linear ", " conv2d ", " recurrent ")


def quantized(array, axis, rng):
    """int8 with one scale, or one of each channel; (bytes, scales, axis)."""
    many = axis is not None and rng.random() < 0.5
    around = tuple(i for i in range(array.ndim) if i != axis) if many else None
    scales = np.maximum(np.abs(array).max(axis=around, keepdims=True), 1e-3) / 127
    steps = np.clip(np.rint(array / scales), -127, 127).astype(np.int8)
    return steps, scales.astype(np.float32).ravel(), axis if many else 0


def written(name, rng):
    """The model, and what is fed; whether depthwise weights have one scale, of which LiteRT has no
    kernel."""
    draw, weights, axis, asymmetric, _ = CASES[name]
    op, (kind, fields), operands, outputs = draw(rng)
    if asymmetric:
        fields = fields | {"asymmetricQuantizeInputs": bool(rng.integers(0, 2))}
    model = Model()
    given = []
    for i, each in enumerate(operands):
        if i not in weights or each is None:
            given.append(each)
            continue
        steps, scales, along = quantized(np.asarray(each), axis, rng)
        while op == "DEPTHWISE_CONV_2D" and len(scales) != steps.shape[3]:
            steps, scales, along = quantized(np.asarray(each), axis, rng)
        at = model.value(steps)
        q = schema.QuantizationParametersT()
        q.scale, q.zeroPoint = scales, np.zeros(len(scales), np.int64)
        q.quantizedDimension = along
        model.graph.tensors[at].quantization = q
        given.append(at)
    made = model.add(op, (kind, fields), given, outputs)
    return model, made


def wanted(model, made, version):
    model.model.operatorCodes[0].version = version
    content = model.finish(made)
    machine = Interpreter(model_content=content, experimental_op_resolver_type=PLAIN)
    machine.allocate_tensors()
    for detail in machine.get_input_details():
        machine.set_tensor(detail["index"], model.fed[detail["name"]])
    machine.invoke()
    return content, {
        d["name"]: machine.get_tensor(d["index"]) for d in machine.get_output_details()
    }


def compare(ingot, model, content, expected):
    """How far the outputs are, of the largest."""
    ingot.convert(content).succeeded()
    listed = ingot("inspect", ingot.file).succeeded().output
    if any(kernel in listed for kernel in FLOAT_KERNELS):
        raise RunError("is computed in floats")
    found = ingot.outputs(model.fed)
    worst = 0.0
    for name, want in expected.items():
        largest = max(float(np.abs(want).max(initial=0)), 1e-30)
        worst = max(worst, float(np.abs(found[name] - want).max(initial=0)) / largest)
    return worst, sum(want.size for want in expected.values())


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    checks, skipped = Checks("hybrid_operators"), 0
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for name in a.names or CASES:
            models = numbers = 0
            farthest = 0.0
            for seed in range(a.seeds):
                rng = np.random.default_rng([seed, sum(name.encode())])
                model, made = written(name, rng)
                answer = None
                for version in (9, 7, 4, 3, 2, 1):
                    try:
                        answer = wanted(model, made, version)
                        break
                    except (RuntimeError, ValueError):
                        continue
                if answer is None:
                    skipped += 1
                    continue
                try:
                    away, count = compare(ingot, model, *answer)
                except RunError as why:
                    checks.report(f"{name} {seed}", why)
                    continue
                models, numbers, farthest = models + 1, numbers + count, max(farthest, away)
                checks.check(away <= CASES[name][4], f"{name} {seed}", f"{away:.2e} away")
            if models == 0:
                checks.report(name, "LiteRT takes no model of it")
            print(f"{name}: {models} models, {numbers} numbers, {farthest:.1e} away at most")
    if skipped:
        checks.skip(f"{skipped} of the models drawn are none that LiteRT takes")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
