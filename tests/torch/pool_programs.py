"""Pools: averages by a divisor of their own, maxima with their positions, and those positions
used."""

import torch
import torch.nn.functional as F
from torch import nn


class Averages(nn.Module):
    def forward(self, x: torch.Tensor, volume: torch.Tensor):
        return (
            F.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, False, 5),
            F.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, True, 1),
            F.avg_pool2d(x, [2, 3], [2, 2], [0, 1], False, False, -2),
            F.avg_pool2d(x, [2, 2], [2, 2], [0, 0], True, True),
            F.avg_pool3d(volume, [3, 3, 3], [2, 2, 2], [1, 1, 1], True, True, 4),
            F.avg_pool3d(volume, [2, 3, 2], [2, 2, 2], [1, 1, 0], False, False, 7),
        )


class Positions(nn.Module):
    def forward(self, x: torch.Tensor):
        a, where_a = F.max_pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1], True, return_indices=True)
        b, where_b = F.max_pool2d(x, [2, 2], [2, 2], [0, 0], [2, 2], False, return_indices=True)
        c, where_c = F.max_pool1d(x[0], [3], [2], [1], [1], True, return_indices=True)
        d, where_d = F.adaptive_max_pool2d(x, [3, 4], return_indices=True)
        e, where_e = F.adaptive_max_pool2d(x, [1, 1], return_indices=True)
        f, where_f = F.max_pool2d(x, [2, 2], return_indices=True)
        back = F.max_unpool2d(f * 2, where_f, [2, 2], output_size=[7, 8])
        return a, where_a, b, where_b, c, where_c, d, where_d, e, where_e, back


class Products(nn.Module):
    """A number in the second place is a dimension, not a type."""

    def forward(self, x: torch.Tensor):
        return (
            torch.prod(x, 0),
            torch.prod(x, 1, True),
            torch.prod(x),
            torch.prod(x, dtype=torch.float64),
            torch.cumsum(x, 0),
        )
