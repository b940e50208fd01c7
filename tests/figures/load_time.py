#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A 100 MB model, pages in the cache: time until it is mapped, validated and ready, without hashing
weights; first result against steady runs, with the page faults of the weights inside, and with
every page touched before the clock starts. Median of several processes.

  load_time.py --ingot BIN --work DIR [--model resnet50_224] [--processes 9]
"""

import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from sources import convert_from_zoo  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--model", default="resnet50_224")
    parser.add_argument("--processes", type=int, default=9)
    args = parser.parse_args()
    work = pathlib.Path(args.work).resolve()
    converted = convert_from_zoo(args.ingot, args.model, work)
    rows, touched = [], []
    for _ in range(args.processes):
        for extra, into in (((), rows), (("--prefault",), touched)):
            options = ("--threads", 1, "--seconds", 0.5, "--json", *extra)
            done = run(args.ingot, "bench", converted, *options).succeeded()
            into.append(json.loads(done.stdout))
    middle = lambda key, of: statistics.median(r[key] for r in of)
    ratio = lambda of: statistics.median(r["first_ms"] / r["median_ms"] for r in of)
    print(
        f"{args.model}: file {rows[0]['file_bytes'] / 1e6:.1f} MB; ready in {middle('load_ms', rows):.2f} ms "
        f"(worst {max(r['load_ms'] for r in rows):.2f}); steady run {middle('median_ms', rows):.1f} ms"
    )
    for name, of in (("with its page faults", rows), ("page faults apart   ", touched)):
        print(
            f"  first result {name}: {middle('first_ms', of):.1f} ms, {ratio(of):.2f} steady runs, {middle('page_faults', of):.0f} faults"
        )
    print(
        f"  touching every page: {middle('load_ms', touched) - middle('load_ms', rows):.1f} ms at load"
    )
    checks = Checks("load")
    checks.check(middle("load_ms", rows) < 5, "ready within 5 ms")
    checks.check(ratio(touched) <= 1.3, "the first run takes at most 1.3 steady ones")
    sys.exit(checks.finish())


main()
