#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of the command line convert every model of models.tsv to the same program, weights and
golden, byte for byte, and each runs what the other converted with the same result. The metadata
(versions, names of passes) is compared too; where it alone differs, that is counted in the end.
For changes that must not change behavior.

  unchanged.py --ingot NEW --before OLD --work DIR [--except NAME ...] [name ...]

--except: models that the change is meant to convert otherwise; their outputs are compared all the
same, within the check of the golden where there is one. What cannot be had is a counted skip. The
closing line counts checks.
"""

import json
import pathlib
import shlex
import struct
import sys
import zipfile

import numpy as np
from sources import input_arrays, locate, read_rows
from testing import Checks, ingot_parser, run

METADATA = 2  # kind of part


def arrays_of(path):
    """Name to bytes of an .npz: its headers hold nothing of the time it was written."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def parts_of(data):
    """The parts of an .ingot file (schema/README.md): kind and bytes, the metadata apart."""
    header_bytes = struct.unpack_from("<I", data, 12)[0]
    parts, metadata = [], b""
    for at in range(64, header_bytes, 64):
        kind, _, offset, count = struct.unpack_from("<IIQQ", data, at)
        if kind == METADATA:
            metadata = data[offset : offset + count]
        else:
            parts.append((kind, data[offset : offset + count]))
    return parts, metadata


def answers_of(binary, file, inputs, outputs):
    outputs.unlink(missing_ok=True)
    done = run([binary, "run", file, "--inputs", inputs, "--outputs", outputs, "--device", "cpu"])
    return (arrays_of(outputs), "") if done.returncode == 0 else (None, done.stderr)


def compare(row, args, tally):
    found = locate(row, args.work, tally)
    if not found:
        return
    source, golden = found
    name, files = row["name"], {}
    for build, binary in (("before", args.before), ("now", args.ingot)):
        files[build] = args.work / build / f"{name}.ingot"
        files[build].parent.mkdir(parents=True, exist_ok=True)
        files[build].unlink(missing_ok=True)
        done = run([binary, "convert", source, "-o", files[build], *shlex.split(row["options"])])
        if not tally.check(done.returncode == 0, f"{name}: {build}: convert", done.stderr):
            return
    before, now = (files[k].read_bytes() for k in ("before", "now"))
    if name not in args.other:
        (old_parts, old_metadata), (new_parts, new_metadata) = parts_of(before), parts_of(now)
        tally.check(
            old_parts == new_parts,
            f"{name}: converted to the same {sum(len(b) for _, b in new_parts)} bytes",
            f"{[(k, len(b)) for k, b in old_parts]} and {[(k, len(b)) for k, b in new_parts]}",
        )
        args.renamed += old_metadata != new_metadata
    described = json.loads(run([args.ingot, "inspect", files["now"], "--json"]).stdout)
    typical = {}
    if not golden:
        made = run([args.ingot, "bench", files["now"], "--seconds", "0", "--json"])
        if made.returncode:
            return tally.skip(f"{name}: not run: {made.stderr.strip()}")
        typical = json.loads(made.stdout)["dims"]
    inputs = args.work / f"{name}.inputs.npz"
    np.savez(inputs, **input_arrays(golden, described["inputs"], typical, np.random.default_rng(3)))
    results = {
        (build, by): answers_of(binary, files[build], inputs, args.work / "outputs.npz")
        for build in files
        for by, binary in (("before", args.before), ("now", args.ingot))
    }
    failed = [f"{file}'s file, {by}: {r[1]}" for (file, by), r in results.items() if not r[0]]
    if not tally.check(not failed, f"{name}: each build runs the other's file", "\n".join(failed)):
        return
    if name not in args.other:
        first = next(iter(results.values()))[0]
        tally.check(
            all(r[0] == first for r in results.values()), f"{name}: the same bits from both builds"
        )


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--before", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--except", dest="other", nargs="*", default=[], metavar="NAME")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    args.work.mkdir(parents=True, exist_ok=True)
    args.renamed = 0
    tally = Checks("unchanged", verbose=True)
    for row in read_rows(args.names):
        row["options"] = row["options"] or ""
        compare(row, args, tally)
    print(f"metadata differs in {args.renamed} files")
    sys.exit(tally.finish() or not tally.passed)


if __name__ == "__main__":
    main()
