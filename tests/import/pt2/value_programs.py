# SPDX-License-Identifier: Apache-2.0
"""Numbers beyond the usual ones: large, small, infinite, and NaN; rows of attention without
keys."""

import torch
import torch.nn.functional as F
from torch import nn


VALUES = [
    0.0,
    1e-10,
    -1e-10,
    1e-5,
    -1e-3,
    0.1,
    -0.3,
    0.5,
    0.9,
    -1.0,
    2.0,
    -3.0,
    5.0,
    -8.0,
    19.9,
    20.1,
    -20.0,
    40.0,
    -88.0,
    103.0,
    -200.0,
    1e3,
    -1e3,
    1e6,
    -1e6,
    1e10,
    -1e10,
    1e20,
    -1e30,
    1e37,
    float("inf"),
    float("-inf"),
]
NAN = float("nan")
ROWS = [
    [1.0, NAN, 3.0, 2.0],
    [NAN, 1.0, 2.0, 3.0],
    [3.0, 2.0, 1.0, NAN],
    [4.0, 1.0, -7.0, 2.0],
    [NAN, NAN, NAN, NAN],
    [0.0, -1.0, 5.0, NAN],
]


class Large(nn.Module):
    """Activations and quotients over the whole range of f32."""

    def forward(self, x: torch.Tensor):
        return (
            F.softplus(x),
            F.softplus(x, 2.0, 20.0),
            F.softplus(x, 1.5, 3.0),
            F.mish(x),
            F.elu(x, 2.5),
            F.silu(x),
            F.hardswish(x),
            F.logsigmoid(x),
            F.selu(x),
            F.celu(x, 0.3),
            F.softsign(x),
            F.threshold(x, 0.1, 20.0),
            F.softshrink(x),
            F.hardshrink(x),
            torch.expm1(x),
            torch.log1p(x),
            torch.sign(x),
            torch.remainder(x, 3.0),
            torch.remainder(x, -0.1),
            torch.div(x, 0.1, rounding_mode="floor"),
            torch.floor_divide(x, -3.0),
            torch.erf(x),
            torch.tanh(x),
        )


class NotNumbers(nn.Module):
    """NaN goes through maxima, minima, pools and orders."""

    def forward(self, x: torch.Tensor):
        y = x.flip(0)
        image = x[None, None]
        low, high = torch.zeros(4), torch.ones(4) * 2
        return (
            torch.maximum(x, y),
            torch.minimum(x, y),
            torch.maximum(x, torch.ones(4)),
            torch.minimum(torch.ones(4), x),
            torch.fmax(x, y),
            torch.fmin(x, y),
            torch.clamp(x, low, high),
            torch.clamp(x, -1.0, 1.0),
            torch.clamp(x, min=0.5),
            F.max_pool2d(image, 2),
            F.max_pool2d(image, 3, 1, 1),
            F.adaptive_max_pool2d(image, [3, 2]),
            x.amax(1),
            x.amin(0),
            x.max(1)[0],
            x.max(1)[1],
            x.min(1)[1],
            x.argmax(0),
            x.argmin(),
            x.topk(2, 1)[0],
            x.sort(1)[0],
            x.sum(0),
            x.mean(1),
            F.relu(x),
            torch.sign(x),
            F.threshold(x, 0.1, 20.0),
            F.softshrink(x),
            F.hardshrink(x),
            x.logsumexp(1),
            F.max_pool2d(image, 2, return_indices=True)[1],
            F.adaptive_max_pool2d(image, [4, 3], return_indices=True)[1],
            F.adaptive_max_pool2d(image, [1, 1], return_indices=True)[1],
        )


class Composed(nn.Module):
    """Operators that are a few of the others; infinities in front of NaN; "..." in equations."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, i: torch.Tensor):
        image = torch.linspace(-3, 3, 120).view(1, 2, 6, 10) * y[0, 0]
        columns = F.unfold(image, [3, 2], [1, 2], [1, 0], [2, 1])
        folded = F.fold(columns, [6, 10], [3, 2], [1, 2], [1, 0], [2, 1])
        grid = F.affine_grid(y[:2, :3].view(1, 2, 3), [1, 2, 4, 5], align_corners=False)
        return (
            torch.isfinite(x),
            torch.isposinf(x),
            torch.isneginf(x),
            x.argmax(),
            x.argmin(),
            x.argmax(1),
            x.max(1)[1],
            x.min(0)[1],
            torch.heaviside(x, y),
            torch.logaddexp(x, y),
            F.rrelu(y, 0.1, 0.5),
            torch.exp2(y),
            torch.frac(y),
            torch.logit(y, 0.2),
            torch.rad2deg(y),
            y.index_add(0, i, y[:3], alpha=0.5),
            y.index_copy(1, i[1:], y[:, :2]),
            y.index_fill(1, i, 7.0),
            y.scatter_reduce(0, i.view(1, 3), y, "sum"),
            y.scatter_reduce(0, i.view(1, 3), y, "amin", include_self=False),
            torch.einsum("...i,...i->...", y, y),
            torch.einsum("ij,...j", y, y),
            torch.cdist(y, y + 1),
            torch.cdist(y, y + 1, 1.0),
            torch.cdist(y.repeat(512, 1), (y + 10).repeat(256, 1)).sum(1),
            F.pairwise_distance(y, y + 1, 3.0),
            torch.hstack([y, y]),
            torch.vstack([y[0], y]),
            torch.column_stack([y[:, 0], y]),
            columns,
            folded,
            F.grid_sample(image, grid, align_corners=False),
            F.grid_sample(image, grid, mode="nearest", padding_mode="border", align_corners=True),
            F.avg_pool2d(image, [40, 50], ceil_mode=True),
            F.max_pool2d(image, [9, 4], ceil_mode=True),
            F.avg_pool2d(image, [12, 12], padding=[2, 3], ceil_mode=True),
            F.max_pool2d(image, [4, 3], [9, 2], [1, 0], [3, 1], True),
            F.avg_pool2d(image, [12, 12], padding=[2, 3], ceil_mode=True, count_include_pad=False),
            F.batch_norm(image, None, None, y[0, :2], y[1, :2], True),
            F.batch_norm(y, None, None, training=True),
            torch.repeat_interleave(y, torch.tensor([2, 0, 1, 3]), dim=0),
        )


COMPOSED = (
    torch.tensor(
        [
            [1.0, float("inf"), NAN, 0.0],
            [float("-inf"), -1.0, 2.0, 2.0],
            [3.0, NAN, float("-inf"), float("inf")],
            [-0.0, 5.0, 5.0, -7.0],
        ]
    ),
    torch.linspace(-1.7, 2.3, 16).view(4, 4),
    torch.tensor([2, 0, 3]),
)


class EmptyRows(nn.Module):
    """Rows of attention whose mask leaves no key: zeros, NaN or the mean of the values, as each
    spelling has it."""

    def forward(self, x: torch.Tensor, seen: torch.Tensor):
        q = x.view(2, 5, 2, 4).transpose(1, 2)
        turned, v, hidden = (q + 1).transpose(2, 3), q * 2 + 1, seen.logical_not()
        never, lowest = float("-inf"), -3.4028234663852886e38
        added = torch.zeros([5, 5]).masked_fill(hidden, never)
        finite = torch.zeros([5, 5]).masked_fill(hidden, lowest)
        causal = torch.ones([5, 5], dtype=torch.bool).triu(1)
        # Scores of their own for each: what others read as well stays a softmax between two
        # products.
        s = [
            torch.matmul(q * scale, turned)
            for scale in [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65]
        ]
        masked = [
            s[0].masked_fill(hidden, never),
            s[1] + added,
            s[2] + finite,
            s[3].masked_fill(hidden, -1e9),
            s[4].masked_fill(causal, lowest).masked_fill(hidden, lowest),
            s[5].masked_fill(causal, never).masked_fill(hidden, lowest),
            s[6].masked_fill(hidden, lowest).masked_fill(causal, never),
            s[7].masked_fill(hidden, never).masked_fill(causal, never),
        ]
        spelled = torch.stack([torch.matmul(torch.softmax(m, -1), v) for m in masked])
        fused = torch.stack(
            [F.scaled_dot_product_attention(q, q + 1, v, mask) for mask in [added, finite]]
        )
        return spelled, fused, F.scaled_dot_product_attention(q, q + 1, v, seen)


def rows_without_keys():
    """Which keys each of five queries sees: the third none, the first only one behind it."""
    seen = torch.tensor(
        [[0, 0, 0, 1, 0], [1, 1, 0, 0, 1], [0] * 5, [1] * 5, [0, 0, 1, 1, 0]], dtype=torch.bool
    )
    return torch.randn(2, 5, 8), seen


class Decomposed(nn.Module):
    """What run_decompositions() makes other operators of; a check of errors under a token."""

    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(8)
        self.pairs = nn.Bilinear(8, 8, 4)

    def forward(self, x: torch.Tensor):
        y = self.norm(x)
        return (
            self.pairs(x, y),
            torch.cdist(x, y, p=1.0),
            torch.pdist(y),
            torch.nonzero_static(x > 0, size=12),
            torch.linalg.cholesky(x.t() @ x + torch.eye(8)),
            F.rrelu(x),
            F.hinge_embedding_loss(x, torch.ones_like(x)),
            torch.stft(x.flatten(), 16, window=torch.hann_window(16), return_complex=True).abs(),
        )
