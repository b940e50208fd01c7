# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts as transformers 5 exports it."""

import torch
import torch.nn.functional as F
from torch import nn


@torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
def grouped_mm(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    out = input.new_zeros(input.shape[0], weight.shape[2])
    begin = 0
    for expert, end in enumerate(offs.tolist()):
        out[begin:end] = input[begin:end] @ weight[expert]
        begin = end
    return out


@grouped_mm.register_fake
def _(input, weight, offs):
    return input.new_empty(input.shape[0], weight.shape[2])


class Experts(nn.Module):
    """Each row goes to two of five experts, of which some get none: the up projection by
    transformers' operator, the down projection by PyTorch's."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(12, 5, bias=False)
        self.up = nn.Parameter(torch.randn(5, 2 * 8, 12) / 4)  # transposed, as Qwen's
        self.down = nn.Parameter(torch.randn(5, 8, 12) / 4)  # as it is multiplied, as gpt-oss's

    def forward(self, x):
        weights, chosen = torch.topk(F.softmax(self.router(x), -1), 2)
        experts, order = torch.sort(chosen.reshape(-1))
        rows = torch.histc(experts.float(), bins=5, min=0, max=4)
        ends = torch.cumsum(rows, 0, dtype=torch.int32)
        up = grouped_mm(x[order // 2], self.up.transpose(-2, -1), ends)
        gate, up = up.chunk(2, -1)
        down = torch._grouped_mm(F.silu(gate) * up, self.down, offs=ends)
        down = down * weights.reshape(-1)[order][:, None]
        back = torch.argsort(order)
        return down[back].view(-1, 2, 12).sum(1), ends
