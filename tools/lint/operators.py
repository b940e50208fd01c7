#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of the graph (tools/graph/operators.def, attributes.def): every core operator of the
runtime has a row, rows and names are in order, and outside importers no operator or attribute is
compared with, or looked up by, a text."""

import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(
    rf"^OPERATOR\((\w+), (Source|Normal|Core|Both), (\w+), {TEXT},\s*((?:{TEXT}\s*)+),\s*((?:{TEXT}\s*)+)\)",
    re.M,
)
BY_TEXT = re.compile(
    r'(?:->|\.)op\s*[!=]=\s*"|(?:->|\.)attributes(?:\[|\.(?:at|find|count|erase)\()"'
    r'|\bnode(?:->|\.)(?:integers?|numbers?|text|dims|subgraph|has)\("'
)
# What a source calls its own operators.
SOURCES = ("tools/import/", "tools/weights/programs/", "tools/checkpoint/")
SOURCE_NODE = "model.source_nodes"


def rows():
    text = (ROOT / "tools/graph/operators.def").read_text()
    found = [(m[1], m[3]) for m in ROW.finditer(text)]
    stated = len(re.findall(r"^OPERATOR\(", text, re.M))
    if len(found) != stated:
        sys.exit(f"tools/graph/operators.def: {stated} rows, {len(found)} of them readable")
    return found


def faults(all_rows):
    for kind, group in itertools.groupby(all_rows, key=lambda r: r[1]):
        names = [r[0] for r in group]
        if names != sorted(names):
            yield f"tools/graph/operators.def: {kind} is not in the order of its names"
    names = [r[0] for r in all_rows]
    if len(set(names)) != len(names):
        yield "tools/graph/operators.def: a name stands twice"
    core = re.findall(
        r"^INGOT_(?:CONTROL_)?OPERATOR\((\w+),", (ROOT / "runtime/op/operators.def").read_text(), re.M
    )
    for name in core:
        if name not in names and name not in ("Chain", "Copy", "QuantizedChain"):
            yield f"runtime/op/operators.def: {name} has no row in tools/graph/operators.def"
    keys = re.findall(r"^ATTRIBUTE\((\w+),", (ROOT / "tools/graph/attributes.def").read_text(), re.M)
    if keys != sorted(set(keys)):
        yield "tools/graph/attributes.def: not in the order of the names, or a name stands twice"
    for path in sorted((ROOT / "tools").rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in (".h", ".cpp", ".inl") or name.startswith(SOURCES):
            continue
        source_nodes = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            # the loop over nodes of the source, whose operators are texts
            source_nodes = SOURCE_NODE in line or (source_nodes and not line.startswith("}"))
            if BY_TEXT.search(line) and not source_nodes:
                yield f"{name}:{number}: an operator or attribute by its text; write op:: or attr::"


def main():
    all_rows = rows()
    found = list(faults(all_rows))
    print("\n".join(found + [f"{'ERROR ' if found else ''}operators: {len(all_rows)} rows"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
