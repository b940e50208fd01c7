# SPDX-License-Identifier: Apache-2.0
"""Files of models.tsv that stage models left, or made here: for runners that want a file and raw
inputs."""

import json
import pathlib
import shlex

import numpy as np
from sources import input_arrays, locate, shapes_of, write_inputs
from testing import Checks, run


class Converted:
    """A file and its inputs, where stage models left them or made now; `problem` where they cannot
    be had."""

    def __init__(self, row, ingot, work, tally):
        work = pathlib.Path(work)
        self.name, self.path, self.inputs, self.problem = (
            row["name"],
            work / f"{row['name']}.ingot",
            work / "inputs" / row["name"],
            None,
        )
        stored = work / "hashes.json"
        known = (json.loads(stored.read_text()) if stored.exists() else {}).get(self.name)
        self.answer = known and known["answer"]
        if known and self.path.exists() and self.inputs.exists():
            self.shapes = known["shapes"]
            return
        found = locate(row, work, tally)
        if not found:
            self.problem = "its source is not to be had"
            return
        done = run(
            [ingot, "convert", found[0], "-o", self.path, *shlex.split(row["options"] or "")]
        )
        if done.returncode:
            self.problem = f"convert: {done.stderr.strip()[-300:]}"
            return
        described = json.loads(run([ingot, "inspect", self.path, "--json"]).stdout)
        typical = (
            {}
            if found[1]
            else json.loads(run([ingot, "bench", self.path, "--seconds", "0", "--json"]).stdout)[
                "dims"
            ]
        )
        arrays = input_arrays(found[1], described["inputs"], typical, np.random.default_rng(3))
        write_inputs(arrays, self.inputs)
        self.shapes = shapes_of(arrays)


def converted(row, ingot, work, tally):
    """The file of a row, or None: where it fails, and for what its source was looked for in vain,
    `tally` has counted it."""
    made = Checks(verbose=True)  # whose checks are of the sources
    file = Converted(row, ingot, work, made)
    tally.failed += made.failed
    tally.skipped += made.skipped
    if file.problem and "not to be had" not in file.problem:
        tally.check(False, file.name, file.problem)
    return None if file.problem else file


def emulated(tree):
    """What runs raw_runner of a cross build for aarch64, with its emulated GPU."""
    tests = pathlib.Path(tree).resolve() / "tests"
    qemu = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E"]
    driver = f"INGOT_CUDA_DRIVER={tests / 'cuda/libfake_cuda.so'}"
    return [*qemu, driver, tests / "support/raw_runner"]
