# SPDX-License-Identifier: Apache-2.0
"""A small fp32 TFLite network written as ONNX, so that every runtime of the comparison can be given
it.

Eight operators, those of the MLPerf Tiny networks. The form is what exporters write: NHWC at the
ports, one transposition behind the input, NCHW inside. Weights that the file keeps as int8 with one
scale are written as the floats that they stand for.
"""

import numpy as np


class NotTaken(Exception):
    """What of a TFLite file has no form here."""


ACTIVATIONS = {0: None, 1: "Relu", 3: "Relu6"}


def padding(kind, extents, kernel, strides, dilations):
    """ONNX pads (top, left, bottom, right) of TFLite's SAME (0) or VALID (1)."""
    if kind == 1:
        return [0, 0, 0, 0]
    total = [
        max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        for n, k, s, d in zip(extents, kernel, strides, dilations)
    ]
    return [t // 2 for t in total] + [t - t // 2 for t in total]


class Writer:
    def __init__(self, schema, packed):
        self.schema = schema
        self.model = schema.ModelT.InitFromPackedBuf(packed, 0)
        if len(self.model.subgraphs) != 1:
            raise NotTaken(f"{len(self.model.subgraphs)} subgraphs")
        self.graph = self.model.subgraphs[0]
        self.nodes, self.weights, self.nchw = [], [], {}

    def shape(self, index):
        return [int(n) for n in self.graph.tensors[index].shape]

    def constant(self, index):
        """A constant's values as float32 (or int32), or None of a tensor that is computed."""
        tensor = self.graph.tensors[index]
        data = self.model.buffers[tensor.buffer].data
        if data is None or len(data) == 0:
            return None
        kinds = {
            self.schema.TensorType.FLOAT32: np.float32,
            self.schema.TensorType.INT32: np.int32,
            self.schema.TensorType.INT8: np.int8,
        }
        if tensor.type not in kinds:
            raise NotTaken(f"tensor type {tensor.type}")
        values = np.frombuffer(bytes(data), kinds[tensor.type]).reshape(self.shape(index))
        if tensor.type == self.schema.TensorType.INT8:
            q = tensor.quantization
            if len(q.scale) != 1 or int(q.zeroPoint[0]) != 0:
                raise NotTaken("weights with several scales or a zero point")
            values = values.astype(np.float32) * np.float32(q.scale[0])
        return values

    def weight(self, array, name):
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind, inputs, output, **attributes):
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def image(self, index):
        """The NCHW form of a tensor; the first time, behind a transposition."""
        if index not in self.nchw:
            self.nchw[index] = self.add(
                "Transpose", [f"t{index}"], f"t{index}_nchw", perm=[0, 3, 1, 2]
            )
        return self.nchw[index]

    def rows(self, index):
        """The tensor as TFLite lays it out; behind a transposition where it was computed as
        NCHW."""
        if (
            index in self.nchw
            and not any(n.output[0] == f"t{index}" for n in self.nodes)
            and index not in self.graph.inputs
        ):
            self.add("Transpose", [self.nchw[index]], f"t{index}", perm=[0, 2, 3, 1])
        return f"t{index}"

    def finish(self, name, output, activation, is_image):
        """The fused activation, and the name of the result."""
        kind = ACTIVATIONS.get(activation, "?")
        if kind == "?":
            raise NotTaken(f"fused activation {activation}")
        final = f"t{output}_nchw" if is_image else f"t{output}"
        last = self.nodes[-1]
        if kind:
            last.output[0] = name
            if kind == "Relu6":
                bounds = [self.weight(np.float32(v), f"{final}_{v}") for v in (0, 6)]
                self.add("Clip", [name, *bounds], final)
            else:
                self.add(kind, [name], final)
        else:
            last.output[0] = final
        if is_image:
            self.nchw[output] = final

    def convolution(self, op, depthwise):
        o, (x, w, *bias) = op.builtinOptions, [int(i) for i in op.inputs]
        weights = self.constant(w)
        weights = (
            weights.transpose(3, 0, 1, 2) if depthwise else weights.transpose(0, 3, 1, 2)
        )  # [1,kh,kw,C] or [O,kh,kw,C]
        extents, kernel = self.shape(x)[1:3], list(weights.shape[2:])
        strides, dilations = [o.strideH, o.strideW], [o.dilationHFactor, o.dilationWFactor]
        inputs = [self.image(x), self.weight(weights, f"w{w}")] + [
            self.weight(self.constant(b), f"w{b}") for b in bias
        ]
        out = int(op.outputs[0])
        self.add(
            "Conv",
            inputs,
            f"c{out}",
            kernel_shape=kernel,
            strides=strides,
            dilations=dilations,
            pads=padding(o.padding, extents, kernel, strides, dilations),
            group=self.shape(x)[3] if depthwise else 1,
        )
        self.finish(f"c{out}", out, o.fusedActivationFunction, True)

    def operator(self, op):
        code = self.model.operatorCodes[op.opcodeIndex]
        kind, o = max(code.builtinCode, code.deprecatedBuiltinCode), op.builtinOptions
        b, x, out = self.schema.BuiltinOperator, int(op.inputs[0]), int(op.outputs[0])
        if kind in (b.CONV_2D, b.DEPTHWISE_CONV_2D):
            self.convolution(op, kind == b.DEPTHWISE_CONV_2D)
        elif kind == b.AVERAGE_POOL_2D:
            kernel, strides = [o.filterHeight, o.filterWidth], [o.strideH, o.strideW]
            self.add(
                "AveragePool",
                [self.image(x)],
                f"c{out}",
                kernel_shape=kernel,
                strides=strides,
                pads=padding(o.padding, self.shape(x)[1:3], kernel, strides, [1, 1]),
            )
            self.finish(f"c{out}", out, o.fusedActivationFunction, True)
        elif kind == b.ADD:
            images = len(self.shape(out)) == 4
            self.add(
                "Add",
                [self.image(int(i)) if images else self.rows(int(i)) for i in op.inputs],
                f"c{out}",
            )
            self.finish(f"c{out}", out, o.fusedActivationFunction, images)
        elif kind == b.FULLY_CONNECTED:
            w, bias = int(op.inputs[1]), int(op.inputs[2])
            self.add(
                "Gemm",
                [
                    self.rows(x),
                    self.weight(self.constant(w), f"w{w}"),
                    self.weight(self.constant(bias), f"w{bias}"),
                ],
                f"c{out}",
                transB=1,
            )
            self.finish(f"c{out}", out, o.fusedActivationFunction, False)
        elif kind == b.RESHAPE:
            self.add(
                "Reshape",
                [self.rows(x), self.weight(np.array(self.shape(out), np.int64), f"shape{out}")],
                f"t{out}",
            )
        elif kind == b.SOFTMAX:
            if o.beta != 1:
                raise NotTaken(f"softmax with beta {o.beta}")
            self.add("Softmax", [self.rows(x)], f"t{out}", axis=-1)
        else:
            raise NotTaken(f"operator {kind}")

    def write(self, name):
        from onnx import TensorProto, helper

        for op in self.graph.operators:
            self.operator(op)
        port = lambda i: helper.make_tensor_value_info(
            self.rows(int(i)), TensorProto.FLOAT, self.shape(int(i))
        )
        return helper.make_graph(
            self.nodes,
            name,
            [port(i) for i in self.graph.inputs],
            [port(i) for i in self.graph.outputs],
            self.weights,
        )


def graph_of(path, name):
    """The ONNX graph of a TFLite file. ModuleNotFoundError without ai-edge-litert, whose schema
    reads the file; NotTaken names what has no form."""
    from ai_edge_litert import schema_py_generated as schema

    return Writer(schema, path.read_bytes()).write(name)
