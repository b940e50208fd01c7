#!/usr/bin/env python3
"""examples/jetson/dmabuf_frame over the fake driver and a fake EGL: a frame in a file descriptor,
with a pitch, is read where it lies and gives the number that `ingot run` gives for the same frame;
frames that are none, and models that take none, are refused by name.

  dmabuf_test.py --ingot BIN --example BIN --egl LIBRARY --network image.onnx
"""

import argparse
import os
import pathlib
import struct
import subprocess
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import work_folder  # noqa: E402

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
            os.environ,
            LD_LIBRARY_PATH=str(libraries),
            INGOT_CUDA_DRIVER="libcuda.so.1",
            FAKE_CUDA_REPORT=str(report),
        )

        def convert(image):
            subprocess.run(
                [
                    args.ingot,
                    "convert",
                    args.network,
                    "-o",
                    work / "net.ingot",
                    *(["--image", image] if image else []),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )

        def example(pixels, pitch=PITCH, width=WIDTH):
            fd = os.memfd_create("frame")
            os.write(fd, pixels)
            words = [args.example, work / "net.ingot", str(fd), str(width), str(HEIGHT), str(pitch)]
            done = subprocess.run(
                words, env=environment, pass_fds=[fd], capture_output=True, text=True, timeout=120
            )
            os.close(fd)
            return done

        checks = 0
        convert(f"x=gray:{WIDTH}x{HEIGHT},letterbox")
        rows = [bytes((7 * x + 11 * y) % 256 for x in range(WIDTH)) for y in range(HEIGHT)]
        (work / "frame.gray").write_bytes(b"".join(rows))
        subprocess.run(
            [
                args.ingot,
                "run",
                work / "net.ingot",
                "--inputs",
                work / "frame.gray",
                "--outputs",
                work / "out.npz",
            ],
            check=True,
        )
        done = example(b"".join(row + b"\xee" * (PITCH - WIDTH) for row in rows))
        assert done.returncode == 0, done.stderr
        assert f"first number: {first_number(work / 'out.npz'):.9g}" in done.stdout, done.stdout
        counts = dict(line.split() for line in report.read_text().splitlines())
        left = {
            name: counts[name]
            for name in ("bytes", "pinned", "contexts", "modules", "streams", "execs", "misuses")
            if counts[name] != "0"
        }
        assert not left, left
        checks += 3
        done = example(b"".join(rows), width=WIDTH - 2)
        assert (
            done.returncode == 7 and "its input is not u8 [1, HEIGHT, WIDTH]" in done.stderr
        ), done
        convert(None)
        done = example(b"".join(rows))
        assert done.returncode == 7 and "its input is not u8" in done.stderr, done
        environment["LD_LIBRARY_PATH"] = str(work)
        environment["INGOT_CUDA_DRIVER"] = str(libraries / "libcuda.so.1")
        done = example(b"".join(rows))
        assert done.returncode == 7 and (
            "CUDA: no CUDA driver" in done.stderr or "EGL: no EGL" in done.stderr
        ), done
        checks += 3
    print(f"dmabuf_test: {checks} checks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
