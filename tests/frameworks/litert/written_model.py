# SPDX-License-Identifier: Apache-2.0
"""TFLite models written with LiteRT's own schema (ai-edge-litert), so that ours is held against
another hand's."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers

TYPES = {
    np.dtype(np.float32): schema.TensorType.FLOAT32,
    np.dtype(np.float16): schema.TensorType.FLOAT16,
    np.dtype(np.int32): schema.TensorType.INT32,
    np.dtype(np.int64): schema.TensorType.INT64,
    np.dtype(np.uint8): schema.TensorType.UINT8,
    np.dtype(np.int8): schema.TensorType.INT8,
    np.dtype(np.bool_): schema.TensorType.BOOL,
    np.dtype(np.uint32): schema.TensorType.UINT32,
    np.dtype(np.int16): schema.TensorType.INT16,
    np.dtype(np.complex64): schema.TensorType.COMPLEX64,
}


class Fed:
    """An input of the model, and what is fed to it."""

    def __init__(self, array):
        self.array = np.asarray(array)


class Variable:
    """A tensor that the operator changes; zeros at first."""

    def __init__(self, shape):
        self.shape = shape


class Model:
    """Tensors and operators of one subgraph; of a further one of `owner`'s model where given."""

    def __init__(self, owner=None):
        self.model = owner.model if owner else schema.ModelT()
        if not owner:
            self.model.version = 3
            self.model.buffers = [schema.BufferT()]
            self.model.operatorCodes, self.model.subgraphs = [], []
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.graph.inputs, self.graph.outputs = [], []
        self.model.subgraphs.append(self.graph)
        self.fed = {}

    def tensor(self, dtype, shape, name, data=None, variable=False):
        t = schema.TensorT()
        t.type, t.shape, t.name = TYPES[np.dtype(dtype)], list(shape), name
        t.buffer, t.isVariable = 0, variable
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
            t.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def value(self, given):
        """Index of the tensor of an operand: an array is a constant, None is left out."""
        if given is None:
            return -1
        if isinstance(given, int):
            return given
        if isinstance(given, Variable):
            return self.tensor(np.float32, given.shape, f"v{len(self.graph.tensors)}", None, True)
        if isinstance(given, Fed):
            name = f"x{len(self.graph.inputs)}"
            at = self.tensor(given.array.dtype, given.array.shape, name)
            self.graph.inputs.append(at)
            self.fed[name] = given.array
            return at
        given = np.asarray(given)
        return self.tensor(given.dtype, given.shape, f"c{len(self.graph.tensors)}", given)

    def add(self, op, options, operands, outputs, custom=None):
        """One operator; `outputs` are types, or (type, shape). Their tensors' indices. A custom one
        has the name `custom`, and its options are a dictionary."""
        code = schema.OperatorCodeT()
        number = getattr(schema.BuiltinOperator, op)
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        code.version, code.customCode = {"BROADCAST_TO": 2}.get(op, 1), custom
        self.model.operatorCodes.append(code)
        node = schema.OperatorT()
        node.opcodeIndex = len(self.model.operatorCodes) - 1
        node.inputs = [self.value(o) for o in operands]
        node.outputs = []
        for out in outputs:
            dtype, shape = out if isinstance(out, tuple) else (out, [])
            node.outputs.append(self.tensor(dtype, shape, f"y{len(self.graph.tensors)}"))
        if custom:
            node.customOptions = list(flexbuffers.Dumps(options))
        elif options:
            kind, fields = options
            node.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            node.builtinOptions = getattr(schema, kind + "T")()
            for name, value in fields.items():
                assert hasattr(node.builtinOptions, name), (kind, name)
                setattr(node.builtinOptions, name, value)
        self.graph.operators.append(node)
        return node.outputs

    def finish(self, outputs):
        self.graph.outputs = outputs
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
