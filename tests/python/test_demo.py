# SPDX-License-Identifier: Apache-2.0
"""python3 -m ingot and python3 -m ingot.demo: what a wheel shows without a model of one's own."""

import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np
import small_models

import ingot
from ingot import demo


def ran(*words, folder=None):
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, cwd=folder, timeout=120
    )


class DemoTest(unittest.TestCase):
    def test_the_digits_of_the_image_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            made = ran("ingot.demo", folder=folder)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            self.assertIn("read 3141592653, ", made.stdout)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_the_network_and_the_image_are_those_of_the_repository(self):
        for name in ("digits.onnx", "digits.png"):
            source = small_models.ROOT / "examples/digits" / name
            self.assertEqual((demo.EXAMPLE / name).read_bytes(), source.read_bytes())

    def test_another_image_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            image = pathlib.Path(folder) / "color.png"
            data = bytearray((demo.EXAMPLE / "digits.png").read_bytes())
            data[25] = 2  # colored
            image.write_bytes(data)
            with self.assertRaisesRegex(ValueError, "8 bits gray"):
                demo.gray_png(image)
            data[1] = 0
            image.write_bytes(data)
            with self.assertRaisesRegex(ValueError, "8 bits gray"):
                demo.gray_png(image)

    def test_every_filter_of_a_row(self):
        """Pixels as the standard has them, of rows that say each filter."""
        rows = [[0, 9, 8, 7], [1, 1, 1, 1], [2, 250, 2, 3], [3, 4, 5, 6], [4, 1, 250, 2]]
        expected = [[9, 8, 7], [1, 2, 3], [251, 4, 6], [129, 71, 44], [130, 65, 46]]
        header = struct.pack(">IIBBBBB", 3, 5, 8, 0, 0, 0, 0)
        with tempfile.TemporaryDirectory() as folder:
            image = pathlib.Path(folder) / "small.png"
            packed = zlib.compress(bytes(sum(rows, [])))
            chunks = [(b"IHDR", header), (b"IDAT", packed[:7]), (b"IDAT", packed[7:])]
            image.write_bytes(
                b"\x89PNG\r\n\x1a\n"
                + b"".join(struct.pack(">I4s", len(d), k) + d + b"\0\0\0\0" for k, d in chunks)
            )
            np.testing.assert_allclose(demo.gray_png(image) * 255, expected, rtol=1e-6)


class CommandTest(unittest.TestCase):
    def test_the_package_is_the_command(self):
        made = ran("ingot", "--version")
        self.assertEqual(made.returncode, 0)
        self.assertIn(ingot.__version__, made.stdout)
        wrong = ran("ingot", "convrt")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("convert", wrong.stderr)
