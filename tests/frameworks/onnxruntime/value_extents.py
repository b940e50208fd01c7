#!/usr/bin/env python3
"""Networks whose extents are values that only a run tells, converted with bounds, run at several
extents and compared with onnxruntime; beyond a bound the run is refused, without one the
conversion, naming the options and a number with which an example runs.

  value_extents.py --ingot BIN --runner GRAPH_RUNNER [name ...]

Needs the packages onnx and onnxruntime."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

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
    call = [ingot, "convert", source, "--golden", golden, "-o", runner.work / "unbounded.ingot"]
    done = subprocess.run(call, capture_output=True, text=True)
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
    for run, (fed, wanted) in enumerate(zip(network.feeds, answers)):
        try:
            found = runner.run(fed)
        except Refused as refused:
            return f"run {run}: {refused}"
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--runner", required=True)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    failed = passed = runs = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(a.runner, folder)
        for network in NETWORKS:
            if a.names and not any(re.search(n, network.name) for n in a.names):
                continue
            why = failure(network, a.ingot, runner)
            failed, passed = failed + bool(why), passed + (not why)
            runs += len(network.feeds)
            if why:
                print(f"[fail] {network.name}: {why[:600]}", flush=True)
        runner.close()
    print(f"extents that are values: {passed} networks passed, {failed} failed, {runs} runs")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
