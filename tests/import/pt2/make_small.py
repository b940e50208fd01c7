#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small torch.export archives of data/ with what eager torch computes: NAME.pt2 and
NAME.npz (in0, ..., out0, ...).

Each network is a list of forms that one part of the importer must get right. Files are rewritten
without stack traces, example inputs and padding, so that they are small and name no machine. Needs
torch; the committed files were written with 2.15.
"""

import io
import json
import pathlib
import sys
import zipfile

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from expert_programs import Experts
from pool_programs import Averages, Boxes, Positions, Products, box_inputs
from value_programs import (
    COMPOSED,
    Composed,
    Decomposed,
    EmptyRows,
    Large,
    NotNumbers,
    ROWS,
    rows_without_keys,
    VALUES,
)
from view_programs import TurnsInPlace, Views, WritesInput

OUT = pathlib.Path(__file__).resolve().parent / "data"


class InPlace(nn.Module):
    """Tensors written through views, a region under no_grad, infinities as arguments, a number
    taken out of a constant."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).reshape(4, 3).t())  # not contiguous

    def forward(self, x):
        y = x.clone()
        y[:, 1] = 5
        y[:, 0::2] += 1
        z = y.view(2, -1)
        z[0].mul_(2)
        t = y.transpose(0, 1)
        t[3].zero_()
        mask = x.new_zeros((3, 4))
        for i in range(3):
            mask[i : i + 1, i : i + 2] = i
        with torch.no_grad():
            w = torch.where(x > 0.5, x, float("-inf")).masked_fill(x > 0.9, 0.25)
        first, rest = y.split([1, 3], 1)
        rest.relu_()
        return (
            y,
            z + 1,
            mask + self.table * x[:3],
            torch.softmax(w, -1),
            first - rest.sum(1, keepdim=True),
        )


class Dynamic(nn.Module):
    """A free batch and a free length: sizes as numbers, positions, masks."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.position = nn.Parameter(torch.randn(32, 8))
        self.out = nn.Linear(8, 5)

    def forward(self, ids):
        batch, length = ids.shape
        x = self.embed(ids) + self.position[:length]
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        scores = (x @ x.transpose(1, 2) / 8**0.5).masked_fill(~causal, -1e9)
        y = torch.softmax(scores, -1) @ x
        step = torch.arange(length, dtype=torch.float32).view(1, -1, 1) / length
        return self.out((y + step).reshape(batch * length, 8)).view(batch, length, 5)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 4)
        self.rnn = nn.RNN(4, 3, nonlinearity="relu", bias=False)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, n = self.gru(y.transpose(0, 1))
        return z, h, c, n, self.rnn(z)[0]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(12, 36)
        self.norm = nn.LayerNorm(12)
        self.mlp = nn.Linear(12, 12, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, t, 3, 3, 4).permute(2, 0, 3, 1, 4).unbind(0)
        plain = F.scaled_dot_product_attention(q, k, v)
        causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        masked = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.eye(t) - 1, scale=0.3)
        spelled = torch.einsum("bhqd,bhkd->bhqk", q, k).softmax(-1)
        y = (plain + causal + masked + spelled @ v).transpose(1, 2).flatten(2)
        return (
            F.gelu(self.mlp(y), approximate="tanh") + F.gelu(y),
            F.normalize(y, dim=-1),
            y.var(-1),
            y.std((1, 2), unbiased=False),
        )


class Picture(nn.Module):
    """Convolutions in their forms, norms (one left in training mode), pools, resizing."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.b = nn.Conv2d(8, 8, 3, padding="same", groups=4, dilation=2)
        self.group = nn.GroupNorm(2, 8)
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)
        self.line = nn.Conv1d(4, 4, 3, padding=1, padding_mode="replicate")
        self.prelu = nn.PReLU(4)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = F.hardswish(self.norm(self.a(x)))
        y = F.silu(self.group(self.b(y))) + self.instance(y)
        z = self.prelu(self.up(y))
        pools = F.max_pool2d(z, 3, 2, 1)
        return (
            F.adaptive_avg_pool2d(z, (3, 5)),
            F.adaptive_avg_pool2d(pools, 1).flatten(1),
            F.pixel_shuffle(z, 2),
            F.interpolate(z, scale_factor=2, mode="nearest"),
            F.interpolate(z, size=(7, 9), mode="bilinear", align_corners=False),
            F.interpolate(z, size=(7, 9), mode="bilinear", align_corners=True),
            F.interpolate(z, scale_factor=2, mode="bicubic"),
            self.line(z.mean(2)),
            F.pad(z, (1, 2, 0, 1), mode="reflect"),
            F.avg_pool2d(z, 2, ceil_mode=True),
            F.channel_shuffle(z, 2),
        )


class Turned(nn.Module):
    """Rotary positions for all but a first token: parts of one Concat, of which one alone can be
    computed in place."""

    def forward(self, x):
        first, rest = x[:, :, :1], x[:, :, 1:]
        turned = torch.stack([-rest[..., 1::2], rest[..., ::2]], -1).reshape(rest.shape)
        angle = torch.arange(rest.shape[2], dtype=torch.float32).unsqueeze(-1) * torch.linspace(
            1, 0.1, rest.shape[3]
        )
        y = torch.cat([first, rest * angle.cos() + turned * angle.sin()], 2)
        return y @ y.transpose(-1, -2)


class Types(nn.Module):
    """Implicit types, comparisons, integer division, indices."""

    def forward(self, i, x):
        n = i // 3 + i % 3 - (-i) // 4
        half = (
            i / 2,
            i * 0.5,
            i + True,
            (i > 2) * x[0, 0],
            torch.where(i > 2, i, 0),
            i.float().mean(),
        )
        picked = x[torch.tensor([2, 0]), torch.tensor([1, -1])]
        gathered = torch.gather(x, 1, (i % 4)[:3].view(3, 1).expand(3, 2))
        best, where = x.max(1)
        top, places = x.topk(2, 1)
        put = x.index_put((torch.tensor([0, 1]),), torch.tensor(9.0))
        return (
            n,
            *half,
            picked,
            gathered,
            best,
            where,
            top,
            places,
            put,
            x.cumsum(1),
            x.roll(1, 1),
            x.flip(0),
            x.amax((0, 1)),
            x.argmax(),
            torch.cat([x, x[:1]], 0).repeat(1, 2),
            torch.stack([x, -x], -1),
            x.clamp(0.2, 0.8),
            x.pow(3) + x**0.5,
            torch.remainder(-x, 0.3),
            torch.linalg.vector_norm(x, 2, 1),
            x.unsqueeze(0).expand(2, 3, 4).repeat_interleave(2, 2),
            torch.logical_not(i > 2) & (i < 6),
            ~(i > 3),
        )


class Antialias(nn.Module):
    """Interpolation as Pillow does it: smaller and larger, by sizes and by scales, over corners and
    not; and a scale that float rounds to another size than double does."""

    def forward(self, x):
        out = []
        for mode in ("bilinear", "bicubic"):
            for corners in (False, True):
                for size in ((5, 7), (19, 4), (23, 29), (1, 1), (13, 1)):
                    out.append(
                        F.interpolate(
                            x, size=size, mode=mode, align_corners=corners, antialias=True
                        )
                    )
            out.append(F.interpolate(x, scale_factor=(0.37, 1.3), mode=mode, antialias=True))
            out.append(F.interpolate(x, scale_factor=(1.7, 0.61), mode=mode, antialias=True))
            out.append(
                F.interpolate(
                    x[..., :1], size=(6, 4), mode=mode, align_corners=True, antialias=True
                )
            )
        long = x.reshape(1, 1, 2, -1)[..., :100]
        out.append(F.interpolate(long, scale_factor=(1, 0.29), mode="bilinear"))
        out.append(F.interpolate(long, scale_factor=(1, 0.29), mode="nearest"))
        return tuple(out)


class Unknown(nn.Module):
    """An operator that is refused, twice, among others that are not."""

    def forward(self, x):
        u, s, v = torch.linalg.svd(x @ x.t())
        return torch.fft.fft(x).real + 1, u @ v, torch.linalg.svd(x)[1] * 2


class Counter(nn.Module):
    """A buffer that the program writes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        return x + self.seen


def shrink(path, source):
    """Without stack traces, example inputs and padding."""
    with (
        zipfile.ZipFile(io.BytesIO(source)) as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new,
    ):
        for name in old.namelist():
            if "sample_inputs" in name or name.endswith("serialization_id"):
                continue
            data = old.read(name)
            if name.endswith(".json") and "/models/" in name:
                program = json.loads(data)

                def strip(graph):
                    for node in graph["nodes"]:
                        node["metadata"] = {
                            key: value
                            for key, value in node["metadata"].items()
                            if key == "nn_module_stack"
                        }
                        for argument in node["inputs"]:
                            if "as_graph" in argument["arg"]:
                                strip(argument["arg"]["as_graph"]["graph"])

                strip(program["graph_module"]["graph"])
                program["guards_code"] = []
                data = json.dumps(program, separators=(",", ":")).encode()
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(info, data)


def write(name, net, inputs, dynamic=None, train=False, decomposed=False):
    net.train(train)
    with torch.no_grad():
        program = torch.export.export(net, tuple(x.clone() for x in inputs), dynamic_shapes=dynamic)
        program = program.run_decompositions() if decomposed else program
        results = net.eval()(*[x.clone() for x in inputs])
    results = results if isinstance(results, tuple) else (results,)
    held = io.BytesIO()
    torch.export.save(program, held)
    shrink(OUT / f"{name}.pt2", held.getvalue())
    arrays = {f"in{i}": x.numpy() for i, x in enumerate(inputs)}
    arrays.update({f"out{i}": x.contiguous().numpy() for i, x in enumerate(results)})
    if not name.startswith("refuse"):
        np.savez_compressed(OUT / f"{name}.npz", **arrays)


def main():
    OUT.mkdir(exist_ok=True)
    torch.manual_seed(5)
    write("in_place", InPlace(), (torch.rand(4, 4),))
    write("large", Large(), (torch.tensor(VALUES),))
    write("not_numbers", NotNumbers(), (torch.tensor(ROWS),))
    write("averages", Averages(), (torch.randn(1, 2, 7, 8), torch.randn(1, 2, 7, 6, 8)))
    write("positions", Positions(), (torch.randn(2, 2, 7, 8).round(decimals=1),))
    write("products", Products(), (torch.rand(4, 3) + 0.5,))
    batch, length = torch.export.Dim("batch", max=8), torch.export.Dim("length", max=32)
    write("views", Views(), (torch.arange(24.0).view(4, 6) - 9,))
    write("writes_input", WritesInput(), (torch.arange(6.0).view(3, 2),))
    write("turns_in_place", TurnsInPlace(), (torch.arange(24.0).view(4, 6) - 9,))
    write("composed", Composed(), COMPOSED)
    write("dynamic", Dynamic(), (torch.randint(0, 11, (3, 7)),), {"ids": {0: batch, 1: length}})
    write("recurrent", Recurrent(), (torch.randn(2, 5, 6),))
    write("attention", Attention(), (torch.randn(2, 5, 12),))
    picture = Picture()
    write("picture", picture, (torch.randn(1, 3, 12, 16),), train=True)
    write("turned", Turned(), (torch.randn(1, 3, 6, 4),))
    write("types", Types(), (torch.arange(8), torch.rand(3, 4)))
    torch.manual_seed(7)
    write("antialias", Antialias(), (torch.randn(1, 2, 13, 16),))
    write("boxes", Boxes(), box_inputs())
    write("empty_rows", EmptyRows(), rows_without_keys())
    rows = torch.export.Dim("rows", max=64)
    write("experts", Experts(), (torch.randn(11, 12),), {"x": {0: rows}})
    write("decomposed", Decomposed(), (torch.rand(7, 8) - 0.5,), decomposed=True)
    write("refuse_unknown", Unknown(), (torch.rand(4, 4),))
    write("refuse_buffer", Counter(), (torch.rand(2, 3),))


if __name__ == "__main__":
    sys.exit(main())
