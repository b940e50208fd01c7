#!/usr/bin/env python3
"""A golden over many steps: what onnxruntime answers when outputs are fed back as the next step's
inputs.

  make_steps.py SOURCE.onnx GOLDEN.npz --steps N --feed OUT=IN ...      needs numpy and onnxruntime

Inputs that are not fed back are seeded numbers between 0 and 1 (magnitudes), new at every step;
fed-back ones begin at zeros. The golden has in:NAME (steps first; a fed-back input as it begins),
out:NAME (steps first; a fed-back output as it ends) and meta: steps, feed and opt_spread, the
largest difference between onnxruntime with and without its optimisations.
"""

import argparse
import json
import pathlib

import numpy as np
import onnxruntime


def stream(path, level, given, initial, feed, steps):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = (
        level,
        1,
        3,
    )
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    state, rows = dict(initial), {name: [] for name in names if name not in feed}
    for step in range(steps):
        answer = dict(
            zip(names, session.run(names, {**{n: a[step] for n, a in given.items()}, **state}))
        )
        state = {into: answer[by] for by, into in feed.items()}
        for name in rows:
            rows[name].append(answer[name])
    return {
        **{n: np.stack(r) for n, r in rows.items()},
        **{by: state[into] for by, into in feed.items()},
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--feed", action="append", default=[])
    args = parser.parse_args()
    feed, rng = dict(pair.split("=") for pair in args.feed), np.random.default_rng(5)
    inputs = onnxruntime.InferenceSession(
        args.source, providers=["CPUExecutionProvider"]
    ).get_inputs()
    initial = {i.name: np.zeros(i.shape, np.float32) for i in inputs if i.name in feed.values()}
    given = {
        i.name: rng.random([args.steps, *i.shape], np.float32)
        for i in inputs
        if i.name not in initial
    }
    levels = onnxruntime.GraphOptimizationLevel
    best, plain = (
        stream(args.source, level, given, initial, feed, args.steps)
        for level in (levels.ORT_ENABLE_ALL, levels.ORT_DISABLE_ALL)
    )
    spread = max(float(np.abs(best[n] - plain[n]).max()) for n in best)
    arrays = {
        **{"in:" + n: a for n, a in {**given, **initial}.items()},
        **{"out:" + n: a for n, a in best.items()},
    }
    meta = {"ref": "onnxruntime", "steps": args.steps, "feed": feed, "opt_spread": spread}
    args.golden.parent.mkdir(parents=True, exist_ok=True)
    np.savez(args.golden, meta=json.dumps(meta), **arrays)
    print(f"{args.golden}: {args.steps} steps, spread {spread:.1e}")


main()
