# SPDX-License-Identifier: Apache-2.0
"""Pools: averages by a divisor of their own, maxima with their positions, and those positions
used."""

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.ops import roi_align


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


class Boxes(nn.Module):
    """Pools of boxes of an image, as detectors have them: [K, 5], and a list for each image."""

    def forward(self, x: torch.Tensor, rois: torch.Tensor, boxes: torch.Tensor):
        return (
            torch.ops.torchvision.roi_align(x, rois, 1.0, 2, 3, 2, False),
            torch.ops.torchvision.roi_align(x, rois, 0.5, 3, 2, -1, True),
            torch.ops.torchvision.roi_align(x, rois, 0.9, 1, 1, 0, False),
            roi_align(x, [boxes, boxes[1:]], [2, 2], 0.7, 3, True),
        )


def box_inputs():
    rng = torch.Generator().manual_seed(11)
    corners = torch.rand(2, 6, 2, generator=rng) * 14 - 2
    boxes = torch.cat([corners.amin(0), corners.amax(0)], 1)
    images = torch.tensor([1.0, 0, 1, 1, 0, 0]).view(6, 1)
    return torch.randn(2, 5, 9, 11, generator=rng), torch.cat([images, boxes], 1), boxes


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
