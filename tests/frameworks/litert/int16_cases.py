# SPDX-License-Identifier: Apache-2.0
"""The cases of integer_operators.py --words: operators on int16, drawn at random, functions on all
65,536 numbers. What they share with those of int8 is in integer_cases.py.
"""

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from integer_cases import (
    Integers,
    QuantizedArray,
    activation,
    add,
    compared,
    conv,
    depthwise,
    dequantize,
    extreme,
    fully_connected,
    grouped,
    i32,
    moved,
    mul,
    of_two_scales,
    pool,
    product_of_few,
    quantize,
    quotient,
    reduced,
    sub,
    transpose_conv,
)

TYPE_OF_BIAS = {"int32": schema.TensorType.INT32, "int64": schema.TensorType.INT64}


class Int16(Integers):
    """The same of int16 beside weights of int8; biases of 64 bits, or of 32."""

    is_int16 = True

    def __init__(self, rng):
        super().__init__(rng)
        self.dtype = np.dtype(np.int16)
        self.limits = np.iinfo(self.dtype)

    def scale(self, about=0.05):
        return super().scale(about / 256 if about >= 0.02 else about)

    def zero(self):
        return 0

    def weights(self, *shape, axis):
        data = self.rng.integers(-127, 128, shape).astype(np.int8)
        if self.rng.random() < 0.3:
            return QuantizedArray(data, super().scale(0.01), 0)
        scales = [super(Int16, self).scale(0.01) for _ in range(shape[axis])]
        return QuantizedArray(data, scales, [0] * shape[axis], axis)

    def bias(self, x, w, count):
        """Of more than 32 bits too; product() leaves such a bias no more than a tenth, and LiteRT
        makes int32 of what it multiplies, without a check."""
        wide = self.rng.random() < 0.6
        most = 1 << 34 if wide and self.rng.random() < 0.2 else 1 << 20
        data = self.rng.integers(-most, most, count).astype(np.int64 if wide else np.int32)
        return QuantizedArray(data, x.scales * w.scales, [0] * len(w.scales))

    def bias_type(self, bias):
        """What LiteRT's products of int16 read the bias as, and choose their sums by where there is
        none; of others without effect."""
        names = [bias.array.dtype.name] if bias else ["", *TYPE_OF_BIAS]
        name = names[int(self.rng.integers(len(names)))]
        return {"quantizedBiasType": TYPE_OF_BIAS[name]} if name else {}

    def product(self, x, w, count):
        about = float(x.scales[0] * w.scales.max()) * 70 * max(count, 1) ** 0.5
        return (self.dtype, Integers.scale(self, about), 0)


def int16_softmax(n, rng):
    x = n.x(int(rng.integers(1, 5)), int(rng.choice([1, 2, 12, 37, 300])), scale=n.scale(0.1))
    fields = {"beta": float(rng.choice([1, 1, 0.5]))}
    return ("SoftmaxOptions", fields), [x], (n.dtype, np.float32(1 / 32768), 0)


def every_word(n, rng):
    """All 65,536 numbers; a scale that is a power of 2 too."""
    powers = [2.0**-12, 2.0**-11, 2.0**-13, 2.0**-14]
    scale = np.float32(rng.choice([*powers, n.scale(0.1), n.scale(0.1), n.scale(0.1)]))
    return QuantizedArray(np.arange(-32768, 32768).astype(np.int16).reshape(256, 256), scale, 0)


def int16_fraction(n, rng):
    return None, [every_word(n, rng)], (n.dtype, np.float32(1 / 32768), 0)


def int16_unary(n, rng):
    return None, [every_word(n, rng)], n.output()


def int16_root(n, rng):
    """LiteRT ends a run on what is negative."""
    _, (x,), y = int16_unary(n, rng)
    x.array = np.abs(x.array.astype(np.int32)).clip(0, 32767).astype(np.int16)
    return None, [x], y


def int16_log(n, rng):
    x = every_word(n, rng)
    return None, [x], (n.dtype, Integers.scale(n, 12 / 32768), 0)


def int16_gelu(n, rng):
    fields = {"approximate": bool(rng.integers(0, 2))}
    return ("GeluOptions", fields), [every_word(n, rng)], n.output()


def int16_negated(n, rng):
    return ("NegOptions", {}), [every_word(n, rng)], n.output()


def int16_slopes(n, rng):
    x, slope = n.x(2, 5, 6), n.weights(6, axis=0)
    slope.scales, slope.zeros = slope.scales[:1], slope.zeros[:1]
    return None, [x, slope], n.output(float(x.scales[0]))


def int16_sum(n, rng):
    kind, operands, _ = reduced(n, rng)
    return kind, operands, (n.dtype, Integers.scale(n, float(operands[0].scales[0]) * 5), 0)


def int16_leaky(n, rng):
    fields = {"alpha": float(rng.uniform(0.01, 0.9))}
    return ("LeakyReluOptions", fields), [every_word(n, rng)], n.output()


def int16_requantize(n, rng):
    dtype = np.dtype(rng.choice([np.int16, np.int32, np.int8]))
    about = {"int16": 0.05, "int32": 0.0001, "int8": 10}[dtype.name]
    zero = int(rng.integers(-128, 128)) if dtype == np.int8 else 0
    return None, [every_word(n, rng)], (dtype, Integers.scale(n, about), zero)


def int16_resize(n, rng):
    x = n.x(1, int(rng.integers(1, 6)), int(rng.integers(1, 6)), 3)
    size = i32(*(int(s) for s in rng.integers(1, 14, 2)))
    fields = {"halfPixelCenters": bool(rng.integers(0, 2))}
    if not fields["halfPixelCenters"]:
        fields["alignCorners"] = bool(rng.integers(0, 2))
    return ("ResizeBilinearOptions", fields), [x, size], (n.dtype, x.scales[0], 0)


def int16_matmul(n, rng):
    """Of two tensors that are fed."""
    rows, inner, columns = (int(d) for d in rng.integers(1, (6, 400, 6)))
    lead = [int(d) for d in rng.integers(1, 4, int(rng.integers(0, 3)))]
    adjoint = {"adjX": bool(rng.integers(0, 2)), "adjY": bool(rng.integers(0, 2))}
    x = n.x(*lead, *((inner, rows) if adjoint["adjX"] else (rows, inner)))
    y = n.x(*lead, *((columns, inner) if adjoint["adjY"] else (inner, columns)))
    scale = Integers.scale(n, float(x.scales[0] * y.scales[0]) * 32768 * inner**0.5)
    return ("BatchMatMulOptions", adjoint), [x, y], (n.dtype, scale, 0)


def int16_connected(n, rng):
    """Weights of int16 too, and a bias of 32 bits."""
    k, o = int(rng.choice([1, 7, 33, 300])), int(rng.choice([1, 5, 16]))
    x = n.x(int(rng.integers(1, 5)), k)
    data = rng.integers(-32768, 32768, (o, k)).astype(np.int16)
    w = QuantizedArray(data, Integers.scale(n, 1e-4), 0)
    bias = None
    if rng.random() < 0.7:
        numbers = rng.integers(-(1 << 30), 1 << 30, o).astype(np.int32)
        bias = QuantizedArray(numbers, x.scales * w.scales, 0)
    scale = Integers.scale(n, float(x.scales[0] * w.scales[0]) * 32768 * k**0.5)
    return ("FullyConnectedOptions", activation(rng)), [x, w, bias], (n.dtype, scale, 0)


def int16_concatenation(n, rng):
    first = n.x(2, 3, 4)
    parts = [first, n.x(2, 2, 4, scale=first.scales[0])]
    return ("ConcatenationOptions", {"axis": 1}), parts, (n.dtype, first.scales[0], 0)


# Of int16.
INT16_CASES = {
    "CONV_2D": conv,
    "CONV_2D grouped": grouped,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "FULLY_CONNECTED by int16": int16_connected,
    "TRANSPOSE_CONV": transpose_conv,
    "ADD": add,
    "SUB": sub,
    "MUL": mul,
    "MAX_POOL_2D": pool,
    "AVERAGE_POOL_2D": pool,
    "SOFTMAX": int16_softmax,
    "LOGISTIC": int16_fraction,
    "TANH": int16_fraction,
    "LEAKY_RELU": int16_leaky,
    "RELU": int16_unary,
    "RELU6": int16_unary,
    "ABS": int16_unary,
    "EXP": int16_unary,
    "QUANTIZE": quantize,
    "QUANTIZE again": int16_requantize,
    "DEQUANTIZE": dequantize,
    "CONCATENATION": int16_concatenation,
    "MEAN": reduced,
    "RESIZE_BILINEAR": int16_resize,
    "BATCH_MATMUL": int16_matmul,
    "RESHAPE": moved("ReshapeOptions", {"newShape": [8, 6]}, i32(8, 6)),
    "TRANSPOSE": moved("TransposeOptions", {}, i32(2, 0, 1)),
    "PAD": moved("PadOptions", {}, np.array([[0, 1], [2, 0], [1, 1]], np.int32)),
    "STRIDED_SLICE": moved("StridedSliceOptions", {}, i32(0, 1, 0), i32(2, 4, 6), i32(1, 2, 1)),
    "MAXIMUM": extreme,
    "MINIMUM of two scales": of_two_scales("MaximumMinimumOptions"),
    "LESS": compared("LessOptions"),
    "EQUAL": compared("EqualOptions"),
    "DIV": quotient,
    "NEG": int16_negated,
    "PRELU": int16_slopes,
    "SUM": int16_sum,
    "SQRT": int16_root,
    "RSQRT": int16_root,
    "LOG": int16_log,
    "GELU": int16_gelu,
    "REDUCE_PROD": product_of_few,
    "GATHER": moved("GatherOptions", {"axis": 1}, i32(2, 0, 3, 3)),
}
