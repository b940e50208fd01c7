#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of TFLite Micro's audio front end that keep samples from run to run (SignalFramer,
SignalDelay, SignalStacker, SignalOverlapAdd) against Micro's own, options drawn at random, over
several runs: every number equal wherever Micro says that its output is valid, and the two agree
about that.

  signal_streams.py --ingot BIN [--seeds N] [name ...]

Needs the packages ai-edge-litert (its schema) and tflite-micro."""

import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from written_model import Fed, Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

RUNS = 7


def samples(rng, shape, dtype=np.int16):
    if dtype == np.float32:
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(-32768, 32768, shape).astype(dtype)


def rows(rng):
    return [int(n) for n in rng.integers(1, 4, int(rng.integers(0, 2)))]


def framer(rng):
    step, frames = (int(n) for n in rng.integers(1, 6, 2))
    filled = bool(rng.integers(0, 2))
    size = int(rng.integers(step if filled else 1, 4 * step + 1))
    shape = [*rows(rng), frames * step]
    options = {"frame_size": size, "frame_step": step, "prefill": filled}
    outputs = [(np.int16, [*shape[:-1], frames, size]), (np.bool_, [])]
    return options, shape, np.int16, outputs


def delay(rng):
    shape = [*rows(rng), int(rng.integers(1, 9))]
    return {"delay_length": int(rng.integers(0, 20))}, shape, np.int16, [(np.int16, shape)]


def stacker(rng):
    channels = int(rng.integers(1, 5))
    left, right = (int(n) for n in rng.integers(0, 4, 2))
    options = {"num_channels": channels, "stacker_left_context": left}
    options |= {"stacker_right_context": right}
    options |= {"stacker_step": int(rng.integers(1, left + right + 2))}
    outputs = [(np.int16, [channels * (left + right + 1)]), (np.bool_, [])]
    return options, [channels], np.int16, outputs


def overlap_add(rng):
    dtype = np.dtype(rng.choice([np.int16, np.float32]))
    step, frames = (int(n) for n in rng.integers(1, 6, 2))
    shape = [*rows(rng), frames, int(rng.integers(step, 4 * step + 1))]
    kind = schema.TensorType.INT16 if dtype == np.int16 else schema.TensorType.FLOAT32
    outputs = [(dtype, [*shape[:-2], frames * step])]
    return {"T": kind, "frame_step": step}, shape, dtype, outputs


CASES = {
    "SignalFramer": framer,
    "SignalDelay": delay,
    "SignalStacker": stacker,
    "SignalOverlapAdd": overlap_add,
}


def written(name, case):
    options, shape, dtype, outputs = case
    model = Model()
    made = list(model.add("CUSTOM", options, [Fed(np.zeros(shape, dtype))], outputs, custom=name))
    if len(made) > 1:  # Micro's Python gives no truths
        one = [np.ones([], np.int8), np.zeros([], np.int8)]
        made[1:] = model.add("SELECT_V2", None, [made[1], *one], [(np.int8, [])])
    return model.finish(made)


def trial(ingot, name, rng):
    """What is wrong; how many numbers were compared."""
    from tflite_micro.python.tflite_micro import runtime

    case = CASES[name](rng)
    _, shape, dtype, outputs = case
    content = written(name, case)
    machine = runtime.Interpreter.from_bytes(content, arena_size=1 << 20)
    state = ingot.folder / "state"
    state.unlink(missing_ok=True)
    done = ingot.convert(content)
    if done.error:
        return done.error, 0
    keeps, compared = "kept from run to run" in done.output, 0
    for run in range(RUNS):
        x = samples(rng, shape, dtype)
        machine.set_input(x, 0)
        machine.invoke()
        try:
            arrays = ingot.outputs({"x0": x}, state=state if keeps else None)
        except RunError as why:
            return f"run {run}: {why}", compared
        found = [array for key, array in arrays.items() if not key.endswith(".next")]
        wanted = [machine.get_output(i) for i in range(len(outputs))]
        if len(found) != len(wanted):
            return f"has {len(found)} outputs", compared
        if len(wanted) > 1 and int(found[1]) != int(wanted[1]):
            return f"run {run}: says {int(found[1])}, not {int(wanted[1])}", compared
        if len(wanted) > 1 and not wanted[1]:
            continue  # Micro leaves what was there
        if found[0].dtype != wanted[0].dtype or found[0].shape != wanted[0].shape:
            return f"is {found[0].dtype} {found[0].shape}", compared
        differ = int((found[0] != wanted[0]).sum())
        if differ:
            return f"run {run}: {differ} of {wanted[0].size} numbers differ {case[0]}", compared
        compared += wanted[0].size
    return "", compared


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    checks = Checks("signal_streams")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for name in a.names or CASES:
            numbers = 0
            for seed in range(a.seeds):
                rng = np.random.default_rng([seed, sum(name.encode())])
                what, compared = trial(ingot, name, rng)
                numbers += compared
                checks.report(f"{name} {seed}", what)
            if not numbers:
                checks.report(name, "nothing was compared")
            print(f"{name}: {a.seeds} models, {RUNS} runs each, {numbers} numbers", flush=True)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
