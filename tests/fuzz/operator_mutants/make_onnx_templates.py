#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes onnx_templates.txt: nodes that are right, which operator_mutants.cpp makes wrong.

make_onnx_templates.py >onnx_templates.txt     needs the onnx package, whose backend cases have a
                                               node of every operator; those of com.microsoft and
                                               ai.onnx.ml are in contrib_templates.txt

A line: domain, operator, opset, outputs, inputs, attributes; columns are separated by tabs, entries
by spaces. An input is a letter of its type and its shape, f[1,3,4], then =1,2 where its numbers
decide (constants); '-' is a missing one. Attributes are name=i3, name=f0.5, name=sLEFT, name=I1,2,
name=F0.5,1."""

import pathlib
import sys

LETTERS = {1: "f", 2: "u", 3: "c", 6: "i", 7: "l", 9: "b", 10: "h", 11: "d"}
MOST_FORMS, MOST_NUMBERS, MOST_EXTENT = 4, 16, 64

# com.microsoft and ai.onnx.ml: what their kernels take
OWN = (pathlib.Path(__file__).parent / "contrib_templates.txt").read_text()


def attribute(a):
    if a.type == 1:
        return f"{a.name}=f{a.f:.9g}"
    if a.type == 2:
        return f"{a.name}=i{a.i}"
    if a.type == 3 and b" " not in a.s and b"\t" not in a.s:
        return f"{a.name}=s{a.s.decode()}"
    if a.type == 6:
        return f"{a.name}=F" + ",".join(f"{x:.9g}" for x in a.floats[:MOST_EXTENT])
    if a.type == 7:
        return f"{a.name}=I" + ",".join(map(str, a.ints))
    return None  # graphs, tensors, texts


def operand(name, info, data):
    kind = info.type.tensor_type.elem_type
    shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
    if not info.type.HasField("tensor_type") or kind not in LETTERS:
        return None
    if any(n > MOST_EXTENT for n in shape):
        return None
    word = LETTERS[kind] + "[" + ",".join(map(str, shape)) + "]"
    numbers = data.get(name)
    if numbers is not None and 0 < numbers.size <= MOST_NUMBERS and numbers.dtype.kind in "iu":
        word += "=" + ",".join(str(int(x)) for x in numbers.flatten())
    return word


def forms():
    from onnx.backend.test.case import node as cases

    for case in sorted(cases.collect_testcases(None), key=lambda c: c.name):
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].domain not in ("", "ai.onnx.ml"):
            continue
        node = graph.node[0]
        try:
            arrays = dict(zip([i.name for i in graph.input], case.data_sets[0][0]))
            data = {k: v for k, v in arrays.items() if hasattr(v, "dtype")}
        except (IndexError, TypeError):
            continue
        infos = {i.name: i for i in graph.input}
        inputs = [operand(n, infos[n], data) if n in infos else "-" for n in node.input]
        attributes = [attribute(a) for a in node.attribute]
        if None in inputs or None in attributes:
            continue
        domain = node.domain or "ai.onnx"
        opset = [o.version for o in case.model.opset_import if o.domain == node.domain][0]
        yield domain, node.op_type, opset, len(node.output), inputs, attributes


def main():
    kept, seen = {}, set()
    lines = []
    for domain, op, opset, outputs, inputs, attributes in forms():
        kinds = (domain, op, tuple(i[:1] + str(i.count(",")) for i in inputs),
                 tuple(a.split("=")[0] for a in attributes))  # fmt: skip
        if kinds in seen or kept.get((domain, op), 0) >= MOST_FORMS:
            continue
        seen.add(kinds)
        kept[domain, op] = kept.get((domain, op), 0) + 1
        row = (domain, op, opset, outputs, " ".join(inputs), " ".join(attributes))
        lines.append("\t".join(map(str, row)))
    for line in OWN.strip().splitlines():
        head, attributes, outputs = line.split("|")
        domain, op, *inputs = head.split()
        opset = {"ai.onnx.ml": 3, "ai.onnx": 18}.get(domain, 1)
        row = (domain, op, opset, outputs.strip(), " ".join(inputs), " ".join(attributes.split()))
        lines.append("\t".join(map(str, row)))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
