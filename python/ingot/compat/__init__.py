# SPDX-License-Identifier: Apache-2.0
"""The part of onnxruntime's Python interface that inference on the CPU's tensors uses.

    from ingot.compat import InferenceSession          # in place of onnxruntime

Names, argument order and results are onnxruntime's; numbers are Ingot's, which docs/python.md
compares. What this does not have is refused by its name and never ignored. __version__ is that of
the onnxruntime whose interface this follows; ingot.__version__ is Ingot's.
"""

from ._binding import IOBinding, OrtDevice, OrtValue
from ._options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    ModelMetadata,
    NodeArg,
    RunOptions,
    SessionOptions,
)
from ._session import (
    InferenceSession,
    get_all_providers,
    get_available_providers,
    get_device,
    set_default_logger_severity,
    set_default_logger_verbosity,
)

__version__ = "1.32.0"

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
]
