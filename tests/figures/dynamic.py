#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other extents in one arena: a session that is rebound gives, byte for byte, what files converted
for each extent give, without the heap.

  dynamic.py --ingot BIN --work DIR [--full] [--write FILE]

Short form: a small text model made here at every length up to 32. --full: all-MiniLM-L6-v2 at every
length up to 512, and the detector and the recognizer of rapidocr over 200 image sizes. Each is
converted once with its extents open, and once for every extent with --dim NAME=VALUE; Winograd is
off in both, since it is chosen by extent. Answers of static files are kept in DIR/dynamic.json, by
the hashes of the source and of both programs, so that a run that was broken off goes on where it
stopped; --write puts the figures into a page. What cannot be had is a counted skip.
"""

import hashlib
import json
import os
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser, run, work_folder  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import sources  # noqa: E402
from page import replace_figures  # noqa: E402

OCR = "rapidocr-onnxruntime==1.4.4:rapidocr_onnxruntime/models/"


def small_text_model(path, hidden=32, heads=4, words=50, most=32):
    """One encoder layer with positions and a mask, as exporters write it: shapes come from the
    input."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng, nodes, constants = np.random.default_rng(7), [], []

    def constant(array, name):
        constants.append(numpy_helper.from_array(array, name))
        return name

    def weight(*dims):
        return constant(
            (rng.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32), f"w{len(constants)}"
        )

    def op(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def split_heads(x):
        shape = constant(np.array([0, 0, heads, hidden // heads]), f"s{len(constants)}")
        return op("Transpose", op("Reshape", x, shape), perm=[0, 2, 1, 3])

    length = op("Gather", op("Shape", "ids"), constant(np.array([1]), "one"), axis=0)
    positions = op(
        "Slice",
        weight(most, hidden),
        constant(np.array([0]), "zero"),
        length,
        constant(np.array([0]), "axis"),
    )
    x = op("Add", op("Gather", weight(words, hidden), "ids"), positions)
    scores = op(
        "MatMul",
        split_heads(op("MatMul", x, weight(hidden, hidden))),
        op("Transpose", split_heads(op("MatMul", x, weight(hidden, hidden))), perm=[0, 1, 3, 2]),
    )
    mask = op(
        "Unsqueeze", op("Cast", "mask", to=TensorProto.FLOAT), constant(np.array([1, 2]), "axes")
    )
    far = op(
        "Mul", op("Sub", constant(np.float32(1), "f1"), mask), constant(np.float32(-1e9), "far")
    )
    mixed = op(
        "MatMul",
        op("Softmax", op("Add", scores, far), axis=-1),
        split_heads(op("MatMul", x, weight(hidden, hidden))),
    )
    joined = op(
        "Reshape",
        op("Transpose", mixed, perm=[0, 2, 1, 3]),
        constant(np.array([0, 0, hidden]), "joined"),
    )
    y = op(
        "LayerNormalization",
        op("Add", x, op("MatMul", joined, weight(hidden, hidden))),
        weight(hidden),
        weight(hidden),
    )
    nodes[-1].output[0] = y = "y"
    dims = ["batch", "length"]
    graph = helper.make_graph(
        nodes,
        "small_text",
        [helper.make_tensor_value_info(n, TensorProto.INT64, dims) for n in ("ids", "mask")],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, dims + [hidden])],
        constants,
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


def ocr_sizes():
    """200 images for the detector, heights and widths multiples of 32, and 200 widths of a line
    of text for the recognizer."""
    images = [(32 * (1 + (7 * i) % 16), 32 * (1 + (5 * i + i // 16) % 16)) for i in range(200)]
    lines = [16 + 8 * ((13 * i) % 200) for i in range(200)]
    assert len(set(images)) == len(set(lines)) == 200
    return images, lines


def open_symbols(converted, ingot):
    lines = run(ingot, "inspect", converted).succeeded().stdout.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("Dynamic dimensions"))
    names = []
    for line in lines[begin + 1 :]:
        if not line.startswith("  "):
            break
        names.append(line.split()[0])
    return names


class StaticAnswers:
    """What a conversion for one extent each answers: its hash and bytes, by case; kept on the disk."""

    def __init__(self, work, programs):
        self.path, self.programs = work / "dynamic.json", [sha256(program) for program in programs]
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, source_hash, dims, convert):
        """`convert(path)` makes the file where the answer is not known yet."""
        key = " ".join([*self.programs, source_hash, *dims])
        if key not in self.known:
            memory = (
                "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            )  # hundreds of files, each read once
            with work_folder(dir=memory) as folder:
                self.known[key] = convert(folder / "static.ingot")
            if len(self.known) % 16 == 0:
                self.keep()
        return self.known[key]

    def keep(self):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.known, indent=0))
        new.replace(self.path)


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def show(name, source, cases, args):
    """The line to print, and True when the rebound session equals every static conversion."""
    work, runner = (
        pathlib.Path(args.work),
        pathlib.Path(args.ingot).resolve().parents[1] / "tests/traps/rebind_runner",
    )
    static, source_hash = StaticAnswers(work, (args.ingot, runner)), sha256(source)
    convert = [args.ingot, "convert", source, "--winograd", "off", "-o"]
    converted = work / f"dynamic_{name}.ingot"
    run(convert, converted).succeeded()
    names = open_symbols(converted, args.ingot)
    lines = [" ".join(f"{n}={v}" for n, v in zip(names, case)) for case in cases]
    given = "\n".join(lines) + "\n"
    answers = run(runner, "rebind", converted, input=given).succeeded().stdout.splitlines()
    figures = dict(zip(*[iter(answers.pop()[2:].split())] * 2))
    different = [line for answer, line in zip(answers, lines) if answer.split(" ", 2)[2] != line]
    for done, (answer, line) in enumerate(zip(answers, lines)):

        def answer_of(fixed, dims=line.split()):
            run(convert, fixed, [word for dim in dims for word in ("--dim", dim)]).succeeded()
            return run(runner, "bind", fixed, input="\n").succeeded().stdout.split()[:2]

        if static.of(source_hash, line.split(), answer_of) != answer.split()[:2]:
            different.append(line)
        if sys.stderr.isatty():
            print(f"\r{name}: {done + 1} of {len(cases)} ", end="", file=sys.stderr)
    static.keep()
    converted.unlink()
    same = not different and len(answers) == len(cases)
    return (
        f"{name}: {len(cases)} extents of {', '.join(names)} in one arena of {int(figures['arena']) / 1e6:.2f} MB"
        f" (activations {int(figures['activations']) / 1e6:.2f}, tables {int(figures['tables']) / 1e3:.0f} KB), equal to their static"
        f" conversions, no allocation, no lock; binding {int(figures['rebind_ns']) / 1e3:.0f} us, a run"
        f" {int(figures['run_ns']) / 1e6:.2f} ms"
        + ("" if same else f"; different: {different[:5]}")
    ), same


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--write")
    args = parser.parse_args()
    work = pathlib.Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    models = [
        (
            "small_text",
            small_text_model(work / "small_text.onnx"),
            [(1 + n % 2, n) for n in range(1, 33)],
        )
    ]
    if args.full:
        images, lines = ocr_sizes()
        models += [
            (
                "ocr_detection",
                sources.fetch(OCR + "ch_PP-OCRv4_det_infer.onnx", work),
                [(1, h, w) for h, w in images],
            ),
            (
                "ocr_recognition",
                sources.fetch(OCR + "ch_PP-OCRv4_rec_infer.onnx", work),
                [(1, 48, w) for w in lines],
            ),
            (
                "minilm",
                sources.make_minilm(work / "minilm.onnx", work)[0],
                [(1, n) for n in range(1, 513)],
            ),
        ]
    tally, says = Checks("dynamic", verbose=True), []
    for name, source, cases in models:
        if source is None:
            tally.skip(f"{name}: its source is not to be had here")
            continue
        began = time.monotonic()
        says.append(show(name, source, cases, args))
        tally.check(says[-1][1], f"{says[-1][0]}; took {time.monotonic() - began:.0f} s")
    if args.write and tally.passed == len(models):
        replace_figures(args.write, "dynamic", "".join(f"- {line}\n" for line, _ in says))
    sys.exit(tally.finish())


main()
