#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MediaPipe's customs of landmark networks against their definition in NumPy, in f64: the matrix
of a box around landmarks, an image cut out by a matrix, landmarks moved by it; drawn at random.
LiteRT itself does not have these operators.

  landmarks.py --ingot BIN [--seeds N]

Needs ai-edge-litert, whose schema writes the files."""

import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers
from written_model import Fed, Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

TOLERANCE = 2e-5  # of the largest number, in f32


def written(custom, options, inputs):
    model = Model()
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, code.version = custom, 2
    model.model.operatorCodes.append(code)
    node = schema.OperatorT()
    node.opcodeIndex = 0
    node.inputs = [model.value(Fed(each)) for each in inputs]
    node.outputs = [model.tensor(np.float32, [], "y")]
    if options:
        node.customOptions = np.frombuffer(flexbuffers.Dumps(options), np.uint8)
    model.graph.operators.append(node)
    return model.finish(node.outputs), model.fed


def turned(angle):
    made = np.eye(4)
    made[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return made


def moved(x, y):
    made = np.eye(4)
    made[:2, 3] = x, y
    return made


def box_around(points, given):
    """Where pixels of the part lie in the image: the part is turned until the line between two
    landmarks has the target's direction."""
    line = points[given["right_rotation_idx"]] - points[given["left_rotation_idx"]]
    angle = given["target_rotation_radians"] - np.arctan2(line[1], line[0])
    some = points[given["subset_idxs"]].copy()
    some[:, 2] = 0
    upright = np.pad(some, ((0, 0), (0, 1)), constant_values=1) @ turned(angle).T
    low, high = upright[:, :2].min(0), upright[:, :2].max(0)
    center = turned(-angle)[:2, :2] @ ((low + high) / 2)
    size = np.array([given["output_width"], given["output_height"]])
    scale = np.array([given["scale_x"], given["scale_y"]]) * (high - low) / size
    made = moved(*center) @ turned(-angle) @ np.diag([*scale, 1, 1]) @ moved(*(-size / 2))
    return made[None]


def read_between(image, x, y):
    """0 beyond the middles of the outer pixels."""
    if not (0 <= x <= image.shape[1] - 1 and 0 <= y <= image.shape[0] - 1):
        return np.zeros(image.shape[2])
    left, top = int(x), int(y)
    right, low = min(left + 1, image.shape[1] - 1), min(top + 1, image.shape[0] - 1)
    upper = image[top, left] * (1 - (x - left)) + image[top, right] * (x - left)
    lower = image[low, left] * (1 - (x - left)) + image[low, right] * (x - left)
    return upper * (1 - (y - top)) + lower * (y - top)


def cut_out(image, matrix, given):
    height, width = given["output_height"], given["output_width"]
    made = np.zeros((1, height, width, image.shape[3]))
    whole = moved(-0.5, -0.5) @ matrix[0].astype(np.float64) @ moved(0.5, 0.5)
    for y in range(height):
        for x in range(width):
            at = whole @ [x, y, 0, 1]
            made[0, y, x] = read_between(image[0].astype(np.float64), at[0], at[1])
    return made


def move_landmarks(points, matrix):
    made = points.astype(np.float64)
    flat = np.pad(made[0, :, :2], ((0, 0), (0, 1)), constant_values=1)
    made[0, :, :2] = flat @ matrix[0][:2][:, [0, 1, 3]].astype(np.float64).T
    return made


def drawn(rng):
    """(name, options, inputs, what is expected)"""
    count = int(rng.integers(3, 60))
    points = rng.uniform(0, 48, (1, count, 3)).astype(np.float32)
    some = rng.integers(0, count, 2 * int(rng.integers(1, 30)))
    box = {
        "left_rotation_idx": int(rng.integers(0, count)),
        "right_rotation_idx": int(rng.integers(0, count)),
        "output_height": int(rng.integers(1, 20)),
        "output_width": int(rng.integers(1, 20)),
        "scale_x": float(rng.choice([1.0, 1.5])),
        "scale_y": float(rng.choice([1.0, 1.25])),
        "subset_idxs": [int(i) for i in some],
        "target_rotation_radians": float(rng.choice([0.0, 0.0, 0.7, -2.5])),
    }
    matrix = box_around(points[0].astype(np.float64), box).astype(np.float32)
    yield "Landmarks2TransformMatrix", box, [points], matrix
    size = {k: box[k] for k in ("output_height", "output_width")}
    image = rng.normal(0, 1, (1, *rng.integers(1, 50, 2), int(rng.integers(1, 9))))
    image = image.astype(np.float32)
    inputs = [image, matrix]
    yield "TransformTensorBilinear", size, inputs, cut_out(image, matrix, size)
    pairs = points[:, :, : int(rng.integers(2, 4))]
    yield "TransformLandmarks", None, [pairs, matrix], move_landmarks(pairs, matrix)


def differs(found, wanted, name):
    if found.shape != wanted.shape:
        return f"{found.shape}, {wanted.shape} expected"
    error = np.abs(found - wanted) / max(1e-3, np.abs(wanted).max())
    if name == "TransformTensorBilinear":
        # a pixel whose place is on the edge is inside in one precision and not in the other
        beyond = (error > 1e-3).any(-1)
        is_far = beyond.sum() > beyond.size * 0.02
        return f"{beyond.sum()} pixels of {beyond.size}" if is_far else ""
    return f"error {error.max():.3g} of the largest" if error.max() > TOLERANCE else ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    a = parser.parse_args()
    checks = Checks("landmarks")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for seed in range(a.seeds):
            for name, options, inputs, wanted in drawn(np.random.default_rng(seed)):
                model, fed = written(name, options, inputs)
                try:
                    ingot.convert(model).succeeded()
                    (found,) = ingot.outputs(fed).values()
                    why = differs(found, wanted, name)
                except RunError as ended:
                    why = str(ended)
                checks.report(f"seed {seed}, {name}", why)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
