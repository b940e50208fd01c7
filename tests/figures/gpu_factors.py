#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far predicted times of GPUs (docs/cuda-cost.md) are off, from a report of hardware, and the
factors that `ingot why --device cuda:NAME` then states.

  gpu_factors.py RESULTS.json [--key h200] [--write tools/diagnose/gpu_cost/measured.inl]

RESULTS.json is what PACK/run left. A factor is the geometric mean, over networks and batches of one
precision, of the measured p50 by the prediction. Rows of other GPUs stay.
"""

import argparse
import json
import math
import pathlib
import re
import sys

ROW = re.compile(r'\{"([^"]+)", "([^"]+)", ([\d.]+), (\d+)\},')
HEAD = """// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/measured.inl - written by tests/figures/gpu_factors.py: measured
// by predicted, and of how many networks
"""


def key_of(name):
    """The row of the cost model's table that a GPU's own name means."""
    for part, key in (("H200", "h200"), ("H100", "h100"), ("A100", "a100"), ("L4", "l4")):
        if part in name:
            return key
    return "orin-nano" if "Orin" in name else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--key")
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()
    results = json.loads(args.results.read_text())
    key = args.key or key_of(results["gpu"])
    if not key:
        sys.exit(f"gpu_factors: the table has no '{results['gpu']}'; --key names a row of it")
    ratios = {}
    for figure in results["figures"]:
        if figure["p50_ms"] > 0 and figure["predicted_ms"] > 0:
            ratio = figure["p50_ms"] / figure["predicted_ms"]
            ratios.setdefault(figure["precision"], []).append(ratio)
            print(
                f"{figure['network']:20} {figure['precision']:6} batch {figure['batch']:3}: "
                f"{figure['p50_ms']:.3f} ms, {ratio:.2f} of the prediction"
            )
    if not ratios:
        sys.exit("gpu_factors: no figure has a prediction beside it")
    rows = {}
    for precision, all_of_it in sorted(ratios.items()):
        mean = math.exp(sum(map(math.log, all_of_it)) / len(all_of_it))
        rows[key, precision] = (f"{mean:.3g}", len(all_of_it))
        print(f"{key}, {precision}: {mean:.3g} over {len(all_of_it)}")
    if args.write:
        kept = {(k, p): (f, n) for k, p, f, n in ROW.findall(args.write.read_text())}
        kept.update(rows)
        lines = [f'{{"{k}", "{p}", {f}, {n}}},\n' for (k, p), (f, n) in sorted(kept.items())]
        args.write.write_text(HEAD + "".join(lines))
        print(f"written: {args.write}")


main()
