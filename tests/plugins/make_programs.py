# SPDX-License-Identifier: Apache-2.0
"""Writes data/rows.pt2 and data/rows.pt: a module that calls odd::rows, an operator that PyTorch
knows by its meta function alone here. Run again where the test's module changes.
  make_programs.py FOLDER     (needs torch)"""

import sys

import torch


@torch.library.custom_op("odd::rows", mutates_args=())
def rows(x: torch.Tensor, window: int, stride: int) -> torch.Tensor:
    return torch.stack([x[r : r + window].sum(0) for r in range(0, len(x) - window + 1, stride)])


@rows.register_fake
def _(x, window, stride):
    return x.new_empty([(x.shape[0] - window) // stride + 1, x.shape[1]])


class Net(torch.nn.Module):
    def forward(self, x):
        return -torch.ops.odd.rows(x.abs(), 3, 2)


x = torch.randn(9, 6)
count = torch.export.Dim("N", min=5, max=64)
torch.export.save(
    torch.export.export(Net(), (x,), dynamic_shapes={"x": {0: count}}), sys.argv[1] + "/rows.pt2"
)
torch.jit.trace(Net(), (x,)).save(sys.argv[1] + "/rows.pt")
