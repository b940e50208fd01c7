# SPDX-License-Identifier: Apache-2.0
"""Vision transformers for make_zoo.py, as the exporters of PyTorch write timm's: one product for
queries, keys and values that is reshaped, transposed and split, scaled_dot_product_attention with
the root of the scale on either side, GELU by Erf."""

import numpy as np


def linear(n, x, inputs, outputs, gain=1.0):
    w = n.rng.standard_normal((inputs, outputs)).astype(np.float32) * np.float32(
        gain / np.sqrt(inputs)
    )
    bias = (n.rng.standard_normal(outputs) * 0.1).astype(np.float32)
    return n.op("Add", [n.const(bias, "b"), n.op("MatMul", [x, n.const(w, "w")])])


def norm(n, x, width):
    scale, bias = (
        n.rng.uniform(0.8, 1.2, width).astype(np.float32),
        n.rng.uniform(-0.1, 0.1, width).astype(np.float32),
    )
    return n.op(
        "LayerNormalization",
        [x, n.const(scale, "scale"), n.const(bias, "bias")],
        axis=-1,
        epsilon=1e-6,
    )


def gelu(n, x):
    erf = n.op("Erf", [n.op("Div", [x, n.const(np.float32(np.sqrt(2)))])])
    return n.op(
        "Mul",
        [n.op("Mul", [x, n.op("Add", [erf, n.const(np.float32(1))])]), n.const(np.float32(0.5))],
    )


def attention(n, x, tokens, width, heads):
    dim = width // heads
    x = n.reshape(linear(n, x, width, 3 * width, 2.0), [1, tokens, 3, heads, dim])
    parts = n.op(
        "Split",
        [n.op("Transpose", [x], perm=[2, 0, 3, 1, 4]), n.const(np.array([1, 1, 1], np.int64))],
        outputs=3,
        axis=0,
    )
    q, k, v = (n.op("Squeeze", [p, n.const(np.array([0], np.int64))]) for p in parts)
    root = n.const(np.float32(dim**-0.25))
    k = n.op("Mul", [n.op("Transpose", [k], perm=[0, 1, 3, 2]), root])
    scores = n.op("Softmax", [n.op("MatMul", [n.op("Mul", [q, root]), k])], axis=-1)
    y = n.op("Transpose", [n.op("MatMul", [scores, v])], perm=[0, 2, 1, 3])
    return linear(n, n.reshape(y, [1, tokens, width]), width, width)


def vit_tiny(n, size=224, patch=16, width=192, heads=3, layers=12):
    """n: an empty Net of that size."""
    tokens = (size // patch) ** 2 + 1
    x = n.op(
        "Conv",
        [
            "input",
            n.const(
                n.rng.standard_normal((width, 3, patch, patch)).astype(np.float32)
                * np.float32(1 / (16 * 3**0.5)),
                "w",
            ),
            n.const(np.zeros(width, np.float32), "b"),
        ],
        channels=width,
        kernel_shape=[patch, patch],
        strides=[patch, patch],
        pads=[0] * 4,
        group=1,
        dilations=[1, 1],
    )
    x = n.op("Transpose", [n.reshape(x, [1, width, tokens - 1])], perm=[0, 2, 1])
    x = n.op(
        "Concat",
        [n.const(n.rng.standard_normal((1, 1, width)).astype(np.float32), "class"), x],
        axis=1,
    )
    x = n.op(
        "Add",
        [
            x,
            n.const(
                n.rng.standard_normal((1, tokens, width)).astype(np.float32) * np.float32(0.5),
                "position",
            ),
        ],
    )
    for _ in range(layers):
        x = n.op("Add", [x, attention(n, norm(n, x, width), tokens, width, heads)])
        x = n.op(
            "Add",
            [
                x,
                linear(
                    n, gelu(n, linear(n, norm(n, x, width), width, 4 * width)), 4 * width, width
                ),
            ],
        )
    x = n.op("Gather", [norm(n, x, width), n.const(np.int64(0))], axis=1)
    w = n.rng.standard_normal((1000, width)).astype(np.float32) / np.float32(np.sqrt(width))
    x = n.op(
        "Gemm",
        [x, n.const(w, "w"), n.const(np.zeros(1000, np.float32), "b")],
        transB=1,
        alpha=1.0,
        beta=1.0,
    )
    return n.model(x, [1, 1000])
