#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FULLY_CONNECTED with weights of int4 or int8 in blocks of a row (BlockwiseQuantization): they
stay as they are in the file, and the product is that of their numbers in f32.

  block_weights.py --ingot BIN [--seeds N] [--time]

Each random layer is compared with NumPy, and with LiteRT, which quantizes the inputs in each run
and so is some hundredths away. --time prints the time of a row through 1024 x 1024 in blocks of 32,
Ingot's and LiteRT's. Needs the package ai-edge-litert."""

import pathlib
import sys
import time

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from written_model import Fed, Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402

F = np.float32


def layer(rows, outputs, inner, block, bits, zeros, rng):
    """The model, what is fed and the product."""
    x = rng.standard_normal((rows, inner)).astype(F)
    most = 1 << (bits - 1)
    steps = rng.integers(-most, most, (outputs, inner)).astype(np.int8)
    scales = rng.uniform(0.002, 0.02, (outputs, inner // block)).astype(np.float16)
    offsets = rng.integers(-3, 4, scales.shape).astype(np.int8) if zeros else None
    bias = rng.standard_normal(outputs).astype(F)
    model = Model()
    fed = model.value(Fed(x))
    # 0 stands for none
    held = [model.value(each) for each in (scales, offsets if zeros else np.zeros(1, np.int8))]
    packed = steps.astype(np.uint8).ravel() & 15
    data = (packed[0::2] | packed[1::2] << 4).astype(np.uint8) if bits == 4 else steps
    at = model.tensor(np.int8, steps.shape, "weights", data)
    if bits == 4:
        model.graph.tensors[at].type = schema.TensorType.INT4
    q = schema.QuantizationParametersT()
    q.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    q.details = schema.BlockwiseQuantizationT()
    q.details.scales, q.details.blockSize = held[0], block
    q.details.zeroPoints = held[1] if zeros else -1
    model.graph.tensors[at].quantization = q
    made = model.add(
        "FULLY_CONNECTED", ("FullyConnectedOptions", {}), [fed, at, bias], [(F, (rows, outputs))]
    )
    model.model.operatorCodes[0].version = 13
    wide = steps.astype(np.float64)
    if zeros:
        wide = wide - np.repeat(offsets, block, 1)
    weights = wide * np.repeat(scales, block, 1).astype(np.float64)
    return model.finish(made), model.fed, x.astype(np.float64) @ weights.T + bias


def answered(content, fed):
    """LiteRT's numbers; None where it takes no such model."""
    try:
        machine = Interpreter(model_content=content)
        machine.allocate_tensors()
        for detail in machine.get_input_details():
            machine.set_tensor(detail["index"], fed[detail["name"]])
        machine.invoke()
        return machine.get_tensor(machine.get_output_details()[0]["index"]), machine
    except (RuntimeError, ValueError):
        return None


def converted(ingot, content, fed):
    """What the file gives."""
    ingot.convert(content).succeeded()
    return next(iter(ingot.outputs(fed).values()))


def show_time(ingot):
    content, fed, _ = layer(1, 1024, 1024, 32, 4, False, np.random.default_rng(1))
    converted(ingot, content, fed)
    answer = answered(content, fed)
    took = []
    for _ in range(2000 if answer else 0):
        start = time.perf_counter()
        answer[1].invoke()
        took.append(time.perf_counter() - start)
    bench = ingot("bench", ingot.file, "--threads", "1").succeeded()
    print(next(line for line in bench.output.splitlines() if "median" in line or "p50" in line))
    if took:
        print(f"LiteRT: median {1e6 * float(np.median(took)):.1f} us")
    print(f"file: {ingot.file.stat().st_size} bytes; source: {len(content)}")


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--time", action="store_true")
    a = parser.parse_args()
    checks, skipped = Checks("block_weights"), 0
    farthest, beside = 0.0, 0.0
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        if a.time:
            return show_time(ingot)
        for seed in range(a.seeds):
            rng = np.random.default_rng(seed)
            block = int(rng.choice([32, 64, 8]))
            inner, outputs = block * int(rng.integers(1, 13)), int(rng.integers(1, 700))
            bits, zeros = int(rng.choice([4, 4, 8])), bool(rng.random() < 0.3)
            content, fed, want = layer(
                int(rng.integers(1, 6)), outputs, inner, block, bits, zeros, rng
            )
            found = converted(ingot, content, fed)
            away = float(np.abs(found - want).max() / np.abs(want).max())
            most = 80000 + (outputs + 16) * (inner * bits / 8 + 5 * inner / block + 64)
            size = ingot.file.stat().st_size
            farthest = max(farthest, away)
            # of others LiteRT computes nothing that is near
            answer = answered(content, fed) if bits == 4 and block % 32 == 0 and not zeros else None
            skipped += answer is None
            if answer:
                beside = max(beside, float(np.abs(answer[0] - found).max() / np.abs(want).max()))
            checks.check(
                away <= 2e-6 and size < most and beside <= 0.05,
                f"{seed}: {bits} bits, blocks of {block}",
                f"{away:.1e} of the largest away, {size} bytes",
            )
    print(
        f"{a.seeds} layers, {farthest:.1e} of the largest away from NumPy, {beside:.1e} from LiteRT"
    )
    if skipped:
        checks.skip(f"{skipped} of the layers drawn were compared with NumPy alone")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
