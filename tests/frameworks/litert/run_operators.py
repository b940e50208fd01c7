#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each builtin operator on shapes drawn at random against LiteRT's reference kernels, and every
option of it changed: the program must change, or be refused by name, or stand among those without
effect.

  run_operators.py --ingot BIN [--seeds N] [name ...]

Needs the package ai-edge-litert. The table of options (tools/import/tflite/option_tables.cpp) is
compared with LiteRT's own schema as well."""

import json
import os
import pathlib
import re
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from control_models import CONTROL, TOLD, build_control
from operator_models import CASES, build
from written_model import Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
REFERENCE = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


STEPS = 3  # of what keeps state


def reference(model, steps):
    """Outputs of LiteRT by name, one for each of what it is fed in turn."""
    machine = Interpreter(model_content=model, experimental_op_resolver_type=REFERENCE)
    machine.allocate_tensors()
    out = []
    for fed in steps:
        for detail in machine.get_input_details():
            machine.set_tensor(detail["index"], fed[detail["name"]])
        machine.invoke()
        details = machine.get_output_details()
        out.append({d["name"]: machine.get_tensor(d["index"]) for d in details})
    return out


def golden_of(model, fed, has_state):
    """What is fed and what LiteRT gives, as a golden; of what keeps state over several runs."""
    if not has_state:
        expected = reference(model, [fed])[0]
        return {f"in:{k}": v for k, v in fed.items()} | {f"out:{k}": v for k, v in expected.items()}
    steps = [{k: v * (1 - i) for k, v in fed.items()} for i in range(STEPS)]
    expected = reference(model, steps)
    golden = {f"in:{k}": np.stack([step[k] for step in steps]) for k in fed}
    golden |= {f"out:{k}": np.stack([step[k] for step in expected]) for k in expected[0]}
    return golden | {"meta": np.array(json.dumps({"steps": STEPS}))}


def trial(ingot, name, seed):
    """What is wrong; "" for nothing, None for a model that LiteRT refuses."""
    make = build_control if name in CONTROL else build
    model, fed, has_state = make(name, np.random.default_rng([seed, sum(name.encode())]))
    try:
        golden = golden_of(model, fed, has_state)
    except (RuntimeError, ValueError):
        return None
    np.savez(ingot.folder / "golden.npz", **golden)
    options = TOLD.get(name, ())
    why = ingot.convert(model, *options, "--golden", ingot.folder / "golden.npz").error
    if why and os.environ.get("INGOT_KEEP"):
        pathlib.Path(os.environ["INGOT_KEEP"], f"{name}_{seed}.tflite").write_bytes(model)
    return why


def our_tables():
    """Kinds of options by number, as option_tables.cpp has them."""
    text = (ROOT / "tools/import/tflite/option_tables.cpp").read_text()
    first = text.split("kFirst[] = {")[1].split("\n};")[0]
    tables = {}
    for row in re.findall(r"\{(\d+), \"(\w+)\",((?:\s*\"[^\"]*\")+)\}", first):
        fields = "".join(re.findall(r'"([^"]*)"', row[2])).split()
        tables[int(row[0])] = (row[1], fields)
    return tables


def their_fields(kind):
    """(number, name, slot type, default) of one kind of options."""
    source = pathlib.Path(schema.__file__).read_text()
    pattern = rf"def {kind}Add(\w+)\(builder, \w+\):\n?\s*builder\.Prepend(\w+)Slot\((\d+), [^\n]*, ([^)]+)\)"
    return [(int(m[2]), m[0], m[1], m[3]) for m in re.findall(pattern, source)]


def schema_differences():
    names = {"Int8": "byte", "Bool": "bool", "Int32": "int", "Uint32": "int", "Int64": "long"}
    names |= {"Float32": "float"}
    kinds = {v: k for k, v in vars(schema.BuiltinOptions).items() if k[0] != "_"}
    wrong, ours = [], our_tables()
    for number, kind in sorted(kinds.items()):
        if number == 0:
            continue
        if number not in ours or ours[number][0] != kind:
            wrong.append(f"{kind} ({number}) is not in the table")
            continue
        fields = ours[number][1]
        for place, name, slot, default in their_fields(kind):
            plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
            if place >= len(fields):
                wrong.append(f"{kind} has no field {place} ({name})")
                continue
            word = fields[place].split(":")
            kind_of, _, otherwise = word[1].partition("=")
            same = word[0].replace("_", "") == plain.replace("_", "")
            typed = (
                kind_of in ("ints", "longs", "floats", "text", "table")
                if slot == "UOffsetTRelative"
                else kind_of == names[slot]
            )
            number_of = {"False": 0.0, "True": 1.0}.get(default)
            if number_of is None and slot != "UOffsetTRelative":
                number_of = float(default)
            valued = number_of is None or float(otherwise or 0) == number_of
            if not (same and typed and valued):
                wrong.append(
                    f"{kind} field {place}: {fields[place]}, LiteRT has {name} {slot} {default}"
                )
    return wrong


def without_effect():
    text = (ROOT / "tools/import/tflite/no_effect.cpp").read_text()
    rows = re.findall(r'\{"([^"]+)", "([^"]+)",\s*(?:"[^"]*"|k\w+)\}', text)
    return {(where, option.replace("_", "")) for where, option in rows}


def changed_options(ingot, name, silent):
    """Options of a case that can say something else without the program changing."""
    model, _, _ = build(name, np.random.default_rng([1, sum(name.encode())]))
    if ingot.convert(model).returncode:
        return []
    before = ingot.file.read_bytes()
    found = []
    op, options, operands, outputs = CASES[name](np.random.default_rng([1, sum(name.encode())]))
    if not options:
        return []
    kind, fields = options
    for field in vars(getattr(schema, kind + "T")()):
        now = getattr(getattr(schema, kind + "T")(), field)
        now = fields.get(field, now)
        if isinstance(now, list) or now is None:
            continue
        other = (not now) if isinstance(now, bool) else now + 1
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field).lower().replace("_", "")
        if {("*", plain), (op, plain), (kind, plain)} & silent:
            continue
        again = Model()
        made = again.add(op, (kind, fields | {field: other}), operands, outputs)
        done = ingot.convert(again.finish(made))
        if done.returncode == 0 and strip(ingot.file.read_bytes()) == strip(before):
            found.append(f"{op} {field}: {now} and {other} give one program")
        if done.returncode not in (0, 2, 4):
            found.append(f"{op} {field}={other}: {done.error}")
    return found


def strip(program):
    """A program without the checksum of its source."""
    return re.sub(rb"[0-9a-f]{64}", b"", program)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--options", action="store_true", help="change options too")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    checks = Checks("run_operators")
    if not a.names:
        checks.report("schema", "; ".join(schema_differences()))
    silent = without_effect()
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for name in a.names or [*CASES, *CONTROL]:
            refused = 0
            for seed in range(a.seeds):
                what = trial(ingot, name, seed)
                refused += what is None
                checks.report(f"{name} {seed}", what)
            if refused == a.seeds:
                checks.report(name, "LiteRT refuses every model of it")
            if a.options and name in CASES:
                checks.report("option", "; ".join(changed_options(ingot, name, silent)))
    return checks.finish("LiteRT")


if __name__ == "__main__":
    sys.exit(main())
