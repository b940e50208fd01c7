#!/usr/bin/env python3
"""A 100 MB model, pages in the cache: time until it is mapped, proved and ready, without hashing weights; first result against steady
runs; page faults apart. Median of several processes.

  load_time.py --ingot BIN --work DIR [--model resnet50_224] [--processes 9]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--model", default="resnet50_224")
    parser.add_argument("--processes", type=int, default=9)
    args = parser.parse_args()
    work = pathlib.Path(args.work).resolve()
    cast = work / f"{args.model}.ingot"
    if not cast.exists():
        subprocess.run([sys.executable, ROOT / "tests/models/make_zoo.py", work / "zoo", args.model], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([args.ingot, "convert", work / "zoo" / f"{args.model}.onnx", "-o", cast], check=True, stdout=subprocess.DEVNULL)
    rows = []
    for _ in range(args.processes):
        done = subprocess.run([args.ingot, "bench", cast, "--threads", "1", "--seconds", "0.5", "--json"], capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
    middle = lambda key: statistics.median(r[key] for r in rows)
    ratio = statistics.median(r["first_ms"] / r["median_ms"] for r in rows)
    print(f"{args.model}: file {rows[0]['file_bytes'] / 1e6:.1f} MB; ready in {middle('load_ms'):.2f} ms "
          f"(worst {max(r['load_ms'] for r in rows):.2f}); first result {middle('first_ms'):.1f} ms, steady {middle('median_ms'):.1f} ms, "
          f"ratio {ratio:.2f}")
    for key in ("page_faults", "major_page_faults", "steady_page_faults"):
        if key in rows[0]:
            print(f"  {key}: {middle(key):.2f}")
    ready = middle("load_ms") < 5
    print(f"load: {int(ready)} passed, {int(not ready)} failed")
    sys.exit(0 if ready else 1)


main()
