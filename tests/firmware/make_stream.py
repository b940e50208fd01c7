# SPDX-License-Identifier: Apache-2.0
"""A small streaming network of int8 as ONNX, without the package onnx: the frames of the state and
a new one, a convolution over all of them, the last frames as the next state (s, sn)."""

import random
import struct

FEATURES, KEPT, FILTERS = 4, 4, 6
FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7
FRAMES = KEPT + 1
SCALE_X, SCALE_W, SCALE_Y, ZERO = 0.05, 0.02, 0.4, -7


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def field(number, value):
    """A number, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dtype, dims, values):
    code = {FLOAT: "f", INT8: "b", INT32: "i", INT64: "q"}[dtype]
    data = struct.pack(f"<{len(values)}{code}", *values)
    return b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + field(9, data)


def port(name, *dims):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, INT8) + field(2, shape)))


def node(kind, inputs, output, **numbers):
    text = b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, output)
    for name, n in numbers.items():
        text += field(5, field(1, name) + field(3, n) + field(20, 2))
    return text + field(4, kind)


def model():
    draw = random.Random(1)
    x, w, y = ("sx", "zx"), ("sw", "zw"), ("sy", "zx")
    nodes = [
        node("DequantizeLinear", ["s", *x], "s_f"),
        node("DequantizeLinear", ["x", *x], "x_f"),
        node("Concat", ["s_f", "x_f"], "all_f", axis=2),
        node("QuantizeLinear", ["all_f", *x], "all"),
        node("DequantizeLinear", ["all", *x], "all_d"),
        node("DequantizeLinear", ["w", *w], "w_d"),
        node("DequantizeLinear", ["b", "sb", "zb"], "b_d"),
        node("Conv", ["all_d", "w_d", "b_d"], "y_f"),
        node("QuantizeLinear", ["y_f", *y], "y"),
        node("Slice", ["all", "one", "end", "axis"], "sn"),
    ]
    weights = [draw.randint(-127, 127) for _ in range(FILTERS * FRAMES * FEATURES)]
    constants = [
        tensor("sx", FLOAT, [], [SCALE_X]),
        tensor("zx", INT8, [], [ZERO]),
        tensor("sw", FLOAT, [], [SCALE_W]),
        tensor("zw", INT8, [], [0]),
        tensor("sy", FLOAT, [], [SCALE_Y]),
        tensor("sb", FLOAT, [], [SCALE_X * SCALE_W]),
        tensor("zb", INT32, [], [0]),
        tensor("w", INT8, [FILTERS, 1, FRAMES, FEATURES], weights),
        tensor("b", INT32, [FILTERS], [draw.randint(-500, 500) for _ in range(FILTERS)]),
        tensor("one", INT64, [1], [1]),
        tensor("end", INT64, [1], [FRAMES]),
        tensor("axis", INT64, [1], [2]),
    ]
    graph = b"".join(field(1, n) for n in nodes) + field(2, "stream")
    graph += b"".join(field(5, c) for c in constants)
    for name, dims in (("x", (1, 1, 1, FEATURES)), ("s", (1, 1, KEPT, FEATURES))):
        graph += field(11, port(name, *dims))
    for name, dims in (("y", (1, FILTERS, 1, 1)), ("sn", (1, 1, KEPT, FEATURES))):
        graph += field(12, port(name, *dims))
    return field(1, 8) + field(8, field(2, 17)) + field(7, graph)


def write_stream(path):
    path.write_bytes(model())
