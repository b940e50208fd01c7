# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft on weights of few bits in blocks, and Resize of bytes, drawn at
random: cases of contrib_operators.py."""

import numpy as np
from onnx import TensorProto, helper

FLOATS = (np.float32, np.float16)


def packed(numbers, bits):
    """Rows of `bits` bits, the first number in the low bits of a byte."""
    each = 8 // bits
    rest = -numbers.shape[-1] % each
    wide = np.pad(numbers.astype(np.uint8), [(0, 0)] * (numbers.ndim - 1) + [(0, rest)])
    parts = wide.reshape(*wide.shape[:-1], -1, each)
    return sum(parts[..., i] << (bits * i) for i in range(each)).astype(np.uint8)


def matmul_nbits(c):
    """Scales and activations of f32 or f16, zero points as bits or as floats, groups in an order.
    Not drawn: floats as zero points of 8 bits, which onnxruntime 1.31.1 refuses, and zero points as
    bits beside groups, where it takes 8 instead."""
    kind, bits, block = c.rng.choice(FLOATS), int(c.rng.choice([2, 4, 8])), 16 << c.size(0, 3)
    n, k = c.size(1, 20), int(c.rng.integers(1, 5 * block))
    if c.rng.random() < 0.5:
        k += -k % block
    blocks = -(-k // block)
    x = c.put(c.rng.standard_normal((c.size(1, 4), c.size(1, 6), k)).astype(kind))
    numbers = c.rng.integers(0, 1 << bits, (n, blocks, block))
    scales = (c.rng.uniform(0.01, 0.1, (n, blocks)) * c.rng.choice([-1, 1], (n, blocks))).astype(
        kind
    )
    inputs = [x, c.put(packed(numbers, bits), True), c.put(scales, True)]
    zeros, groups = c.size(0, 2 if bits == 8 else 3), 0
    if bits == 4 and kind == np.float32 and zeros != 1:
        groups = c.size(0, 3)
    if zeros == 0:
        inputs.append("")
    elif zeros == 1:
        drawn = c.rng.integers(0, 1 << bits, (n, blocks))
        inputs.append(c.put(packed(drawn, bits), True))
    else:
        inputs.append(c.put(c.rng.uniform(0, 1 << bits, (n, blocks)).astype(kind), True))
    if groups == 1:  # each as long as a block
        order = c.rng.permutation(np.arange(k) // block)
        inputs.append(c.put(order.astype(np.int32), True))
    elif groups == 2:
        inputs.append(c.put(c.rng.integers(0, blocks, k).astype(np.int32), True))
    else:
        inputs.append("")
    if c.rng.random() < 0.5:
        inputs.append(c.put(c.rng.standard_normal(n).astype(kind), True))
    while not inputs[-1]:
        inputs.pop()
    c.op("MatMulNBits", inputs, N=n, K=k, bits=bits, block_size=block)


def gather_block_quantized(c):
    kind, form = c.rng.choice(FLOATS), c.rng.choice(["INT4", "UINT4", "packed", "bytes"])
    block, rank = 16 << c.size(0, 2), c.size(2, 4)
    dims = [c.size(2, 7) for _ in range(rank - 1)] + [block * c.size(1, 4)]
    along, bits = rank - 1, 8 if form == "bytes" else 4
    low = -8 if form == "INT4" else 0
    each = [*dims[:-1], dims[-1] // block]
    numbers, zeros = (c.rng.integers(low, low + (1 << bits), d) for d in (dims, each))

    def table(array):
        if form in ("INT4", "UINT4"):
            return c.put_as(array, getattr(TensorProto, form))
        return c.put(packed(array, bits), True)

    data = table(numbers)
    gather = 0 if form in ("packed", "bytes") else c.size(0, rank - 1)
    places = c.rng.integers(
        -dims[gather], dims[gather], [c.size(1, 4) for _ in range(c.size(0, 3))]
    )
    indices = c.put(places.astype(c.rng.choice([np.int32, np.int64])))
    scales = c.put(c.rng.uniform(0.01, 0.1, each).astype(kind), True)
    inputs = [data, indices, scales]
    if c.rng.random() < 0.5:
        inputs.append(table(zeros))
    c.op("GatherBlockQuantized", inputs, gather_axis=gather, quantize_axis=along, block_size=block,
         bits=bits)  # fmt: skip


def quantized_attention(c):
    """Masks as lengths, as ends and starts, of keys; with keys and values of earlier tokens."""
    b, s, heads, each, into = c.size(1, 5), c.size(), c.size(1, 5), c.size(), c.size(1, 30)
    width = heads * each
    x = c.put(c.rng.integers(0, 256, (b, s, into)).astype(np.uint8))
    kind = c.rng.choice([np.int8, np.uint8])
    info = np.iinfo(kind)
    w = c.put(c.rng.integers(info.min, info.max + 1, (into, 3 * width)).astype(kind), True)
    bias = c.floats(3 * width, constant=True)
    numbers = [c.put(np.float32(0.02), True), c.put(np.float32(0.2 / into), True)]
    zeros = [
        c.put(np.uint8(c.size(100, 150)), True),
        c.put(kind((info.min + info.max + 1) // 2), True),
    ]
    past = c.size(1, 5) if c.rng.random() < 0.4 else 0
    ends = c.rng.integers(1, s + 1, b)
    masks = [lambda: "", lambda: c.put(ends.astype(np.int32)),
             lambda: c.put(np.append(ends, c.rng.integers(0, ends)).astype(np.int32)),
             lambda: c.put((np.arange(s) < ends[:, None]).astype(np.int32))]  # fmt: skip
    mask = "" if past else masks[c.size(0, 4)]()
    inputs = [x, w, bias, *numbers, mask, *zeros]
    if past:
        inputs.append(c.floats(2, b, heads, past, each))
    c.op("QAttention", inputs, 2 if past else 1, num_heads=heads,
         unidirectional=1 if past else int(not mask and c.size(0, 2)))  # fmt: skip


def resize_of_bytes(c):
    kind = c.rng.choice([np.uint8, np.int8])
    info = np.iinfo(kind)
    n, ch, h, w = (c.size() for _ in range(4))
    x = c.put(c.rng.integers(info.min, info.max + 1, (n, ch, h, w)).astype(kind))
    scales = c.put(np.array([1, 1, *c.rng.uniform(0.5, 3, 2)], np.float32), True)
    modes = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    c.op("Resize", [x, "", scales], domain="", mode="linear",
         coordinate_transformation_mode=str(c.rng.choice(modes)))  # fmt: skip


CASES = {
    "MatMulNBits": matmul_nbits,
    "GatherBlockQuantized": gather_block_quantized,
    "QAttention": quantized_attention,
    "Resize of bytes": resize_of_bytes,
}
TOLERANCES = {"MatMulNBits": 4e-3, "GatherBlockQuantized": 1e-3}  # with operands of f16
