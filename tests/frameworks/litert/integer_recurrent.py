#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LSTM and SVDF of integers against the runtime whose integers are wanted:
UNIDIRECTIONAL_SEQUENCE_LSTM of int8 and, of TFLite Micro alone, of int16 beside int8; LSTM of int8,
of LiteRT alone; SVDF of int8 with a memory of int16. Shapes, scales, zero points and clips drawn at
random, several runs with the state kept, every integer equal.

  integer_recurrent.py --ingot BIN [--exact-to MODE] [--seeds N]

Needs the packages ai-edge-litert and, for tflm, tflite-micro."""

import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from written_model import Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

RUNS = 3
SEQUENCE = "UNIDIRECTIONAL_SEQUENCE_LSTM"


class Drawn:
    """A model, the type of its input and what it is quantized with."""

    def __init__(self, rng, op, dtype, mode):
        self.rng, self.op, self.dtype, self.mode = rng, op, np.dtype(dtype), mode
        self.model = Model()
        batch, width = (int(n) for n in rng.integers(1, (4, 20)))
        # Micro has one state for all of a batch of int8 kernels; LSTM has one step
        steps, cells = (int(n) for n in rng.integers(1, (6, 20)))
        self.time_major = bool(rng.integers(0, 2))
        self.shape = [batch, steps, width]
        if self.time_major:
            self.shape = [steps, batch, width]
        if op != SEQUENCE:
            self.shape, self.time_major = [batch, width], False
        self.batch, self.width, self.cells = batch, width, cells
        if op == "SVDF":
            self.write_svdf()
        else:
            self.write()

    def scale(self, about):
        return np.float32(about * 2 ** self.rng.uniform(-1, 1))

    def tensor(self, dtype, shape, scale=None, zero=0, data=None, variable=False):
        graph = self.model.graph
        at = self.model.tensor(dtype, shape, f"t{len(graph.tensors)}", data, variable)
        if scale is not None:
            q = schema.QuantizationParametersT()
            q.scale = np.atleast_1d(np.asarray(scale, np.float32))
            q.zeroPoint = np.atleast_1d(np.asarray(zero, np.int64))
            graph.tensors[at].quantization = q
        return at

    def weights(self, rows, columns, about):
        data = self.rng.integers(-127, 128, (rows, columns)).astype(np.int8)
        scale = self.scale(about / 127)
        return self.tensor(np.int8, data.shape, scale, 0, data), scale

    def write(self):
        rng, is_int16 = self.rng, self.dtype == np.int16
        zero = 0 if is_int16 else int(rng.integers(-128, 128))
        about = 2**-15 if is_int16 else 2**-7
        x_scale = self.scale(4 * about)
        x = self.tensor(self.dtype, self.shape, x_scale, zero)
        self.model.graph.inputs.append(x)
        h_scale, h_zero = np.float32(about), 0 if is_int16 else int(rng.integers(-20, 21))
        size = 1.5 / np.sqrt(self.width), 1.5 / np.sqrt(self.cells)
        ins = [self.weights(self.cells, self.width, size[0]) for _ in range(4)]
        recurrent = [self.weights(self.cells, self.cells, size[1])[0] for _ in range(4)]
        kind = np.int64 if is_int16 else np.int32
        biases = []
        for _, scale in ins:
            numbers = rng.normal(0, 0.3, self.cells) / (float(x_scale) * float(scale))
            data = np.rint(numbers).astype(kind)
            biases.append(self.tensor(kind, data.shape, x_scale * scale, 0, data))
        state = [self.batch, self.cells]
        hidden = self.tensor(self.dtype, state, h_scale, h_zero, variable=True)
        cell_scale = np.float32(2.0 ** -int(rng.integers(11, 16)))
        cell = self.tensor(np.int16, state, cell_scale, 0, variable=True)
        operands = [x, *(at for at, _ in ins), *recurrent, *[None] * 3, *biases]
        operands += [None, None, hidden, cell, *[None] * 4]
        clip = float(rng.choice([0, 0, 0.6]))
        fields = {"fusedActivationFunction": 4, "cellClip": clip}
        options = "LSTMOptions"
        if self.op == SEQUENCE:
            options = "UnidirectionalSequenceLSTMOptions"
            fields["timeMajor"] = self.time_major
        out = [*self.shape[:-1], self.cells]
        (y,) = self.model.add(self.op, (options, fields), operands, [(self.dtype, out)])
        graph = self.model.graph
        graph.tensors[y].quantization = graph.tensors[hidden].quantization
        # what LiteRT asks the scale of a step's result for; the others are not read
        parts = [self.tensor(np.int16, [0], np.float32(2**-12)) for _ in range(4)]
        made = self.tensor(np.int8, [0], h_scale, h_zero)
        graph.operators[0].intermediates = [*parts, made]
        self.outputs = [y]

    def write_svdf(self):
        """Two factors: over the input, and over the last steps of `rank` filters a unit."""
        rng = self.rng
        rank, steps = (int(n) for n in rng.integers(1, (5, 9)))
        units = self.cells
        zero, y_zero = (int(n) for n in rng.integers(-128, 128, 2))
        x_scale = self.scale(2**-5)
        x = self.tensor(np.int8, self.shape, x_scale, zero)
        self.model.graph.inputs.append(x)
        features, feature_scale = self.weights(rank * units, self.width, 1.5 / np.sqrt(self.width))
        data = rng.integers(-32767, 32768, (rank * units, steps)).astype(np.int16)
        time_scale, memory_scale = self.scale(2**-15), self.scale(2**-13)
        time = self.tensor(np.int16, data.shape, time_scale, 0, data)
        kept = [self.batch, rank * units * steps]
        memory = self.tensor(np.int16, kept, memory_scale, 0, variable=True)
        sums_scale = time_scale * memory_scale
        biases = np.rint(rng.normal(0, 0.3, units) / float(sums_scale))
        # sums of full-scale weights leave 32 bits here and there, as theirs do
        biases = np.clip(biases, -(2**31), 2**31 - 1).astype(np.int32)
        bias = self.tensor(np.int32, [units], sums_scale, 0, biases)
        function = int(rng.choice([0, 1])) if self.mode == "tflm" else 1  # LiteRT has ReLU alone
        if function == 1:
            y_zero = -128
        fields = {"rank": rank, "fusedActivationFunction": function}
        (y,) = self.model.add(
            "SVDF",
            ("SVDFOptions", fields),
            [x, features, time, bias, memory],
            [(np.int8, [self.batch, units])],
        )
        made = self.model.graph.tensors[y].quantization = schema.QuantizationParametersT()
        made.scale = np.asarray([self.scale(2**-5)], np.float32)
        made.zeroPoint = np.asarray([y_zero], np.int64)
        self.outputs = [y]

    def numbers(self):
        limits = np.iinfo(self.dtype)
        return self.rng.integers(limits.min, limits.max + 1, self.shape).astype(self.dtype)


def of_litert(content, resolver):
    machine = Interpreter(model_content=content, experimental_op_resolver_type=resolver)
    machine.allocate_tensors()
    (given,), (made,) = machine.get_input_details(), machine.get_output_details()

    def run(x):
        machine.set_tensor(given["index"], x)
        machine.invoke()
        return machine.get_tensor(made["index"])

    return run


def of_micro(content):
    from tflite_micro.python.tflite_micro import runtime

    machine = runtime.Interpreter.from_bytes(content, arena_size=1 << 20)

    def run(x):
        machine.set_input(x, 0)
        machine.invoke()
        return machine.get_output(0)

    return run


def runner(content, mode):
    if mode == "tflm":
        return of_micro(content)
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return of_litert(content, OpResolverType.AUTO if mode == "litert" else plain)


def trial(ingot, rng, op, dtype, mode):
    """What is wrong, and how many integers were compared."""
    drawn = Drawn(rng, op, dtype, mode)
    content = drawn.model.finish(drawn.outputs)
    run = runner(content, mode)
    state = ingot.folder / "state"
    state.unlink(missing_ok=True)
    done = ingot.convert(content, "--exact-to", mode)
    if done.error:
        return done.error, 0
    name = drawn.model.graph.tensors[drawn.model.graph.inputs[0]].name
    compared = 0
    for i in range(RUNS):
        x = drawn.numbers()
        wanted = run(x)
        try:
            arrays = ingot.outputs({name: x}, state=state)
        except RunError as why:
            return str(why), compared
        found = next(array for key, array in arrays.items() if not key.endswith(".next"))
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return f"is {found.dtype} {found.shape}, expected {wanted.dtype} {wanted.shape}", 0
        away = np.abs(found.astype(np.int64) - wanted)
        if away.any():
            return f"run {i}: {(away > 0).sum()} of {away.size} differ, by {away.max()}", compared
        compared += wanted.size
    return "", compared


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--exact-to", choices=("litert", "builtin", "tflm"), default="litert")
    parser.add_argument("--seeds", type=int, default=12)
    a = parser.parse_args()
    cases = [(SEQUENCE, np.int8), ("SVDF", np.int8)]
    cases.append((SEQUENCE, np.int16) if a.exact_to == "tflm" else ("LSTM", np.int8))
    checks = Checks("integer_recurrent")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for op, dtype in cases:
            integers = 0
            for seed in range(a.seeds):
                rng = np.random.default_rng([seed, sum(op.encode())])
                what, compared = trial(ingot, rng, op, dtype, a.exact_to)
                integers += compared
                checks.report(f"{op} {np.dtype(dtype)} {seed}", what)
            print(f"{op} {np.dtype(dtype)} {a.exact_to}: {a.seeds} models, {integers} integers")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
