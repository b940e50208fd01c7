# SPDX-License-Identifier: Apache-2.0
"""An ONNX file of one item as one of several: onnx alone, for machines without torch."""

import numpy as np
import onnx
from onnx import numpy_helper


def batched(model, batch):
    """The file with `batch` items where it has one: the first dimension of inputs, of constant
    shapes and of constants that are joined with items. That items do not mix, and nothing else was
    meant by that 1, is for the caller to check."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    constants = {i.name: i for i in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    items = set()
    for port in graph.input:
        if (
            port.name not in constants
            and port.type.tensor_type.shape.dim
            and port.type.tensor_type.shape.dim[0].dim_value == 1
        ):
            port.type.tensor_type.shape.dim[0].dim_value = batch
            items.add(port.name)
    made = {}

    def other(name, array):
        """A constant of another value, under a name of its own: the first may be used elsewhere."""
        key = f"{name}@{batch}"
        if key not in made:
            made[key] = numpy_helper.from_array(array, key)
        return key

    for node in graph.node:
        has = [i in items for i in node.input]
        if any(has):
            items.update(node.output)
        if node.op_type in ("Reshape", "Expand") and has[0] and node.input[1] in constants:
            shape = numpy_helper.to_array(constants[node.input[1]]).copy()
            if len(shape) and shape[0] == 1:
                shape[0] = batch
                node.input[1] = other(node.input[1], shape)
        if node.op_type == "Concat" and any(has) and node.attribute[0].i != 0:
            for i, name in enumerate(node.input):
                array = numpy_helper.to_array(constants[name]) if name in constants else np.zeros(0)
                if array.ndim and array.shape[0] == 1:
                    node.input[i] = other(name, np.repeat(array, batch, 0))
    graph.initializer.extend(made.values())
    del graph.value_info[:]
    for port in graph.output:
        for dim in port.type.tensor_type.shape.dim:
            dim.Clear()
    return model
