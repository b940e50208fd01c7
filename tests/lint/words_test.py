#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants each forbidden word of tools/lint/words.py in code and in a document: each must be found
there, and not in the files where it may stand. A word of Markdown beyond the limit is found.

words_test.py ROOT        the last line counts"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools/lint"))
import words  # noqa: E402

PLANTED = [
    "quantised_weights(g);",
    "Crew* crew;",
    "struct Stretch {",
    "find_departure(); Culprit culprit;",
    "enum class WhyThere",
    "Lack lack;",
    "extern const PairsCode kPairsCode;",
    "Carver carver(block);",
    "void lower(Draft* draft);",
    "constexpr GpuRow kRows[]",
    "constexpr int kMostDepth = 8;",
    "volatile ControlTold* told;",
    "WayTimer timer;",
    "GpuChoice choices[24];",
    "ingot_model_choice(model)",
    "flags | INGOT_UNTUNED",
    "GraphJudge judge;",
    "CastOptions options;",
    "ingot convert net.onnx --picture x=rgb:4x4",
    "a note, and it is said aloud",
    "the cast file",
    'cast::throw_cast_error(4, "which is not to be cast");',
    "Proved by tests/x.",
    "INGOT_TRY(prove_values(p));  // the proof",
    "if (instruction.is_measured) resolve(measured_by);",
    "const PictureAttributes& picture_of(int n);  // one picture",
    '#include "kernels/cpu/picture/color.inl"',
    "byte_of(const Steps& steps, RowSteps row)",
    "if (steps.is_word) return WordTable();",
    "static constexpr Halves kHalves = Halves::kF16;",
    '#include "runtime/session/pairs.h"',
    "INGOT_GPU_KERNEL(quick_weights_by_1_row)",
    "launch_few_rows(work)",
    '#include "kernels/cpu/plain.inl"',
    "host::keep_apart(outputs);",
    "an open dimension",
    "eight drawn inputs",
    "speed beside onnxruntime",
    "the inference form, which is said",
    "@throws ConversionError(4)",
]


def main():
    checks = Checks("words_lint")
    for index, text in enumerate(PLANTED):
        for name in ("runtime/base/x.h", "docs/x.md"):
            checks.check(list(words.findings(name, text)), f"{name}: {text!r} was not found")
        rules = [rule for rule in words.FORBIDDEN if words.re.search(rule[0], text)]
        checks.check(words.FORBIDDEN[index] in rules, f"{text!r} does not break rule {index}")
        for allowed in rules[0][2]:
            found = list(words.findings(allowed, text))
            checks.check(not found, f"{allowed}: {text!r} was found where it may stand")
    rules = f"{len(words.FORBIDDEN)} rules, {len(PLANTED)} planted"
    checks.check(len(PLANTED) == len(words.FORBIDDEN), rules)
    found = list(words.findings("tests/golden/x.md", "INGOT_UNTUNED"))
    checks.check(not found, "tests/golden/x.md is a sample and was refused")
    pages = {"docs/x.md": "one two\nthree", "README.md": "four | five", "runtime/base/x.h": "six"}
    checks.check(not words.too_many(pages, 6), "six words were refused, and six are the limit")
    facts = {"tools/x/README.md": "# tools/x\n\n- **Owns** a\n- **Start at** b\n\none two"}
    checks.check(words.words_of(facts) == {"tools/x/README.md": 4}, "facts of a folder count")
    found = words.too_many(pages, 5)
    checks.check("6 words, limit 5" in "".join(found), f"a word too many was not found: {found}")
    checks.report("the tree itself", run(sys.executable, ROOT / "tools/lint/words.py").error)
    sys.exit(checks.finish())


main()
