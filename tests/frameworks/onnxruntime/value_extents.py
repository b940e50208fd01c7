#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks whose extents are values that only a run tells, converted with bounds, run at several
extents and compared with onnxruntime; beyond a bound the run is refused, without one the
conversion, naming the options and a number with which an example runs.

  value_extents.py --ingot BIN --runner GRAPH_RUNNER [name ...]

Needs the packages onnx and onnxruntime."""

import pathlib
import re
import sys

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, run, work_folder  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "random_graphs"))
from compare import first_difference  # noqa: E402
from runtimes import Peer, Refused, Runner  # noqa: E402
from value_extent_networks import NETWORKS  # noqa: E402
import joined_extent_networks  # noqa: E402, F401: adds to NETWORKS


def model_of(network):
    header = f'<ir_version: 8, opset_import: ["" : {network.opset}]>\n'
    model = onnx.parser.parse_model(header + network.text)
    onnx.checker.check_model(model)
    return model


def wrong_without_bound(model, fed, wanted, ingot, runner):
    """What is wrong with the refusal of a network that nobody bounded, "" for nothing: it names the
    options, and a number with which the network converts and runs on this example."""
    source, golden = runner.work / "unbounded.onnx", runner.work / "example.npz"
    source.write_bytes(model.SerializeToString())
    arrays = {f"in:{k}": v for k, v in fed.items()} | {f"out:{k}": v for k, v in wanted.items()}
    np.savez(golden, **arrays)
    out = runner.work / "unbounded.ingot"
    done = run(ingot, "convert", source, "--golden", golden, "-o", out)
    named = re.search(r"--max-elements (\d+)", done.stderr)
    if done.returncode != 4 or not named:
        return f"without a bound: {done.returncode} {done.stderr.strip()}, expected 4 and a number"
    try:
        runner.convert(model, (f"--max-elements={named[1]}",))
        differs = first_difference(runner.run(fed), wanted)
    except Refused as refused:
        return f"with the number that is named, {named[1]}: {refused}"
    return f"with the number that is named, {named[1]}: {', '.join(differs)}" if differs else ""


def failure(network, ingot, runner):
    model = model_of(network)
    try:
        peer = Peer(model)
        answers = [peer.run(fed) for fed in network.feeds]
    except Refused as refused:
        return f"onnxruntime: {refused}"
    if network.options:  # the last example has the most elements, or at least some
        wrong = wrong_without_bound(model, network.feeds[-1], answers[-1], ingot, runner)
        if wrong:
            return wrong
    try:
        runner.convert(model, network.options)
    except Refused as refused:
        return f"convert: {refused}"
    for i, (fed, wanted) in enumerate(zip(network.feeds, answers)):
        try:
            found = runner.run(fed)
        except Refused as refused:
            return f"run {i}: {refused}"
        differs = first_difference(found, wanted)
        if differs:
            return f"run {run}: {': '.join(differs)}"
    if network.beyond is None:
        return ""
    try:
        runner.run(network.beyond)
    except Refused as refused:
        if refused.code < 0 or refused.code == 8:
            return f"beyond its bound: {refused}"
        return ""
    return "a run beyond its bound is not refused"


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--runner", required=True)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    checks, runs = Checks("value_extents"), 0
    with work_folder() as folder:
        runner = Runner(a.runner, folder)
        for network in NETWORKS:
            if a.names and not any(re.search(n, network.name) for n in a.names):
                continue
            checks.report(network.name, failure(network, a.ingot, runner)[:600])
            runs += len(network.feeds)
        runner.close()
    print(f"extents that are values: {runs} runs")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
