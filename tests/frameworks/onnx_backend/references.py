# SPDX-License-Identifier: Apache-2.0
"""Operators in numpy, as their documents say them: what run_forms.py compares with."""

import numpy as np


def align_one(x, box, bins, samples, aligned, largest):
    """RoiAlign of one box (scaled) of one image [C, H, W]."""
    h, w = x.shape[1:]
    taps = []
    for low, high, count, extent in ((box[1], box[3], bins[0], h), (box[0], box[2], bins[1], w)):
        start = low - 0.5 * aligned
        size = (high - low if aligned else max(high - low, 1)) / count
        n = samples or int(np.ceil(size))
        taps.append([])
        for b in range(count):
            at = [start + b * size + (k + 0.5) * size / n for k in range(n)]
            taps[-1].append([max(0, min(p, extent - 1)) if -1 <= p <= extent else None for p in at])
    y = np.zeros((x.shape[0], *bins))
    for i, j in np.ndindex(*bins):
        parts = []
        for r in taps[0][i]:
            for c in taps[1][j]:
                if r is None or c is None:
                    parts += [np.zeros(x.shape[0])] * 4
                    continue
                for dr in (0, 1):
                    for dc in (0, 1):
                        weight = abs(1 - dr - r % 1) * abs(1 - dc - c % 1)
                        row, column = min(int(r) + dr, h - 1), min(int(c) + dc, w - 1)
                        parts.append(weight * x[:, row, column])
        if parts:
            y[:, i, j] = np.max(parts, 0) if largest else np.sum(parts, 0) * 4 / len(parts)
    return y
