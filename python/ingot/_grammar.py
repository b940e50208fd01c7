# SPDX-License-Identifier: Apache-2.0
"""Grammars and JSON schemas of answers, compiled by the command line as models are."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
from collections.abc import Mapping
from typing import Any

from . import _arguments
from ._command import PROGRAM
from ._files import TemporaryFolder


def compiled(grammar: Any, json_schema: Any) -> bytes:
    """What _ingot.Generator.begin() takes; b"": any text."""
    if grammar is not None and json_schema is not None:
        raise TypeError("grammar and json_schema: expected one of them")
    if grammar is not None:
        return _compiled("grammar", _arguments.text("grammar", grammar))
    if json_schema is None:
        return b""
    if not isinstance(json_schema, (Mapping, str)):
        raise _arguments.wrong_type("json_schema", "a dict, or its JSON", json_schema)
    text = json_schema if isinstance(json_schema, str) else json.dumps(json_schema)
    return _compiled("json_schema", text)


@functools.lru_cache(maxsize=64)
def _compiled(name: str, text: str) -> bytes:
    folder = TemporaryFolder()
    try:
        source, made = (pathlib.Path(folder.name, part) for part in (name, "compiled"))
        source.write_text(text, encoding="utf-8")
        words = [source] if name == "grammar" else ["--json-schema", source]
        ended = subprocess.run(
            [os.fspath(PROGRAM), "grammar", "-q", "-o", made, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
        if ended.returncode:
            line = ended.stderr.strip().removeprefix("ingot: ").removeprefix("error: ")
            raise ValueError(line.removeprefix(os.fspath(source)).removeprefix(": "))
        return made.read_bytes()
    finally:
        folder.cleanup()
