#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/jetson/dmabuf_frame over the fake driver and a fake EGL: a frame in a file descriptor,
with a pitch, is read where it lies and gives the number that `ingot run` gives for the same frame;
frames that are none, and models that take none, are refused by name.

  dmabuf_test.py --ingot BIN --example BIN --egl LIBRARY --network image.onnx
"""

import argparse
import os
import pathlib
import struct
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, work_folder  # noqa: E402

WIDTH, HEIGHT, PITCH = 26, 20, 64


def first_number(path):
    """Of the first array of f32 in an .npz."""
    with zipfile.ZipFile(path) as archive:
        raw = archive.read(archive.namelist()[0])
    assert b"'<f4'" in raw[:128], raw[:128]
    return struct.unpack_from("<f", raw, 10 + struct.unpack_from("<H", raw, 8)[0])[0]


def main():
    parser = argparse.ArgumentParser()
    for name in ("ingot", "example", "egl", "network"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    libraries = pathlib.Path(args.egl).resolve().parent
    with work_folder() as work:
        report = work / "report"
        environment = dict(
            LD_LIBRARY_PATH=str(libraries),
            INGOT_CUDA_DRIVER="libcuda.so.1",
            FAKE_CUDA_REPORT=str(report),
        )

        def convert(image):
            options = ["--image", image] if image else []
            run(args.ingot, "convert", args.network, "-o", work / "net.ingot", options).succeeded()

        def example(pixels, pitch=PITCH, width=WIDTH):
            fd = os.memfd_create("frame")
            os.write(fd, pixels)
            words = [args.example, work / "net.ingot", fd, width, HEIGHT, pitch]
            done = run(words, env=environment, pass_fds=[fd], seconds=120)
            os.close(fd)
            return done

        checks = Checks("dmabuf")
        convert(f"x=gray:{WIDTH}x{HEIGHT},letterbox")
        rows = [bytes((7 * x + 11 * y) % 256 for x in range(WIDTH)) for y in range(HEIGHT)]
        (work / "frame.gray").write_bytes(b"".join(rows))
        files = ("--inputs", work / "frame.gray", "--outputs", work / "out.npz")
        run(args.ingot, "run", work / "net.ingot", files).succeeded()
        done = example(b"".join(row + b"\xee" * (PITCH - WIDTH) for row in rows))
        checks.report("a frame", done.error)
        number = f"first number: {first_number(work / 'out.npz'):.9g}"
        checks.check(number in done.stdout, number, done.stdout)
        counts = dict(line.split() for line in report.read_text().splitlines())
        left = {
            name: counts[name]
            for name in ("bytes", "pinned", "contexts", "modules", "streams", "execs", "misuses")
            if counts[name] != "0"
        }
        checks.check(not left, "nothing is left on the device", left)
        done = example(b"".join(rows), width=WIDTH - 2)
        why = done.refusal(7, "its input is not u8 [1, HEIGHT, WIDTH]", lines=None)
        checks.report("another width", why)
        convert(None)
        done = example(b"".join(rows))
        checks.report("no image", done.refusal(7, "its input is not u8", lines=None))
        environment["LD_LIBRARY_PATH"] = str(work)
        environment["INGOT_CUDA_DRIVER"] = str(libraries / "libcuda.so.1")
        done = example(b"".join(rows))
        none = "EGL: no EGL" if "EGL: no EGL" in done.stderr else "CUDA: no CUDA driver"
        checks.report("no driver", done.refusal(7, none, lines=None))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
