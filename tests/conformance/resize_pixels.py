#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pixels that onnxruntime's nearest Resize takes for every pair of sizes up to 128: a number
for each coordinate and rounding, as resize_test.cpp has them. usage: resize_pixels.py"""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

COORDINATES = (
    "half_pixel",
    "asymmetric",
    "align_corners",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "tf_half_pixel_for_nn",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
MOST = 128


def session(coordinate, rounding):
    old = coordinate == "tf_half_pixel_for_nn"  # opset 12 is the last that has it
    empty = numpy_helper.from_array(np.zeros(0, np.float32), "empty")
    node = helper.make_node(
        "Resize",
        ["x", "empty", "empty", "size"] if old else ["x", "", "", "size"],
        ["y"],
        mode="nearest",
        coordinate_transformation_mode=coordinate,
        nearest_mode=rounding,
    )
    graph = helper.make_graph(
        [node],
        "resize",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"]),
            helper.make_tensor_value_info("size", TensorProto.INT64, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m"])],
        [empty] if old else [],
    )
    opset = helper.make_opsetid("", 12 if old else 19)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def main():
    for coordinate in COORDINATES:
        numbers = []
        for rounding in ROUNDINGS:
            run = session(coordinate, rounding).run
            taken = 0
            for before in range(1, MOST + 1):
                x = np.arange(before, dtype=np.float32)
                for after in range(1, MOST + 1):
                    if before == after:
                        continue
                    pixels = run(None, {"x": x, "size": np.array([after])})[0]
                    for pixel in pixels.astype(int).tolist():
                        taken = (taken * 31 + pixel) & 0xFFFFFFFF
            numbers.append(f"{taken:#010x}")
        print(f"    {{{', '.join(numbers)}}},  // {coordinate}")


if __name__ == "__main__":
    main()
