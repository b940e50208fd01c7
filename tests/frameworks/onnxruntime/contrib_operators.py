#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft, drawn at random, against onnxruntime: what its offline optimizer and
its tools for transformers write.

  contrib_operators.py --ingot BIN [--seeds N] [name ...]

Needs the packages onnx and onnxruntime."""

import pathlib
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
import contrib_blocks

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402

MICROSOFT = "com.microsoft"
KINDS = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
}
TOLERANCE = 2e-4  # of the largest: sums in another order, exponentials of other libraries


class Case:
    """One node, its operands as inputs or constants, and what is fed."""

    def __init__(self, rng):
        self.rng, self.inputs, self.fed, self.constants = rng, [], {}, []
        self.node, self.outputs = None, []

    def put(self, array, constant=False):
        name = f"v{len(self.fed) + len(self.constants)}"
        if constant:
            self.constants.append(numpy_helper.from_array(array, name))
            return name
        kind = KINDS[array.dtype.name]
        self.inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        self.fed[name] = array
        return name

    def put_as(self, array, kind):
        """A constant of a type that NumPy has not."""
        name = f"v{len(self.fed) + len(self.constants)}"
        self.constants.append(helper.make_tensor(name, kind, array.shape, array.ravel()))
        return name

    def floats(self, *shape, constant=False, scale=1.0):
        array = (self.rng.standard_normal(shape) * scale).astype(np.float32)
        return self.put(array, constant)

    def size(self, low=1, high=9):
        return int(self.rng.integers(low, high))

    def maybe(self, make):
        return make() if self.rng.random() < 0.5 else ""

    def op(self, op, inputs, outputs=1, domain=MICROSOFT, **attributes):
        """outputs: a number, or for each place whether it is wanted."""
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        names = [f"y{i}" if want else "" for i, want in enumerate(wanted)]
        self.outputs = [n for n in names if n]
        self.node = helper.make_node(op, inputs, names, domain=domain, **attributes)

    def model(self):
        ports = [helper.make_tensor_value_info(n, 0, None) for n in self.outputs]
        graph = helper.make_graph([self.node], "drawn", self.inputs, ports, self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        for port in model.graph.output:
            port.ClearField("type")
        return model


ACTIVATIONS = {
    "Relu": [],
    "Tanh": [],
    "Sigmoid": [],
    "LeakyRelu": [0.2],
    "Clip": [-0.5, 0.75],
    "HardSigmoid": [0.3, 0.4],
}


def fused_conv(c):
    n, ci, co, k = c.size(1, 3), c.size(1, 6), c.size(1, 6), c.size(1, 4)
    activation = str(c.rng.choice(list(ACTIVATIONS)))
    x, w = c.floats(n, ci, 9, 8), c.floats(co, ci, k, k, constant=True)
    b = c.floats(co, constant=True)
    z = c.maybe(lambda: c.floats(n, co, 10 - k, 9 - k))
    attributes = {"activation_params": ACTIVATIONS[activation]} if ACTIVATIONS[activation] else {}
    c.op("FusedConv", [x, w, b, z] if z else [x, w, b], activation=activation, **attributes)


def fused_matmul(c):
    b, m, k, n = c.size(1, 4), c.size(), c.size(), c.size()
    ta, tb = c.size(0, 2), c.size(0, 2)
    x = c.floats(b, *((k, m) if ta else (m, k)))
    w = c.floats(b, *((n, k) if tb else (k, n)))
    c.op("FusedMatMul", [x, w], transA=ta, transB=tb, alpha=float(c.rng.uniform(0.1, 2)))


def fused_gemm(c):
    m, k, n = c.size(), c.size(), c.size()
    ta, tb = c.size(0, 2), c.size(0, 2)
    a = c.floats(*((k, m) if ta else (m, k)))
    b = c.floats(*((n, k) if tb else (k, n)), constant=c.size(0, 2) > 0)
    bias = c.floats(n, constant=True)
    activation, alpha = [("Relu", None), ("LeakyRelu", 0.3), ("Tanh", None)][c.size(0, 3)]
    more = {"activation_alpha": alpha} if alpha else {}
    c.op(
        "FusedGemm",
        [a, b, bias],
        transA=ta,
        transB=tb,
        alpha=1.5,
        beta=0.5,
        activation=activation,
        **more,
    )


def unary(op, **attributes):
    def draw(c):
        c.op(op, [c.floats(c.size(), c.size(), 7, scale=3)], **attributes)

    return draw


def biased(op):
    def draw(c):
        width = c.size()
        c.op(op, [c.floats(c.size(), c.size(), width, scale=2), c.floats(width)])

    return draw


def bias_softmax(c):
    n, h, s = c.size(), c.size(), c.size(2)
    inner = c.size(0, 2)
    bias = c.floats(*((n, 1, 1, s) if not inner else (1, 1, 1, s)))
    x = c.floats(n, h, 3, s)
    c.op("BiasSoftmax", [x, bias], axis=3, is_inner_broadcast=inner)


def skip_norm(simplified):
    def draw(c):
        b, s, width = c.size(), c.size(), 4 * c.size()
        inputs = [c.floats(b, s, width), c.floats(b, s, width), c.floats(width)]
        if not simplified:
            inputs.append(c.floats(width))
        if c.rng.random() < 0.5:
            inputs.append(c.floats(width))
        op = "SkipSimplifiedLayerNormalization" if simplified else "SkipLayerNormalization"
        c.op(op, inputs, [True, False, False, True], epsilon=1e-5)

    return draw


def simplified_norm(c):
    width = 4 * c.size()
    c.op(
        "SimplifiedLayerNormalization",
        [c.floats(c.size(), c.size(), width), c.floats(width)],
        domain="",
        epsilon=1e-6,
        axis=-1,
    )


def embed_norm(c):
    b, s, width = c.size(), c.size(), 4 * c.size()
    ids = c.put(c.rng.integers(0, 20, (b, s)).astype(np.int32))
    segments = c.put(c.rng.integers(0, 2, (b, s)).astype(np.int32))
    tables = [c.floats(n, width, constant=True) for n in (20, 16, 2)]
    mask = c.put(np.sort(c.rng.integers(0, 2, (b, s)).astype(np.int32))[:, ::-1].copy())
    c.op(
        "EmbedLayerNormalization",
        [
            ids,
            segments,
            *tables,
            c.floats(width, constant=True),
            c.floats(width, constant=True),
            mask,
        ],
        2,
        epsilon=1e-6,
    )


def some_mask(c, b, keys):
    kind = c.size(0, 3)
    if kind == 0:
        return ""
    kept = c.rng.integers(0, 2, (b, keys)).astype(np.int32)
    kept[:, 0] = 1
    if kind == 1:
        return c.put(kept)
    return c.put(c.rng.integers(1, keys + 1, b).astype(np.int32))


def attention(c):
    b, s, heads, each, into = c.size(), c.size(), c.size(1, 5), c.size(), c.size()
    width = heads * each
    x, w = c.floats(b, s, into), c.floats(into, 3 * width, constant=True, scale=0.5)
    bias = c.floats(3 * width, constant=True)
    past = c.size(1, 5) if c.rng.random() < 0.4 else 0
    mask = some_mask(c, b, s) if not past else ""
    old = c.floats(2, b, heads, past, each) if past else ""
    more = "" if past else c.maybe(lambda: c.floats(b, heads, s, s))  # both: onnxruntime refuses
    causal = int(c.rng.random() < 0.4)
    inputs = [x, w, bias, mask, old, more]
    while not inputs[-1]:
        inputs.pop()
    c.op("Attention", inputs, 2 if past else 1, num_heads=heads, unidirectional=causal)


def multi_head(c):
    b, s, t, heads, each = c.size(), c.size(), c.size(), c.size(1, 5), c.size()
    width = heads * each
    past = c.size(1, 5) if c.rng.random() < 0.4 else 0
    if past:
        t = s
    q, k, v = c.floats(b, s, width), c.floats(b, t, width), c.floats(b, t, width)
    bias = c.maybe(lambda: c.floats(3 * width, constant=True))
    mask = c.put(c.rng.integers(1, t + 1, b).astype(np.int32)) if not past and c.size(0, 2) else ""
    more = c.maybe(lambda: c.floats(b, heads, s, t + past))
    old = [c.floats(b, heads, past, each) for _ in range(2)] if past else []
    inputs = [q, k, v, bias, mask, more, *old]
    while not inputs[-1]:
        inputs.pop()
    c.op("MultiHeadAttention", inputs, 3 if past else 1, num_heads=heads)


def grouped(c):
    b, s, kv, group = c.size(1, 4), c.size(1, 6), c.size(1, 4), c.size(1, 4)
    each = 16 * c.size(1, 3)
    heads = kv * group
    past = c.size(1, 7) if c.rng.random() < 0.6 else 0
    if past and b > 1:
        s = 1
    packed = c.rng.random() < 0.4
    if packed:
        operands = [c.floats(b, s, (heads + 2 * kv) * each), "", ""]
    else:
        operands = [c.floats(b, s, heads * each), *(c.floats(b, s, kv * each) for _ in range(2))]
    old = [c.floats(b, kv, past, each) for _ in range(2)]
    lengths = c.put(np.full(b, past + s - 1, np.int32), constant=True)
    total = c.put(np.array(past + s, np.int32), constant=True)
    rotary = int(c.rng.random() < 0.5)
    inputs = [*operands, *old, lengths, total]
    if rotary:
        angles = c.rng.uniform(-3, 3, (32, each // 2))
        inputs += [c.put(f(angles).astype(np.float32), True) for f in (np.cos, np.sin)]
    more = {"local_window_size": c.size(1, 6)} if c.rng.random() < 0.3 else {}
    if c.rng.random() < 0.3:
        more["softcap"] = 5.0
    c.op(
        "GroupQueryAttention",
        inputs,
        3,
        num_heads=heads,
        kv_num_heads=kv,
        do_rotary=rotary,
        rotary_interleaved=c.size(0, 2) if rotary else 0,
        **more,
    )


def rotary(c):
    b, s, heads, each = c.size(), c.size(), c.size(1, 5), 8 * c.size(1, 3)
    angles = c.rng.uniform(-3, 3, (32, each // 2))
    table = [c.put(f(angles).astype(np.float32), True) for f in (np.cos, np.sin)]
    one = c.rng.random() < 0.5
    at = np.array([c.size(0, 9)]) if one else c.rng.integers(0, 32, (b, s))
    if c.rng.random() < 0.5:
        x = c.floats(b, s, heads * each)
    else:
        x = c.floats(b, heads, s, each)
    c.op("RotaryEmbedding", [x, c.put(at.astype(np.int64)), *table], interleaved=c.size(0, 2))


def inverse(c):
    n = c.size(1, 5)
    x = c.rng.standard_normal((c.size(), n, n)).astype(np.float32) + 3 * np.eye(n, dtype=np.float32)
    c.op("Inverse", [c.put(x)])


def grid_sample(c):
    n, ch = c.size(1, 4), c.size(1, 4)
    x = c.floats(n, ch, c.size(2), c.size(2))
    grid = c.put(c.rng.uniform(-1.2, 1.2, (n, 5, 6, 2)).astype(np.float32))
    c.op(
        "GridSample",
        [x, grid],
        mode=str(c.rng.choice(["bilinear", "nearest", "bicubic"])),
        padding_mode=str(c.rng.choice(["zeros", "border", "reflection"])),
        align_corners=c.size(0, 2),
    )


def dynamic_pads(c):
    ci, co = c.size(1, 5), c.size(1, 5)
    pads = c.put(c.rng.integers(0, 2, 4), constant=True)
    inputs = [
        c.floats(1, ci, 6, 7),
        c.floats(ci, co, 3, 3, constant=True),
        pads,
        c.floats(co, constant=True),
    ]
    c.op("ConvTransposeWithDynamicPads", inputs, strides=[c.size(1, 3)] * 2)


def nhwc_pool(c):
    x = c.put(c.rng.integers(-128, 128, (2, 9, 8, c.size())).astype(np.int8).astype(np.float32))
    c.op("NhwcMaxPool", [x], kernel_shape=[2, 3], strides=[2, 1])


CASES = {
    "FusedConv": fused_conv,
    "FusedMatMul": fused_matmul,
    "FusedGemm": fused_gemm,
    "Gelu": unary("Gelu"),
    "FastGelu": unary("FastGelu"),
    "FastGelu biased": biased("FastGelu"),
    "BiasGelu": biased("BiasGelu"),
    "QuickGelu": unary("QuickGelu", alpha=1.3),
    "BiasSoftmax": bias_softmax,
    "SkipLayerNormalization": skip_norm(False),
    "SkipSimplifiedLayerNormalization": skip_norm(True),
    "SimplifiedLayerNormalization": simplified_norm,
    "EmbedLayerNormalization": embed_norm,
    "Attention": attention,
    "MultiHeadAttention": multi_head,
    "GroupQueryAttention": grouped,
    "RotaryEmbedding": rotary,
    "Inverse": inverse,
    "GridSample": grid_sample,
    "ConvTransposeWithDynamicPads": dynamic_pads,
    **contrib_blocks.CASES,
}


def compare(ingot, case, tolerance):
    """'' where both agree, else how they differ; None where onnxruntime has no kernel."""
    model = case.model().SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its Python package names no class for them
        if "NotImplemented" in type(error).__name__ or "NOT_IMPLEMENTED" in str(error):
            return None
        raise
    expected = dict(zip(case.outputs, session.run(case.outputs, case.fed)))
    try:
        found = ingot.computed(model, case.fed)
    except RunError as error:
        return str(error)
    for name, wanted in expected.items():
        if found[name].shape != wanted.shape:
            return f"{name}: {found[name].shape} is not {wanted.shape}"
        if np.issubdtype(wanted.dtype, np.integer):
            steps = int(np.abs(found[name].astype(int) - wanted).max(initial=0))
            if steps > 1:
                return f"{name}: {steps} steps away"
            continue
        error = largest_error(found[name], wanted, 1.0)
        if not error <= tolerance:
            return f"{name}: error {error:.3g} of the largest"
    return ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    checks, missing = Checks("contrib_operators"), set()
    with work_folder() as folder:
        ingot = Ingot(args.ingot, folder)
        for name, draw in CASES.items():
            if args.names and not any(n in name for n in args.names):
                continue
            for seed in range(args.seeds):
                case = Case(np.random.default_rng([seed, *name.encode()]))
                draw(case)
                tolerance = contrib_blocks.TOLERANCES.get(name, TOLERANCE)
                why = compare(ingot, case, tolerance)
                if why is None:
                    missing.add(name)
                    break
                checks.report(f"{name}, seed {seed}", why)
    for name in sorted(missing):
        checks.skip(f"{name}: onnxruntime has no kernel for it here")
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
