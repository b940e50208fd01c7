#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One transformer block with weights of 8 and 4 bits: Ingot compared with onnxruntime's
MatMulNBits.

  weights.py [--ingot BIN] [--width N] [--rows 1,8,128] [--threads 1,2] [--rounds N] [--seconds S]

The block has six products (queries, keys, values, output, and two of four times the width with a
Gelu between), norms and sums; its weights are drawn from a seed and quantized by
onnxruntime.quantization, block 32. Rows are tokens that are computed together: 1 is a step of a
decoder. Results are compared first, with onnxruntime's f32 of the same quantized weights. Each
engine in a process of its own, in turn, round after round; printed are medians, and the median of
the rounds' ratios with the smallest and the largest. onnxruntime multiplies f32 activations
(accuracy_level 0), as Ingot does; its call through Python is in its time (5 us at most).
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORST = 2e-4  # of the largest output: f32 sums in another order


def block(width, path):
    """An f32 model x [rows, width] -> y."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(5)
    nodes, constants = [], []

    def constant(name, array):
        constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def product(x, inputs, outputs, name):
        w = random.standard_normal((inputs, outputs)) / np.sqrt(inputs)
        b = random.standard_normal(outputs) * 0.1
        y = node("MatMul", [x, constant(f"{name}.w", w)], f"{name}.product")
        return node("Add", [y, constant(f"{name}.b", b)], name)

    def norm(x, name):
        scale = constant(f"{name}.scale", 1 + 0.1 * random.standard_normal(width))
        shift = constant(f"{name}.shift", 0.1 * random.standard_normal(width))
        return node("LayerNormalization", [x, scale, shift], name)

    inside = norm("x", "first")
    q, k, v = (product(inside, width, width, name) for name in "qkv")
    scores = node("MatMul", [q, node("Transpose", [k], "turned", perm=[1, 0])], "scores")
    scale = constant("scale", np.array(width**-0.5))
    seen = node("Softmax", [node("Mul", [scores, scale], "scaled")], "seen", axis=-1)
    mixed = product(node("MatMul", [seen, v], "mixed"), width, width, "out")
    inner = node("Add", ["x", mixed], "inner")
    wide = product(norm(inner, "second"), width, 4 * width, "wide")
    root = constant("root", np.array(2**-0.5))
    half, one = constant("half", np.array(0.5)), constant("one", np.array(1.0))
    erf = node("Erf", [node("Mul", [wide, root], "rooted")], "erf")
    gelu = node(
        "Mul", [node("Mul", [wide, half], "halved"), node("Add", [erf, one], "more")], "gelu"
    )
    node("Add", [inner, product(gelu, 4 * width, width, "narrow")], "y")
    shape = ["n", width]
    graph = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        constants,
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )


def quantized(source, path, bits, symmetric):
    """As onnxruntime's tool writes it."""
    import logging

    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    logging.disable(logging.INFO)
    tool = MatMulNBitsQuantizer(
        onnx.load(source), bits=bits, block_size=32, is_symmetric=symmetric, accuracy_level=0
    )
    tool.process()
    tool.model.save_model_to_file(str(path))


def session(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def peer(path, rows, threads):
    """A process of onnxruntime: answers rounds, each a line of stdin."""
    from rounds import answer_rounds

    machine = session(path, threads)
    width = machine.get_inputs()[0].shape[1]
    x = np.random.default_rng(1).standard_normal((rows, width)).astype(np.float32)
    answer_rounds(
        lambda: machine.run(None, {"x": x}), lambda **said: print(json.dumps(said), flush=True)
    )


class Peer:
    def __init__(self, path, rows, threads):
        words = [sys.executable, __file__, "--peer", path, "--rows", rows, "--threads", threads]
        self.process = subprocess.Popen(
            [str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def round(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["median_ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ingot_round(ingot, file, rows, threads, seconds):
    words = [ingot, "bench", file, "--threads", threads, "--seconds", seconds, "--json"]
    words += ["--dim", f"n={rows}"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["median_ms"]


def converted(ingot, source, file, *options):
    words = [ingot, "convert", source, "-o", file, "-q", *options]
    subprocess.run([str(w) for w in words], check=True)
    return file.stat().st_size


def difference(ingot, source, file, folder, rows):
    """Of the outputs, as a share of the largest."""
    machine = session(source, 1)
    width = machine.get_inputs()[0].shape[1]
    x = np.random.default_rng(2).standard_normal((rows, width)).astype(np.float32)
    expected = machine.run(None, {"x": x})[0]
    np.savez(folder / "in.npz", x=x)
    words = [ingot, "run", file, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz"]
    subprocess.run([str(w) for w in words], check=True, capture_output=True)
    found = np.load(folder / "out.npz")["y"]
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default=str(ROOT / "build/gcc/bin/ingot"))
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--rows", default="1,8,128")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return peer(args.peer, int(args.rows), int(args.threads))
    far = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        plain = folder / "f32.onnx"
        block(args.width, plain)
        models = [("f32", plain)]
        for bits, symmetric in ((8, True), (4, True), (4, False)):
            name = f"{bits} bits" + ("" if symmetric else ", zero points")
            models.append((name, folder / f"w{bits}{symmetric:d}.onnx"))
            quantized(plain, models[-1][1], bits, symmetric)
        for name, source in models:
            file = folder / "block.ingot"
            size = converted(args.ingot, source, file)
            print(f"{name}: file {size:,} bytes, ONNX {source.stat().st_size:,}")
            for rows in map(int, args.rows.split(",")):
                worst = difference(args.ingot, source, file, folder, rows)
                far += worst > WORST
                said = f"  {rows:4} rows: differs by {worst:.1e} of the largest"
                for threads in map(int, args.threads.split(",")):
                    other, ours, theirs = Peer(source, rows, threads), [], []
                    for _ in range(args.rounds):
                        theirs.append(other.round(args.seconds))
                        ours.append(ingot_round(args.ingot, file, rows, threads, args.seconds))
                    other.close()
                    ratios = np.array(theirs) / np.array(ours)
                    said += (
                        f"; {threads} thread(s) {np.median(ours):.3f} ms, onnxruntime "
                        f"{np.median(theirs):.3f}: {np.median(ratios):.2f} times as fast "
                        f"({ratios.min():.2f} to {ratios.max():.2f})"
                    )
                print(said, flush=True)
    return int(far > 0)


if __name__ == "__main__":
    sys.exit(main())
