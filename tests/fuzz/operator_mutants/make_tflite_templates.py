#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tflite_templates.txt: operators that are right, which operator_mutants.cpp makes wrong.

make_tflite_templates.py >tflite_templates.txt     needs the package ai-edge-litert; the cases are
                                                   those of tests/frameworks/litert

A line: number and name of the operator, version, kind of its options, inputs, outputs, fields of
the options; columns are separated by tabs, entries by spaces. An input or output is a letter of its
type and its shape, f[1,3,4]; then @0.5,7 for a scale and a zero point; then =1,2 for a constant's
numbers, which are repeated. '-' is a missing one, 'v' before the letter a variable. A field is
NUMBER=WIDTH:VALUE, a width of 1 or 4 bytes."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "frameworks/litert"))

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from int16_cases import INT16_CASES, Int16
from integer_cases import CASES as INTEGER_CASES
from integer_cases import Integers
from integer_operators import answered
from operator_models import CASES, build

KIND = schema.TensorType
LETTERS = {
    KIND.FLOAT32: ("f", np.float32),
    KIND.FLOAT16: ("h", np.float16),
    KIND.INT8: ("c", np.int8),
    KIND.UINT8: ("u", np.uint8),
    KIND.INT16: ("s", np.int16),
    KIND.INT32: ("i", np.int32),
    KIND.INT64: ("l", np.int64),
    KIND.BOOL: ("b", np.bool_),
}
PLAIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
MOST_NUMBERS, FORMS, INTEGER_FORMS = 16, 3, 2


class Slots:
    """What takes a table's fields and remembers those that are numbers."""

    def __init__(self):
        self.fields, self.is_plain = {}, True

    def __getattr__(self, name):
        width = {"Bool": 1, "Int8": 1, "Uint8": 1, "Int32": 4, "Uint32": 4, "Float32": 4}
        if name == "StartObject" or name == "EndObject":
            return lambda *_: 0
        for kind, count in width.items():
            if name == f"Prepend{kind}Slot":

                def take(slot, value, default, kind=kind, count=count):
                    if value == default:
                        return
                    if kind == "Float32":
                        value = int(np.float32(value).view(np.int32))
                    self.fields[slot] = (count, int(value))

                return take
        self.is_plain = False
        return lambda *_: 0


def word(tensor, shape, data):
    if tensor.type not in LETTERS:
        return None
    letter, dtype = LETTERS[tensor.type]
    text = ("v" if tensor.isVariable else "") + letter + "[" + ",".join(map(str, shape)) + "]"
    q = tensor.quantization
    if q is not None and q.scale is not None and len(q.scale):
        text += f"@{q.scale[0]:.9g},{q.zeroPoint[0]}"
    if data is not None:
        numbers = np.frombuffer(bytes(data), dtype)[:MOST_NUMBERS]
        whole = [int(x) for x in np.clip(np.rint(numbers.astype(np.float64)), -(2**31), 2**31 - 1)]
        text += "=" + ",".join(map(str, whole))
    return text


def line(model):
    read = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(model, 0))
    graph = read.subgraphs[0]
    if len(read.subgraphs) != 1 or len(graph.operators) != 1:
        return None
    node, code = graph.operators[0], read.operatorCodes[0]
    machine = Interpreter(model_content=model, experimental_op_resolver_type=PLAIN)
    machine.allocate_tensors()
    for detail in machine.get_input_details():
        machine.set_tensor(detail["index"], np.zeros(detail["shape"], detail["dtype"]))
    shapes = {d["index"]: list(d["shape"]) for d in machine.get_tensor_details()}

    def operand(at, is_output):
        if at < 0:
            return "-"
        tensor = graph.tensors[at]
        data = read.buffers[tensor.buffer].data
        shape = shapes.get(at, []) if is_output else list(tensor.shape)
        return word(tensor, shape, data)

    inputs = [operand(i, False) for i in node.inputs]
    outputs = [operand(i, True) for i in node.outputs]
    if None in inputs or None in outputs:
        return None
    slots = Slots()
    if node.builtinOptions is not None:
        node.builtinOptions.Pack(slots)
    if not slots.is_plain:  # lists: they stand in the file's bytes
        slots.fields = {}
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    names = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    fields = " ".join(f"{at}={w}:{n}" for at, (w, n) in sorted(slots.fields.items()))
    columns = [number, names[number], code.version, node.builtinOptionsType]
    return "\t".join(map(str, [*columns, " ".join(inputs), " ".join(outputs), fields]))


def models():
    for name in CASES:
        for seed in range(FORMS):
            rng = np.random.default_rng([seed, sum(name.encode())])
            try:
                yield build(name, rng)[0]
            except (RuntimeError, ValueError):
                continue
    for kind, cases in ((Integers, INTEGER_CASES), (Int16, INT16_CASES)):
        for name, case in cases.items():
            for seed in range(INTEGER_FORMS):
                rng = np.random.default_rng([seed, sum(name.encode())])
                try:
                    op = name.split(" ")[0]
                    made = case(kind(rng), rng)
                    yield answered(op, made, "builtin", name.endswith("by a constant"))[0]
                except (RuntimeError, ValueError):
                    continue


def main():
    lines = set()
    for model in models():
        try:
            found = line(model)
        except (RuntimeError, ValueError):
            continue
        if found:
            lines.add(found)
    for each in sorted(lines, key=lambda one: (one.split("\t")[1], one)):
        print(each)


if __name__ == "__main__":
    main()
