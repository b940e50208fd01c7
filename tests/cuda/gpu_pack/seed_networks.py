#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network without its weights: what PACK/run makes again on the machine with the GPU, by seed, so
that a pack of at most 50 MiB has networks of 100 MB.

  seed_networks.py SOURCE.onnx OUT [--weights FILE]     writes OUT/NAME.onnx and OUT/NAME.seed

Weights of f32 and some size become external data in NAME.weights (or FILE, which graphs of several
batches share), which is not written; NAME.seed
has a line "offset count mean deviation" for each, as measured here, so that activations keep their
size. pack_tool seed NAME.seed NAME.weights makes the file: other numbers, the same ones everywhere.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

SMALLEST = 4096  # elements; biases and statistics stay as they are


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--weights")
    args = parser.parse_args()
    source, out = args.source, args.out
    weights = args.weights or f"{source.stem}.weights"
    out.mkdir(parents=True, exist_ok=True)
    model = onnx.load(source)
    rows, offset = [], 0
    for tensor in model.graph.initializer:
        count = int(np.prod(tensor.dims, dtype=np.int64))
        if tensor.data_type != TensorProto.FLOAT or count < SMALLEST:
            continue
        array = numpy_helper.to_array(tensor)
        rows.append(f"{offset} {count} {array.mean():.6g} {array.std():.6g}")
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (
            ("location", weights),
            ("offset", offset),
            ("length", 4 * count),
        ):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        offset += 4 * count
    (out / f"{source.stem}.onnx").write_bytes(model.SerializeToString())
    (out / f"{source.stem}.seed").write_text("\n".join(rows) + "\n")


main()
