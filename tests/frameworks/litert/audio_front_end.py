#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audio front end of micro speech (audio_preprocessor_int8.tflite, of shared material) against
TFLite Micro's own operators, every integer equal: windows of sounds that are loud, faint, silent
and full scale, one after the other, so that the estimate of the noise is kept from run to run. The
result of each operator is compared, not the last alone.

  audio_front_end.py --ingot BIN --model audio_preprocessor_int8.tflite [--windows N]

Needs the packages ai-edge-litert (its schema) and tflite-micro."""

import pathlib
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

TYPES = {
    schema.TensorType.INT8: np.int8,
    schema.TensorType.INT16: np.int16,
    schema.TensorType.INT32: np.int32,
    schema.TensorType.UINT32: np.uint32,
}


def with_insides(path):
    """The model with the result of each operator as an output, of what Python of Micro can give."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(path.read_bytes(), 0))
    graph = model.subgraphs[0]
    # Micro leaves what is outside of the range of SignalEnergy as it was; a slice takes it away.
    unset, graph.outputs = set(), []
    for op in graph.operators:
        code = model.operatorCodes[op.opcodeIndex]
        is_cast = code.builtinCode == schema.BuiltinOperator.CAST
        if code.customCode == b"SignalEnergy" or (is_cast and unset & set(op.inputs)):
            unset |= set(op.outputs)
        elif graph.tensors[op.outputs[0]].type in TYPES:
            graph.outputs += [int(t) for t in op.outputs]
    for t in graph.outputs:
        graph.tensors[t].name = f"inside_{t}"
    model.signatureDefs = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    types = [TYPES[graph.tensors[t].type] for t in graph.outputs]
    shape = list(graph.tensors[graph.inputs[0]].shape)
    name = graph.tensors[graph.inputs[0]].name.decode()
    return bytes(builder.Output()), graph.outputs, types, name, shape


def sounds(rng, count, shape):
    """Windows of 30 ms: tones in noise, at all loudnesses, and the ends of the range."""
    t = np.arange(shape[-1]) / 16000
    for i in range(count):
        loudness = [0, 1, 30, 1000, 12000, 32767][i % 6]
        tone = np.sin(2 * np.pi * rng.uniform(80, 7000) * t) + rng.normal(0, 0.3, t.size)
        x = np.clip(np.round(tone * loudness), -32768, 32767)
        if i % 11 == 10:
            x = np.where(rng.random(t.size) < 0.5, -32768, 32767)
        yield x.astype(np.int16).reshape(shape)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--windows", type=int, default=40)
    a = parser.parse_args()
    from tflite_micro.python.tflite_micro import runtime

    model, outputs, types, name, shape = with_insides(a.model)
    machine = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    counts = {t: [0, 0, 0] for t in outputs}  # elements, how many differ, by how much
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        ingot.convert(model).succeeded()
        for x in sounds(np.random.default_rng(5), a.windows, shape):
            machine.set_input(x, 0)
            machine.invoke()
            found = ingot.outputs({name: x}, state=folder / "state")
            for i, (t, dtype) in enumerate(zip(outputs, types)):
                want, have = machine.get_output(i), found[f"inside_{t}"]
                if have.shape != want.shape or have.dtype != dtype:
                    raise RunError(
                        f"tensor {t}: {have.dtype} {have.shape}, expected {want.shape}"
                    )
                away = np.abs(have.astype(np.int64) - want.astype(np.int64))
                count = counts[t]
                count[0], count[1] = count[0] + away.size, count[1] + int((away > 0).sum())
                count[2] = max(count[2], int(away.max(initial=0)))
    checks = Checks("audio_front_end")
    for t, (elements, different, most) in counts.items():
        text = f"{different} of {elements} differ, by at most {most}"
        checks.check(not different, f"tensor {t}", text)
    total = sum(count[0] for count in counts.values())
    print(f"{len(counts)} results of operators: {total} integers of {a.windows} windows")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
