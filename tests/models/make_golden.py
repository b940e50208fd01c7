#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A golden: what onnxruntime (ONNX) or LiteRT (TFLite) answers to given inputs.

  make_golden.py SOURCE GOLDEN.npz [--inputs IN.npz] [--steps N] [--feed OUT=IN ...]

--inputs: arrays by the names of the inputs, with the steps first where --steps is given. Without
it, inputs are random numbers between 0 and 1. --feed: an output that becomes an input of the next
step; that input begins at zeros. A TFLite model keeps its state inside.

The golden has in:NAME and out:NAME (with --steps: steps first; a fed-back input as it begins, a
fed-back output as it ends) and meta: ref, steps, feed and opt_spread, the largest difference
between the runtime with and without its optimizations. Exit code 77: that runtime is not installed.
"""

import argparse
import json
import pathlib
import sys

import numpy as np


class OnnxRuntime:
    """@param optimized  whether the graph is optimized before it runs."""

    def __init__(self, path, optimized):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = (
            levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
        )
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self.shapes = {i.name: i.shape for i in self.session.get_inputs()}

    def run(self, given):
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, given)))


class LiteRt:
    """@param optimized  with the delegate for CPUs (XNNPACK)."""

    def __init__(self, path, optimized):
        from ai_edge_litert import interpreter

        kernels = interpreter.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        chosen = {} if optimized else {"experimental_op_resolver_type": kernels}
        self.interpreter = interpreter.Interpreter(model_path=str(path), num_threads=1, **chosen)
        self.shapes = {i["name"]: i["shape"] for i in self.interpreter.get_input_details()}
        self.allocated = False

    def run(self, given):
        ports = self.interpreter.get_input_details()
        if not self.allocated:
            for port in ports:
                shape = given[port["name"]].shape
                if tuple(port["shape"]) != shape:
                    self.interpreter.resize_tensor_input(port["index"], list(shape))
            self.interpreter.allocate_tensors()
            self.allocated = True
        for port in ports:
            self.interpreter.set_tensor(port["index"], given[port["name"]])
        self.interpreter.invoke()
        outputs = self.interpreter.get_output_details()
        return {o["name"]: self.interpreter.get_tensor(o["index"]).copy() for o in outputs}


def stream(session, given, initial, feed, steps):
    """Outputs of all steps, a fed-back one as it ends."""
    state, rows = dict(initial), {}
    for step in range(steps):
        answer = session.run({**{n: np.asarray(a[step]) for n, a in given.items()}, **state})
        state = {into: answer[by] for by, into in feed.items()}
        for name in answer.keys() - feed.keys():
            rows.setdefault(name, []).append(answer[name])
    return {
        **{n: np.stack(r) for n, r in rows.items()},
        **{by: state[into] for by, into in feed.items()},
    }


def spread_of(one, other):
    def apart(a, b):
        if a.shape != b.shape:
            return float("inf")
        return np.nanmax(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0)

    return float(max(apart(one[n], other[n]) for n in one))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("--inputs")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--feed", action="append", default=[])
    args = parser.parse_args()
    runtime = OnnxRuntime if args.source.suffix == ".onnx" else LiteRt
    try:
        plain, best = (runtime(args.source, optimized) for optimized in (False, True))
    except ImportError as missing:
        print(missing.name, file=sys.stderr)
        sys.exit(77)
    feed, rng = dict(pair.split("=") for pair in args.feed), np.random.default_rng(5)
    batch = lambda shape: [d if isinstance(d, int) else 1 for d in shape]
    initial = {n: np.zeros(batch(plain.shapes[n]), np.float32) for n in feed.values()}
    if args.inputs:
        given = {n: a for n, a in np.load(args.inputs).items() if n not in initial}
    else:
        first = [args.steps] if args.steps else []
        given = {
            n: rng.random([*first, *shape], np.float32)
            for n, shape in plain.shapes.items()
            if n not in initial
        }
    if args.steps:
        outputs = stream(plain, given, initial, feed, args.steps)
        others = stream(best, given, initial, feed, args.steps)
    else:
        outputs, others = plain.run(given), best.run(given)
    spread = spread_of(outputs, others)
    name = "onnxruntime" if runtime is OnnxRuntime else "ai-edge-litert"
    meta = {"ref": name, "opt_spread": spread}
    if args.steps:
        meta.update(steps=args.steps, feed=feed)
    arrays = {
        **{"in:" + n: a for n, a in {**given, **initial}.items()},
        **{"out:" + n: a for n, a in outputs.items()},
    }
    args.golden.parent.mkdir(parents=True, exist_ok=True)
    np.savez(args.golden, meta=json.dumps(meta), **arrays)
    print(f"{args.golden}: {args.steps or 1} steps, spread {spread:.1e}")


main()
