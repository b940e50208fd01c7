#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/ray with 4 workers of which 2 are killed on the way: every image once, the bits of one
process; the time with 1, 2 and 4 workers.

  read_folder_test.py --model digits.ingot [--images N]        needs ray, ingot-runtime"""

import os
import pathlib
import signal
import sys
import time

import ingot
import numpy as np
import ray

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import text_parser, work_folder  # noqa: E402

EXAMPLE = str(pathlib.Path(__file__).resolve().parents[2] / "examples/ray")
sys.path.insert(0, EXAMPLE)
os.environ["PYTHONPATH"] = EXAMPLE  # of the workers
import read_folder as example  # noqa: E402


def write_images(folder, count):
    random = np.random.default_rng(3)
    for i in range(count):
        pixels = random.integers(0, 256, 784, dtype=np.uint8).tobytes()
        (folder / f"{i:05}.pgm").write_bytes(b"P5 28 28 255\n" + pixels)


def mapped_privately(pid, model):
    """KiB of the model's file that are this process's own."""
    found, total = False, 0
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            found = line.endswith(model)
        elif found and line.startswith("Private_Dirty:"):
            total += int(line.split()[1])
    return total


def with_kills(model, folder):
    seen, killed, private = [], [], []

    def on_group(pid):
        if pid not in seen:
            seen.append(pid)
            private.append(mapped_privately(pid, model))
        if len(killed) < 2 and len(seen) >= 2 and pid not in killed:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    rows = example.read_folder(model, folder, on_group=on_group)
    return rows, killed, seen, private


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--images", type=int, default=2000)
    options = parser.parse_args()
    model, failed = os.path.abspath(options.model), 0
    with work_folder() as folder:
        write_images(folder, options.images)
        session = ingot.Model(model).session("cpu", threads=1, bindings={"n": 1})
        expected = [
            session.run({"image": example.read_image(path)})["digit"][0].tobytes().hex()
            for path in sorted(folder.glob("*.pgm"))
        ]
        for workers in (1, 2, 4):
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
            example.read_folder(model, folder)  # processes begin, models are opened
            began = time.monotonic()
            rows = example.read_folder(model, folder)
            seconds = time.monotonic() - began
            same = [row["scores"] for row in rows] == expected
            failed += not same
            print(f"{workers} workers: {len(rows) / seconds:.0f} images a second, equal: {same}")
            if workers == 4:
                rows, killed, seen, private = with_kills(model, folder)
                once = len({row["image"] for row in rows}) == len(rows) == options.images
                same = [row["scores"] for row in rows] == expected
                holds = once and same and len(killed) == 2 and not any(private)
                failed += not holds
                print(f"{len(killed)} of {len(seen)} workers killed")
                print(f"each image once: {once}, equal: {same}")
                print(f"KiB of the model that are a process's own: {private}")
            ray.shutdown()
    print("ray: holds" if not failed else f"ray: {failed} do not hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
