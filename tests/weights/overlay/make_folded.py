#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/weights/overlay/data: exports in which constants stand for weights, and one whose
constants are none.

  make_folded.py

The newer ONNX exporter (torch 2.15) computes what reads constants alone: the first step of a cell,
whose state is zero, and the row of a table that a constant chooses. NAME.onnx is the export of an
untrained network, NAME.pth the weights of the trained one. `stated` has what a program states or
makes by a formula: a table of sines, a mask, positions, a mean and a deviation, a first state.
"""

import copy
import pathlib
import warnings

import onnx
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent / "data"


class LstmCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        state = None
        for step in range(3):
            state = self.cell(x[:, step], state)
        return self.head(state[0])


class GruCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        state = torch.zeros(2, 5)
        for step in range(3):
            state = self.cell(x[:, step], state)
        return self.head(state)


class Row(nn.Module):
    """A table that the input reads, and a constant."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(7, 4), nn.Linear(4, 3)

    def forward(self, ids):
        return self.head(self.table(ids) + self.table(torch.tensor([2])))


class Scaled(nn.Module):
    """A weight that is read as it is, and a function of it that the exporter computes."""

    def __init__(self):
        super().__init__()
        self.scale, self.head = nn.Parameter(torch.randn(4)), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x * torch.exp(self.scale) + self.scale)


class Stated(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.cell = nn.Linear(16, 3), nn.GRU(16, 16, batch_first=True)
        positions, pairs = torch.arange(12.0)[:, None], torch.arange(8.0)
        angles = positions / 10000 ** (2 * pairs / 16)
        self.register_buffer("sines", torch.cat([angles.sin(), angles.cos()], 1), persistent=False)
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406, 0.5] * 4), persistent=False)

    def forward(self, x):
        mask = torch.full((12, 12), float("-inf")).triu(1)
        x = (x - self.mean) + self.sines
        weights = (x @ x.transpose(1, 2) / 4 + mask).softmax(-1)
        y, _ = self.cell(weights @ x, torch.zeros(1, 2, 16))
        return self.head(y + torch.linspace(0, 1, 12)[:, None])


def forget_traces(path):
    """Of what the exporter says of nodes and values, the modules alone stay: no paths of this
    machine."""
    model = onnx.load(path)
    del model.metadata_props[:]
    del model.graph.value_info[:]
    for item in [
        model.graph,
        *model.graph.node,
        *model.graph.input,
        *model.graph.output,
        *model.graph.initializer,
    ]:
        kept = [p for p in item.metadata_props if p.key == "pkg.torch.onnx.name_scopes"]
        del item.metadata_props[:]
        item.metadata_props.extend(kept)
        item.doc_string = ""
    onnx.save(model, path)


def main():
    HERE.mkdir(exist_ok=True)
    nets = {
        "lstm_cell": (LstmCell, torch.randn(2, 3, 6)),
        "gru_cell": (GruCell, torch.randn(2, 3, 6)),
        "row": (Row, torch.tensor([1, 5])),
        "scaled": (Scaled, torch.randn(2, 4)),
        "stated": (Stated, torch.randn(2, 12, 16)),
    }
    for number, (name, (make, x)) in enumerate(nets.items()):
        torch.manual_seed(number)
        net = make().eval()
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                net,
                (x,),
                str(HERE / f"{name}.onnx"),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
            forget_traces(HERE / f"{name}.onnx")
            trained = copy.deepcopy(net)
            for parameter in trained.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
        torch.save(trained.state_dict(), HERE / f"{name}.pth")


main()
