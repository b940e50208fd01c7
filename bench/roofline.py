#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A roofline of the fp32 networks of ./dev bench on one core, and where their time is lost.

  roofline.py --ingot build/gcc/bin/ingot --work build/bench --svg docs/roofline.svg [NETWORK ..]

Each instruction with multiply-adds is a circle: GFLOP/s over operations per byte of its operands,
its area the share of its network's time, the least of three measurements by `ingot why`. The two
limits are measured on the spot: the library's own product in the cache, and copying 48 MiB. Prints
for each kernel its share of the time, the share of the roof that it reaches, and what the networks
would gain if it reached the roof. Winograd passes the roof, since the operator's multiply-adds
count.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from processors import pin, processor_name  # noqa: E402
from rows import ROWS, Unavailable, call, prepare  # noqa: E402

COLORS = {
    "conv2d_direct_f32": ("convolutions", "#2f6fb2"),
    "conv2d_winograd_f43_f32": ("Winograd", "#3f9b6c"),
    "conv2d_depthwise_f32": ("depthwise", "#c2553b"),
    "chain_f32": ("chains", "#8a5fb0"),
    "linear_f32": ("linear", "#c79a2b"),
    "attention_f32": ("attention", "#3aa3a8"),
}
OTHER = ("other products", "#777f8a")
LEFT, TOP, WIDTH, HEIGHT = 70, 40, 760, 400
X, Y = (-1, 3), (-1, 3)  # powers of ten
LEAST_MS = 0.5  # smaller networks measure calls, not kernels


def measure(ingot, file):
    """What `ingot why` reports, with the least time of each instruction of three measurements."""
    pages = file.with_suffix(".why.html")
    command = [ingot, "why", file, "--threads", "1", "--json", "--html", pages]
    reports = [json.loads(call(command, preexec_fn=lambda: pin(1))) for _ in range(3)]
    for same in zip(*(r["instructions"] for r in reports)):
        same[0]["ms"] = min(i["ms"] for i in same)
    best = reports[0]
    for peak in ("peak_gflops", "peak_gbytes"):
        best[peak] = max(r[peak] for r in reports)
    return best


def circles_of(reports):
    """(kernel, operations a byte, GFLOP/s, share of its network's time) of each instruction with
    multiply-adds."""
    for report in reports:
        total = sum(i["ms"] for i in report["instructions"])
        for i in report["instructions"]:
            if i["macs"] > 0 and i["bytes"] > 0 and i["ms"] > 0:
                flops = 2 * i["macs"]
                yield i["kernel"], flops / i["bytes"], flops / i["ms"] / 1e6, i["ms"] / total


def draw(circles, flops, gbytes, title):
    def across(intensity):
        return LEFT + WIDTH * (min(max(math.log10(intensity), X[0]), X[1]) - X[0]) / (X[1] - X[0])

    def down(rate):
        return TOP + HEIGHT * (1 - (min(max(math.log10(rate), Y[0]), Y[1]) - Y[0]) / (Y[1] - Y[0]))

    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13" '
        f'viewBox="0 0 {LEFT + WIDTH + 170} {TOP + HEIGHT + 50}">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="22">{title}</text>',
    ]
    for e in range(X[0], X[1] + 1):
        x = across(10**e)
        out.append(f'<path d="M{x:.1f} {TOP}v{HEIGHT}" stroke="#e3e7ec"/>')
        out.append(
            f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{10.0**e:g}</text>'
        )
    for e in range(Y[0], Y[1] + 1):
        y = down(10**e)
        out.append(f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#e3e7ec"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**e:g}</text>')
    for kernel, intensity, rate, share in sorted(circles, key=lambda c: -c[3]):
        color, radius = COLORS.get(kernel, OTHER)[1], 2 + 16 * math.sqrt(share)
        out.append(
            f'<circle cx="{across(intensity):.1f}" cy="{down(rate):.1f}" r="{radius:.1f}" '
            f'fill="{color}" fill-opacity="0.55"/>'
        )
    low, knee = 10 ** X[0], flops / gbytes
    out.append(
        f'<path d="M{across(low):.1f} {down(low * gbytes):.1f}L{across(knee):.1f} '
        f'{down(flops):.1f}H{LEFT + WIDTH}" fill="none" stroke="#b3261e" stroke-width="1.5"/>'
    )
    for n, (name, color) in enumerate([*COLORS.values(), OTHER]):
        y = TOP + 14 + 22 * n
        out.append(f'<circle cx="{LEFT + WIDTH + 22}" cy="{y}" r="7" fill="{color}"/>')
        out.append(f'<text x="{LEFT + WIDTH + 36}" y="{y + 4}">{name}</text>')
    out.append(
        f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">'
        "operations per byte of operands and results</text>"
    )
    middle = TOP + HEIGHT / 2
    out.append(
        f'<text x="18" y="{middle}" text-anchor="middle" '
        f'transform="rotate(-90 18 {middle})">GFLOP/s</text></svg>'
    )
    return "\n".join(out) + "\n"


def print_kernels(reports, flops, gbytes):
    """Each network counts alike: shares of its own time."""
    kernels = {}
    for report in reports:
        total = sum(i["ms"] for i in report["instructions"])
        for i in report["instructions"]:
            share, reached = kernels.setdefault(i["kernel"], [0, 0])
            least = max(2 * i["macs"] / flops, i["bytes"] / gbytes) / 1e6
            kernels[i["kernel"]] = [share + i["ms"] / total, reached + least / total]
    print(f"{'kernel':28s} {'of the time':>11s} {'of the roof':>11s} {'a gain of':>10s}")
    for kernel, (share, least) in sorted(kernels.items(), key=lambda k: -k[1][0]):
        if share / len(reports) < 0.005:
            continue
        gain = max(0.0, share - least) / len(reports)
        print(
            f"{kernel:28s} {share / len(reports):10.1%}  {least / share:10.0%}  {gain:9.1%}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--svg", type=pathlib.Path, required=True)
    parser.add_argument("networks", nargs="*", choices=[[], *ROWS], metavar="NETWORK")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    reports, skipped = [], 0
    for name in args.networks or ROWS:
        try:
            onnx, _ = prepare(name, args.work)
        except Unavailable as why:
            print(f"[skip] {name}: {why}")
            skipped += 1
            continue
        file = args.work / f"{name}.ingot"
        if not file.exists() or file.stat().st_mtime < args.ingot.stat().st_mtime:
            call([args.ingot, "convert", onnx, "-o", file, "-q"])
        report = measure(args.ingot, file)
        if sum(i["ms"] for i in report["instructions"]) < LEAST_MS:
            continue
        reports.append(report)
        print(f"{name}: {sum(i['ms'] for i in report['instructions']):.2f} ms", flush=True)
    if not reports:
        sys.exit("roofline: no network to measure")
    flops = max(r["peak_gflops"] for r in reports)
    gbytes = max(r["peak_gbytes"] for r in reports)
    title = (
        f"{len(reports)} networks, fp32, one core of {processor_name()}: "
        f"{flops:.0f} GFLOP/s, {gbytes:.0f} GB/s"
    )
    print(title)
    print_kernels(reports, flops, gbytes)
    args.svg.write_text(draw(list(circles_of(reports)), flops, gbytes, title))
    print(f"{args.svg}; {skipped} networks skipped")


if __name__ == "__main__":
    main()
