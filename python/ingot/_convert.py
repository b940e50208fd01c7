"""ingot.convert(): the command line converts, in a process of its own.

So a conversion cannot end the process that asked for it, gives its memory back, and does not hold
the interpreter. Docs/cli.md has what each option means.
"""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _arguments
from ._command import PROGRAM
from ._errors import ConversionError
from ._files import TemporaryFolder
from ._model import Model
from ._sources import source_file

_log = logging.getLogger("ingot")
# Codes of ingot.h for the exit codes of the command line.
_CODES = {1: 1, 2: 26, 3: 27, 4: 29, 5: 3, 6: 23, 7: 42, 8: 90}


def convert(
    source: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    inputs: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dims: Mapping[str, int | tuple[int, int]] | None = None,
    input_shapes: Mapping[str, Sequence[int | str]] | None = None,
    input_types: Mapping[str, str] | None = None,
    io_layout: Mapping[str, str] | None = None,
    state: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
    dtype: str | None = None,
    precision: str | None = None,
    precision_check: str | None = None,
    exact_to: str | None = None,
    weights: str | os.PathLike[str] | None = None,
    golden: str | os.PathLike[str] | None = None,
    calibrate: str | os.PathLike[str] | None = None,
    check: bool = False,
    options: Iterable[str] = (),
) -> Model:
    """Converts a trained network and opens the result.

    source          a path (ONNX, .pt2, TorchScript, Keras, TFLite, ...), the bytes of such a file,
                    an onnx.ModelProto, a torch.export.ExportedProgram, a torch.nn.Module (exported
                    with `inputs`, `kwargs`, `dynamic_shapes` as torch.export.export has them), a
                    torch.jit.ScriptModule, or a keras.Model
    output          path of the .ingot file; None: a temporary one, deleted with the model
    dims            numbers or bounds of open dimensions, {"N": 1, "W": (32, 960)}
    input_shapes    {"x": (1, 3, 224, 224)}; a name in it stays open
    state           {"h": "h_next"}: the input becomes state, set to the output after every run
    dtype           how weights are stored: "fp32", "fp16", "bf16", "int8", "w8", "w4"
    precision       of products on a GPU: "exact", "fast", "fp16", and on 64-bit Arm "fp16", "bf16";
                    where the network does not bear it the next one is written, unless
                    precision_check is "refuse" or "off"
    weights, golden, calibrate   paths, as --weights, --golden, --calibrate
    options         further words of `ingot convert`, a list: ["--winograd", "off"]

    Notes of the conversion go to the logger "ingot". Raises ConversionError; TypeError and
    ValueError for arguments that are not of the right kind.
    """
    words: list[str] = []
    for name, value in _pairs("dims", dims):
        bounds = f"{value[0]}..{value[1]}" if isinstance(value, (tuple, list)) else str(value)
        words += ["--dim", f"{name}={bounds}"]
    for name, shape in _pairs("input_shapes", input_shapes):
        if isinstance(shape, str) or not isinstance(shape, Sequence):
            raise _arguments.wrong_type(f"input_shapes: {name!r}", "extents, (1, 3)", shape)
        words += ["--input-shape", f"{name}={'x'.join(map(str, shape))}"]
    for option, pairs in (
        ("--input-type", input_types),
        ("--io-layout", io_layout),
        ("--state", state),
        ("--metadata", metadata),
    ):
        for name, value in _pairs(option[2:].replace("-", "_"), pairs):
            words += [option, f"{name}={value}"]
    for option, value in (
        ("--dtype", dtype),
        ("--precision", precision),
        ("--precision-check", precision_check),
        ("--exact-to", exact_to),
        ("--weights", weights),
        ("--golden", golden),
        ("--calibrate", calibrate),
    ):
        if value is not None:
            argument = option[2:].replace("-", "_")
            words += [option, _arguments.path(argument, value)]
    if check:
        words.append("--check")
    if isinstance(options, str):
        raise TypeError(f"options: expected a list of words, {options.split()}, found a str")
    words += [_arguments.path("options", word) for word in options]
    for word in words:
        _arguments.text("convert", word)
    if output is not None:
        output = _arguments.path("output", output)
    folder = TemporaryFolder()
    try:
        path = source_file(source, folder.name, inputs, kwargs, dynamic_shapes)
        made = os.path.join(folder.name, "model.ingot") if output is None else output
        _run_convert(words, path, made)
        model = Model(made)
        if output is None:
            model._own(folder)
    except BaseException:
        folder.cleanup()
        raise
    if output is not None:
        folder.cleanup()
    return model


def _pairs(argument: str, given: Any) -> Iterable[tuple[Any, Any]]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise _arguments.wrong_type(argument, "a dict of names", given)
    return given.items()


def _run_convert(words: Sequence[str], source: str, output: str) -> None:
    command = [os.fspath(PROGRAM), "convert", *words, "-o", output, "--", source]
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
    )
    if ended.returncode == 0:
        for line in (ended.stderr + ended.stdout).splitlines():
            # The file may have another precision than was asked for.
            level = logging.WARNING if "--precision-check" in line else logging.INFO
            _log.log(level, "%s", line)
        return
    raise _error_of(ended.returncode, ended.stderr)


def _error_of(exit_code: int, text: str) -> ConversionError:
    if exit_code < 0:
        text = f"the converter was ended by signal {-exit_code}"
        exit_code = 8
    lines = [line for line in text.splitlines() if line.strip()]
    # The error is the last line that is not indented; operators that are not supported follow it.
    first = max((i for i, line in enumerate(lines) if not line[0].isspace()), default=0)
    problems = tuple(line.strip() for line in lines[first + 1 :])
    words = lines[first] if lines else "the conversion failed and said nothing"
    words = words.removeprefix("ingot: ").removeprefix("error: ")
    error = ConversionError("\n  ".join((words, *problems)))
    error.exit_code = exit_code
    error.problems = problems
    error.code = _CODES.get(exit_code, 90)
    error.code_name = "conversion"
    return error
