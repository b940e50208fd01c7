#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small PNG and JPEG files of every kind that people have, and what Pillow reads in them:
tests/cli/data/images/NAME.{png,jpg} and NAME.rgb, rows of R, G, B. Needs Pillow and numpy; YCCK is
CMYK whose marker says so, written by hand from the file of CMYK."""

import io
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent / "data/images"
WIDTH, HEIGHT = 16, 8


def ramp(top):
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    parts = [x / (WIDTH - 1), y / (HEIGHT - 1), (x + y) / (WIDTH + HEIGHT - 2)]
    return np.stack([np.round(p * top) for p in parts], -1).astype(np.uint32)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(kind, bits, rows, extra=b"", interlace=0):
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, kind, 0, 0, interlace)
    data = b"".join(b"\0" + bytes(row) for row in rows)
    body = chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def packed(values, bits):
    text = "".join(format(int(v), f"0{bits}b") for v in values)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8))


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=95, **options)
    return out.getvalue()


def files():
    eight, sixteen = ramp(255), ramp(65535)
    rows8 = [row.astype(np.uint8).tobytes() for row in eight]
    rows16 = [row.astype(">u2").tobytes() for row in sixteen]
    yield "rgb.png", png(2, 8, rows8)
    gamma = lambda g: chunk(b"gAMA", struct.pack(">I", round(g * 100000)))
    yield "gamma_1.png", png(2, 8, rows8, gamma(1.0))
    yield "gamma_0.2.png", png(2, 8, rows8, gamma(0.2))
    yield "srgb.png", png(2, 8, rows8, chunk(b"sRGB", b"\0") + gamma(0.45455))
    yield "chromaticities.png", png(2, 8, rows8, chunk(b"cHRM", struct.pack(">8I", *[30000] * 8)))
    yield "rgb_16.png", png(2, 16, rows16)
    yield "rgb_16_gamma_1.png", png(2, 16, rows16, gamma(1.0))
    yield "gray.png", png(0, 8, [row[:, 0].astype(np.uint8).tobytes() for row in eight])
    yield "gray_16.png", png(0, 16, [row[:, 0].astype(">u2").tobytes() for row in sixteen])
    for bits in (1, 2, 4):
        rows = [packed(row[:, 0] >> (8 - bits), bits) for row in eight]
        yield f"gray_{bits}.png", png(0, bits, rows)
    both = lambda row, alpha, kind: np.concatenate([row, alpha], -1).astype(kind).tobytes()
    yield "rgba.png", png(6, 8, [both(r, 255 - r[:, :1], np.uint8) for r in eight])
    yield "rgba_16.png", png(6, 16, [both(r, 65535 - r[:, :1], ">u2") for r in sixteen])
    yield "gray_alpha.png", png(4, 8, [both(r[:, :1], 255 - r[:, :1], np.uint8) for r in eight])
    colors = chunk(b"PLTE", bytes((i * 37 + c * 91) % 256 for i in range(16) for c in range(3)))
    places = [np.arange(WIDTH) + y for y in range(HEIGHT)]
    for bits in (1, 2, 4, 8):
        rows = [packed(row % min(16, 1 << bits), bits) for row in places]
        yield f"palette_{bits}.png", png(3, bits, rows, colors)
    rows = [packed(row % 16, 8) for row in places]
    alpha = chunk(b"tRNS", bytes(range(0, 160, 10)))
    yield "palette_transparent.png", png(3, 8, rows, colors + alpha)
    color = b"".join(struct.pack(">H", int(v)) for v in eight[2, 3])
    yield "rgb_transparent.png", png(2, 8, rows8, chunk(b"tRNS", color))
    yield "gray_transparent.png", png(
        0, 8, [r[:, 0].astype(np.uint8).tobytes() for r in eight], chunk(b"tRNS", b"\0\x11")
    )
    smooth = Image.fromarray(eight.astype(np.uint8))
    out = io.BytesIO()
    smooth.save(out, "PNG")
    yield "rgb.jpg", jpeg(smooth)
    yield "progressive.jpg", jpeg(smooth, progressive=True)
    yield "gray.jpg", jpeg(smooth.convert("L"))
    yield "full_chroma.jpg", jpeg(smooth, subsampling=0)
    exif = Image.Exif()
    exif[0x112] = 6
    yield "turned.jpg", jpeg(smooth, exif=exif)
    inks = Image.merge("CMYK", [*(smooth.getchannel(c) for c in "RGB"), smooth.getchannel(2)])
    cmyk = jpeg(inks)
    yield "cmyk.jpg", cmyk
    at = cmyk.index(b"Adobe")
    yield "ycck.jpg", cmyk[: at + 11] + b"\2" + cmyk[at + 12 :]


def main():
    HERE.mkdir(parents=True, exist_ok=True)
    for name, data in files():
        (HERE / name).write_bytes(data)
        image = Image.open(io.BytesIO(data))
        pixels = np.asarray(image)
        if pixels.dtype in (np.uint16, np.int32):
            pixels = (pixels >> 8).astype(np.uint8)
            image = Image.fromarray(pixels)
        if name.startswith(("gray_alpha", "rgba")):
            gray = pixels.shape[2] == 2
            image = Image.fromarray(pixels[..., :1].repeat(3, -1) if gray else pixels[..., :3])
        stem = name.replace(".png", "_png").replace(".jpg", "_jpg")
        (HERE / (stem + ".rgb")).write_bytes(np.asarray(image.convert("RGB")).tobytes())
    print(len(list(HERE.iterdir())), "files")


if __name__ == "__main__":
    main()
