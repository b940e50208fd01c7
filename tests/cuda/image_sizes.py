#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes of device code by unit and architecture, as cubins and as packed into the library.
image_sizes.py --tree TREE

The ceilings, of all architectures and of any one, are those of tests/figures/binary_sizes.py.
"""

import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, text_parser  # noqa: E402

CEILINGS = json.loads(
    (pathlib.Path(__file__).resolve().parents[1] / "figures/ceilings.json").read_text()
)
ALL, ONE = CEILINGS["cuda_all"], CEILINGS["cuda_one"]


def read(tree):
    """[(unit, architecture, compiler, bytes, packed)], bytes of the whole container."""
    path = pathlib.Path(tree) / "kernels/cuda/device_images.bin"
    rows = [line.split("\t") for line in pathlib.Path(f"{path}.tsv").read_text().splitlines()[1:]]
    return [
        (u, int(sm), int(c), int(b), int(p)) for u, sm, c, _, b, p in rows if sm != "0"
    ], path.stat().st_size


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--tree", required=True)
    rows, total = read(parser.parse_args().tree)
    units, by = sorted({r[0] for r in rows}), collections.defaultdict(dict)
    for unit, sm, compiler, size, packed in rows:
        by[sm, compiler][unit] = (size, packed)
    print(
        f"{'packed bytes':14} "
        + " ".join(f"{u:>12}" for u in units)
        + f" {'one':>12} {'cubins':>12}"
    )
    most = 0
    for (sm, compiler), cells in sorted(by.items()):
        one, raw = sum(p for _, p in cells.values()), sum(b for b, _ in cells.values())
        most = max(most, one)
        print(
            f"{sm:>4} CUDA {compiler // 1000}.{compiler % 1000 // 10} "
            + " ".join(f"{cells[u][1]:>12,}" if u in cells else f"{'-':>12}" for u in units)
            + f" {one:>12,} {raw:>12,}"
        )
    print(f"largest of one architecture {most:,}, ceiling {ONE:,}; all {total:,}, ceiling {ALL:,}")
    checks = Checks("image_sizes")
    checks.check(most <= ONE, f"of one architecture: {most:,} bytes, ceiling {ONE:,}")
    checks.check(total <= ALL, f"of all: {total:,} bytes, ceiling {ALL:,}")
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
