# SPDX-License-Identifier: Apache-2.0
"""Ingot: a trained network is converted once into one file, and runs from one arena.

    model = ingot.convert("net.onnx")            # or ingot.Model("net.ingot")
    with model.session() as session:
        answer = session.run({"x": array})["y"]

docs/python.md of the project has ownership, threads, and what is copied.
"""

from ._convert import convert
from ._embedder import Embedder
from ._errors import (
    CallerError,
    Cancelled,
    ConversionError,
    DeadlineExceeded,
    DeviceError,
    Error,
    FileError,
    InternalError,
    ResourceError,
)
from ._ingot import version as _version
from ._language import Answer, LanguageModel, Tokenizer
from ._model import Model, Pool, Port, Quantization, Requirements, State, Symbol, devices, empty
from ._session import Pipeline, Session

__version__ = _version()

__all__ = [
    "Answer",
    "CallerError",
    "Cancelled",
    "ConversionError",
    "DeadlineExceeded",
    "DeviceError",
    "Embedder",
    "Error",
    "FileError",
    "InternalError",
    "LanguageModel",
    "Model",
    "Pipeline",
    "Pool",
    "Port",
    "Quantization",
    "Requirements",
    "ResourceError",
    "Session",
    "State",
    "Symbol",
    "Tokenizer",
    "convert",
    "devices",
    "empty",
]
