# SPDX-License-Identifier: Apache-2.0
"""python3 -m ingot.demo: a small network of the package is converted and reads the digits of an
image beside it. In seconds, with NumPy alone and without a network."""

from __future__ import annotations

import pathlib
import struct
import time
import zlib

import numpy as np

from ._convert import convert
from ._model import empty

EXAMPLE = pathlib.Path(__file__).parent / "example"
_SIDE = 28  # of a digit, as the network has it


def gray_png(path: pathlib.Path) -> np.ndarray:
    """The pixels of a PNG of 8 bits gray, in [0, 1]; NumPy reads none."""
    data = path.read_bytes()
    width, height, bits, color = struct.unpack_from(">IIBB", data, 16)
    if not data.startswith(b"\x89PNG") or (bits, color) != (8, 0):
        raise ValueError(f"{path}: expected a PNG of 8 bits gray")
    packed, at = b"", 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        packed += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1).tolist()
    lines = [[0] * (width + 1)]  # a black pixel before each row, a black row above the first
    for kind, *stored in rows:
        above, line = lines[-1], [0]
        for x, difference in enumerate(stored, 1):
            line.append((difference + _predicted(kind, line[-1], above[x], above[x - 1])) % 256)
        lines.append(line)
    return np.array(lines, np.float32)[1:, 1:] / 255


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    """A pixel by its neighbors, as the filter of its row has it (PNG, section 9)."""
    if kind == 4:
        near = left + up - corner
        return min((left, up, corner), key=lambda value: abs(near - value))
    return (0, left, up, (left + up) // 2)[kind]


def main() -> None:
    began = time.perf_counter()
    strip = gray_png(EXAMPLE / "digits.png")
    count = strip.shape[1] // _SIDE
    images = empty((count, 1, _SIDE, _SIDE), "float32")
    images[:, 0] = strip.reshape(_SIDE, count, _SIDE).swapaxes(0, 1)
    print(f"{EXAMPLE / 'digits.onnx'}: a network that reads a digit, {count} digits in digits.png")

    model = convert(EXAMPLE / "digits.onnx")
    need = model.requirements("cpu", 1, bindings={"n": count})
    print(f"converted; a session takes {need.arena_bytes:,} bytes, weights included")

    with model.session("cpu", 1, bindings={"n": count}, arena=need.arena_bytes) as session:
        session.run(images)
        run = time.perf_counter()
        (scores,) = session.run(images).values()
        run = time.perf_counter() - run
    digits = "".join(str(digit) for digit in scores.argmax(1))
    sure = scores.max(1).min()
    print(f"read {digits}, the least certain of them {sure:.3f}, in {run * 1e6:.0f} us")
    print(f"{time.perf_counter() - began:.1f} s in all")


if __name__ == "__main__":
    main()
