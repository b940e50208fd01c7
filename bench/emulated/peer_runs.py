#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a network N times in one of bench/peer.py's runtimes and prints how far its outputs are from
the golden; meant for an emulator that counts instructions.

peer_runs.py RUNTIME MODEL.onnx GOLDEN.npz RUNS [--work DIR] [--tflite FILE]

What a runtime converts a model to has to be there: bench/peer.py on the host made it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np  # noqa: E402
import peer  # noqa: E402


def main():
    words = [*sys.argv[1:4], "1", *sys.argv[5:]]
    a = peer.arguments().parse_args(words)
    golden = np.load(a.golden)
    inputs = {k[3:]: np.array(golden[k], order="C") for k in golden.files if k.startswith("in:")}
    expected = {k[4:]: golden[k] for k in golden.files if k.startswith("out:")}
    try:
        run, outputs = peer.RUNNERS[a.runtime][0](a, inputs, list(expected))
        for _ in range(int(sys.argv[4])):
            run()
        print(f"error {peer.worst(outputs(), expected):.3g}")
    except peer.Absent as why:
        print(f"absent {why}")


main()
