#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every model file of shared material and of the packages it lists but TFLite's (tflite_files.py):
what `ingot convert` makes of it, as a page of Markdown. A converted file is verified and compared
with its golden, where it has one, else with the naive kernels (`convert --check`); one that is
refused stands with its reasons.

  model_files.py --ingot BIN --work DIR [--write FILE] [name-part ...]

FILE is written whole (./dev show model-files: build/tables/models.md). Options of a conversion are
those of the file's first row in models.tsv; a TorchScript program gets the shapes of its golden, or
2x3.

Exits with 1 where a file is converted and does not pass, or ends in another way than a refusal
(exit codes 2 to 5). Files of packages are skipped, and counted, where the package index is out of
reach."""

import json
import shlex
import sys

import numpy as np
from file_page import make_page, table_rows
from sources import read_rows, refusal
from testing import run

NO_MODELS = ("npz", "pb")  # arrays: goldens and test data of other projects
OUTCOMES = {  # how the text of an outcome begins: how it is counted
    "equals its golden": "equal their golden",
    "equals the naive kernels": "have none and equal the naive kernels",
    "has weights alone": "have weights and no program",
    "refused": "are refused by name",
}
MEANT = {  # options of a program without a golden that says them
    "models/snakers4__silero-vad/silero_vad.jit": "--input-shape x=1x512 --argument sr=16000",
}


def is_model(format):
    return "tflite" not in format and format not in NO_MODELS


def shapes_of_program(described, golden):
    """Options that a TorchScript program needs: the shapes and numbers of its golden, 2x3 for a
    tensor that has none."""
    arrays = np.load(golden) if golden else {}
    stepped = "meta" in arrays and "steps" in json.loads(str(arrays["meta"]))
    words = []
    for parameter in described["program"]["parameters"]:
        name, given = parameter["name"], arrays.get(f"in:{parameter['name']}")
        if parameter["type"] == "Tensor":
            extents = (2, 3) if given is None else given.shape[stepped:]
            words += ["--input-shape", f"{name}={'x'.join(map(str, extents))}"]
        elif given is not None:
            words += ["--argument", f"{name}={given}"]
    return words


def options_of(source, described, golden):
    """Words of the command line that `ingot convert` needs for this file."""
    for row in read_rows():
        if row["source"].partition(":")[2] == source:
            return shlex.split(row["options"] or "")
    if source in MEANT:
        return shlex.split(MEANT[source])
    return shapes_of_program(described, golden) if "program" in described else []


def operators_of(described):
    """Operators of a source, the most frequent first; tensors of a checkpoint."""
    if "op_counts" not in described:
        tensors = described.get("tensor_count")
        return "" if tensors is None else f"{tensors} tensor{'s' * (tensors != 1)}"
    counts = sorted(described["op_counts"].items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{n} {name}" if n > 1 else name for name, n in counts[:6])
    return shown + (f" and {len(counts) - 6} more" if len(counts) > 6 else "")


def outcome_of(ingot, path, golden, options, out):
    """(what the page says, whether that is as it should be)"""
    out.unlink(missing_ok=True)
    check = [] if golden else ["--check"]
    done = run([ingot, "convert", path, "-o", out, *check, *options])
    if done.returncode == 4 and "has weights and no program" in done.stderr:
        return "has weights alone", True
    if done.returncode:
        reasons = refusal(done.stderr).replace(str(path), "")
        return f"refused ({done.returncode}): {reasons}", 2 <= done.returncode <= 5
    verified = run([ingot, "verify", out])
    if verified.returncode:
        return f"does not verify: {verified.stderr.strip()[:100]}", False
    if not golden:
        return "equals the naive kernels", True
    done = run([ingot, "check", out, "--golden", golden])
    if done.returncode == 0:
        return "equals its golden", True
    wrong = (done.stdout + done.stderr).replace(str(golden), "its golden").splitlines()
    first = next((line for line in wrong if not line.startswith("note:")), "")
    return f"differs from its golden: {first[:120]}", False


def page_of(rows):
    """The page of the documents: how many end how, and each file."""
    counts = "\n".join(
        f"- {sum(row[-1].startswith(start) for row in rows)} {text}"
        for start, text in OUTCOMES.items()
    )
    head = (
        "# Model files\n"
        "`./dev show model-files` writes this page: every model among the files of the tests and\n"
        "in the packages that they list, converted, verified, and compared with its golden or,\n"
        "where it has none, with the naive kernels. A number in brackets is an exit code.\n"
        "`./dev show tflite-files` has those of TFLite.\n\n"
        f"Of {len(rows)} files\n\n{counts}.\n\n"
        "| file | source | bytes | operators | outcome |\n| --- | --- | --- | --- | --- |\n"
    )
    return head + table_rows(rows)


def row_of(ingot, work, name, path, golden, listed):
    inspected = run([ingot, "inspect", path, "--json"]).stdout
    described = json.loads(inspected) if inspected.startswith("{") else {}
    package = f"{listed['package']}=={listed['version']}" if "package" in listed else ""
    source = f"{package}:{listed['path']}" if package else f"models/{name}"
    options = options_of(source, described, golden)
    text, fits = outcome_of(ingot, path, golden, options, work / "model_file.ingot")
    if options and fits and not text.startswith("refused"):
        text += f" (`{' '.join(options)}`)"
    origin = f"PyPI: {package}" if package else listed["source"].partition("@")[0]
    size = f"{int(listed['bytes']):,}"
    return [name, origin, size, operators_of(described), text], fits


if __name__ == "__main__":
    sys.exit(make_page(__doc__.splitlines()[0], is_model, row_of, page_of))
