#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small TorchScript archives of data/ with what eager torch computes: NAME.pt and
NAME.npz (in0, ..., out0, ... or steps of a stream).

Each program is a list of forms that one part of the importer must get right. Archives are rewritten
without debug records, so that they are small and name no machine. Needs torch; the committed files
were written with 2.15.
"""

import io
import json
import pathlib
import sys
import zipfile
from typing import Dict, List, Optional, Tuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pt2"))
from pool_programs import Averages, Boxes, Positions, Products  # noqa: E402
from value_programs import Composed, EmptyRows, Large, NotNumbers  # noqa: E402
from view_programs import Rows, TurnsInPlace, Views, Whole, WritesInput  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parent / "data"
# tests/import/pt2/make_small.py writes what torch computes of these.
OF_MAKE_SMALL = {
    "views": Views,
    "writes_input": WritesInput,
    "large": Large,
    "not_numbers": NotNumbers,
    "averages": Averages,
    "positions": Positions,
    "products": Products,
    "boxes": Boxes,
    "turns_in_place": TurnsInPlace,
    "composed": Composed,
    "empty_rows": EmptyRows,
}


class Layers(nn.Module):
    """Transformer layers, which a trace in inference form holds as one call each, under masks of
    all kinds."""

    def __init__(self):
        super().__init__()
        self.first = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.second = nn.TransformerEncoderLayer(
            8, 2, 16, batch_first=True, norm_first=True, activation="gelu"
        )
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor, padded: torch.Tensor):
        causal = torch.ones(5, 5).triu(1) > 0
        y = self.second(self.first(x, src_key_padding_mask=padded), src_mask=causal)
        attended, weights = self.attention(y, y, y, key_padding_mask=padded, attn_mask=causal)
        each = self.attention(x, x, x, average_attn_weights=False)[1]
        assert weights is not None and each is not None
        return self.decoder(y, x), attended, weights, each


class Padded(nn.Module):
    """An encoder whose padded positions are left out: its trace holds nested tensors."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2
        )

    def forward(self, x: torch.Tensor, padded: torch.Tensor):
        return self.encoder(x, None, padded)


class Helper(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.5, -0.5, 2.0, 0.25]))
        self.bias: Optional[torch.Tensor] = None

    def forward(self, x: torch.Tensor, gain: float = 2.0) -> Tuple[torch.Tensor, int]:
        bias = self.bias
        if bias is not None:
            x = x + bias
        return x * self.scale * gain, x.dim()


class Control(nn.Module):
    """If on data, loops, lists, dictionaries, texts, exceptions that are not raised, default
    arguments, two-fold methods."""

    def __init__(self):
        super().__init__()
        self.a = Helper()
        self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)])
        self.names: List[str] = ["one", "two"]

    def halve(self, x: torch.Tensor) -> torch.Tensor:
        left = 9
        while left > 1:
            x = x / 2
            left = left // 2
        return x

    def forward(self, x: torch.Tensor, rounds: int, flip: bool = False):
        if x.dim() != 2:
            raise ValueError("expected 2 dimensions, got {}".format(x.dim()))
        y, rank = self.a(x)
        kept: List[torch.Tensor] = []
        for part in self.parts:
            y = torch.relu(part(y))
            kept.append(y)
        for i in range(rounds):
            y = y + kept[i % len(kept)] * float(i + 1)
        found: Dict[str, torch.Tensor] = {"sum": y.sum(1)}
        if "one" in self.names and not flip:
            found["last"] = kept[-1]
        if bool(y.mean() > 0.3):
            z = y * rank
            sign = 1
        else:
            z = y - 1
            sign = -1
        return z * sign, self.halve(y * 50), found["sum"], found["last"]


class InPlace(nn.Module):
    """Tensors written through views and by operators with an underscore, in a branch that data
    decides too."""

    def forward(self, x: torch.Tensor):
        y = x.clone()
        y[:, 1] = 5.0
        y[:, 0::2] += 1
        z = y.view(2, -1)
        z[0].mul_(2)
        t = y.transpose(0, 1)
        t[3].zero_()
        if bool(y.sum() > 0):
            y.add_(1)
        else:
            y.sub_(1)
        for i in range(2):
            t[i, 1:] = float(i)
        y.relu_().clamp_(max=6.0)
        return y, z + 1, t


class Streaming(nn.Module):
    """Attributes that the program sets: a state made on the first run, a buffer written in place, a
    number that tells the first run."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.state = torch.zeros(0)
        self.runs = 0
        self.register_buffer("mean", torch.full((1, 3), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.runs == 0:
            self.state = torch.zeros([x.size(0), 4])
        self.runs = 1
        self.mean.mul_(0.9).add_(x.mean(0, keepdim=True), alpha=0.1)
        self.state = self.cell(x - self.mean, self.state)
        return self.state * 2


class Trained(nn.Module):
    """Saved in training mode."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(F.relu(self.norm(self.conv(x))))


class Sizes(nn.Module):
    """Arithmetic of sizes, an embedding, and a batch and a length that stay open."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.out = nn.Linear(8, 5)

    def forward(self, ids: torch.Tensor):
        batch, length = ids.shape
        x = self.embed(ids)
        half = x.view(batch, length, 2, 4).transpose(1, 2)
        scores = torch.softmax(half @ half.transpose(-1, -2) / 2.0, -1) @ half
        y = self.out(scores.transpose(1, 2).reshape(batch, length, 8))
        return y, torch.cat([y[:, :1], y[:, -1:]], 1).reshape(batch, -1)


class Antialias(nn.Module):
    """Interpolation as Pillow does it, smaller and larger, by sizes and by scales."""

    def forward(self, x: torch.Tensor):
        a = F.interpolate(x, size=[5, 7], mode="bilinear", antialias=True)
        b = F.interpolate(x, size=[5, 29], mode="bicubic", antialias=True)
        c = F.interpolate(x, scale_factor=0.61, mode="bicubic", antialias=True)
        d = F.interpolate(x, size=[6, 7], mode="bilinear", align_corners=True, antialias=True)
        return a, b, c, d


class Dropped(nn.Module):
    """Gives what no inference form makes."""

    def forward(self, x: torch.Tensor):
        y, mask = torch.native_dropout(x, 0.5, False)
        return mask


class Rounds(nn.Module):
    """A loop over a length that stays open: a Loop of the graph."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros([x.size(1)])
        for i in range(x.size(0)):
            total = total * 0.5 + x[i]
        return total


def seeded(kind):
    torch.manual_seed(11)
    return kind()


def save(name, program, arrays):
    buffer = io.BytesIO()
    torch.jit.save(program, buffer)
    OUT.mkdir(exist_ok=True)
    with (
        zipfile.ZipFile(io.BytesIO(buffer.getvalue())) as old,
        zipfile.ZipFile(OUT / f"{name}.pt", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for item in old.infolist():
            if item.filename.endswith(".debug_pkl") or "/.data/" in item.filename:
                continue
            made = zipfile.ZipInfo(
                name + item.filename[item.filename.index("/") :], (1980, 1, 1, 0, 0, 0)
            )
            made.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(made, old.read(item.filename))
    if arrays:
        np.savez_compressed(OUT / f"{name}.npz", **arrays)


def golden(net, *inputs):
    with torch.no_grad():
        results = net(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    results = results if isinstance(results, tuple) else (results,)
    arrays = {f"in{i}": x.numpy() for i, x in enumerate(inputs) if isinstance(x, torch.Tensor)}
    arrays.update({f"out{i}": x.contiguous().numpy() for i, x in enumerate(results)})
    return arrays


def main():
    torch.set_num_threads(1)
    net = seeded(Control).eval()
    script = torch.jit.script(net)
    save("control", script, golden(script, torch.rand(3, 4), 4))
    script = torch.jit.script(InPlace())
    save("in_place", script, golden(script, torch.randn(4, 4)))
    net = seeded(Trained)
    net.norm.running_mean.normal_()
    script = torch.jit.script(net)
    arrays = golden(script.eval(), torch.rand(1, 2, 5, 6))
    save("trained", script.train(), arrays)
    net = seeded(Trained).eval()
    example = torch.rand(1, 2, 5, 6)
    save("traced", torch.jit.trace(net, example), golden(net, example))
    net = seeded(Sizes).eval()
    ids = torch.randint(0, 11, (2, 6))
    save("sizes", torch.jit.script(net), golden(net, ids))
    save("rounds", torch.jit.script(Rounds()), golden(Rounds(), torch.randn(5, 3)))
    torch.manual_seed(7)
    save("antialias", torch.jit.script(Antialias()), golden(Antialias(), torch.randn(1, 2, 13, 16)))
    for name, kind, x in (
        ("rows", Rows, torch.randn(4, 3)),
        ("small_class", Whole, torch.randn(2, 3)),
    ):
        save(name, torch.jit.script(kind()), golden(kind(), x))
    for name, kind in OF_MAKE_SMALL.items():
        save(name, torch.jit.script(kind()), {})
    net = seeded(Layers).eval()
    inputs = torch.randn(2, 5, 8), torch.arange(5).expand(2, 5) > torch.tensor([[2], [4]])
    save("layers", torch.jit.script(net), golden(net, *inputs))
    with torch.no_grad():
        save("layers_traced", torch.jit.trace(net, inputs, check_trace=False), {})
        net = seeded(Padded).eval()
        save("padded_traced", torch.jit.trace(net, inputs, check_trace=False), golden(net, *inputs))
    save("dropped", torch.jit.script(Dropped()), {})
    script = torch.jit.script(seeded(Streaming).eval())
    stream = torch.jit.load(io.BytesIO(script.save_to_buffer()))
    x = torch.randn(6, 2, 3)
    with torch.no_grad():
        y = torch.stack([stream(step) for step in x])
    save(
        "streaming",
        script,
        {"in:x": x.numpy(), "out:output": y.numpy(), "meta": np.array(json.dumps({"steps": 6}))},
    )


if __name__ == "__main__":
    main()
