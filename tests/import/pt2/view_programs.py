# SPDX-License-Identifier: Apache-2.0
"""Modules that write through views of views. Whatever looks at the same memory must see it, and
copies must not."""

import torch
from torch import nn


class Views(nn.Module):
    def forward(self, x: torch.Tensor):
        a = x.clone()
        turned = a.t()
        flat = a.view(-1)
        a[:2].view(-1).add_(1)
        a[1].view(2, 3).copy_(torch.ones(2, 3) * 9)
        a.split(2)[1].view(-1).mul_(3)
        a.view(-1)[3:9].view(2, 3).mul_(2)
        a.t().unsqueeze(0)[0, 2].view(-1).add_(1)
        a[1:3].reshape(12).add_(5)
        a[:, 1:3].reshape(8).add_(50)  # a copy
        a[:, :2].flatten().add_(50)  # a copy
        a.t().reshape(-1).add_(50)  # a copy
        b = x.clone()
        rows = b.view(2, 2, 6)
        rows[:, 0].view(2, 2, 3)[1].add_(1)
        b.chunk(2, 1)[1].view(4, 3).sub_(2)
        b.unbind(0)[2].view(3, 2).t().mul_(3)
        b.narrow(0, 1, 2).view(-1).neg_()
        b[::2].view(2, 6)[1].add_(7)
        b.unflatten(1, (2, 3))[:, 1].add_(4)
        b[0:1].expand(1, 6).view(6).add_(1)
        b[1:][1:].view(-1)[2:].sub_(3)
        b.diagonal().view(-1).mul_(2)
        b[:2].view(-1).add_(1).view(3, 4)[1].zero_()
        b.movedim(0, 1)[1].add_(1)
        c = x.clone()
        c.view(4, 2, 3).transpose(1, 2).flatten(1)[0].add_(50)  # a copy
        c.t().contiguous()[0].add_(50)  # a copy
        c.contiguous()[0].view(-1).add_(1)
        c[1:3].relu_().view(-1).neg_()
        c[1][c[1] < -7] = 1.0
        return a, turned + 0, flat + 0, b, rows + 0, c


class WritesInput(nn.Module):
    """Its input is written in place and read again."""

    def forward(self, x: torch.Tensor):
        half = x[:2]
        y = x * 2
        x.add_(1)
        x[1].view(-1).mul_(3)
        return y + x, half + 0, x


class TurnsInPlace(nn.Module):
    """What a tensor shows changes in place: others show what they showed, and all share the
    memory."""

    def forward(self, x: torch.Tensor):
        a = x.clone()
        row, flat = a[1], a.view(-1)
        a.t_()
        a[2].fill_(9)
        copied = a.reshape(24)
        row.add_(10)
        b = x[:, :4].clone()
        part = b[1:3].transpose(0, 1)
        part.unsqueeze_(1)
        b.transpose_(0, 1)
        part[3].zero_()
        b.swapaxes_(0, 1).mul_(2)
        part.squeeze_(1).t_()
        part[0].sub_(5)
        c = x.clone()
        c.unsqueeze_(0)
        d = c.squeeze(0)
        c.squeeze_()
        c.view(-1)[:3] = 1.5
        e = (x.t() + 0).reshape(-1)
        return a, row + 0, flat + 0, copied, b, part, c, d + 0, e


class Rows(nn.Module):
    """Rows are written in a loop whose number of rounds is a dimension."""

    def forward(self, x: torch.Tensor):
        y = torch.zeros_like(x)
        total = torch.zeros([x.size(1)])
        for i in range(x.size(0)):
            total = total + x[i]
            y[i].copy_(total)
            y[i].view(-1)[:1].neg_()
        return y


class v10Detect(nn.Module):  # noqa: N801
    """A class whose name begins with a small letter, as ultralytics has one."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * self.scale)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = v10Detect()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x) + 1
