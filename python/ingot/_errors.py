# SPDX-License-Identifier: Apache-2.0
"""Exceptions with the numbers of ingot_error; the codes are those of ingot.h, pinned for ever."""

from __future__ import annotations


class Error(Exception):
    """Whatever Ingot refuses. The text is one line: what is wrong, expected and found; what to do.

    code, code_name   40, "arena_too_small"
    need, have        expected and found: bytes, extents, or element types by their number
    instruction       index into the program, or None
    operand           index of a value, operand or part, or None
    offset            bytes into the file, 0 where that is not known
    field, hint       what is concerned and what to do, or ""
    name              of the value, port or dimension concerned, or ""
    """

    code: int = 90
    code_name: str = "internal"
    need: int = 0
    have: int = 0
    instruction: int | None = None
    operand: int | None = None
    offset: int = 0
    field: str = ""
    hint: str = ""
    name: str = ""

    def __reduce__(self):
        return type(self), self.args, self.__dict__


class CallerError(Error, ValueError):
    """Codes 1 to 19: arguments, shapes, types, bindings, or a call at the wrong time."""


class Cancelled(CallerError):
    """Code 9: cancel() ended the run."""


class DeadlineExceeded(CallerError, TimeoutError):
    """Code 10: the timeout ended the run."""


class FileError(Error):
    """Codes 20 to 39: the .ingot file is damaged, of a newer format, or not one."""


class ResourceError(Error):
    """Codes 40 to 59: memory, files, threads."""


class DeviceError(Error):
    """Codes 60 to 79: a device that is not there, was lost, or failed."""


class InternalError(Error):
    """Codes 90 to 99: a fault of Ingot's own; please report it."""


class ConversionError(Error):
    """`ingot convert` refused the source.

    exit_code   as docs/cli.md lists them: 4 unsupported, 5 a name or shape that does not fit, ...
    problems    each operator that cannot be converted, where there are several
    """

    exit_code: int = 8
    problems: tuple[str, ...] = ()


_RANGES = (
    (range(1, 20), CallerError),
    (range(20, 40), FileError),
    (range(40, 60), ResourceError),
    (range(60, 80), DeviceError),
)
_OWN = {9: Cancelled, 10: DeadlineExceeded}


def from_numbers(
    text, code, code_name, instruction, need, have, offset, operand, field, hint, name
):
    """The exception for an ingot_error; the extension calls it."""
    kind = _OWN.get(code) or next((c for codes, c in _RANGES if code in codes), InternalError)
    error = kind(text)
    error.code, error.code_name = code, code_name
    error.need, error.have = need, have
    error.instruction = instruction
    error.operand = None if operand < 0 else operand
    error.offset, error.field, error.hint, error.name = offset, field, hint, name
    return error


def caller_error(text: str, code: int = 8, code_name: str = "wrong_state") -> CallerError:
    """A refusal of the package's own; the default is a call at the wrong time."""
    error = CallerError(text)
    error.code, error.code_name = code, code_name
    return error
