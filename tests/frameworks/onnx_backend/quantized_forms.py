# SPDX-License-Identifier: Apache-2.0
"""Forms for run_forms.py: arrays to integers and back."""

import numpy as np


def quantized(rng, form, node):
    """Arrays to integers and back."""
    x = rng.standard_normal((2, 5, 7)).astype(np.float32)
    scale = rng.uniform(0.01, 0.1, 5).astype(np.float32)
    zero = rng.integers(0, 255, 5).astype(np.uint8)
    column = (slice(None), None)
    integers = np.clip(np.rint(x / scale[column]) + zero[column], 0, 255).astype(np.uint8)
    floats = (integers.astype(np.float32) - zero.astype(np.float32)[column]) * scale[column]
    form(
        "integers of any length and back, a scale each channel",
        [
            node("QuantizeLinear", "x,s,z", "q"),
            node("DequantizeLinear", "q,s,z", "y"),
        ],
        {"x": x},
        {"q": integers, "y": floats},
        constants={"s": scale, "z": zero},
        dims={"x": ["N", 5, "W"]},
    )
    extremes = np.array([np.inf, -np.inf, 1e30, -1e30, 2.5, 3.5, -2.5], np.float32)
    form(
        "integers of numbers out of their range, ties to even",
        [node("QuantizeLinear", "x,s", "q", output_dtype=3)],
        {"x": extremes},
        {"q": np.array([127, -128, 127, -128, 2, 4, -2], np.int8)},
        constants={"s": np.float32(1)},
        opset=21,
    )
