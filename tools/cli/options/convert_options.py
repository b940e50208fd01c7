#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What follows from convert_options.def besides the command line itself.

  convert_options.py python     the module of the keywords of ingot.convert()
  convert_options.py page       the table of the documentation site
"""

import collections
import pathlib
import re
import sys
import textwrap

DEF = pathlib.Path(__file__).with_suffix(".def")
TEXT = r'"((?:[^"\\]|\\.)*)"'
Option = collections.namedtuple("Option", "kind member spelling group value standard reader help")
NOT_IN_PYTHON = ("output", "dry_run")  # convert() has the one, and opens what it wrote


def rows(macro, fields):
    """Of each row of the table its texts, without quotes, and its words."""
    joined = re.sub(r'"\s*\n\s*"', "", DEF.read_text())
    for row in re.findall(rf"^{macro}\((.*?)\)$", joined, re.M | re.S):
        found = re.findall(rf"{TEXT}|([^\s,][^,]*)", row)
        yield [quoted.replace('\\"', '"') if not word else word for quoted, word in found][:fields]


def options():
    readers = dict(rows("INGOT_OPTION_READER", 2))
    for row in rows("INGOT_CONVERT_OPTION", 8):
        option = Option(*row)
        yield option._replace(help=readers[option.reader] + option.help)


def python_type(option):
    """How _convert.py writes the value, and what a type checker takes."""
    if option.kind == "Flag":
        return "flag", "bool"
    if "LOW..HIGH" in option.value:
        return "bounds", "Mapping[str, int | tuple[int, int]] | None"
    if "1x3x" in option.value:
        return "extents", "Mapping[str, Sequence[int | str]] | None"
    if option.kind in ("Named", "Texts"):
        if "=" in option.value:
            return "pairs", "Mapping[str, Any] | None"
        return "words", "str | Sequence[str] | None"
    if option.value in ("N", "K", "R", "A", "NUMBER", "TIMES"):
        return "number", "float | None"
    if re.match("FILE|FOLDER|CHECKPOINT|OUT", option.value):
        return "path", "str | os.PathLike[str] | None"
    return "text", "str | None"


def python_module():
    all_options = [option for option in options() if option.member not in NOT_IN_PYTHON]
    print('"""Keywords of ingot.convert(); made of tools/cli/options/convert_options.def."""\n')
    print("from __future__ import annotations\n\nimport os")
    print("from collections.abc import Mapping, Sequence\nfrom typing import Any, TypedDict\n\n")
    print('class ConvertOptions(TypedDict, total=False):\n    """Options of `ingot convert`.\n')
    for option in all_options:
        standard = f" (default: {option.standard})" if option.standard else ""
        print(textwrap.fill(f"{option.member}: {option.help}{standard}", 100, initial_indent="    ",
                            subsequent_indent="        ", break_on_hyphens=False))  # fmt: skip
    print('    """\n')
    for option in all_options:
        print(f"    {option.member}: {python_type(option)[1]}")
    print("\n\nOPTIONS = {")
    for option in all_options:
        spelling = option.spelling.split(",")[-1]
        print(f'    "{option.member}": ("{spelling}", "{python_type(option)[0]}"),')
    print("}")


def page():
    headings = dict(rows("INGOT_OPTION_GROUP", 2))
    group = None
    print("# Options of ingot convert\n\n| Option | |\n| --- | --- |")
    for option in options():
        if option.group != group:
            group = option.group
            print(f"| **{headings[group]}** | |")
        name = f"{option.spelling.replace(',', '`, `')} {option.value}".strip().replace("|", r"\|")
        text = re.sub(r"docs/([\w-]+\.md)", r"[\1](../\1)", option.help).replace("|", r"\|")
        text = re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", text)
        text += f"; `{option.standard}` when not given" if option.standard else ""
        print(f"| `{name}` | {text} |")


{"python": python_module, "page": page}[sys.argv[1]]()
