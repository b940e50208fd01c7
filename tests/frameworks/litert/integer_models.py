#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole quantized models against the runtime whose integers are wanted, on random inputs: every
integer of every output must be equal. litert is LiteRT as it runs by default (XNNPACK, and its own
kernels where that takes floats alone), builtin LiteRT without XNNPACK, tflm TFLite Micro.

  integer_models.py --ingot BIN [--exact-to MODE] [--runs N] [--insides] model.tflite[:MOST] ...

With --insides the bytes that each operator makes are compared too. Prints a line a model; MOST is
the largest difference that is allowed, 0 where it is left out, or "spread": as much as LiteRT's
two ways differ from each other on these inputs (a model that quantizes what it computed as floats).
A model that keeps state is run N times in a row. Needs the packages ai-edge-litert and, for tflm,
tflite-micro."""

import pathlib
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402


def named(detail):
    return detail["name"] or f"tensor_{detail['index']}"


def drawn(detail, rng):
    shape = [max(int(d), 1) for d in detail["shape"]]
    dtype = np.dtype(detail["dtype"])
    if dtype.kind in "iu":
        if dtype.itemsize > 2:  # indices
            return rng.integers(0, 4, shape).astype(dtype)
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(dtype)


def with_insides(path, to):
    """The model with each result of bytes of its main subgraph as an output; their number."""
    from_file = schema.Model.GetRootAsModel(pathlib.Path(path).read_bytes(), 0)
    model = schema.ModelT.InitFromObj(from_file)
    graph = model.subgraphs[0]
    made = [int(t) for op in graph.operators for t in op.outputs]
    bytes_of = (schema.TensorType.INT8, schema.TensorType.UINT8)
    graph.outputs = [t for t in made if graph.tensors[t].type in bytes_of]
    for t in graph.outputs:
        graph.tensors[t].name = f"inside_{t}"
    model.signatureDefs = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    to.write_bytes(bytes(builder.Output()))
    return len(graph.outputs)


class Lite:
    """LiteRT, in one of its ways."""

    def __init__(self, path, mode):
        kernels = OpResolverType.AUTO
        if mode == "builtin":
            kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        self.machine = Interpreter(model_path=str(path), experimental_op_resolver_type=kernels)
        self.machine.allocate_tensors()
        self.inputs = self.machine.get_input_details()
        self.outputs = self.machine.get_output_details()

    def run(self, fed):
        for d in self.inputs:
            self.machine.set_tensor(d["index"], fed[named(d)])
        self.machine.invoke()
        return {named(d): self.machine.get_tensor(d["index"]) for d in self.outputs}


class Micro:
    """TFLite Micro; names are LiteRT's, which it does not give."""

    def __init__(self, path):
        from tflite_micro.python.tflite_micro import runtime

        names = Interpreter(
            model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF
        )
        self.inputs, self.outputs = names.get_input_details(), names.get_output_details()
        self.machine = runtime.Interpreter.from_file(str(path), arena_size=64 << 20)

    def run(self, fed):
        for i, d in enumerate(self.inputs):
            self.machine.set_input(fed[named(d)], i)
        self.machine.invoke()
        return {named(d): self.machine.get_output(i) for i, d in enumerate(self.outputs)}


def largest(a, b):
    away = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return int((away > 0).sum()), float(away.max(initial=0))


def compare(ingot, model, mode, runs, wants_spread):
    """(elements, how many differ, by how much at most, by how much LiteRT differs from itself), or
    what went wrong."""
    done = ingot.convert(model, "--exact-to", mode)
    if done.error:
        return done.error
    try:
        machine = Micro(model) if mode == "tflm" else Lite(model, mode)
        other = Lite(model, "litert" if mode == "builtin" else "builtin") if wants_spread else None
    except Exception as why:  # Micro's are of any kind
        return f"the runtime refuses it: {str(why)[:100]}"
    rng = np.random.default_rng(7)
    elements = different = most = spread = 0
    state = ingot.folder / "state" if " kept from run to run" in done.stderr else None
    for _ in range(runs):
        fed = {named(d): drawn(d, rng) for d in machine.inputs}
        wanted, others = machine.run(fed), other and other.run(fed)
        try:
            found = ingot.outputs(fed, state=state)
        except RunError as why:
            return str(why)
        for name, want in wanted.items():
            have = found[name]
            if have.shape != want.shape or have.dtype != want.dtype:
                return f"{name}: {have.dtype} {have.shape}, {want.dtype} {want.shape} expected"
            count, away = largest(have, want)
            elements, different, most = elements + want.size, different + count, max(most, away)
            spread = max(spread, largest(others[name], want)[1] if others else 0)
    return elements, different, most, spread


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--exact-to", choices=("litert", "builtin", "tflm"), default="litert")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--insides", action="store_true", help="every byte that operators make")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    checks = Checks("integer_models")
    for given in options.models:
        path, _, allowed = given.partition(":")
        with work_folder() as folder:
            name = pathlib.Path(path).name
            if options.insides:
                inside = folder / "insides.tflite"
                name += f", {with_insides(path, inside)} results inside"
                path = inside
            wants_spread, ingot = allowed == "spread", Ingot(options.ingot, folder)
            made = compare(ingot, path, options.exact_to, options.runs, wants_spread)
        if isinstance(made, str):
            checks.report(name, made)
            continue
        elements, different, most, spread = made
        figures = (
            f"{name}: {elements} elements in {options.runs} runs, {different} differ, "
            f"by at most {most:g}" + (f" (LiteRT: {spread:g})" if wants_spread else "")
        )
        if checks.check(most <= (spread if wants_spread else float(allowed or 0)), figures):
            print(figures, flush=True)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
