# SPDX-License-Identifier: Apache-2.0
"""Files of models.tsv that stage models left, or made here: for runners that want a file and raw
inputs."""

import json
import pathlib
import shlex

import numpy as np
from sources import input_arrays, locate, shapes_of, write_inputs
from testing import run


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
