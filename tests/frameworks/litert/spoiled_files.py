#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real models of shared material with one field that cannot be: scales, zero points, shapes,
buffers, indices of tensors and operators, options, subgraphs that call themselves.

  spoiled_files.py --ingot BIN [--mutants N] [--seed S] [FILE ...]

Each is written with LiteRT's own schema. `ingot convert` says what is wrong in one line with exit
code 2 to 5 and leaves no file, or converts what is still a model, which `ingot verify` takes.
Anything else (a signal, a time of more than a minute, several lines, half a file) fails. Needs the
package ai-edge-litert."""

import collections
import pathlib
import struct
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import shared  # noqa: E402

SHARED = shared.SHARED / "models"
FILES = (
    "mlcommons__tiny/ad01_int8.tflite",
    "mlcommons__tiny/kws_ref_model.tflite",
    "mlcommons__tiny/pretrainedResnet_quant.tflite",
    "tensorflow__tflite-micro/keyword_scrambled.tflite",
    "tensorflow__tflite-micro/trained_lstm_int8.tflite",
    "esphome__micro-wake-word-models/v2_vad.tflite",
    "breizhn__DTLN/model_quant_2.tflite",
    "odd/litert_tflite_testdata/multi_subgraphs_while.bin",
    "odd/litert_tflite_testdata/nested_while.bin",
    "odd/litert_tflite_testdata/call_once_mul.bin",
    "odd/litert_tflite_testdata/unidirectional_sequence_lstm.bin",
)
SCALES = (0.0, -1.0, float("nan"), float("inf"), 1e-40, 3e38, -0.0)
WHOLE = (-1, -(2**31), 2**31 - 1, 1 << 20, 0, 7, 255, -129, 1 << 30)


def pick(rng, items):
    return items[int(rng.integers(0, len(items)))]


def tensor_of(model, rng, quantized=False):
    all_of = [t for g in model.subgraphs for t in g.tensors or []]
    if quantized:
        all_of = [t for t in all_of if t.quantization and t.quantization.scale is not None]
    return pick(rng, all_of) if all_of else None


def spoil_scale(model, rng):
    t = tensor_of(model, rng, True)
    if t is None:
        return None
    scales = np.array(t.quantization.scale, np.float32)
    way = int(rng.integers(0, 4))
    if way == 0 or len(scales) == 0:
        scales = np.append(scales, np.float32(0.5))
    elif way == 1 and len(scales) > 1:
        scales = scales[:-1]
    else:
        scales[int(rng.integers(0, len(scales)))] = pick(rng, SCALES)
    t.quantization.scale = scales
    return f"scale of {t.name} {scales[:3]} ({len(scales)})"


def spoil_zero(model, rng):
    t = tensor_of(model, rng, True)
    if t is None:
        return None
    zeros = np.array(t.quantization.zeroPoint if t.quantization.zeroPoint is not None else [0])
    if rng.random() < 0.3:
        zeros = np.append(zeros, 0)
    elif len(zeros):
        zeros[int(rng.integers(0, len(zeros)))] = pick(rng, WHOLE)
    t.quantization.zeroPoint = zeros.astype(np.int64)
    return f"zero point of {t.name} {zeros[:3]} ({len(zeros)})"


def spoil_axis(model, rng):
    t = tensor_of(model, rng, True)
    if t is None:
        return None
    t.quantization.quantizedDimension = pick(rng, WHOLE)
    return f"quantized dimension of {t.name} {t.quantization.quantizedDimension}"


def spoil_shape(model, rng):
    t = tensor_of(model, rng)
    shape = list(t.shape) if t.shape is not None else []
    if shape and rng.random() < 0.8:
        shape[int(rng.integers(0, len(shape)))] = pick(rng, WHOLE)
    else:
        shape.append(pick(rng, WHOLE))
    t.shape = np.array(shape, np.int32)
    return f"shape of {t.name} {shape}"


def spoil_type(model, rng):
    t = tensor_of(model, rng)
    t.type = int(rng.integers(0, 24))
    return f"type of {t.name} {t.type}"


def spoil_buffer(model, rng):
    t = tensor_of(model, rng)
    way = int(rng.integers(0, 3))
    if way == 0:
        t.buffer = int(pick(rng, [len(model.buffers), 2**32 - 1, 0, t.buffer + 1]))
        return f"buffer of {t.name} {t.buffer}"
    b = model.buffers[t.buffer % len(model.buffers)]
    data = np.array(b.data if b.data is not None else [], np.uint8)
    if way == 1:
        b.data = data[: int(rng.integers(0, len(data) + 1))]
        return f"buffer {t.buffer} cut from {len(data)} to {len(b.data)}"
    b.offset, b.size = int(pick(rng, [1, 7, 2**40, 2**63])), int(pick(rng, [0, 1, 64, 2**63]))
    return f"buffer {t.buffer} at {b.offset}, {b.size} bytes"


def operator_of(model, rng):
    return pick(rng, [o for g in model.subgraphs for o in g.operators or []] or [None])


def spoil_operand(model, rng):
    op = operator_of(model, rng)
    if op is None:
        return None
    name = pick(rng, ["inputs", "outputs"])
    ids = np.array(getattr(op, name), np.int32)
    if len(ids) and rng.random() < 0.7:
        ids[int(rng.integers(0, len(ids)))] = pick(rng, [*WHOLE, *range(6)])
    else:
        ids = ids[:-1] if rng.random() < 0.5 else np.append(ids, np.int32(pick(rng, range(6))))
    setattr(op, name, ids)
    return f"{name} {ids}"


def spoil_option(model, rng):
    op = operator_of(model, rng)
    options = op.builtinOptions if op is not None else None
    names = [k for k, v in vars(options).items() if isinstance(v, (int, float))] if options else []
    if not names:
        return None
    name = pick(rng, names)
    was = getattr(options, name)
    value = pick(rng, SCALES) if isinstance(was, float) else pick(rng, WHOLE)
    if isinstance(was, bool):
        value = not was
    elif name in ("padding", "fusedActivationFunction", "weightsFormat", "kernelType", "type"):
        value = int(np.int8(value % 256 if value % 256 < 128 else value % 256 - 256))
    setattr(options, name, value)
    return f"{type(options).__name__}.{name} {value}"


def spoil_code(model, rng):
    op = operator_of(model, rng)
    if op is None:
        return None
    if rng.random() < 0.5:
        op.opcodeIndex = int(pick(rng, [len(model.operatorCodes), 2**32 - 1, 0]))
        return f"operator code {op.opcodeIndex}"
    code = model.operatorCodes[op.opcodeIndex % len(model.operatorCodes)]
    code.builtinCode = int(pick(rng, [*range(210), 210, 1000, -1]))
    code.deprecatedBuiltinCode = min(max(code.builtinCode, -128), 127)
    return f"builtin {code.builtinCode}"


def spoil_subgraph(model, rng):
    """An operator that calls the subgraph it is in."""
    at = int(rng.integers(0, len(model.subgraphs)))
    graph = model.subgraphs[at]
    if not graph.operators:
        return None
    name, kind, fields = pick(
        rng,
        [
            ("CALL_ONCE", "CallOnceOptions", ("initSubgraphIndex",)),
            ("WHILE", "WhileOptions", ("condSubgraphIndex", "bodySubgraphIndex")),
            ("IF", "IfOptions", ("thenSubgraphIndex", "elseSubgraphIndex")),
            ("CALL", "CallOptions", ("subgraph",)),
        ],
    )
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    model.operatorCodes.append(code)
    op = pick(rng, graph.operators)
    op.opcodeIndex = len(model.operatorCodes) - 1
    op.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
    op.builtinOptions = getattr(schema, kind + "T")()
    for field in fields:
        setattr(op.builtinOptions, field, int(pick(rng, [at, at, at, 0, 99])))
    return f"{name} of subgraph {at} {[getattr(op.builtinOptions, f) for f in fields]}"


def spoil_ports(model, rng):
    graph = pick(rng, model.subgraphs)
    name = pick(rng, ["inputs", "outputs"])
    ids = np.array(getattr(graph, name) if getattr(graph, name) is not None else [], np.int32)
    ids = np.append(ids, np.int32(pick(rng, [*WHOLE, 0])))
    setattr(graph, name, ids)
    return f"{name} of a subgraph {ids}"


WAYS = (spoil_scale, spoil_zero, spoil_axis, spoil_shape, spoil_type, spoil_buffer, spoil_operand)
WAYS += (spoil_option, spoil_code, spoil_subgraph, spoil_ports)


def packed(model):
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def judged(ingot, content):
    """(exit code, what is wrong or "")"""
    done, out = ingot.convert(content), ingot.file
    left = [p.name for p in ingot.folder.iterdir() if p.stem != "model"]
    if left:
        return done.returncode, f"left {left}"
    if done.returncode == 0:
        return 0, ingot("verify", out).error
    if not 2 <= done.returncode <= 5:
        return done.returncode, done.error
    heads = [line for line in done.stderr.splitlines() if line.startswith("ingot: ")]
    if len(heads) != 1 or len(heads[0]) < 30:
        return done.returncode, f"says {done.stderr[:300]!r}"
    return done.returncode, "left half a file" if out.exists() else ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--mutants", type=int, default=40, help="of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    a = parser.parse_args()
    files = a.files or [SHARED / name for name in FILES]
    if not files[0].exists():
        print("[skip] no file was spoiled: there is no shared material")
        return 0
    codes, checks = collections.Counter(), Checks("spoiled_files")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite", seconds=60)
        for path in files:
            content = path.read_bytes()
            for i in range(a.mutants):
                rng = np.random.default_rng([a.seed, i, sum(path.name.encode())])
                model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
                what = pick(rng, WAYS)(model, rng)
                if what is None:
                    continue
                try:
                    spoiled = packed(model)
                except (TypeError, OverflowError, ValueError, struct.error):
                    continue  # a field that holds no such number
                code, wrong = judged(ingot, spoiled)
                codes[code] += 1
                checks.report(f"{path.name} {i}: {what}", wrong)
    total = sum(codes.values())
    print(f"{total} spoiled files: {codes.pop(0, 0)} converted and verified, refused", end=" ")
    print(", ".join(f"{n} with exit code {code}" for code, n in sorted(codes.items())))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
