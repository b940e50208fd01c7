# SPDX-License-Identifier: Apache-2.0
"""Networks and data for the comparison of quantizers, made from seeds: nothing is fetched.

keyword     a small depthwise-separable network trained here on made sounds (8 words and noise)
unbalanced  the same network with pairs of channels rescaled: the same function, hard for bytes
silero      a voice detector of shared material over made speech and noise, its state fed back
ocr         a text recognizer (PP-OCRv4, of its PyPI package) on random lines
"""

import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import shared  # noqa: E402

SHARED = shared.SHARED / "models"
RATE = 16000
WORDS = 8


# --- sounds ---------------------------------------------------------------------------------------
def resonate(x, hertz, width):
    """A resonator of two poles."""
    radius = np.exp(-np.pi * width / RATE)
    a1, a2 = 2 * radius * np.cos(2 * np.pi * hertz / RATE), -radius * radius
    y = np.zeros(len(x) + 2)
    for i, value in enumerate(x):
        y[i + 2] = value + a1 * y[i + 1] + a2 * y[i]
    return y[2:]


def syllable(random, seconds, vowel):
    """A pulse train with falling pitch through three formants."""
    count = int(seconds * RATE)
    pitch = random.uniform(95, 220) * np.linspace(1.1, 0.85, count)
    phase = np.cumsum(pitch / RATE)
    pulses = np.diff(np.floor(phase), prepend=0.0)
    x = pulses + 0.02 * random.standard_normal(count)
    for hertz, width in zip(vowel, (90, 110, 170), strict=True):
        x = resonate(x, hertz * random.uniform(0.95, 1.05), width)
    envelope = np.sin(np.pi * np.linspace(0, 1, count)) ** 0.5
    return x / (np.abs(x).max() + 1e-9) * envelope


VOWELS = [
    (730, 1090, 2440),
    (270, 2290, 3010),
    (300, 870, 2240),
    (530, 1840, 2480),
    (570, 840, 2410),
]


def speech(random, seconds):
    """Syllables, pauses and noise; the level changes from phrase to phrase."""
    parts = []
    while sum(map(len, parts)) < seconds * RATE:
        level = 10 ** random.uniform(-1.2, -0.1)
        for _ in range(random.integers(2, 7)):
            vowel = VOWELS[random.integers(len(VOWELS))]
            parts.append(level * syllable(random, random.uniform(0.12, 0.3), vowel))
            hiss = random.standard_normal(int(random.uniform(0.02, 0.08) * RATE))
            parts.append(level * 0.1 * hiss)
        parts.append(np.zeros(int(random.uniform(0.2, 0.9) * RATE)))
    x = np.concatenate(parts)[: int(seconds * RATE)]
    return (x + 10 ** random.uniform(-4, -2) * random.standard_normal(len(x))).astype(np.float32)


# --- keyword network ------------------------------------------------------------------------------
def words(count, seed):
    """Features [count, 1, 49, 10] and labels: patterns of energy that move over bands, in noise."""
    random = np.random.default_rng(seed)
    patterns = np.random.default_rng(7).uniform(0, 9, (WORDS, 2, 3))
    time = np.arange(49)[:, None] / 48.0
    band = np.arange(10)[None, :]
    x = np.empty((count, 1, 49, 10), np.float32)
    y = random.integers(0, WORDS + 1, count)
    for i, label in enumerate(y):
        image = random.standard_normal((49, 10)) * random.uniform(0.4, 1.0)
        if label < WORDS:
            shift = random.uniform(-0.15, 0.15)
            level = random.uniform(0.5, 1.6)
            for a, b, c in patterns[label]:
                center = a + (b - a) * (time + shift) + (c - 5) * (time + shift) ** 2 / 2
                image += level * np.exp(-((band - center) ** 2) / 1.2)
        x[i, 0] = image * 4 - 6
    return x, y


def keyword_network(torch):
    class Separable(torch.nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.depthwise = torch.nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
            self.first = torch.nn.BatchNorm2d(channels)
            self.pointwise = torch.nn.Conv2d(channels, channels, 1)
            self.second = torch.nn.BatchNorm2d(channels)

        def forward(self, x):
            x = torch.relu(self.first(self.depthwise(x)))
            return torch.relu(self.second(self.pointwise(x)))

    class Keyword(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = torch.nn.Conv2d(1, 32, (10, 4), stride=2, padding=(5, 1))
            self.norm = torch.nn.BatchNorm2d(32)
            self.blocks = torch.nn.Sequential(*[Separable(32) for _ in range(4)])
            self.head = torch.nn.Linear(32, WORDS + 1)

        def forward(self, x):
            x = torch.relu(self.norm(self.stem(x)))
            return self.head(self.blocks(x).mean((2, 3)))

    return Keyword()


def trained_keyword(torch):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = keyword_network(torch)
    x, y = (torch.from_numpy(part) for part in words(3000, 1))
    optimizer = torch.optim.Adam(network.parameters(), 2e-3)
    for _ in range(5):
        for at in torch.randperm(len(x)).split(100):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(x[at]), y[at]).backward()
            optimizer.step()
    return network.eval()


def unbalance(torch, network):
    """Channels between two layers with Relu times 2^-5 .. 2^5, and their readers by the inverse."""
    random = np.random.default_rng(3)

    def rescale(norm, reader, depthwise):
        by = torch.from_numpy((2.0 ** random.uniform(-5, 5, norm.num_features)).astype(np.float32))
        with torch.no_grad():
            norm.weight *= by
            norm.bias *= by
            reader.weight /= by.view(-1, 1, 1, 1) if depthwise else by.view(1, -1, 1, 1)

    norm = network.norm
    for block in network.blocks:
        rescale(norm, block.depthwise, True)
        rescale(block.first, block.pointwise, False)
        norm = block.second
    return network


def export_keyword(plain, unbalanced):
    """Trains once and writes both files."""
    import torch

    network = trained_keyword(torch)
    for path in (plain, unbalanced):
        torch.onnx.export(
            network,
            torch.zeros(1, 1, 49, 10),
            str(path),
            input_names=["x"],
            output_names=["y"],
            dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
            dynamo=False,
            opset_version=17,
        )
        network = unbalance(torch, network)


# --- lines of text --------------------------------------------------------------------------------
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def line(random):
    """A word or two and a number, as they may stand on a label."""
    parts = ["".join(random.choice(list(LETTERS), random.integers(3, 8))) for _ in range(2)]
    parts[0] = parts[0].title()
    return " ".join([*parts, str(random.integers(10, 9999))])


def drawn(random, text):
    """[1, 3, 48, 320], as the recognizer takes it: (x - 0.5) / 0.5."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(int(random.integers(26, 34)))
    paper, ink = random.integers(170, 256, 3), random.integers(0, 90, 3)
    image = Image.new("RGB", (320, 48), tuple(int(c) for c in paper))
    ImageDraw.Draw(image).text((random.integers(4, 14), 5), text, tuple(int(c) for c in ink), font)
    image = image.rotate(
        random.uniform(-1.5, 1.5), Image.Resampling.BILINEAR, fillcolor=tuple(map(int, paper))
    )
    x = np.asarray(image, np.float32) + random.normal(0, random.uniform(0, 14), (48, 320, 3))
    return ((np.clip(x, 0, 255) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].astype(np.float32)
