#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every TFLite file of shared material and of the packages it lists: what `ingot convert` makes of
it, as a table of Markdown. A file that has a golden is compared with it in each mode, in the order
litert, builtin, tflm, up to the first that passes `ingot check`; one that is refused stands with
its reasons.

  tflite_files.py --ingot BIN --work DIR [--write FILE] [name-part ...]

FILE is written whole (./dev show tflite-files: build/tables/tflite-files.md).

Exits with 1 where a file is converted and passes in no mode, or ends in another way than a refusal
(exit codes 2 to 5); EXPECTED names those whose golden is known to be none, with the reason. Files
of packages are skipped, and counted, where the package index is out of reach."""

import pathlib
import sys

from file_page import make_page, table_rows
from sources import refusal
from testing import run

MODES = ("litert", "builtin", "tflm")
SCALAR = "the golden's input has one dimension, the file's none"
EXPECTED = {
    "call_once_mul.bin": SCALAR,
    "multi_subgraphs_while.bin": SCALAR,
    "test_min_runtime.bin": "the golden's output is empty",
    "dynamic_shapes.bin": "the golden's output is empty",
    "movenet_single_pose_lightning_ptq.tflite": (
        "equals LiteRT 2.3.0, which is as far from this golden (docs/decisions.md: D201)"
    ),
    "dtln_noise_suppression.tflite": "its golden began with unknown states (D201)",
    "yamnet_wavin_quantized_mel_relu6.tflite": (
        "equals LiteRT 2.3.0, which is as far from this golden (docs/decisions.md: D201)"
    ),
}


def is_tflite(format):
    return "tflite" in format


def judged(ingot, path, golden, out):
    """(what the table says, whether that is as it should be)"""
    last = ""
    for mode in MODES:
        out.unlink(missing_ok=True)
        options = [] if mode == "litert" else ["--exact-to", mode]
        done = run([ingot, "convert", path, "-o", out, *options])
        if done.returncode == 5 and mode != "litert":  # computes nothing in integers
            break
        if done.returncode != 0:
            return f"refused ({done.returncode}): {refusal(done.stderr)}", 2 <= done.returncode <= 5
        verified = run([ingot, "verify", out])
        if verified.returncode != 0:
            return f"does not verify: {verified.stderr.strip()[:100]}", False
        if not golden:
            return "converted, has no golden", True
        done = run([ingot, "check", out, "--golden", golden])
        if done.returncode == 0:
            return f"equals its golden ({mode})", True
        lines = [t for t in (done.stdout + done.stderr).splitlines() if not t.startswith("note:")]
        last = next((t for t in lines if t.startswith("FAIL")), lines[0] if lines else "")
    return f"differs from its golden: {last[:120]}", False


def page_of(rows):
    """The page of the documents: how many end how, and each file."""
    starts = ("equals its golden", "no comparison", "converted, has no golden", "refused")
    counts = {start: sum(row[-1].startswith(start) for row in rows) for start in starts}
    head = (
        "# TFLite files\n"
        "`./dev show tflite-files` writes this page: every TFLite file among the models of the "
        "tests\n"
        "and in the packages that they list, converted, verified and compared with its golden. A "
        "mode\n"
        "in brackets is that of `--exact-to`; a number is an exit code.\n\n"
        f"Of {len(rows)} files {counts[starts[0]]} equal their golden, "
        f"{counts[starts[1]]} have one that is none,\n"
        f"{counts[starts[2]]} have none and are verified, "
        f"{counts[starts[3]]} are refused by name.\n\n"
    )
    return head + "| file | outcome |\n| --- | --- |\n" + table_rows(rows)


def row_of(ingot, work, name, path, golden, listed):
    text, fits = judged(ingot, path, golden, work / "tflite_file.ingot")
    reason = EXPECTED.get(pathlib.Path(name).name)
    if reason and not fits:
        return [name, f"no comparison with its golden: {reason}"], True
    return [name, text], fits


if __name__ == "__main__":
    sys.exit(make_page(__doc__.splitlines()[0], is_tflite, row_of, page_of))
