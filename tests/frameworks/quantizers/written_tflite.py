# SPDX-License-Identifier: Apache-2.0
"""The networks of the comparison as float TFLite files, written operator by operator out of the
same weights: LiteRT's quantizer takes nothing else. Sessions with onnxruntime's interface run
them."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "litert"))

import minilm
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from written_model import Fed, Model

F = np.float32
SAME, RELU = 0, 1
LINEAR = ("FullyConnectedOptions", {"keepNumDims": True})


def finished(m, y, path):
    """With the entry point that LiteRT's quantizer asks for."""
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = "serving_default", 0
    signature.inputs, signature.outputs = [], []
    for places, list_of in ((m.graph.inputs, signature.inputs), (y, signature.outputs)):
        for place in places:
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = m.graph.tensors[place].name, place
            list_of.append(entry)
    m.model.signatureDefs = [signature]
    path.write_bytes(m.finish(y))
    return path


def weights_of(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(str(path)).graph.initializer}


def keyword(source, path):
    """Convolutions with Relu, a mean and a linear layer, channels last."""
    weights, m = weights_of(source), Model()
    nodes = onnx.load(str(source)).graph.node
    [x] = [m.value(Fed(np.zeros((1, 49, 10, 1), F)))]
    for node in nodes:
        if node.op_type == "Conv":
            given = {a.name: a for a in node.attribute}
            w, b = (weights[name] for name in node.input[1:3])
            stride, (top, left, bottom, right) = given["strides"].ints[0], given["pads"].ints
            shape = m.graph.tensors[x].shape
            pads = np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32)
            padded = [int(d + p.sum()) for d, p in zip(shape, pads, strict=True)]
            [x] = m.add("PAD", ("PadOptions", {}), [x, pads], [(F, padded)])
            depthwise = given["group"].i > 1
            fields = {"padding": 1, "strideH": stride, "strideW": stride}
            fields |= {"dilationHFactor": 1, "dilationWFactor": 1, "fusedActivationFunction": RELU}
            out = [1] + [
                (d - k) // stride + 1 for d, k in zip(padded[1:3], w.shape[2:], strict=True)
            ]
            out.append(len(w))
            if depthwise:
                w, op = w.transpose(1, 2, 3, 0), "DEPTHWISE_CONV_2D"
                options = ("DepthwiseConv2DOptions", fields | {"depthMultiplier": 1})
            else:
                w, op, options = w.transpose(0, 2, 3, 1), "CONV_2D", ("Conv2DOptions", fields)
            [x] = m.add(op, options, [x, np.ascontiguousarray(w), b], [(F, out)])
        elif node.op_type == "ReduceMean":
            axes = np.array([1, 2], np.int32)
            shape = [1, m.graph.tensors[x].shape[3]]
            [x] = m.add("MEAN", ("ReducerOptions", {"keepDims": False}), [x, axes], [(F, shape)])
        elif node.op_type == "Gemm":
            w, b = (weights[name] for name in node.input[1:3])
            [x] = m.add("FULLY_CONNECTED", LINEAR, [x, w, b], [(F, [1, len(w)])])
        elif node.op_type != "Relu":
            raise ValueError(f"{source}: {node.op_type} is no operator of the keyword network")
    return finished(m, [x], path)


def sentence_encoder(package, path):
    """MiniLM over the tokens of one sentence: their ids, and 0 or -10000 for each."""
    weights, m = package.weights, Model()
    tokens, width, heads = minilm.TOKENS, minilm.WIDTH, minilm.HEADS

    def binary(op, a, b, shape):
        return m.add(op, (op.title() + "Options", {}), [a, b], [(F, shape)])[0]

    def linear(x, name, columns):
        w, b = weights[name + ".weight"], weights[name + ".bias"]
        return m.add("FULLY_CONNECTED", LINEAR, [x, w, b], [(F, [1, tokens, columns])])[0]

    def norm(x, name):
        axes, options = np.array([2], np.int32), ("ReducerOptions", {"keepDims": True})
        [mean] = m.add("MEAN", options, [x, axes], [(F, [1, tokens, 1])])
        shape = [1, tokens, width]
        centered = binary("SUB", x, mean, shape)
        square = binary("MUL", centered, centered, shape)
        [variance] = m.add("MEAN", options, [square, axes], [(F, [1, tokens, 1])])
        [by] = m.add(
            "RSQRT",
            None,
            [binary("ADD", variance, np.array(1e-12, F), [1, tokens, 1])],
            [(F, [1, tokens, 1])],
        )
        y = binary("MUL", centered, by, shape)
        y = binary("MUL", y, weights[name + ".weight"], shape)
        return binary("ADD", y, weights[name + ".bias"], shape)

    ids = m.value(Fed(np.zeros((1, tokens), np.int32)))
    mask = m.value(Fed(np.zeros((1, 1, 1, tokens), F)))
    places = weights["embeddings.position_embeddings.weight"][:tokens]
    places = places + weights["embeddings.token_type_embeddings.weight"][0]
    words = weights["embeddings.word_embeddings.weight"]
    [x] = m.add("GATHER", ("GatherOptions", {"axis": 0}), [words, ids], [(F, [1, tokens, width])])
    x = norm(binary("ADD", x, places[None], [1, tokens, width]), "embeddings.LayerNorm")
    each = width // heads
    rows, parts = [1, tokens, width], [1, tokens, heads, each]
    for layer in range(minilm.LAYERS):
        at = f"encoder.layer.{layer}."

        def turned(name, x=x, at=at):
            y = linear(x, f"{at}attention.self.{name}", width)
            [y] = m.add("RESHAPE", None, [y, np.array(parts, np.int32)], [(F, parts)])
            perm = np.array([0, 2, 1, 3], np.int32)
            return m.add("TRANSPOSE", None, [y, perm], [(F, [1, heads, tokens, each])])[0]

        q, k, v = (turned(name) for name in ("query", "key", "value"))
        square = [1, heads, tokens, tokens]
        options = ("BatchMatMulOptions", {"adjY": True})
        [scores] = m.add("BATCH_MATMUL", options, [q, k], [(F, square)])
        scores = binary("MUL", scores, np.array(each**-0.5, F), square)
        scores = binary("ADD", scores, mask, square)
        [share] = m.add("SOFTMAX", ("SoftmaxOptions", {"beta": 1.0}), [scores], [(F, square)])
        options = ("BatchMatMulOptions", {})
        [y] = m.add("BATCH_MATMUL", options, [share, v], [(F, [1, heads, tokens, each])])
        [y] = m.add("TRANSPOSE", None, [y, np.array([0, 2, 1, 3], np.int32)], [(F, parts)])
        [y] = m.add("RESHAPE", None, [y, np.array(rows, np.int32)], [(F, rows)])
        y = linear(y, at + "attention.output.dense", width)
        x = norm(binary("ADD", y, x, rows), at + "attention.output.LayerNorm")
        y = linear(x, at + "intermediate.dense", 4 * width)
        [y] = m.add(
            "GELU", ("GeluOptions", {"approximate": False}), [y], [(F, [1, tokens, 4 * width])]
        )
        y = linear(y, at + "output.dense", width)
        x = norm(binary("ADD", y, x, rows), at + "output.LayerNorm")
    return finished(m, [x], path)


def as_port(array, port):
    """Floats as the bytes that a quantized port takes."""
    if array.dtype == port["dtype"]:
        return array
    scale, zero = port["quantization"]
    limits = np.iinfo(port["dtype"])
    return np.clip(np.round(array / scale) + zero, limits.min, limits.max).astype(port["dtype"])


class Session:
    """A TFLite file with onnxruntime's run(): one sample after another."""

    def __init__(self, path, feeds, collect=np.concatenate):
        """feeds(inputs) gives for each run the arrays of its inputs, in their order."""
        self.machine = Interpreter(model_path=str(path))
        self.machine.allocate_tensors()
        self.feeds, self.collect = feeds, collect

    def run(self, _, inputs):
        [output], found = self.machine.get_output_details(), []
        for arrays in self.feeds(inputs):
            for port, array in zip(self.machine.get_input_details(), arrays, strict=True):
                self.machine.set_tensor(port["index"], as_port(array, port))
            self.machine.invoke()
            y = self.machine.get_tensor(output["index"])
            scale, zero = output["quantization"]
            found.append(y if y.dtype == F else (y.astype(F) - F(zero)) * F(scale))
        return [self.collect(found)]


def keyword_feeds(inputs):
    return [[x.reshape(1, 49, 10, 1)] for x in inputs["x"]]


def sentence_feeds(inputs):
    for ids, seen in zip(inputs["input_ids"], inputs["attention_mask"], strict=True):
        hidden = (1 - seen.astype(F)) * F(-10000)
        yield [ids[None].astype(np.int32), hidden.reshape(1, 1, 1, -1)]


def embeddings(seen):
    """Of tokens: the mean of those that are there, of length 1."""

    def collect(found):
        kept = np.concatenate(found) * seen[:, :, None]
        mean = kept.sum(1) / seen.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    return collect
