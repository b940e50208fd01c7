# SPDX-License-Identifier: Apache-2.0
"""Sources that are objects of other frameworks, as files. Nothing here imports a framework that
the caller has not imported: a torch.nn.Module comes from somebody who has torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from . import _arguments

_MAX_PROTOBUF_BYTES = 2**31 - 1


def source_file(
    source: Any,
    folder: str,
    inputs: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
) -> str:
    """Path of a file that `ingot convert` reads; written into `folder` where there is none."""
    is_keras = _is_a(source, "keras", "Model")  # over torch it is a torch.nn.Module as well
    is_script = _is_a(source, "torch", "jit.ScriptModule")
    is_module = _is_a(source, "torch", "nn.Module") and not is_keras and not is_script
    if not is_module and not (inputs is kwargs is dynamic_shapes is None):
        raise TypeError("inputs, kwargs and dynamic_shapes: only a torch.nn.Module is exported")
    if isinstance(source, (str, os.PathLike)):
        return _arguments.path("source", source)
    path = os.path.join(folder, "source")
    if isinstance(source, (bytes, bytearray, memoryview)):
        with open(path, "wb") as file:
            file.write(source)
        return path
    if _is_a(source, "onnx", "ModelProto"):
        return _save_onnx(source, path + ".onnx")
    if _is_a(source, "torch", "export.ExportedProgram"):
        sys.modules["torch"].export.save(source, path + ".pt2")
        return path + ".pt2"
    if is_script:
        sys.modules["torch"].jit.save(source, path + ".pt")
        return path + ".pt"
    if is_module:
        if inputs is None and kwargs is None:
            raise TypeError("inputs: torch.export needs example inputs, inputs=(torch.zeros(...),)")
        export = sys.modules["torch"].export
        program = export.export(
            source, tuple(inputs or ()), dict(kwargs or {}), dynamic_shapes=dynamic_shapes
        )
        export.save(program, path + ".pt2")
        return path + ".pt2"
    if is_keras:
        source.save(path + ".keras")
        return path + ".keras"
    raise TypeError(
        "source: expected a path, bytes, an onnx.ModelProto, a torch.nn.Module, ExportedProgram or "
        f"ScriptModule, or a keras.Model, found {type(source).__module__}.{type(source).__name__}"
    )


def _is_a(source: Any, package: str, name: str) -> bool:
    """isinstance() of a class of a package that may not be there, or is not imported yet."""
    found: Any = sys.modules.get(package)
    for part in name.split("."):
        found = getattr(found, part, None)
    return isinstance(found, type) and isinstance(source, found)


def _save_onnx(model: Any, path: str) -> str:
    onnx = sys.modules["onnx"]
    if model.ByteSize() > _MAX_PROTOBUF_BYTES:
        whole, model = model, onnx.ModelProto()
        model.CopyFrom(whole)  # saving moves the tensors out of the message
        onnx.save_model(model, path, save_as_external_data=True, location="weights")
    else:
        onnx.save_model(model, path)
    return path
