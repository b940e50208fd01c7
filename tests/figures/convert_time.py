# SPDX-License-Identifier: Apache-2.0
"""Time of conversion: ResNet-50 (102 MB, tests/models/make_zoo.py) and a BERT of 496 MB
(tests/models/make_minilm.py), both with random weights, batch and length of the BERT open.
  convert_time.py --ingot BIN --work FOLDER [--runs 3]
Prints seconds of the clock and of the processor, and the memory compared with the source, of each
run. Fails where the quickest run of a network takes longer than its ceiling, or one takes more than
2.5 times the bytes of its source. Runs beside other work are slower; that is why the quickest
counts.
"""

import argparse
import os
import pathlib
import sys

from convert_memory import measure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import run, work_folder  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))

SECONDS = {"resnet50_224": 2.0, "bert": 15.0}
TIMES_SOURCE = 2.5
HIDDEN, LAYERS, WORDS, POSITIONS = 768, 12, 50265, 514


def bert_weights():
    """BertModel's weights by name: of RoBERTa's base size, 124 million numbers."""
    import numpy as np

    shapes = {
        "embeddings.word_embeddings": (WORDS, HIDDEN),
        "embeddings.position_embeddings": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings": (2, HIDDEN),
        "embeddings.LayerNorm": (HIDDEN,),
    }
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{layer}.attention.{part}"] = (HIDDEN, HIDDEN)
        shapes[f"{layer}.attention.output.LayerNorm"] = (HIDDEN,)
        shapes[f"{layer}.intermediate.dense"] = (4 * HIDDEN, HIDDEN)
        shapes[f"{layer}.output.dense"] = (HIDDEN, 4 * HIDDEN)
        shapes[f"{layer}.output.LayerNorm"] = (HIDDEN,)
    random = np.random.default_rng(1)
    weights = {}
    for name, shape in shapes.items():
        for part, extents in (("weight", shape), ("bias", shape[:1])):
            values = random.standard_normal(extents, dtype=np.float32)
            weights[f"{name}.{part}"] = values * np.float32(0.02)
    return weights


def make(folder):
    """Both networks as files NAME.onnx."""
    import make_minilm
    import make_zoo
    import onnx

    onnx.save(make_zoo.resnet(50), f"{folder}/resnet50_224.onnx")
    onnx.save(make_minilm.build(bert_weights(), "eager"), f"{folder}/bert.onnx")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ingot")
    parser.add_argument("--work", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--make", action="store_true", help="for its own process")
    a = parser.parse_args()
    if a.make:
        return make(a.work)
    os.makedirs(a.work, exist_ok=True)
    failed = []
    with work_folder(dir=a.work) as folder:
        # In a process of its own, so that its memory is not counted as the converter's.
        run(sys.executable, __file__, "--make", "--work", folder).succeeded()
        os.sync()  # the sources are not written to the disk during a run
        for name, ceiling in SECONDS.items():
            quickest = float("inf")
            for _ in range(a.runs):
                source, seconds, used = measure(a.ingot, folder, [f"{name}.onnx"])
                times = used.ru_maxrss * 1024 / source
                quickest = min(quickest, seconds)
                print(
                    f"{name:14} {source / 1e6:6.1f} MB {seconds:6.2f} s "
                    f"(user {used.ru_utime:.2f}, system {used.ru_stime:.2f}), "
                    f"memory {times:.2f} times the source",
                    flush=True,
                )
                if times > TIMES_SOURCE:
                    failed.append(f"{name}: {times:.2f} times, at most {TIMES_SOURCE} expected")
            if quickest > ceiling:
                failed.append(f"{name}: {quickest:.2f} s, at most {ceiling} expected")
    if failed:
        sys.exit("conversion: " + "; ".join(failed))


if __name__ == "__main__":
    main()
