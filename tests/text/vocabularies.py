#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vocabularies in the source package of llama-cpp-python (ggml-vocab-*.gguf): ids of the texts
beside them, equal to the ids beside them, and the texts back from the ids. A vocabulary that is
refused is named with its reason; REFUSED says which may be.

    ./dev show vocabularies            # fetches the package from PyPI into build/vocabularies"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from packages import fetch_sources  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

PACKAGE = "llama-cpp-python==0.3.36"
SEPARATOR = "\n__ggml_vocab_test__\n"
# What the file does not say, or Ingot does not have.
REFUSED = {
    "aquila": "tokenizer.ggml.pre is missing",
    "gpt-neox": "tokenizer.ggml.pre is missing",
}
# Words are put together with one space, lower case and without accents: not the text that was.
LOSSY = {"bert-bge"}


def tokenize(ingot, path, items, folder, *options):
    """Answers to a list, or what was wrong."""
    asked = folder / "asked.json"
    asked.write_text(json.dumps(items))
    done = run(ingot, "tokenize", path, "--file", asked, "--batch", "--no-ends", *options)
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.output)


def compare(ingot, path, folder):
    """"" where all texts of a vocabulary give their ids and come back."""
    name = path.stem.removeprefix("ggml-vocab-")
    texts = path.with_name(path.name + ".inp")
    if not texts.exists():
        answers, error = tokenize(ingot, path, ["Hello, world!\n"], folder)
        print(f"  {name}: no texts beside it; {error or f'Hello, world! is {answers[0]}'}")
        if name in REFUSED:
            return "" if REFUSED[name] in error else f"expected a refusal, got {error or answers}"
        return error
    inputs = texts.read_text(encoding="utf-8").split(SEPARATOR)
    expected = [
        [int(word) for word in line.split()]
        for line in path.with_name(path.name + ".out").read_text().split("\n")
    ][: len(inputs)]
    ids, error = tokenize(ingot, path, inputs, folder)
    if error:
        return error
    wrong = [i for i in range(len(inputs)) if ids[i] != expected[i]]
    back, error = tokenize(ingot, path, ids, folder, "--decode")
    lost = [i for i in range(len(inputs)) if not error and back[i] != inputs[i]]
    print(
        f"  {name}: {len(inputs) - len(wrong)} of {len(inputs)} texts equal, "
        f"{len(inputs) - len(lost)} come back"
    )
    if wrong:
        i = wrong[0]
        return f"text {i} {inputs[i]!r}: {ids[i]}, expected {expected[i]}"
    if error or (lost and name not in LOSSY):
        return error or f"text {lost[0]} {inputs[lost[0]]!r}: back as {back[lost[0]]!r}"
    return ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/vocabularies")
    a = parser.parse_args()
    checks = Checks("vocabularies")
    for path in fetch_sources(PACKAGE, "ggml-vocab-*.gguf*", a.work):
        if path.suffix != ".gguf":
            continue
        checks.report(path.stem, compare(a.ingot, path, a.work))
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
