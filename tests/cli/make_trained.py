#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/cli/data/trained_*.pth: weights for linear.onnx as a parallel wrapper saves them, on
devices that need not be here (the tags are forged when saving; the values are CPU's). Made with
torch 2.x by: python3 tests/cli/make_trained.py"""

import pathlib

import torch

here = pathlib.Path(__file__).resolve().parent / "data"


def save(name, w_on, b_on):
    w, b = (
        torch.arange(12, dtype=torch.float32).reshape(4, 3) / 4 - 1,
        torch.tensor([0.5, -0.5, 1.0]),
    )
    tags = {w.untyped_storage().data_ptr(): w_on, b.untyped_storage().data_ptr(): b_on}
    honest = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: (
        tags.get(storage.data_ptr()) or honest(storage)
    )
    torch.save({"epoch": 3, "state_dict": {"module.w": w, "module.b": b}}, here / name)
    torch.serialization.location_tag = honest


save("trained_cuda.pth", "cuda:1", "cuda:1")
save("trained_fakes.pth", "fake:1", "fake:0")
