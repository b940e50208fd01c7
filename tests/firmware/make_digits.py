# SPDX-License-Identifier: Apache-2.0
"""Samples for the digit reader without numpy: a ring, a bar and a cross of 28 x 28 floats."""

import struct
import zipfile


def npy(pixels):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1, 28, 28), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    size = struct.pack("<H", len(header))
    return b"\x93NUMPY\x01\x00" + size + header + struct.pack(f"<{len(pixels)}f", *pixels)


def write_samples(path):
    grid = [(x - 13.5, y - 13.5) for y in range(28) for x in range(28)]
    ring = [1.0 if 6 < (x * x + y * y) ** 0.5 < 10 else 0.0 for x, y in grid]
    bar = [1.0 if abs(x) < 2 and abs(y) < 10 else 0.0 for x, y in grid]
    cross = [1.0 if min(abs(x), abs(y)) < 2 else 0.0 for x, y in grid]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("image.npy", npy(ring + bar + cross))
