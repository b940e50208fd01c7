# SPDX-License-Identifier: Apache-2.0
"""The cases of integer_operators.py: operators on int8 and uint8, drawn at random. A case is
an operator with its tensors; each is listed by name in CASES.
"""

import numpy as np
from ai_edge_litert import schema_py_generated as schema


class QuantizedArray:
    """Integers with their scales and zero points."""

    def __init__(self, array, scales, zeros, axis=0):
        self.array = np.asarray(array)
        self.scales = np.atleast_1d(np.asarray(scales, np.float32))
        self.zeros = np.atleast_1d(np.asarray(zeros, np.int64))
        self.axis = axis


class Integers:
    """What a case draws from: one type for all its tensors."""

    is_int16 = False

    def __init__(self, rng):
        self.rng = rng
        self.dtype = np.dtype(rng.choice([np.int8, np.int8, np.uint8]))
        self.limits = np.iinfo(self.dtype)

    def scale(self, about=0.05):
        return np.float32(about * 2 ** self.rng.uniform(-2, 2))

    def zero(self):
        ends = [self.limits.min, self.limits.max]
        within = self.rng.integers(self.limits.min, self.limits.max + 1)
        return int(self.rng.choice([*ends, within, within]))

    def x(self, *shape, scale=None, zero=None):
        data = self.rng.integers(self.limits.min, self.limits.max + 1, shape).astype(self.dtype)
        zero = self.zero() if zero is None else zero
        return QuantizedArray(data, self.scale() if scale is None else scale, zero)

    def weights(self, *shape, axis):
        """Of int8 with a scale of every channel, or one; of uint8 with a zero point."""
        if self.dtype == np.uint8:
            data = self.rng.integers(0, 256, shape).astype(np.uint8)
            return QuantizedArray(data, self.scale(0.01), self.zero())
        data = self.rng.integers(-127, 128, shape).astype(np.int8)
        if self.rng.random() < 0.3:
            return QuantizedArray(data, self.scale(0.01), 0)
        scales = [self.scale(0.01) for _ in range(shape[axis])]
        return QuantizedArray(data, scales, [0] * shape[axis], axis)

    def bias(self, x, w, count):
        data = self.rng.integers(-4000, 4000, count).astype(np.int32)
        return QuantizedArray(data, x.scales * w.scales, [0] * len(w.scales))

    def bias_type(self, bias):
        return {}

    def output(self, about=0.05, zero=None):
        return (self.dtype, self.scale(about), self.zero() if zero is None else zero)

    def product(self, x, w, count):
        """A scale that sums of `count` products fill."""
        return self.output(float(x.scales[0] * w.scales.max()) * 70 * max(count, 1) ** 0.5)


def activation(rng):
    return {"fusedActivationFunction": int(rng.choice([0, 0, 1, 2, 3]))}


def window(rng, dilated=True):
    fields = {"padding": int(rng.integers(0, 2))} | activation(rng)
    fields |= {"strideW": int(rng.integers(1, 4)), "strideH": int(rng.integers(1, 4))}
    if dilated and rng.random() < 0.3:
        fields |= {"strideW": 1, "strideH": 1}
        fields |= {"dilationWFactor": int(rng.integers(1, 3))}
        fields |= {"dilationHFactor": int(rng.integers(1, 3))}
    return fields


def conv(n, rng):
    kh, kw, o = (int(v) for v in rng.integers(1, 6, 3))
    c = int(rng.choice([1, 2, 3, 4, 8, 16, 19]))
    o = int(rng.choice([o, 16, 24]))
    x = n.x(int(rng.integers(1, 3)), *(int(v) for v in rng.integers(9, 14, 2)), c)
    w = n.weights(o, kh, kw, c, axis=0)
    bias = n.bias(x, w, o)
    fields = window(rng) | n.bias_type(bias)
    return ("Conv2DOptions", fields), [x, w, bias], n.product(x, w, kh * kw * c)


def grouped(n, rng):
    groups, each, o = (int(v) for v in rng.integers(2, 5, 3))
    x = n.x(1, 7, 8, groups * each)
    w = n.weights(groups * o, 3, 2, each, axis=0)
    bias = n.bias(x, w, groups * o)
    fields = window(rng) | n.bias_type(bias)
    return ("Conv2DOptions", fields), [x, w, bias], n.product(x, w, 6 * each)


def depthwise(n, rng):
    kh, kw, m = (int(v) for v in rng.integers(1, 6, 3))
    c, m = int(rng.choice([1, 3, 8, 16, 21])), int(rng.choice([1, 1, 1, m]))
    x = n.x(1, *(int(v) for v in rng.integers(9, 14, 2)), c)
    w = n.weights(1, kh, kw, c * m, axis=3)
    fields = window(rng) | {"depthMultiplier": m}
    fields["strideW"] = fields["strideH"]
    bias = n.bias(x, w, c * m)
    return ("DepthwiseConv2DOptions", fields), [x, w, bias], n.product(x, w, kh * kw)


def fully_connected(n, rng):
    k, o = int(rng.choice([1, 7, 16, 33, 130])), int(rng.choice([1, 5, 16, 40]))
    keep = bool(rng.random() < 0.3)
    shape = (2, 3, k) if keep else (int(rng.integers(1, 5)), k)
    x, w = n.x(*shape), n.weights(o, k, axis=0)
    bias = n.bias(x, w, o) if rng.random() < 0.7 else None
    fields = activation(rng) | {"keepNumDims": keep} | n.bias_type(bias)
    return ("FullyConnectedOptions", fields), [x, w, bias], n.product(x, w, k)


def pair(n, rng):
    shape = [int(v) for v in rng.integers(1, 7, 4)]
    other = [1 if rng.random() < 0.2 else d for d in shape]
    return n.x(*shape), n.x(*other)


def add(n, rng):
    return ("AddOptions", activation(rng)), [*pair(n, rng)], n.output()


def sub(n, rng):
    return ("SubOptions", activation(rng)), [*pair(n, rng)], n.output()


def far_add(n, rng):
    """A scale that XNNPACK leaves to TFLite's own kernels, which wrap where it is too large."""
    a, b = pair(n, rng)
    a.scales = a.scales * np.float32(1e-4)
    return ("AddOptions", activation(rng)), [a, b], n.output()


def mul(n, rng):
    a, b = pair(n, rng)
    return ("MulOptions", activation(rng)), [a, b], n.output(float(a.scales[0]))


def pool(n, rng):
    kh, kw = (int(v) for v in rng.integers(2, 6, 2))
    x = n.x(1, *(int(v) for v in rng.integers(6, 12, 2)), int(rng.choice([1, 3, 16, 17])))
    fields = window(rng, dilated=False) | {"filterHeight": kh, "filterWidth": kw}
    return ("Pool2DOptions", fields), [x], (n.dtype, x.scales[0], int(x.zeros[0]))


def softmax(n, rng):
    x = n.x(int(rng.integers(1, 5)), int(rng.choice([1, 2, 12, 37, 100])), scale=n.scale(0.1))
    zero = int(n.limits.min)
    fields = {"beta": float(rng.choice([1, 1, 0.5]))}
    return ("SoftmaxOptions", fields), [x], (n.dtype, np.float32(1 / 256), zero)


def unary(n, rng):
    return None, [n.x(3, 40)], n.output()


def to_unit(n, rng):
    zero = int(n.limits.min)
    return None, [n.x(3, 100)], (n.dtype, np.float32(1 / 256), zero)


def tanh(n, rng):
    zero = 0 if n.dtype == np.int8 else 128
    return None, [n.x(3, 100)], (n.dtype, np.float32(1 / 128), zero)


def leaky(n, rng):
    return ("LeakyReluOptions", {"alpha": float(rng.uniform(0.01, 0.9))}), [n.x(3, 100)], n.output()


def gelu(n, rng):
    fields = {"approximate": bool(rng.integers(0, 2))}
    return ("GeluOptions", fields), [n.x(3, 100)], n.output()


def quantize(n, rng):
    x = rng.normal(0, 4, (3, 50)).astype(np.float32)
    return None, [x], n.output()


def requantize(n, rng):
    dtype = np.dtype(rng.choice([np.int8, np.uint8]))
    limits = np.iinfo(dtype)
    zero = int(rng.integers(limits.min, limits.max + 1))
    # of 16 elements at a time LiteRT rounds ties another way than of fewer
    return None, [n.x(3, 48)], (dtype, n.scale(), zero)


def dequantize(n, rng):
    return None, [n.x(3, 50)], (np.dtype(np.float32), None, None)


def concatenation(n, rng):
    first = n.x(2, 3, 4)
    same = n.dtype == np.int8 or rng.random() < 0.3
    given = {"scale": first.scales[0], "zero": int(first.zeros[0])} if same else {}
    parts = [first, n.x(2, int(rng.integers(1, 5)), 4, **given), n.x(2, 1, 4, **given)]
    y = (n.dtype, first.scales[0], int(first.zeros[0]))
    return ("ConcatenationOptions", {"axis": 1}), parts, y if same else n.output()


def moved(kind, fields, *more):
    def make(n, rng):
        x = n.x(2, 4, 6)
        return (kind, fields), [x, *more], (n.dtype, x.scales[0], int(x.zeros[0]))

    return make


def reduced(n, rng):
    x = n.x(2, 5, 4, int(rng.choice([3, 16])))
    axes = [[1, 2], [3], [1], [0, 3]][int(rng.integers(0, 4))]
    fields = {"keepDims": bool(rng.integers(0, 2))}
    return ("ReducerOptions", fields), [x, i32(*axes)], n.output(float(x.scales[0]))


def i32(*values):
    return np.array(values, np.int32)


def resize(n, rng):
    x = n.x(1, int(rng.integers(2, 6)), int(rng.integers(2, 6)), 3)
    times = int(rng.choice([2, 4]))
    size = i32(*(times * d for d in x.array.shape[1:3]))
    half = bool(rng.integers(0, 2))
    y = (n.dtype, x.scales[0], int(x.zeros[0]))
    return ("ResizeBilinearOptions", {"halfPixelCenters": half}), [x, size], y


def same_kind(n, rng):
    a, b = pair(n, rng)
    b.scales, b.zeros = a.scales, a.zeros
    return a, b


def extreme(n, rng):
    a, b = same_kind(n, rng)
    return ("MaximumMinimumOptions", {}), [a, b], (n.dtype, a.scales[0], int(a.zeros[0]))


def less(n, rng):
    return ("LessOptions", {}), [*same_kind(n, rng)], (np.dtype(np.bool_), None, None)


def position(n, rng):
    fields = {"outputType": schema.TensorType.INT32}
    return ("ArgMaxOptions", fields), [n.x(3, 17), i32(1)], (np.dtype(np.int32), None, None)


def cast(n, rng):
    return ("CastOptions", {}), [n.x(3, 17)], (np.dtype(np.float32), None, None)


def images(kind, fields, *more):
    def make(n, rng):
        x = n.x(4, 6, 8, 4)
        return (kind, fields), [x, *more], (n.dtype, x.scales[0], int(x.zeros[0]))

    return make


def transpose_conv(n, rng):
    kh, kw, sh, sw, c = (int(v) for v in rng.integers(1, 5, 5))
    sh, sw = min(sh, kh), min(sw, kw)  # others are none that LiteRT takes
    o = int(rng.choice([1, 6, 8, 19]))
    x, w = n.x(int(rng.integers(1, 3)), 4, 5, c), n.weights(o, kh, kw, c, axis=0)
    same = int(rng.integers(0, 2))  # 1 is VALID
    h, v = (4 * sh, 5 * sw) if same == 0 else (3 * sh + kh, 4 * sw + kw)
    fields = {"padding": same, "strideW": sw, "strideH": sh}
    operands = [i32(x.array.shape[0], h, v, o), w, x]
    bias = n.bias(x, w, o) if rng.random() < 0.5 else None
    operands += [bias] if bias else []
    fields |= n.bias_type(bias)
    about = max(kh * kw * c // (sh * sw), 1)
    return ("TransposeConvOptions", fields), operands, n.product(x, w, about)


def unit_length(n, rng):
    """Lengths that are zero, one and near it too."""
    middle = 0 if n.dtype == np.int8 else 128
    x = n.x(2, 3, int(rng.choice([1, 2, 9, 300, 20000])))
    near = x.zeros[0] + rng.integers(-1, 2, x.array[0].shape)
    x.array[0] = np.clip(near, n.limits.min, n.limits.max).astype(n.dtype)
    x.array[0, 0] = x.zeros[0]
    return ("L2NormOptions", {}), [x], (n.dtype, np.float32(1 / 128), middle)


def prelu(n, rng):
    x, slope = n.x(2, 5, 6), n.x(6, scale=0.01)
    return None, [x, slope], n.output(float(x.scales[0]))


def root(n, rng):
    low = int(n.limits.min)
    return None, [n.x(3, 40, zero=low)], (n.dtype, n.scale(), low)


def inverse_root(n, rng):
    kind, (x,), _ = root(n, rng)
    x.array = np.maximum(x.array, x.zeros[0] + 1).astype(n.dtype)
    return kind, [x], (n.dtype, n.scale(), n.zero())


def odd_resize(n, rng):
    _, (x, _), y = resize(n, rng)
    way = int(rng.integers(0, 3))
    fields = {"alignCorners": way == 1, "halfPixelCenters": way == 2}
    return ("ResizeBilinearOptions", fields), [x, i32(*rng.integers(1, 12, 2))], y


def batch_matmul(n, rng):
    if n.dtype == np.uint8:
        raise ValueError("LiteRT has none")
    rows, inner, columns = (int(d) for d in rng.integers(1, (70, 90, 70)))
    lead = [int(d) for d in rng.integers(1, 4, int(rng.integers(0, 3)))]
    adjoint = {"adjX": bool(rng.integers(0, 2)), "adjY": bool(rng.integers(0, 2))}
    second = [1 if rng.random() < 0.2 else d for d in lead][int(rng.integers(0, len(lead) + 1)) :]
    x = n.x(*lead, *((inner, rows) if adjoint["adjX"] else (rows, inner)))
    y = n.x(*second, *((columns, inner) if adjoint["adjY"] else (inner, columns)))
    about = float(x.scales[0] * y.scales[0]) * 70 * inner**0.5
    if rng.random() < 0.4:
        y.zeros = np.array([0])
    if rng.random() < 0.3:  # ties
        x.scales = y.scales = np.array([2**-5], np.float32)
        return ("BatchMatMulOptions", adjoint), [x, y], (n.dtype, np.float32(0.5), n.zero())
    return ("BatchMatMulOptions", adjoint), [x, y], n.output(about)


def difference(n, rng):
    a, b = pair(n, rng)
    about = float(a.scales[0]) ** 2 * 200
    return ("SquaredDifferenceOptions", {}), [a, b], n.output(about)


def compared(kind):
    """Two scales; of some the numbers that are compared are coarser than the integers."""

    def make(n, rng):
        a, b = pair(n, rng)
        scale = n.scale(float(rng.choice([0.05, 0.001])))
        a.scales = np.atleast_1d(scale)
        if rng.random() < 0.7:
            b.scales = np.atleast_1d(np.float32(scale * rng.uniform(0.5, 2)))
        else:
            b.scales, b.zeros = a.scales, a.zeros
        return (kind, {}), [a, b], (np.dtype(np.bool_), None, None)

    return make


def quotient(n, rng):
    a, b = pair(n, rng)
    b.array = np.where(b.array == b.zeros[0], b.zeros[0] ^ 1, b.array).astype(n.dtype)
    about = float(a.scales[0] / b.scales[0]) * float(rng.choice([0.01, 0.1, 1]))
    return ("DivOptions", activation(rng)), [a, b], n.output(about)


def negated(n, rng):
    if n.dtype == np.uint8:
        raise ValueError("LiteRT has none")
    return ("NegOptions", {}), [n.x(3, 40)], n.output()


def of_two_scales(kind):
    """LiteRT reads no scale."""

    def make(n, rng):
        return (kind, {}), [*pair(n, rng)], n.output()

    return make


def floored(kind):
    def make(n, rng):
        if n.dtype == np.uint8:
            raise ValueError("LiteRT has none")
        a, b = pair(n, rng)
        b.array = np.where(b.array == 0, 1, b.array).astype(n.dtype)
        return (kind, {}), [a, b], n.output()

    return make


def product_of_few(n, rng):
    if n.dtype == np.uint8:
        raise ValueError("LiteRT has none")
    x = n.x(3, int(rng.integers(1, 5)), int(rng.integers(1, 4)))
    axes = [[1], [2], [1, 2], [2, 1]][int(rng.integers(0, 4))]
    fields = {"keepDims": bool(rng.integers(0, 2))}
    return ("ReducerOptions", fields), [x, i32(*axes)], n.output(float(x.scales[0]))


def nearest(n, rng):
    _, operands, y = resize(n, rng)
    return ("ResizeNearestNeighborOptions", {}), operands, y


CASES = {
    "CONV_2D": conv,
    "CONV_2D grouped": grouped,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "ADD": add,
    "ADD far": far_add,
    "SUB": sub,
    "MUL": mul,
    "MAX_POOL_2D": pool,
    "AVERAGE_POOL_2D": pool,
    "SOFTMAX": softmax,
    "LOGISTIC": to_unit,
    "TANH": tanh,
    "ELU": unary,
    "RELU": unary,
    "RELU6": unary,
    "RELU_N1_TO_1": unary,
    "RELU_0_TO_1": unary,
    "HARD_SWISH": unary,
    "SQRT": root,
    "RSQRT": inverse_root,
    "PRELU": prelu,
    "LEAKY_RELU": leaky,
    "ABS": unary,
    "EXP": unary,
    "LOG": unary,
    "GELU": gelu,
    "QUANTIZE": quantize,
    "QUANTIZE again": requantize,
    "DEQUANTIZE": dequantize,
    "CONCATENATION": concatenation,
    "MEAN": reduced,
    "SUM": reduced,
    "RESHAPE": moved("ReshapeOptions", {"newShape": [8, 6]}, i32(8, 6)),
    "TRANSPOSE": moved("TransposeOptions", {}, i32(2, 0, 1)),
    "PAD": moved("PadOptions", {}, np.array([[0, 1], [2, 0], [1, 1]], np.int32)),
    "STRIDED_SLICE": moved("StridedSliceOptions", {}, i32(0, 1, 0), i32(2, 4, 6), i32(1, 2, 1)),
    "MAXIMUM": extreme,
    "MINIMUM": extreme,
    "MAXIMUM of two scales": of_two_scales("MaximumMinimumOptions"),
    "LESS": less,
    "LESS of two scales": compared("LessOptions"),
    "LESS_EQUAL": compared("LessEqualOptions"),
    "GREATER": compared("GreaterOptions"),
    "GREATER_EQUAL": compared("GreaterEqualOptions"),
    "EQUAL": compared("EqualOptions"),
    "NOT_EQUAL": compared("NotEqualOptions"),
    "DIV": quotient,
    "SQUARED_DIFFERENCE": difference,
    "NEG": negated,
    "FLOOR_MOD": floored("FloorModOptions"),
    "FLOOR_DIV": floored("FloorDivOptions"),
    "REDUCE_PROD": product_of_few,
    "BATCH_MATMUL": batch_matmul,
    "BATCH_MATMUL by a constant": batch_matmul,
    "ARG_MAX": position,
    "CAST": cast,
    "GATHER": moved("GatherOptions", {"axis": 1}, i32(2, 0, 3, 3)),
    "TILE": moved("TileOptions", {}, i32(2, 1, 2)),
    "SPACE_TO_BATCH_ND": images(
        "SpaceToBatchNDOptions", {}, i32(2, 2), np.array([[1, 1], [0, 2]], np.int32)
    ),
    "BATCH_TO_SPACE_ND": images(
        "BatchToSpaceNDOptions", {}, i32(2, 2), np.array([[1, 0], [0, 2]], np.int32)
    ),
    "SPACE_TO_DEPTH": images("SpaceToDepthOptions", {"blockSize": 2}),
    "DEPTH_TO_SPACE": images("DepthToSpaceOptions", {"blockSize": 2}),
    "RESIZE_BILINEAR": resize,
    "RESIZE_BILINEAR odd": odd_resize,
    "TRANSPOSE_CONV": transpose_conv,
    "L2_NORMALIZATION": unit_length,
    "RESIZE_NEAREST_NEIGHBOR": nearest,
}


def log_softmax(n, rng):
    return ("LogSoftmaxOptions", {}), [n.x(3, 17)], (n.dtype, np.float32(16 / 256), n.limits.max)


# Computed as floats: one step away at most.
NEAR = {"LOG_SOFTMAX": log_softmax}
