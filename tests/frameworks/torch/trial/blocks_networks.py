# SPDX-License-Identifier: Apache-2.0
"""Small networks of kinds that torchvision, timm and transformers lack: diffusion, audio, graphs,
point clouds. Their forms are the published ones, their widths small.

A name of NETWORKS gives the module and its inputs by their names. Needs torch.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def time_embedding(steps, width):
    """Vaswani et al., arXiv:1706.03762, 3.5, as denoising networks use it."""
    half = width // 2
    rates = torch.exp(-math.log(10000.0) * torch.arange(half) / half)
    angles = steps[:, None].float() * rates[None]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ResidualOfTime(nn.Module):
    """Ho et al., arXiv:2006.11239: a residual block told the step of diffusion."""

    def __init__(self, before, after, width):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, before), nn.GroupNorm(4, after)
        self.conv1 = nn.Conv2d(before, after, 3, padding=1)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(width, after)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class SpatialAttention(nn.Module):
    def __init__(self, width, heads=2):
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(4, width), heads
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, 3 * self.heads, c // self.heads, h * w).chunk(3, 1)
        scores = torch.einsum("bhcq,bhck->bhqk", q, k) / math.sqrt(c // self.heads)
        y = torch.einsum("bhqk,bhck->bhcq", scores.softmax(-1), v).reshape(b, c, h, w)
        return x + self.out(y)


class DenoisingUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.down = ResidualOfTime(16, 32, 32)
        self.pool = nn.Conv2d(32, 32, 3, stride=2, padding=1)
        self.middle, self.attention = ResidualOfTime(32, 32, 32), SpatialAttention(32)
        self.up = ResidualOfTime(64, 16, 32)
        self.last = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x, steps):
        t = self.time(time_embedding(steps, 16))
        a = self.down(self.first(x), t)
        b = self.attention(self.middle(self.pool(a), t))
        b = F.interpolate(b, scale_factor=2.0, mode="nearest")
        return self.last(F.silu(self.up(torch.cat([a, b], 1), t)))


class DiffusionTransformer(nn.Module):
    """Peebles and Xie, arXiv:2212.09748: blocks whose norms are scaled by the step."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(4, 32, 2, stride=2)
        self.place = nn.Parameter(torch.randn(1, 16, 32) * 0.1)
        self.norm1 = nn.LayerNorm(32, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(32, elementwise_affine=False)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(approximate="tanh"), nn.Linear(64, 32))
        self.scale = nn.Sequential(nn.SiLU(), nn.Linear(32, 6 * 32))
        self.last = nn.Linear(32, 16)

    def forward(self, x, steps):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.place
        c = self.scale(time_embedding(steps, 32))
        s1, g1, o1, s2, g2, o2 = c[:, None].chunk(6, dim=-1)
        h = self.norm1(x) * (1 + g1) + s1
        x = x + o1 * self.attention(h, h, h, need_weights=False)[0]
        x = x + o2 * self.mlp(self.norm2(x) * (1 + g2) + s2)
        y = self.last(x).view(-1, 4, 4, 2, 2, 4)
        return torch.einsum("nhwpqc->nchpwq", y).reshape(-1, 4, 8, 8)


class CrossAttentionBlock(nn.Module):
    """Rombach et al., arXiv:2112.10752: image tokens that look at text."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(3))
        self.inner = nn.MultiheadAttention(32, 4, batch_first=True)
        self.outer = nn.MultiheadAttention(32, 4, kdim=24, vdim=24, batch_first=True)
        self.gate, self.out = nn.Linear(32, 128), nn.Linear(64, 32)

    def forward(self, x, text):
        h = self.norms[0](x)
        x = x + self.inner(h, h, h)[0]
        x = x + self.outer(self.norms[1](x), text, text)[0]
        value, gate = self.gate(self.norms[2](x)).chunk(2, -1)
        return x + self.out(value * F.gelu(gate))


class ImageDecoder(nn.Module):
    """The decoder of an autoencoder with quantized codes: the nearest row of a table."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(20, 8)
        self.up1 = nn.ConvTranspose2d(8, 16, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(16, 3, 4, stride=2, padding=1)
        self.norm = nn.InstanceNorm2d(16)

    def forward(self, x):
        b, c, h, w = x.shape
        flat = x.permute(0, 2, 3, 1).reshape(-1, c)
        nearest = torch.cdist(flat, self.codes.weight).argmin(-1)
        z = self.codes(nearest).view(b, h, w, c).permute(0, 3, 1, 2)
        return torch.tanh(self.up2(F.relu(self.norm(self.up1(z)))))


class Separator(nn.Module):
    """Luo and Mesgarani, arXiv:1809.07454: masks of two speakers over learned frames."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Conv1d(1, 32, 16, stride=8, bias=False)
        self.norm = nn.GroupNorm(1, 32, eps=1e-8)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(32, 48, 1),
                nn.PReLU(),
                nn.GroupNorm(1, 48),
                nn.Conv1d(48, 48, 3, padding=2**i, dilation=2**i, groups=48),
                nn.PReLU(),
                nn.Conv1d(48, 32, 1),
            )
            for i in range(3)
        )
        self.masks = nn.Conv1d(32, 64, 1)
        self.decoder = nn.ConvTranspose1d(32, 1, 16, stride=8, bias=False)

    def forward(self, x):
        frames = self.encoder(x.unsqueeze(1))
        h = self.norm(frames)
        for block in self.blocks:
            h = h + block(h)
        masks = torch.sigmoid(self.masks(h)).view(x.shape[0], 2, 32, -1)
        parts = (masks * frames.unsqueeze(1)).flatten(0, 1)
        return self.decoder(parts).view(x.shape[0], 2, -1)


class SpectrogramClassifier(nn.Module):
    """Power spectrogram, mel bands and decibels within the network, then convolutions."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("mel", torch.rand(33, 12))
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        s = torch.stft(x, 64, 16, window=self.window, return_complex=True).abs().pow(2)
        mel = torch.matmul(s.transpose(1, 2), self.mel).clamp(min=1e-6)
        db = 10 * torch.log10(mel)
        db = torch.maximum(db, db.amax(dim=(1, 2), keepdim=True) - 80)
        return self.head(self.conv(db.unsqueeze(1)).flatten(1))


class SpeechEnhancer(nn.Module):
    """A mask over a spectrum and back to sound."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.gru, self.mask = nn.GRU(17, 24, batch_first=True), nn.Linear(24, 17)

    def forward(self, x):
        s = torch.stft(x, 32, 8, window=self.window, return_complex=True)
        mask = torch.sigmoid(self.mask(self.gru(s.abs().transpose(1, 2))[0])).transpose(1, 2)
        return torch.istft(s * mask, 32, 8, window=self.window, length=x.shape[-1])


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 16, 1)
        self.filters = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=2**i) for i in range(4))
        self.outs = nn.ModuleList(nn.Conv1d(16, 16, 1) for _ in range(4))
        self.last = nn.Conv1d(16, 32, 1)

    def forward(self, x):
        h, skip = self.first(x), 0
        for i, (f, o) in enumerate(zip(self.filters, self.outs)):
            a, g = f(F.pad(h, (2**i, 0))).chunk(2, 1)
            y = o(torch.tanh(a) * torch.sigmoid(g))
            skip, h = skip + y, h + y
        return F.log_softmax(self.last(F.relu(skip)), 1)


class Vocoder(nn.Module):
    """Kong et al., arXiv:2010.05646: weight-normalized transposed convolutions and residuals."""

    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.first = norm(nn.Conv1d(20, 32, 7, padding=3))
        self.up = norm(nn.ConvTranspose1d(32, 16, 8, stride=4, padding=2))
        self.residual = nn.ModuleList(
            norm(nn.Conv1d(16, 16, 3, padding=d, dilation=d)) for d in (1, 3)
        )
        self.last = norm(nn.Conv1d(16, 1, 7, padding=3))

    def forward(self, mel):
        x = self.up(F.leaky_relu(self.first(mel), 0.1))
        for conv in self.residual:
            x = x + conv(F.leaky_relu(x, 0.1))
        return torch.tanh(self.last(F.leaky_relu(x)))


class KeywordSpotter(nn.Module):
    """Convolutions, a bidirectional recurrence, attention over time."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, (5, 1), padding=(2, 0)), nn.BatchNorm2d(8))
        self.rnn = nn.LSTM(160, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.query, self.head = nn.Linear(48, 48), nn.Linear(48, 6)

    def forward(self, mel):
        x = F.relu(self.conv(mel.unsqueeze(1))).permute(0, 2, 1, 3).flatten(2)
        h, _ = self.rnn(x)
        scores = torch.bmm(h, self.query(h[:, -1]).unsqueeze(2)).softmax(1)
        return self.head((scores * h).sum(1))


class SequenceTagger(nn.Module):
    """Sequences of different lengths, packed for a recurrent layer."""

    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(40, 16), nn.LSTM(16, 12, bidirectional=True)
        self.head = nn.Linear(24, 5)

    def forward(self, ids):
        lengths = torch.tensor([9, 6, 4])
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids).transpose(0, 1), lengths)
        padded, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0])
        return self.head(padded).transpose(0, 1)


class GraphConvolution(nn.Module):
    """Kipf and Welling, arXiv:1609.02907, over a list of edges."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)

    def spread(self, x, edges):
        source, target = edges[0], edges[1]
        degree = torch.ones(x.shape[0]).index_add(0, target, torch.ones(edges.shape[1]))
        scale = degree.rsqrt()
        messages = x[source] * (scale[source] * scale[target]).unsqueeze(1)
        own = x * (scale * scale).unsqueeze(1)
        return own.index_add(0, target, messages)

    def forward(self, x, edges):
        return self.spread(self.two(F.relu(self.spread(self.one(x), edges))), edges).log_softmax(1)


class GraphAttention(nn.Module):
    """Velickovic et al., arXiv:1710.10903: a softmax over the edges into each node."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 12, bias=False)
        self.left, self.right = nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        h = self.project(x)
        score = F.leaky_relu(self.left(h)[source] + self.right(h)[target], 0.2).squeeze(1)
        most = torch.full((x.shape[0],), -1e30).scatter_reduce(0, target, score, "amax")
        weight = torch.exp(score - most[target])
        total = torch.zeros(x.shape[0]).scatter_add(0, target, weight)
        part = (weight / (total[target] + 1e-16)).unsqueeze(1) * h[source]
        out = torch.zeros_like(h).scatter_add(0, target.unsqueeze(1).expand_as(part), part)
        return F.elu(out)


class GraphSample(nn.Module):
    """Hamilton et al., arXiv:1706.02216: the mean of the neighbors beside the node."""

    def __init__(self):
        super().__init__()
        self.own, self.near = nn.Linear(8, 12), nn.Linear(8, 12, bias=False)

    def forward(self, x, edges):
        target = edges[1].unsqueeze(1).expand(-1, x.shape[1])
        mean = torch.zeros_like(x).scatter_reduce(
            0, target, x[edges[0]], "mean", include_self=False
        )
        return F.normalize(self.own(x) + self.near(mean), dim=1)


class DenseGraph(nn.Module):
    """Molecules: an adjacency matrix, degrees, gated updates and a pooled readout."""

    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(8, 8), nn.GRUCell(8, 8)
        self.gate, self.head = nn.Linear(16, 1), nn.Linear(8, 3)

    def forward(self, x, adjacency):
        b, n, c = x.shape
        h = x
        for _ in range(2):
            m = torch.bmm(adjacency, self.message(h)) / adjacency.sum(-1, True).clamp(min=1)
            h = self.update(m.reshape(-1, c), h.reshape(-1, c)).view(b, n, c)
        gate = torch.sigmoid(self.gate(torch.cat([h, x], -1)))
        return self.head((gate * h).sum(1))


class PointNet(nn.Module):
    """Qi et al., arXiv:1612.00593, with the transform of its input."""

    def __init__(self):
        super().__init__()
        self.turn = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
        self.matrix = nn.Linear(16, 9)
        self.points = nn.Sequential(
            nn.Conv1d(3, 24, 1), nn.BatchNorm1d(24), nn.ReLU(), nn.Conv1d(24, 32, 1)
        )
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        t = self.matrix(self.turn(x).max(dim=2)[0]).view(-1, 3, 3) + torch.eye(3)
        y = torch.bmm(x.transpose(2, 1), t).transpose(2, 1)
        return self.head(self.points(y).max(dim=2)[0]).log_softmax(-1)


class EdgeConvolution(nn.Module):
    """Wang et al., arXiv:1801.07829: the nearest neighbors in the space of features."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(6, 16, 1, bias=False), nn.BatchNorm2d(16))

    def forward(self, x):
        b, c, n = x.shape
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        square = torch.sum(x**2, dim=1, keepdim=True)
        index = (-square - inner - square.transpose(2, 1)).topk(k=4, dim=-1)[1]
        flat = (index + torch.arange(b).view(-1, 1, 1) * n).view(-1)
        points = x.transpose(2, 1).contiguous()
        near = points.view(b * n, -1)[flat, :].view(b, n, 4, c)
        own = points.view(b, n, 1, c).repeat(1, 1, 4, 1)
        edges = torch.cat((near - own, own), dim=3).permute(0, 3, 1, 2).contiguous()
        return F.leaky_relu(self.conv(edges), 0.2).max(dim=-1)[0]


class SetAbstraction(nn.Module):
    """Qi et al., arXiv:1706.02413: the farthest points, balls around them, maxima."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv2d(3, 12, 1), nn.BatchNorm2d(12), nn.ReLU())

    def forward(self, x):
        b, n, _ = x.shape
        rows = torch.arange(b)
        distance, farthest = torch.full((b, n), 1e10), torch.zeros(b, dtype=torch.long)
        chosen = []
        for _ in range(6):
            chosen.append(farthest)
            center = x[rows, farthest].unsqueeze(1)
            distance = torch.minimum(distance, ((x - center) ** 2).sum(-1))
            farthest = distance.max(-1)[1]
        centers = torch.gather(x, 1, torch.stack(chosen, 1).unsqueeze(-1).expand(-1, -1, 3))
        apart = torch.cdist(centers, x)
        index = torch.arange(n).expand(b, 6, n).clone()
        index = torch.where(apart > 1.2, torch.full_like(index, n), index)
        index = index.sort(dim=-1)[0][:, :, :5]
        index = torch.where(index == n, index[:, :, :1].expand(-1, -1, 5), index)
        near = torch.gather(
            x.unsqueeze(1).expand(-1, 6, -1, -1), 2, index.unsqueeze(-1).expand(-1, -1, -1, 3)
        )
        return self.mlp((near - centers.unsqueeze(2)).permute(0, 3, 2, 1)).max(2)[0]


class PointTransformer(nn.Module):
    """Zhao et al., arXiv:2012.09164: attention by differences over the nearest points."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.place = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8))
        self.weight = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, places, x):
        index = torch.cdist(places, places).topk(4, largest=False)[1]
        rows = torch.arange(x.shape[0]).view(-1, 1, 1)
        where = self.place(places.unsqueeze(2) - places[rows, index])
        score = self.weight(self.q(x).unsqueeze(2) - self.k(x)[rows, index] + where)
        return ((self.v(x)[rows, index] + where) * score.softmax(2)).sum(2)


class FlowWarp(nn.Module):
    """Optical flow: a correlation of two images, and one of them sampled where the flow says."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 8, 3, padding=1)
        self.flow = nn.Conv2d(9, 2, 3, padding=1)

    def forward(self, x, y):
        a, b = self.features(x), self.features(y)
        n, c, h, w = a.shape
        near = F.unfold(b, 3, padding=1).view(n, c, 9, h, w)
        flow = self.flow((a.unsqueeze(2) * near).mean(1))
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        places = torch.stack((columns, rows), -1).float() + flow.permute(0, 2, 3, 1)
        scale = torch.tensor([w - 1, h - 1]) / 2
        return F.grid_sample(y, places / scale - 1, align_corners=True)


def edges(nodes, count):
    return torch.randint(0, nodes, (2, count))


NETWORKS = {
    "denoising_unet": lambda: (
        DenoisingUnet(),
        {"x": torch.randn(2, 3, 16, 16), "y": torch.tensor([3, 70])},
    ),
    "diffusion_transformer": lambda: (
        DiffusionTransformer(),
        {"x": torch.randn(2, 4, 8, 8), "y": torch.tensor([3, 70])},
    ),
    "cross_attention": lambda: (
        CrossAttentionBlock(),
        {"x": torch.randn(2, 9, 32), "y": torch.randn(2, 5, 24)},
    ),
    "image_decoder": lambda: (ImageDecoder(), {"x": torch.randn(1, 8, 4, 4)}),
    "separator": lambda: (Separator(), {"x": torch.randn(2, 160)}),
    "spectrogram_classifier": lambda: (SpectrogramClassifier(), {"x": torch.randn(2, 320)}),
    "speech_enhancer": lambda: (SpeechEnhancer(), {"x": torch.randn(2, 320)}),
    "wavenet": lambda: (WaveNet(), {"x": torch.randn(1, 1, 40)}),
    "vocoder": lambda: (Vocoder(), {"x": torch.randn(1, 20, 12)}),
    "keyword_spotter": lambda: (KeywordSpotter(), {"x": torch.randn(2, 14, 20)}),
    "sequence_tagger": lambda: (SequenceTagger(), {"x": torch.randint(0, 40, (3, 9))}),
    "graph_convolution": lambda: (
        GraphConvolution(),
        {"x": torch.randn(10, 8), "y": edges(10, 30)},
    ),
    "graph_attention": lambda: (GraphAttention(), {"x": torch.randn(10, 8), "y": edges(10, 30)}),
    "graph_sample": lambda: (GraphSample(), {"x": torch.randn(10, 8), "y": edges(10, 30)}),
    "dense_graph": lambda: (
        DenseGraph(),
        {"x": torch.randn(2, 6, 8), "y": (torch.rand(2, 6, 6) > 0.5).float()},
    ),
    "point_net": lambda: (PointNet(), {"x": torch.randn(2, 3, 20)}),
    "edge_convolution": lambda: (EdgeConvolution(), {"x": torch.randn(2, 3, 12)}),
    "set_abstraction": lambda: (SetAbstraction(), {"x": torch.randn(2, 16, 3)}),
    "point_transformer": lambda: (
        PointTransformer(),
        {"x": torch.randn(2, 10, 3), "y": torch.randn(2, 10, 8)},
    ),
    "flow_warp": lambda: (
        FlowWarp(),
        {"x": torch.rand(1, 3, 12, 14), "y": torch.rand(1, 3, 12, 14)},
    ),
}
