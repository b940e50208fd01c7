#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No attribute of ONNX is ignored: in ONNX's published node tests each attribute that the
operator's schema knows is changed in turn, and one that no schema knows is added. The program must
change with it, or be refused, or the pair must stand in docs/operators.md among the attributes
without effect. The same for each optional input that is left out. What an attribute says for other
inputs alone (storage_order of Indices that nobody wants) must change some sample.

  run_attributes.py --ingot BIN [--samples N] [name-part ...]
"""

import collections
import pathlib
import re
import struct
import sys
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

import run_nodes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402

METADATA = 2  # the kind of a part
ROOT = pathlib.Path(__file__).resolve().parents[3]
TYPE = onnx.defs.OpSchema.AttrType
# (operator, attribute): it is read, and what these samples change says the same.
SAME = {
    (
        "ConvTranspose",
        "output_padding",
    ): "the sample states output_shape, and pads below 0 count as 0",
    (
        "Dropout",
        "training_mode",
    ): "an input; what is converted is the inference form, and that is reported",
    ("LSTM", "sequence_lens"): "the samples state the whole length",
    ("Slice", "axes"): "the samples state the default; that another is honored is in run_nodes.py",
    ("Slice", "steps"): "the samples state the default; that another is honored is in run_nodes.py",
}


def listed_pairs():
    page = (ROOT / "docs" / "operators.md").read_text()
    rows = page[page.index("## Attributes without effect") :]
    return set(re.findall(r"^- (\S+)\.(\w+): ", rows, re.M))


def parts(file):
    """Sums of all parts of a file but its metadata, which name the source: of the program and the
    weights."""
    count = struct.unpack_from("<I", file, 28)[0]
    entries = [file[64 * i : 64 * (i + 1)] for i in range(1, count + 1)]
    return tuple(
        entry[:4] + entry[32:]
        for entry in entries
        if struct.unpack_from("<I", entry)[0] != METADATA
    )


def program_of(ingot, model):
    """The program that a model becomes, without names and sums of its source; None where it is
    refused."""
    done = ingot.convert(model)
    if done.returncode in (2, 4, 5):
        return None
    done.succeeded()
    return parts(ingot.file.read_bytes())


def default_of(schema, name, node):
    for given in node.attribute:
        if given.name == name:
            return onnx.helper.get_attribute_value(given), True
    if name not in schema.attributes:
        return None, False
    kind, value = schema.attributes[name].type, schema.attributes[name].default_value
    if value.type == onnx.AttributeProto.UNDEFINED:
        return {
            TYPE.INT: 0,
            TYPE.FLOAT: 0.0,
            TYPE.STRING: b"",
            TYPE.INTS: [],
            TYPE.FLOATS: [],
            TYPE.STRINGS: [],
        }.get(kind), False
    return onnx.helper.get_attribute_value(value), False


def changes(value, seen):
    """Other values of an attribute: numbers next to it, and the words that other tests use."""
    if isinstance(value, (bytes, str)):
        text = value.decode() if isinstance(value, bytes) else value
        yield from sorted((seen | {"another"}) - {text})
    elif isinstance(value, int):
        yield {0: 1, 1: 0}.get(value, value + 1)
    elif isinstance(value, float):
        yield value * 1.25 + 0.25
    elif isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
        items = list(value)
        for i, item in enumerate(items):
            for other in changes(item, seen):
                yield items[:i] + [other] + items[i + 1 :]


def set_attribute(node, name, value):
    for i, given in enumerate(node.attribute):
        if given.name == name:
            del node.attribute[i]
            break
    node.attribute.append(onnx.helper.make_attribute(name, value))


def samples(names):
    for test in sorted(collect_testcases(None), key=lambda t: t.name):
        if names and not any(n in test.name for n in names):
            continue
        model = onnx.ModelProto()
        model.CopyFrom(test.model)
        if len(model.graph.node) != 1 or model.functions or not run_nodes.as_supported_opset(model):
            continue
        ports = [*model.graph.input, *model.graph.output]
        if any(not p.type.HasField("tensor_type") for p in ports) or model.graph.node[
            0
        ].domain not in ("", "ai.onnx"):
            continue
        golden = {
            f"in:{p.name}": np.asarray(v) for p, v in zip(model.graph.input, test.data_sets[0][0])
        }
        yield test.name, model, golden


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--samples", type=int, default=3, help="of each attribute of each operator")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    allowed, everything = listed_pairs(), list(samples(args.names))
    words = collections.defaultdict(set)
    for _, model, _ in everything:
        node = model.graph.node[0]
        for given in node.attribute:
            if given.type == onnx.AttributeProto.STRING:
                words[node.op_type, given.name].add(given.s.decode())
    count, outcome, ignored = (
        collections.Counter(),
        collections.Counter(),
        collections.defaultdict(list),
    )
    effective, refused_whole = set(), set()
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        for name, model, golden in everything:
            op = model.graph.node[0].op_type
            new = {
                a.name
                for a in model.graph.node[0].attribute
                if count[op, a.name] < 2 * args.samples
            }
            if not onnx.defs.has(op) or (count[op, "*"] >= args.samples and not new):
                continue
            plain = program_of(ingot, model)
            if plain is None:
                run_nodes.bake_settings(model, dict(golden))
                plain = program_of(ingot, model)
            if plain is None:
                refused_whole.add(op)
                continue
            count[op, "*"] += 1
            node, schema = (
                model.graph.node[0],
                onnx.defs.get_schema(op, model.opset_import[0].version),
            )
            for attribute in [*schema.attributes, "an_attribute_of_a_newer_onnx"]:
                value, given = default_of(schema, attribute, node)
                if attribute not in schema.attributes:
                    value = 0
                axes = len(node.input) > 1 and golden.get(f"in:{node.input[1]}", np.ones(0)).size
                if attribute == "noop_with_empty_axes" and axes:
                    continue
                if value is None or count[op, attribute] >= args.samples * (2 if given else 1):
                    continue
                count[op, attribute] += 1
                for other in changes(value, words[op, attribute]):
                    changed = onnx.ModelProto()
                    changed.CopyFrom(model)
                    set_attribute(changed.graph.node[0], attribute, other)
                    now = program_of(ingot, changed)
                    outcome[
                        "refused" if now is None else "changed" if now != plain else "same"
                    ] += 1
                    if now == plain:
                        ignored[op, attribute].append(f"{name}: {other!r} for {value!r}")
                    else:
                        effective.add((op, attribute))
            for i, put in enumerate(node.input):
                empty = not golden.get(
                    f"in:{put}", np.ones(1)
                ).size  # says as much as one that is left out
                optional = (
                    not empty
                    and i < len(schema.inputs)
                    and schema.inputs[i].option == onnx.defs.OpSchema.FormalParameterOption.Optional
                )
                if not put or not optional or count[op, f"input {i}"] >= args.samples:
                    continue
                count[op, f"input {i}"] += 1
                changed = onnx.ModelProto()
                changed.CopyFrom(model)
                changed.graph.node[0].input[i] = ""
                now = program_of(ingot, changed)
                outcome["refused" if now is None else "changed" if now != plain else "same"] += 1
                if now == plain:
                    ignored[op, schema.inputs[i].name].append(f"{name}: left out")
                else:
                    effective.add((op, schema.inputs[i].name))
    checks = Checks("onnx_attributes")
    for (op, attribute), where in sorted(ignored.items()):
        if (op, attribute) in allowed or (op, attribute) in effective or (op, attribute) in SAME:
            continue
        checks.report(f"{op}: '{attribute}' is ignored", "; ".join(where[:3]))
    partly = sorted(pair for pair in ignored if pair in effective)
    print("without effect on some samples: " + ", ".join(f"{op}.{a}" for op, a in partly))
    if refused_whole - {op for op, _ in count}:
        print(
            "refused in every form here: "
            + ", ".join(sorted(refused_whole - {op for op, _ in count}))
        )
    operators = {op for op, _ in count}
    print(
        f"{len(operators)} operators, {sum(outcome.values())} changes: {outcome['changed']} change "
        f"the program, {outcome['refused']} are refused, {outcome['same']} change nothing"
    )
    checks.passed = outcome["changed"] + outcome["refused"]
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
