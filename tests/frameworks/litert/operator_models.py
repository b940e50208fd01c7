# SPDX-License-Identifier: Apache-2.0
"""Models of one operator each, for every builtin that is converted."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from operator_cases import (
    F,
    arg,
    batch_matmul,
    batch_to_space,
    binary,
    broadcast_to,
    cast,
    concatenation,
    conv,
    conv_3d,
    depthwise,
    floats,
    fully_connected,
    gather,
    gather_nd,
    nonzero,
    one_hot,
    pack,
    pad,
    pool,
    reducer,
    reshape,
    resize,
    reverse,
    reverse_sequence,
    scatter_nd,
    select,
    shape_of,
    slice_,
    space_depth,
    space_to_batch,
    split,
    split_v,
    strided_slice,
    strided_slice_by_run,
    tile,
    transpose,
    transpose_conv,
    unary,
    unpack,
)
from recurrent_cases import both_ways_lstm, sequence_lstm, sequence_rnn, svdf
from written_model import Fed, Model


def fixed(op, kind, make, out=(F,)):
    """`make(rng)` gives fields and operands."""

    def build(rng):
        fields, operands = make(rng)
        return op, (kind, fields) if kind else None, operands, list(out)

    return build


def i32(*values):
    return np.array(values, np.int32)


def scalar(value):
    return np.array(value, np.int32)


CASES = {
    "conv": conv,
    "depthwise": depthwise,
    "conv_3d": conv_3d,
    "transpose_conv": transpose_conv,
    "fully_connected": fully_connected,
    "batch_matmul": batch_matmul,
    "strided_slice": strided_slice,
    "strided_slice by run": strided_slice_by_run,
    "slice": slice_,
    "reshape": reshape,
    "transpose": transpose,
    "concatenation": concatenation,
    "pack": pack,
    "unpack": unpack,
    "split": split,
    "split_v": split_v,
    "gather": gather,
    "gather_nd": gather_nd,
    "scatter_nd": scatter_nd,
    "tile": tile,
    "broadcast_to": broadcast_to,
    "reverse": reverse,
    "reverse_sequence": reverse_sequence,
    "space_to_batch": space_to_batch,
    "batch_to_space": batch_to_space,
    "cast": cast,
    "one_hot": one_hot,
    "svdf": svdf,
    "sequence_lstm": sequence_lstm,
    "rnn": sequence_rnn("RNN"),
    "sequence_rnn": sequence_rnn("UNIDIRECTIONAL_SEQUENCE_RNN"),
    "space_to_depth": space_depth("SPACE_TO_DEPTH", "SpaceToDepthOptions"),
    "depth_to_space": space_depth("DEPTH_TO_SPACE", "DepthToSpaceOptions"),
    "bilinear": resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "nearest": resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "arg_max": arg("ARG_MAX", "ArgMaxOptions"),
    "arg_min": arg("ARG_MIN", "ArgMinOptions"),
    "add": binary("ADD", "AddOptions", (F, np.int32), fused=True),
    "sub": binary("SUB", "SubOptions", (F, np.int32), fused=True),
    "mul": binary("MUL", "MulOptions", (F, np.int32), fused=True),
    "div": binary("DIV", "DivOptions", (F, np.int32), fused=True, second=nonzero),
    "pow": fixed(
        "POW", "PowOptions", lambda r: ({}, [Fed(np.abs(floats(r, 3, 4))), Fed(floats(r, 4))])
    ),
    "floor_div": binary("FLOOR_DIV", "FloorDivOptions", (F, np.int32), second=nonzero),
    "floor_mod": binary("FLOOR_MOD", "FloorModOptions", (F, np.int32), second=nonzero),
    "squared_difference": binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions"),
    "maximum": binary("MAXIMUM", "MaximumMinimumOptions", (F, np.int32)),
    "minimum": binary("MINIMUM", "MaximumMinimumOptions", (F, np.int32)),
    "equal": binary("EQUAL", "EqualOptions", (F, np.int32), np.bool_),
    "not_equal": binary("NOT_EQUAL", "NotEqualOptions", (F, np.int32), np.bool_),
    "less": binary("LESS", "LessOptions", (F, np.int32), np.bool_),
    "less_equal": binary("LESS_EQUAL", "LessEqualOptions", (F, np.int32), np.bool_),
    "greater": binary("GREATER", "GreaterOptions", (F, np.int32), np.bool_),
    "greater_equal": binary("GREATER_EQUAL", "GreaterEqualOptions", (F, np.int32), np.bool_),
    "and": binary("LOGICAL_AND", "LogicalAndOptions", (np.bool_,)),
    "or": binary("LOGICAL_OR", "LogicalOrOptions", (np.bool_,)),
    "not": unary("LOGICAL_NOT", lambda x: x > 0, "LogicalNotOptions", np.bool_),
    "atan2": fixed(
        "ATAN2", "ATan2Options", lambda r: ({}, [Fed(floats(r, 4, 5)), Fed(floats(r, 4, 5))])
    ),
    "bitwise_xor": binary("BITWISE_XOR", "BitwiseXorOptions", (np.int32,)),
    "abs": unary("ABS", None, "AbsOptions"),
    "ceil": unary("CEIL"),
    "floor": unary("FLOOR"),
    "round": unary("ROUND", lambda x: np.round(x * 2) / 2),
    "cos": unary("COS", None, "CosOptions"),
    "sin": unary("SIN"),
    "exp": unary("EXP", None, "ExpOptions"),
    "log": unary("LOG", lambda x: np.abs(x) + F(0.1)),
    "sqrt": unary("SQRT", np.abs),
    "rsqrt": unary("RSQRT", lambda x: np.abs(x) + F(0.1)),
    "square": unary("SQUARE", None, "SquareOptions"),
    "neg": unary("NEG", None, "NegOptions"),
    "sign": unary("SIGN", None, "SignOptions"),
    "tanh": unary("TANH"),
    "logistic": unary("LOGISTIC"),
    "relu": unary("RELU"),
    "relu6": unary("RELU6"),
    "relu_n1": unary("RELU_N1_TO_1"),
    "relu_01": unary("RELU_0_TO_1"),
    "elu": unary("ELU"),
    "hard_swish": unary("HARD_SWISH", None, "HardSwishOptions"),
    "zeros_like": unary("ZEROS_LIKE", None, "ZerosLikeOptions"),
    "gelu": fixed(
        "GELU",
        "GeluOptions",
        lambda r: ({"approximate": bool(r.integers(0, 2))}, [Fed(floats(r, 3, 5))]),
    ),
    "leaky_relu": fixed(
        "LEAKY_RELU",
        "LeakyReluOptions",
        lambda r: ({"alpha": float(r.random())}, [Fed(floats(r, 3, 5))]),
    ),
    "prelu": fixed(
        "PRELU",
        None,
        lambda r: (
            {},
            [
                Fed(floats(r, 1, 4, 4, 3)),
                floats(r, *([1, 1, 3] if r.random() < 0.5 else [4, 4, 3])),
            ],
        ),
    ),
    "softmax": fixed(
        "SOFTMAX",
        "SoftmaxOptions",
        lambda r: (
            {"beta": float(r.choice([1, 0.5, 2]))},
            [Fed(floats(r, *shape_of(r, int(r.integers(1, 5)))))],
        ),
    ),
    "log_softmax": fixed(
        "LOG_SOFTMAX", "LogSoftmaxOptions", lambda r: ({}, [Fed(floats(r, 3, 7))])
    ),
    "l2_normalization": fixed(
        "L2_NORMALIZATION", "L2NormOptions", lambda r: ({}, [Fed(floats(r, *shape_of(r, 4)))])
    ),
    "lrn": fixed(
        "LOCAL_RESPONSE_NORMALIZATION",
        "LocalResponseNormalizationOptions",
        lambda r: (
            {
                "radius": int(r.integers(0, 4)),
                "bias": 1.0 + float(r.random()),
                "alpha": float(r.random()),
                "beta": float(r.random()),
            },
            [Fed(floats(r, 1, 3, 3, 7))],
        ),
    ),
    "max_pool": pool("MAX_POOL_2D"),
    "average_pool": pool("AVERAGE_POOL_2D"),
    "l2_pool": pool("L2_POOL_2D"),
    "sum": reducer("SUM"),
    "mean": reducer("MEAN"),
    "reduce_max": reducer("REDUCE_MAX"),
    "reduce_min": reducer("REDUCE_MIN"),
    "reduce_prod": reducer("REDUCE_PROD"),
    "reduce_any": reducer("REDUCE_ANY", lambda x: x > 0, np.bool_),
    "reduce_all": reducer("REDUCE_ALL", lambda x: x > 0, np.bool_),
    "top_k": fixed(
        "TOPK_V2",
        "TopKV2Options",
        lambda r: ({}, [Fed(floats(r, 3, 9)), scalar(int(r.integers(1, 9)))]),
        (F, np.int32),
    ),
    "cumsum": fixed(
        "CUMSUM",
        "CumsumOptions",
        lambda r: (
            {"exclusive": bool(r.integers(0, 2)), "reverse": bool(r.integers(0, 2))},
            [Fed(floats(r, 3, 4, 5)), scalar(int(r.integers(-3, 3)))],
        ),
    ),
    "squeeze": fixed(
        "SQUEEZE",
        "SqueezeOptions",
        lambda r: (
            {"squeezeDims": [[], [0], [-1, 0]][int(r.integers(0, 3))]},
            [Fed(floats(r, 1, 3, 1))],
        ),
    ),
    "expand_dims": fixed(
        "EXPAND_DIMS",
        "ExpandDimsOptions",
        lambda r: ({}, [Fed(floats(r, 3, 4)), scalar(int(r.integers(-3, 3)))]),
    ),
    "shape": fixed(
        "SHAPE",
        "ShapeOptions",
        lambda r: ({"outType": schema.TensorType.INT32}, [Fed(floats(r, 3, 4))]),
        (np.int32,),
    ),
    "rank": fixed("RANK", "RankOptions", lambda r: ({}, [Fed(floats(r, 3, 4))]), (np.int32,)),
    "pad": pad("PAD"),
    "pad_v2": pad("PADV2"),
    "mirror_pad": pad("MIRROR_PAD"),
    "select": select("SELECT"),
    "select_v2": select("SELECT_V2"),
    "fill": fixed(
        "FILL",
        "FillOptions",
        lambda r: ({}, [i32(*shape_of(r, 2)), Fed(np.array(r.standard_normal(), F))]),
    ),
    "add_n": fixed(
        "ADD_N",
        "AddNOptions",
        lambda r: ({}, [Fed(floats(r, 3, 4)) for _ in range(int(r.integers(1, 5)))]),
    ),
    "range": fixed(
        "RANGE", "RangeOptions", lambda r: ({}, [np.array(v, F) for v in (0.5, 4, 0.75)])
    ),
    "where": fixed(
        "WHERE",
        "WhereOptions",
        lambda r: ({}, [Fed(r.integers(0, 2, (3, 4)).astype(np.bool_))]),
        (np.int64,),
    ),
    "embedding_lookup": fixed(
        "EMBEDDING_LOOKUP",
        None,
        lambda r: ({}, [Fed(r.integers(0, 5, 4).astype(np.int32)), floats(r, 5, 3)]),
    ),
    "segment_sum": fixed(
        "SEGMENT_SUM", "SegmentSumOptions", lambda r: ({}, [Fed(floats(r, 4, 3)), i32(0, 0, 1, 2)])
    ),
    "matrix_diag": fixed(
        "MATRIX_DIAG", "MatrixDiagOptions", lambda r: ({}, [Fed(floats(r, 2, 4))])
    ),
    "matrix_set_diag": fixed(
        "MATRIX_SET_DIAG",
        "MatrixSetDiagOptions",
        lambda r: ({}, [Fed(floats(r, 2, 4, 4)), Fed(floats(r, 2, 4))]),
    ),
    "sparse_to_dense": fixed(
        "SPARSE_TO_DENSE",
        "SparseToDenseOptions",
        lambda r: ({}, [i32(1, 3), i32(6), Fed(floats(r, 2)), np.array(0.5, F)]),
    ),
    "update_slice": fixed(
        "DYNAMIC_UPDATE_SLICE",
        "DynamicUpdateSliceOptions",
        lambda r: (
            {},
            [
                Fed(floats(r, 5, 6)),
                Fed(floats(r, 2, 3)),
                i32(*(int(n) for n in r.integers(-1, 6, 2))),
            ],
        ),
    ),
    "broadcast_args": fixed(
        "BROADCAST_ARGS", None, lambda r: ({}, [i32(3, 1), i32(2, 1, 4)]), (np.int32,)
    ),
    "unsorted_segment_sum": fixed(
        "UNSORTED_SEGMENT_SUM",
        "UnsortedSegmentSumOptions",
        lambda r: ({}, [Fed(floats(r, 4, 3)), i32(2, 0, 2, 1), scalar(4)]),
    ),
    "unsorted_segment_max": fixed(
        "UNSORTED_SEGMENT_MAX",
        "UnsortedSegmentMaxOptions",
        lambda r: ({}, [Fed(floats(r, 4, 3)), i32(2, 0, 2, 1), scalar(4)]),
    ),
}
CASES["bucketize"] = fixed(
    "BUCKETIZE",
    "BucketizeOptions",
    lambda r: ({"boundaries": [-1.0, 0.0, 0.5]}, [Fed(floats(r, 3, 4))]),
    (np.int32,),
)
CASES["unique"] = fixed(
    "UNIQUE",
    "UniqueOptions",
    lambda r: (
        {"idxOutType": schema.TensorType.INT32},
        [Fed(r.integers(0, 4, 9).astype(np.int32))],
    ),
    (np.int32, np.int32),
)


def boxes(op):
    def build(rng):
        corners = rng.random((9, 2)).astype(F)
        operands = [
            Fed(np.concatenate([corners, corners + F(0.4)], 1)),
            Fed(rng.random(9).astype(F)),
        ]
        operands += [scalar(5), np.array(0.3, F), np.array(0.2, F)]
        if op == "NON_MAX_SUPPRESSION_V4":
            return op, ("NonMaxSuppressionV4Options", {}), operands, [np.int32, np.int32]
        operands.append(np.array(0, F))
        return op, ("NonMaxSuppressionV5Options", {}), operands, [np.int32, F, np.int32]

    return build


CASES["nms_v4"] = boxes("NON_MAX_SUPPRESSION_V4")
CASES["nms_v5"] = boxes("NON_MAX_SUPPRESSION_V5")
CASES["both_ways_lstm"] = both_ways_lstm
# float16 weights, which are widened before they are used
CASES["dequantize"] = fixed(
    "DEQUANTIZE", "DequantizeOptions", lambda r: ({}, [floats(r, 3, 4).astype(np.float16)])
)


def build(name, rng):
    """The bytes of a model of that case, what to feed it, and whether it keeps state."""
    op, options, operands, outputs = CASES[name](rng)
    model = Model()
    made = model.add(op, options, operands, outputs)
    if name in ("dequantize", "range", "broadcast_args"):  # give the model an input to depend on
        if name != "broadcast_args":
            made = model.add("ADD", ("AddOptions", {}), [Fed(np.array(1.5, F)), made[0]], [F])
        else:
            made = model.add("ADD", ("AddOptions", {}), [Fed(scalar(1)), made[0]], [np.int32])
    return model.finish(made), model.fed, any(t.isVariable for t in model.graph.tensors)
