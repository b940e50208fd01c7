#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws sign.png, the image that the OCR demo reads (Pillow, DejaVu fonts)."""

import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/"
LINES = [
    ("DejaVuSans-Bold.ttf", 54, (70, 50), "INGOT FOUNDRY"),
    ("DejaVuSans.ttf", 34, (72, 140), "one file, any device"),
    ("DejaVuSerif.ttf", 36, (72, 205), "Open daily 7:30 to 18:45"),
    ("DejaVuSansMono-Bold.ttf", 30, (72, 275), "Room 42, 3rd floor"),
]


def main():
    sign = Image.new("RGB", (640, 352), (238, 232, 214))
    draw = ImageDraw.Draw(sign)
    draw.rectangle((24, 20, 615, 331), outline=(60, 72, 90), width=6)
    for font, size, at, text in LINES:
        draw.text(at, text, fill=(35, 44, 60), font=ImageFont.truetype(FONTS + font, size))
    wall = Image.new("RGB", (800, 480), (120, 128, 118))
    wall.paste(sign, (80, 60))
    image = np.asarray(
        wall.rotate(2.0, Image.BICUBIC, fillcolor=(120, 128, 118)).filter(
            ImageFilter.GaussianBlur(0.6)
        ),
        np.float32,
    )
    y, x = np.mgrid[0:480, 0:800]
    light = 0.82 + 0.22 * (x / 800) - 0.1 * (y / 480)
    noise = np.random.default_rng(4).normal(0, 3, image.shape)
    image = np.clip(image * light[:, :, None] + noise, 0, 255).astype(np.uint8)
    out = pathlib.Path(__file__).resolve().parent / "sign.png"
    Image.fromarray(image).quantize(64, dither=Image.Dither.NONE).convert("P").save(
        out, optimize=True
    )
    print(out.name, out.stat().st_size)


main()
