# SPDX-License-Identifier: Apache-2.0
"""Arguments as the extension takes them, refused in one line: what is not of the right kind is a
TypeError, a NUL in a text a ValueError, a number beyond its bounds a CallerError (code 1)."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import caller_error

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)


def wrong_type(argument: str, expected: str, found: Any) -> TypeError:
    return TypeError(f"{argument}: expected {expected}, found {type(found).__name__}")


def whole_number(argument: str, value: Any, low: int, high: int) -> int:
    """An int, or what stands for one (numpy.int64), in [low, high]."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_type(argument, "a whole number", value) from None
    if not low <= number <= high:
        words = f"invalid argument: {argument}: expected {low} to {high}, found {number}"
        raise caller_error(words, 1, "invalid_argument")
    return number


def number(argument: str, value: Any, low: float, high: float) -> float:
    """A float, or what stands for one, in [low, high]."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise wrong_type(argument, "a number", value) from None
    if not low <= found <= high:
        words = f"invalid argument: {argument}: expected {low:g} to {high:g}, found {found:g}"
        raise caller_error(words, 1, "invalid_argument")
    return found


def text(argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong_type(argument, "a str", value)
    if "\0" in value:
        raise ValueError(f"{argument}: a NUL in {value!r}")
    return value


def path(argument: str, value: Any) -> str:
    """With surrogates for bytes that are not UTF-8, as os.fsdecode() has them."""
    try:
        return text(argument, os.fsdecode(value))
    except TypeError:
        raise wrong_type(argument, "a path", value) from None


def dimensions(argument: str, value: Any) -> dict[str, int]:
    """A number for each name of a dynamic dimension."""
    if not isinstance(value, Mapping):
        raise wrong_type(argument, "a dict of dimensions, {'W': 320}", value)
    return {
        text(f"{argument}: name", name): whole_number(f"{argument}: {name!r}", number, *INT64)
        for name, number in value.items()
    }


def refuse_unknown(options: Iterable[str], known: Iterable[str], of: str) -> None:
    """A TypeError for the first name that is not known."""
    names = list(known)
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise TypeError(f"no option {unknown[0]!r} of {of}; there are: {', '.join(names)}")


def refuse_second_init(made: Any) -> None:
    """__init__ of an object that is in use would leave what refers to it behind."""
    if made.__dict__.get("_is_made"):
        kind = type(made).__name__
        raise TypeError(f"{kind}.__init__: this {kind} is made already; make another")
