# SPDX-License-Identifier: Apache-2.0
"""ingot.convert(): the command line converts, in a process of its own.

So a conversion cannot end the process that asked for it, gives its memory back, and does not hold
the interpreter. docs/cli.md has what each option means.
"""

from __future__ import annotations

import logging
import numbers
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _arguments
from ._command import PROGRAM
from ._convert_options import OPTIONS
from ._errors import ConversionError
from ._files import TemporaryFolder
from ._model import Model
from ._sources import source_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._convert_options import ConvertOptions

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
    options: Iterable[str] = (),
    **keywords: Unpack[ConvertOptions],
) -> Model:
    """Converts a trained network and opens the result.

    source          a path (ONNX, .pt2, TorchScript, Keras, TFLite, ...), the bytes of such a file,
                    an onnx.ModelProto, a torch.export.ExportedProgram, a torch.nn.Module (exported
                    with `inputs`, `kwargs`, `dynamic_shapes` as torch.export.export has them), a
                    torch.jit.ScriptModule, or a keras.Model
    output          path of the .ingot file; None: a temporary one, deleted with the model
    keywords        the options of `ingot convert`, as ConvertOptions lists them:
                    dims={"N": 1, "W": (32, 960)}, input_shapes={"x": (1, 3, 224, 224)},
                    state={"h": "h_next"}, dtype="int8", calibrate="samples.npz", check=True
    options         the same as words: ["--winograd", "off"]

    Notes of the conversion go to the logger "ingot". Raises ConversionError; TypeError and
    ValueError for arguments that are not of the right kind.
    """
    words = [word for name, value in keywords.items() for word in _words_of(name, value)]
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


def _words_of(name: str, value: Any) -> Iterator[str]:
    """A keyword as the command line has it."""
    if name not in OPTIONS:
        raise TypeError(f"convert() got an unexpected keyword argument {name!r}")
    option, kind = OPTIONS[name]
    if value is None or (kind == "flag" and not value):
        return
    if kind == "flag":
        yield option
    elif kind in ("bounds", "extents", "pairs"):
        if not isinstance(value, Mapping):
            raise _arguments.wrong_type(name, "a dict of names", value)
        for key, item in value.items():
            yield from (option, f"{key}={_item_text(name, key, item, kind)}")
    elif kind == "words":
        for word in (value,) if isinstance(value, str) else value:
            yield from (option, _arguments.text(name, word))
    elif kind == "number":
        if not isinstance(value, numbers.Real):
            raise _arguments.wrong_type(name, "a number", value)
        yield from (option, str(value))
    else:
        yield from (option, getattr(_arguments, kind)(name, value))


def _item_text(name: str, key: Any, item: Any, kind: str) -> str:
    if kind == "bounds" and isinstance(item, (tuple, list)):
        return f"{item[0]}..{item[1]}"
    if kind != "extents":
        return str(item)
    if isinstance(item, str) or not isinstance(item, Sequence):
        raise _arguments.wrong_type(f"{name}: {key!r}", "extents, (1, 3)", item)
    return "x".join(map(str, item))


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
