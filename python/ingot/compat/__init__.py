"""The part of onnxruntime's Python interface that inference on the CPU's tensors uses.

    from ingot.compat import InferenceSession          # in place of onnxruntime

Names, argument order and results are onnxruntime's; numbers are Ingot's, which docs/python.md
compares. What this does not have is refused by its name and never ignored.
"""

from ._binding import IOBinding, OrtValue
from ._options import (
    ExecutionMode,
    GraphOptimizationLevel,
    ModelMetadata,
    NodeArg,
    RunOptions,
    SessionOptions,
)
from ._session import InferenceSession, get_available_providers, get_device

__all__ = [
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_available_providers",
    "get_device",
]
