# SPDX-License-Identifier: Apache-2.0
"""How many bits the weights of i8 beside u8 may have, so that onnxruntime is right here."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper


def sums_of_pairs_saturate():
    """Whether onnxruntime's products of u8 and i8 are wrong here: without VNNI it adds pairs of
    products in 16 bits (VPMADDUBSW), so 2 x 255 x 127 becomes 32767."""
    ports = [
        helper.make_tensor_value_info("a", TensorProto.UINT8, [4, 64]),
        helper.make_tensor_value_info("b", TensorProto.INT8, [64, 16]),
    ]
    sums = helper.make_tensor_value_info("y", TensorProto.INT32, [4, 16])
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    graph = helper.make_graph([node], "pairs", ports, [sums])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    fed = {"a": np.full([4, 64], 255, np.uint8), "b": np.full([64, 16], 127, np.int8)}
    return bool((session.run(None, fed)[0] != 64 * 255 * 127).any())


# Of i8 beside u8: quantizers call the smaller range reduce_range.
WEIGHT_BITS = 7 if sums_of_pairs_saturate() else 8
if WEIGHT_BITS < 8:
    print("onnxruntime saturates sums of pairs here: weights of i8 beside u8 have 7 bits")
