#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small decoder (random weights, RMSNorm, rotary positions, grouped key heads, SwiGLU) with
`onnx` and `numpy` alone.

  make_decoder.py OUTDIR

Writes decoder_step.onnx, one token at a time with a cache of a fixed bound that goes in and comes
out (and the same as decoder_state.onnx, to be converted with --state); decoder_full.onnx, a whole
sequence at once under a causal mask; and a golden for each from the same tokens, computed here in
float64 over the whole sequence. The step's golden has the tokens as steps and feeds the cache back.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, WIDTH, HEADS, KV_HEADS, DIM, HIDDEN, VOCABULARY, BOUND, TOKENS = (
    2,
    64,
    4,
    2,
    16,
    176,
    97,
    48,
    40,
)
NAMES = ("q", "k", "v", "o", "gate", "up", "down")
SHAPES = {
    "q": (WIDTH, HEADS * DIM),
    "k": (WIDTH, KV_HEADS * DIM),
    "v": (WIDTH, KV_HEADS * DIM),
    "o": (HEADS * DIM, WIDTH),
    "gate": (WIDTH, HIDDEN),
    "up": (WIDTH, HIDDEN),
    "down": (HIDDEN, WIDTH),
}


def make_weights():
    rng = np.random.default_rng(5)
    normal = lambda *shape, gain=1.0: (
        rng.standard_normal(shape) * gain / np.sqrt(shape[0])
    ).astype(np.float32)
    weights = {
        "words": rng.standard_normal((VOCABULARY, WIDTH)).astype(np.float32),
        "head": normal(WIDTH, VOCABULARY, gain=2),
    }
    for layer in range(LAYERS):
        for name in NAMES:
            weights[f"{layer}.{name}"] = normal(*SHAPES[name], gain=1.5)
        for name in ("before", "between"):
            weights[f"{layer}.{name}"] = rng.uniform(0.7, 1.3, WIDTH).astype(np.float32)
    angles = np.arange(BOUND)[:, None] / 10000 ** (np.arange(0, DIM, 2) / DIM)
    angles = np.concatenate([angles, angles], 1)
    weights["cos"], weights["sin"] = (
        np.cos(angles).astype(np.float32),
        np.sin(angles).astype(np.float32),
    )
    return weights


def reference(weights, tokens):
    """Logits of every position, and the keys and values of every layer, in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    norm = lambda x, scale: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale
    heads = lambda x, count: x.reshape(len(x), count, DIM).transpose(1, 0, 2)
    n = len(tokens)
    rotate = lambda x: (
        x * w["cos"][:n]
        + np.concatenate([-x[..., DIM // 2 :], x[..., : DIM // 2]], -1) * w["sin"][:n]
    )
    x, cache = w["words"][tokens], []
    for layer in range(LAYERS):
        at = lambda name: w[f"{layer}.{name}"]
        y = norm(x, at("before"))
        q, k, v = (
            rotate(heads(y @ at("q"), HEADS)),
            rotate(heads(y @ at("k"), KV_HEADS)),
            heads(y @ at("v"), KV_HEADS),
        )
        cache.append((k, v))
        k, v = (np.repeat(part, HEADS // KV_HEADS, 0) for part in (k, v))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(DIM) + np.where(np.tri(n), 0, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        y = (p / p.sum(-1, keepdims=True)) @ v
        x = x + y.transpose(1, 0, 2).reshape(n, HEADS * DIM) @ at("o")
        y = norm(x, at("between"))
        gate = y @ at("gate")
        x = x + (gate / (1 + np.exp(-gate)) * (y @ at("up"))) @ at("down")
    return x @ w["head"], cache


class Graph:
    def __init__(self, weights):
        self.nodes, self.initializers, self.count = (
            [],
            {n: numpy_helper.from_array(v, n) for n, v in weights.items()},
            0,
        )

    def op(self, kind, *inputs, outputs=None, **attributes):
        self.count += 1
        out = outputs or f"{kind}_{self.count}"
        self.nodes.append(
            helper.make_node(
                kind,
                [self.name(i) for i in inputs],
                [out],
                name=f"/{kind}_{self.count}",
                **attributes,
            )
        )
        return out

    def name(self, value):
        if isinstance(value, str):
            return value
        key = f"c{len(self.initializers)}"
        self.initializers[key] = numpy_helper.from_array(np.asarray(value), key)
        return key

    def norm(self, x, scale):
        """RMSNorm as transformers' LlamaRMSNorm is exported."""
        mean = self.op("ReduceMean", self.op("Pow", x, np.float32(2)), np.array([-1]), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, np.float32(1e-6)))
        return self.op("Mul", scale, self.op("Mul", x, self.op("Reciprocal", root)))

    def heads(self, x, count, tokens):
        return self.op(
            "Transpose", self.op("Reshape", x, np.array([1, tokens, count, DIM])), perm=[0, 2, 1, 3]
        )

    def rotate(self, x, cos, sin):
        part = lambda lo, hi: self.op("Slice", x, np.array([lo]), np.array([hi]), np.array([3]))
        turned = self.op("Concat", self.op("Neg", part(DIM // 2, DIM)), part(0, DIM // 2), axis=-1)
        return self.op("Add", self.op("Mul", x, cos), self.op("Mul", turned, sin))

    def repeat(self, x, keys):
        x = self.op("Unsqueeze", x, np.array([2]))
        x = self.op("Expand", x, np.array([1, KV_HEADS, HEADS // KV_HEADS, keys, DIM]))
        return self.op("Reshape", x, np.array([1, HEADS, keys, DIM]))


def build(weights, step):
    g = Graph(weights)
    tokens, keys = (1, BOUND) if step else (TOKENS, TOKENS)
    value, F, I = helper.make_tensor_value_info, TensorProto.FLOAT, TensorProto.INT64
    inputs, outputs = (
        [value("token", I, [1, tokens])],
        [value("logits", F, [1, tokens, VOCABULARY])],
    )
    if step:
        inputs.append(value("position", I, [1]))
        angles = [
            g.op("Unsqueeze", g.op("Gather", name, "position"), np.array([0, 1]))
            for name in ("cos", "sin")
        ]
        seen = g.op(
            "LessOrEqual", np.arange(BOUND)[None], g.op("Unsqueeze", "position", np.array([1]))
        )
        seen = g.op("Unsqueeze", seen, np.array([0, 1]))
        place = g.op(
            "Expand",
            g.op("Reshape", "position", np.array([1, 1, 1, 1])),
            np.array([1, KV_HEADS, 1, DIM]),
        )
    else:
        angles = [weights[name][None, None, :TOKENS] for name in ("cos", "sin")]
        seen = np.tri(TOKENS, dtype=bool)[None, None]
    x = g.op("Gather", "words", "token")
    for layer in range(LAYERS):
        at = lambda name: f"{layer}.{name}"
        y = g.norm(x, at("before"))
        q, k, v = (
            g.heads(g.op("MatMul", y, at(n)), HEADS if n == "q" else KV_HEADS, tokens)
            for n in ("q", "k", "v")
        )
        q, k = g.rotate(q, *angles), g.rotate(k, *angles)
        if step:
            for name, new in (("key", k), ("value", v)):
                shape = [1, KV_HEADS, BOUND, DIM]
                inputs.append(value(f"past_{name}_{layer}", F, shape))
                outputs.append(value(f"present_{name}_{layer}", F, shape))
                g.op(
                    "ScatterElements",
                    f"past_{name}_{layer}",
                    place,
                    new,
                    outputs=f"present_{name}_{layer}",
                    axis=2,
                )
            k, v = f"present_key_{layer}", f"present_value_{layer}"
        k, v = g.repeat(k, keys), g.repeat(v, keys)
        scores = g.op(
            "Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), np.float32(DIM**-0.5)
        )
        p = g.op("Softmax", g.op("Where", seen, scores, np.float32(-np.inf)), axis=-1)
        y = g.op("Transpose", g.op("MatMul", p, v), perm=[0, 2, 1, 3])
        x = g.op(
            "Add",
            x,
            g.op("MatMul", g.op("Reshape", y, np.array([1, tokens, HEADS * DIM])), at("o")),
        )
        y = g.norm(x, at("between"))
        gate = g.op("MatMul", y, at("gate"))
        gate = g.op("Mul", gate, g.op("Sigmoid", gate))
        x = g.op(
            "Add", x, g.op("MatMul", g.op("Mul", gate, g.op("MatMul", y, at("up"))), at("down"))
        )
    g.op("MatMul", x, "head", outputs="logits")
    used = {name for node in g.nodes for name in node.input}
    graph = helper.make_graph(
        g.nodes, "decoder", inputs, outputs, [t for n, t in g.initializers.items() if n in used]
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="make_decoder.py"
    )
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    weights = make_weights()
    tokens = np.random.default_rng(6).integers(0, VOCABULARY, TOKENS)
    logits, cache = reference(weights, tokens)
    for step in (True, False):
        onnx.save(
            build(weights, step), out / ("decoder_step.onnx" if step else "decoder_full.onnx")
        )
    np.savez_compressed(
        out / "decoder_full.npz",
        **{"in:token": tokens[None], "out:logits": logits[None].astype(np.float32)},
    )
    arrays = {
        "in:token": tokens.reshape(TOKENS, 1, 1),
        "in:position": np.arange(TOKENS).reshape(TOKENS, 1),
        "out:logits": logits.reshape(TOKENS, 1, 1, VOCABULARY).astype(np.float32),
    }
    feed = {}
    for layer, parts in enumerate(cache):
        for name, part in zip(("key", "value"), parts):
            full = np.zeros((1, KV_HEADS, BOUND, DIM), np.float32)
            arrays[f"in:past_{name}_{layer}"] = full.copy()
            full[0, :, :TOKENS] = part
            arrays[f"out:present_{name}_{layer}"] = full
            feed[f"present_{name}_{layer}"] = f"past_{name}_{layer}"
    meta = json.dumps(
        {"steps": TOKENS, "feed": feed, "ref": "numpy, float64, the whole sequence at once"}
    )
    np.savez_compressed(out / "decoder_step.npz", **arrays, meta=np.array(meta))
    # The same with the cache kept inside, by --state: its ports are gone, the logits are not.
    onnx.save(build(weights, True), out / "decoder_state.onnx")
    inside = {
        name: array
        for name, array in arrays.items()
        if "past" not in name and "present" not in name
    }
    np.savez_compressed(
        out / "decoder_state.npz", **inside, meta=np.array(json.dumps({"steps": TOKENS}))
    )


if __name__ == "__main__":
    main()
