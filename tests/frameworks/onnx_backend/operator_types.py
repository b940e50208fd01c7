#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators by type, device and source: the node tests of the `onnx` package that are one operator,
in each type that ONNX allows its first operand, converted, checked against the naive kernels, and
placed on a GPU, which the emulator stands for. Prints the table; `--write` puts it into a page.
Fails where an operator is converted in no type, and where a form is refused that is not in KNOWN.

  operator_types.py --ingot BIN --emulator libfake_cuda.so [--write PAGE] [NAME ...]
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import warnings

import numpy as np
import onnx
import run_nodes
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import ingot_parser, run, work_folder  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
KNOWN = {("Col2Im", "bool")}  # forms that are refused by name
MOST_ON_CPU = 54  # forms that no GPU has; may only fall
TYPES = {
    "f32": "float",
    "f16": "float16",
    "bf16": "bfloat16",
    "f64": "double",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "bool": "bool",
}
SOURCES = {  # folders of importers that write operators by these names
    "PyTorch": ("aten", "torchscript", "pt2"),
    "TFLite": ("tflite",),
    "Keras": ("keras", "layers"),
}
METHODS = {  # of aten::Builder, which all of them call
    "cast": "Cast",
    "reshape": "Reshape",
    "expand": "Expand",
    "transpose": "Transpose",
    "slice": "Slice",
    "counting": "CumSum",
}
MOST_TESTS = 8  # of an operator, before it counts as refused
REFUSED, CPU, GPU = "–", "C", "G"
HEAD = """# Operators by type, device and source
`./dev show operator-types` writes this page: every operator of `ingot operators` that ONNX's node
tests have alone, in each type of its first operand, converted, checked against the naive kernels,
and placed on a GPU (the emulator's).

C: the CPU has kernels. G: the GPU has them, too; where it has not, a session with a GPU runs the
instruction on the CPU. –: refused by name in the forms of these tests. Empty: ONNX has no such
form, or the tests cannot be written in it.

Sources other than ONNX (and Flux, whose layers are Keras's) are those whose importer names the
operator; what it makes of others is not counted. PyTorch is TorchScript and torch.export.

"""


def sources_of_operators():
    """Operator -> the sources whose importers name it."""
    found = collections.defaultdict(list)
    for source, folders in SOURCES.items():
        texts = [
            path.read_text()
            for folder in folders
            for path in (ROOT / "tools/import" / folder).rglob("*.cpp")
        ]
        text = "\n".join(texts)
        called = set(re.findall(rf"[.>]({'|'.join(METHODS)})\(", text))
        for name in set(re.findall(r'"([A-Z]\w+)"', text)) | {METHODS[c] for c in called}:
            found[name].append(source)
    return found


def tests_of_operators():
    """Operator -> its tests of one node, those of few operands first."""
    found = collections.defaultdict(list)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tests = collect_testcases(None)
    for test in tests:
        nodes = test.model.graph.node
        ports = [*test.model.graph.input, *test.model.graph.output]
        is_plain = all(port.type.HasField("tensor_type") for port in ports)
        if len(nodes) == 1 and nodes[0].domain in ("", "ai.onnx") and is_plain:
            found[nodes[0].op_type].append(test)
    return found


def types_of(op):
    """The types that ONNX allows the first operand; the variable that stands for them."""
    schema = onnx.defs.get_schema(op)
    variable = schema.inputs[0].type_str
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    words = set(allowed.get(variable, [variable]))
    return variable, [k for k, word in TYPES.items() if f"tensor({word})" in words]


def formal(ports, at):
    return ports[min(at, len(ports) - 1)] if ports else None


def in_type(test, variable, element):
    """The test's model and samples with `element` for the variable, and for others that stand for
    the same type in the test and may be that one."""
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    node = model.graph.node[0]
    schema = onnx.defs.get_schema(node.op_type)
    given, expected = test.data_sets[0]
    golden = {}
    word = f"tensor({TensorProto.DataType.Name(element).lower()})"
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    types = {p.name: p.type.tensor_type.elem_type for p in model.graph.input}
    before = types.get(node.input[0])
    variables = {variable} | {
        formal(schema.inputs, at).type_str
        for at, name in enumerate(node.input)
        if types.get(name) == before and word in allowed.get(formal(schema.inputs, at).type_str, ())
    }
    for ports, names, formals, values, prefix in (
        (model.graph.input, node.input, schema.inputs, given, "in:"),
        (model.graph.output, node.output, schema.outputs, expected, "out:"),
    ):
        for port, value in zip(ports, values):
            array = run_nodes.array_of(value)
            at = list(names).index(port.name) if port.name in names else -1
            its = formal(formals, at) if at >= 0 else None
            if its is not None and its.type_str in variables:
                port.type.tensor_type.elem_type = element
                with np.errstate(all="ignore"):
                    array = np.nan_to_num(array).astype(helper.tensor_dtype_to_np_dtype(element))
            golden[prefix + port.name] = array
    return model, golden


def converted(ingot, model, golden, work):
    """The exit code: 0 where one of the forms of the model is converted and equals the naive
    kernels."""
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    run_nodes.bake_settings(model, golden)  # as exporters write it
    for form, options in ((model, []), (plain, []), (plain, ["--max-elements", "24"])):
        onnx.save(form, work / "node.onnx")
        convert = [ingot, "convert", work / "node.onnx", "-o", work / "node.ingot", *options]
        done = run(convert, "--check")
        if done.returncode == 6 and "differ" in done.stderr + done.stdout:
            raise SystemExit(f"[fail] {model.graph.node[0].op_type}: {done.stderr}")
        # random inputs may be none that it takes, or all constants
        if done.returncode in (5, 6):
            done = run(convert, "--no-check")
        if done.returncode == 0:
            break
    return done.returncode


def device_of(ingot, emulator, work):
    """CPU or GPU; what leaves no instruction runs on both."""
    device = ("--device", "cuda", "--json")
    driver = {"INGOT_CUDA_DRIVER": str(emulator)}
    placed = run(ingot, "place", work / "node.ingot", *device, env=driver).succeeded()
    devices = {d["name"]: d["instructions"] for d in json.loads(placed.stdout)["devices"]}
    return CPU if devices.get("cpu", 0) else GPU


def row_of(args, op, tests):
    """Type -> what the table says."""
    variable, types = types_of(op)
    row = {}
    with work_folder() as work:
        for kind in types:
            element = TensorProto.DataType.Value(TYPES[kind].upper())
            found = ""
            for test in tests[:MOST_TESTS]:
                model, golden = in_type(test, variable, element)
                if not run_nodes.as_supported_opset(model):
                    continue
                code = converted(args.ingot, model, golden, work)
                if code == 2:  # the test is none in this type
                    continue
                found = REFUSED
                if code == 0:
                    found = device_of(args.ingot, args.emulator, work)
                    break
            row[kind] = found
    return row


def page_of(rows):
    sources = sources_of_operators()
    lines = [
        f"| operator | {' | '.join(TYPES)} | also from |",
        "| --- |" + " --- |" * (len(TYPES) + 1),
    ]
    for op, row in sorted(rows.items()):
        cells = [row.get(kind, "") for kind in TYPES]
        lines.append(f"| {op} | {' | '.join(cells)} | {', '.join(sources[op])} |")
    counts = collections.Counter(cell for row in rows.values() for cell in row.values() if cell)
    total = sum(counts.values())
    said = (
        f"{len(rows)} operators, {total} forms: {counts[GPU]} run on the GPU and the CPU, "
        f"{counts[CPU]} on the CPU alone,\n{counts[REFUSED]} are refused.\n\n"
    )
    return HEAD + said + "\n".join(lines) + "\n"


def faults_of(rows):
    runs = {CPU, GPU}
    faults = [f"{op} is converted in no type" for op in rows if not runs & set(rows[op].values())]
    for op, row in rows.items():
        refused = [kind for kind, cell in row.items() if cell == REFUSED]
        faults += [f"{op} of {kind} is refused" for kind in refused if (op, kind) not in KNOWN]
    on_cpu = sum(cell == CPU for row in rows.values() for cell in row.values())
    if on_cpu > MOST_ON_CPU:
        faults.append(f"{on_cpu} forms run on the CPU alone; at most {MOST_ON_CPU} did")
    return faults


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--emulator", required=True, type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.ingot, args.emulator = args.ingot.resolve(), args.emulator.resolve()
    tests = tests_of_operators()
    listed = run(args.ingot, "operators").stdout.split()
    wanted = [
        op
        for op in listed
        if op in tests and onnx.defs.get_schema(op).inputs and (not args.names or op in args.names)
    ]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = dict(zip(wanted, pool.map(lambda op: row_of(args, op, tests[op]), wanted)))
    page = page_of(rows)
    if args.write:
        args.write.parent.mkdir(parents=True, exist_ok=True)
        args.write.write_text(page)
    print(page[len(HEAD) :])
    faults = faults_of(rows)
    if not rows:
        faults.append("no operator was tried")
    for fault in faults:
        print(f"[fail] {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
