#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A large checkpoint made into safetensors: `ingot extract` compared with torch.load and
safetensors' save_file, in turns, each in a process of its own.

  large_checkpoint.py --ingot BIN --work DIR [--gib 2] [--rounds 3]

Prints seconds and the largest resident memory of each (mapped files count), and compares the two
files byte for byte in what the tensors hold. Passes when Ingot takes no more time and at most 1.2
times the checkpoint's size. Needs torch and safetensors, and four times the size on the disk.
"""

import hashlib
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

TORCH = """
import sys, torch
from safetensors.torch import save_file
state = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
save_file({k: v.contiguous() for k, v in state.items()}, sys.argv[2])
"""


# A state dictionary of so many GiB, a part of it Half, with tensors of 3 KiB to 64 MiB, as a
# transformer has them.
MAKE = """
import sys, torch
torch.manual_seed(1)
state, left, i = {}, int(float(sys.argv[2]) * 2 ** 30), 0
while left > 0:
    tensor = torch.empty([4096, 11008, 4096, 1][i % 4], 1536, dtype=torch.float16 if i % 2 else
    torch.float32) tensor.view(torch.int16).random_(-2 ** 14, 2 ** 14)
    state[f"model.layers.{i // 4}.{'abcd'[i % 4]}.weight"] = tensor
    left -= tensor.numel() * tensor.element_size()
    i += 1
torch.save(state, sys.argv[1])
"""


def measured(command):
    """(seconds, peak resident KiB) of a process. This one stays small: a child begins with what its
    parent has."""
    began = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"ERROR {command}: ended with {status}")
    return time.perf_counter() - began, usage.ru_maxrss


def digest(f, count):
    whole = hashlib.sha256()
    while count > 0:
        piece = f.read(min(count, 1 << 24))
        if not piece:
            break
        whole.update(piece)
        count -= len(piece)
    return whole.hexdigest()


def hashes(path):
    """{name: (type, shape, hash of its bytes)} of a safetensors file."""
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        header, found = json.loads(f.read(size)), {}
        for name, about in header.items():
            if name == "__metadata__":
                continue
            start, end = about["data_offsets"]
            f.seek(8 + size + start)
            found[name] = (about["dtype"], tuple(about["shape"]), digest(f, end - start))
    return found


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    work = pathlib.Path(args.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    source, ours, theirs = (
        work / f"large_{args.gib:g}.pth",
        work / "ours.safetensors",
        work / "theirs.safetensors",
    )
    if not source.exists():
        run(sys.executable, "-c", MAKE, source, args.gib).succeeded()
    size = source.stat().st_size
    with open(source, "rb") as f:  # into the page cache, for both
        while f.read(1 << 24):
            pass
    contenders = {
        "ingot": [args.ingot, "extract", source, "-o", ours],
        "torch": [sys.executable, "-c", TORCH, source, theirs],
    }
    times, peaks = {name: [] for name in contenders}, {name: 0 for name in contenders}
    for _ in range(args.rounds):
        for name, command in contenders.items():
            for old in (ours, theirs):
                old.unlink(missing_ok=True)
                os.sync()
            seconds, peak = measured(command)
            times[name].append(seconds)
            peaks[name] = max(peaks[name], peak)
    run(contenders["ingot"]).succeeded()
    same = hashes(ours) == hashes(theirs)
    for name in contenders:
        print(
            f"{name}: {statistics.median(times[name]):.2f} s ({min(times[name]):.2f}..{max(times[name]):.2f}), "
            f"peak {peaks[name] / 2**10:,.0f} MiB, {peaks[name] * 1024 / size:.2f} of the checkpoint's {size / 2**30:.2f} GiB"
        )
    ratio = statistics.median(a / b for a, b in zip(times["ingot"], times["torch"]))
    print(f"time over torch's, paired: {ratio:.2f}; tensors equal: {'yes' if same else 'NO'}")
    checks = Checks("large_checkpoint")
    checks.check(same, "the same tensors as torch's")
    checks.check(ratio <= 1, "at most torch's time")
    checks.check(peaks["ingot"] * 1024 <= 1.2 * size, "at most 1.2 times the file in memory")
    sys.exit(checks.finish())


main()
