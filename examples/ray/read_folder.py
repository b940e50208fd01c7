#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The digits in a folder of images (28 x 28, .pgm), read by Ray: a line of JSON for each image.

  read_folder.py digits.ingot IMAGES OUT.jsonl [--workers N]       needs ray, ingot-runtime

Every worker opens the model once; its weights are mapped from the file, so a machine has them once.
A group of images whose worker dies is read again by another one: Ray counts, and each image is in
the output once. The same with the command line and no Ray, an archive of inputs for each image:

  ls IMAGES/*.npz | xargs -P 4 -I{} ingot run digits.ingot --inputs {} --outputs {}.out"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np
import ray


def read_image(path):
    """A binary .pgm of 28 x 28 as the network takes it."""
    head, width, height, most = path.read_bytes().split(maxsplit=4)[:4]
    if (head, width, height, most) != (b"P5", b"28", b"28", b"255"):
        raise ValueError(f"{path}: expected a binary .pgm of 28 x 28, maximum 255")
    pixels = np.frombuffer(path.read_bytes()[-784:], dtype=np.uint8)
    return (pixels.astype(np.float32) / 255).reshape(1, 1, 28, 28)


@ray.remote(num_cpus=1, max_retries=10)
def read_group(model, paths):
    """Of a process of Ray's: the session is made at its first group, and kept."""
    import ingot

    kept = read_group.__dict__.setdefault("sessions", {})
    if model not in kept:
        kept[model] = ingot.Model(model).session("cpu", threads=1, bindings={"n": 1})
    rows = []
    for path in paths:
        scores = kept[model].run({"image": read_image(pathlib.Path(path))})["digit"]
        digit = int(np.argmax(scores))
        rows.append({"image": path, "digit": digit, "scores": scores[0].tobytes().hex()})
    return rows, os.getpid()


def read_folder(model, images, group=8, on_group=None):
    """Rows in the order of the images' names. `on_group(pid)` after each group."""
    paths = sorted(str(path) for path in pathlib.Path(images).glob("*.pgm"))
    groups = [paths[i : i + group] for i in range(0, len(paths), group)]
    waiting = [read_group.remote(str(model), group) for group in groups]
    rows = []
    while waiting:
        done, waiting = ray.wait(waiting)
        found, pid = ray.get(done[0])
        rows += found
        if on_group:
            on_group(pid)
    return sorted(rows, key=lambda row: row["image"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    ray.init(num_cpus=options.workers, include_dashboard=False, log_to_driver=False)
    rows = read_folder(os.path.abspath(options.model), options.images)
    with open(options.out, "w") as out:
        for row in rows:
            out.write(json.dumps(row) + "\n")
    print(f"{len(rows)} images")
    return 0


if __name__ == "__main__":
    sys.exit(main())
