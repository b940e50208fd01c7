# SPDX-License-Identifier: Apache-2.0
"""Networks for overlays, what fine-tuning does to them, and the ways in which trainers save the
result."""

import copy
import zlib

import torch
from torch import nn


class SmallCnn(nn.Module):
    """Normalizations after, before and without a convolution; grouped and transposed convolutions;
    a slope per channel."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.bn2, self.conv2 = nn.BatchNorm2d(16), nn.Conv2d(16, 16, 3, padding=1, groups=4)
        self.act = nn.PReLU(16)
        self.up, self.bn3 = nn.ConvTranspose2d(16, 16, 2, stride=2, groups=2), nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.act(self.conv2(torch.relu(self.bn2(x))))
        return self.fc(torch.relu(self.bn3(self.up(x))).mean((2, 3)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(),
            nn.Conv2d(o, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(),
        )
        self.down1, self.down2, self.middle = block(3, 8), block(8, 16), block(16, 16)
        self.up2, self.dec2 = nn.ConvTranspose2d(16, 16, 2, stride=2), block(32, 16)
        self.up1, self.dec1 = nn.ConvTranspose2d(16, 8, 2, stride=2), block(16, 8)
        self.out, self.pool = nn.Conv2d(8, 2, 1), nn.MaxPool2d(2)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.up2(self.middle(self.pool(b)))
        d = self.up1(self.dec2(torch.cat([b, c], 1)))
        return self.out(self.dec1(torch.cat([a, d], 1)))


class Mlp(nn.Module):
    """Square layers of one size only, so that nothing but names and places tells them apart."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(24, 24) for _ in range(4))
        self.norm = nn.LayerNorm(24)
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(self.norm(x)))
        return self.head(x)


class Recurrent(nn.Module):
    """Two recurrent layers of one shape, in both directions, and one of another kind."""

    def __init__(self):
        super().__init__()
        self.first = nn.LSTM(12, 12, 2, batch_first=True)
        self.both = nn.LSTM(12, 8, 1, batch_first=True, bidirectional=True)
        self.last = nn.GRU(16, 10, 2, batch_first=True)
        self.head = nn.Linear(10, 4)

    def forward(self, x):
        x, _ = self.first(x)
        x, _ = self.both(x)
        x, _ = self.last(x)
        return self.head(x)


class Encoder(nn.Module):
    """A transformer of torch's own layers: every matrix of a block but two is square and of one
    size."""

    def __init__(self):
        super().__init__()
        self.embed, self.pos = nn.Embedding(50, 32), nn.Parameter(torch.zeros(1, 10, 32))
        self.blocks = nn.ModuleList(EncoderBlock(32) for _ in range(3))
        self.head = nn.Linear(32, 50)

    def forward(self, ids):
        x = self.embed(ids) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class EncoderBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.fc1, self.fc2 = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        y = self.norm1(x)
        heads = lambda t: t.reshape(1, 10, 4, 8).transpose(1, 2)
        weights = (heads(self.query(y)) @ heads(self.key(y)).transpose(2, 3) / 8**0.5).softmax(-1)
        x = x + self.out((weights @ heads(self.value(y))).transpose(1, 2).reshape(1, 10, 32))
        return x + self.fc2(nn.functional.gelu(self.fc1(self.norm2(x))))


class Attention(nn.Module):
    """torch.nn's own attention: query, key and value in one matrix."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.attn = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        x = self.layer(x)
        return self.head(x + self.attn(x, x, x, need_weights=False)[0])


class Shared(nn.Module):
    """Modules that are called twice, and a matrix with two names."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 12), nn.Linear(12, 20, bias=False)
        self.head.weight = self.embed.weight
        self.conv, self.norm = nn.Conv1d(12, 12, 3, padding=1, bias=False), nn.BatchNorm1d(12)
        self.lstm = nn.LSTM(12, 12, 2, batch_first=True)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        for _ in range(2):
            x = torch.relu(self.norm(self.conv(x)))
        x = x.transpose(1, 2)
        for _ in range(2):
            x, _ = self.lstm(x)
        return self.head(x)


class Orders(nn.Module):
    """Normalizations that the checkpoint does not keep behind their layers, that stand before them,
    and one without weights; all of one width."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.pre1, self.conv3, self.pre2, self.conv4 = (
            nn.BatchNorm2d(8),
            nn.Conv2d(8, 8, 1),
            nn.BatchNorm2d(8, affine=False),
            nn.Conv2d(8, 8, 1),
        )

    def forward(self, x):
        x = torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))
        return x + self.conv4(torch.relu(self.pre2(self.conv3(torch.relu(self.pre1(x))))))


def library(name, size=64, **options):
    def make():
        if name.startswith("timm/"):
            import timm

            return timm.create_model(name[5:], pretrained=False, **options)
        import torchvision

        return torchvision.models.get_model(name, weights=None, **options)

    return make, lambda: torch.rand(1, 3, size, size)


NETWORKS = {
    "small_cnn": (SmallCnn, lambda: torch.rand(1, 3, 12, 12)),
    "unet": (UNet, lambda: torch.rand(1, 3, 16, 16)),
    "mlp": (Mlp, lambda: torch.randn(2, 24)),
    "recurrent": (Recurrent, lambda: torch.randn(1, 9, 12)),
    "encoder": (Encoder, lambda: torch.randint(0, 50, (1, 10))),
    "attention": (Attention, lambda: torch.randn(1, 7, 16)),
    "shared": (Shared, lambda: torch.randint(0, 20, (1, 6))),
    "orders": (Orders, lambda: torch.rand(1, 3, 9, 9)),
    "resnet18": library("resnet18"),
    "mobilenet_v3_small": library("mobilenet_v3_small"),
    "efficientnet_b0": library("efficientnet_b0"),
    "shufflenet_v2_x0_5": library("shufflenet_v2_x0_5"),
    "vgg11_bn": library("vgg11_bn", 32),
    "densenet121": library("densenet121", 32),
    "convnext_atto": library("timm/convnext_atto"),
    "vit_tiny": library("timm/vit_tiny_patch16_224", img_size=64, depth=4),
    "mixer_tiny": library("timm/mixer_s32_224", 224),
    "repvgg_a0": library("timm/repvgg_a0", 32),
}


def build(name):
    """The network as it is when it was made, in evaluation mode, and inputs for it."""
    torch.manual_seed(zlib.crc32(name.encode()))
    make, inputs = NETWORKS[name]
    return make().eval(), (inputs(),)


def fine_tuned(net, name):
    """Every parameter and statistic another, all of them distinct."""
    torch.manual_seed(zlib.crc32(name.encode()) ^ 1)
    net = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in net.parameters():
            spread = 0.02 if parameter.dim() < 2 else 0.3 * parameter.std().item() + 0.01
            parameter.add_(
                torch.randn_like(parameter) * spread + (0.05 if parameter.dim() < 2 else 0)
            )
        for module in net.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.running_mean.copy_(torch.randn_like(module.running_mean) * 0.2)
                module.running_var.copy_(torch.rand_like(module.running_var) + 0.5)
    return net


def epsilon(net):
    """Of its batch normalizations, None without any."""
    found = {m.eps for m in net.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)}
    assert len(found) < 2, found
    return found.pop() if found else None


def rounded(state, to, only=lambda name: True):
    return {k: v.to(to) if v.is_floating_point() and only(k) else v for k, v in state.items()}


def under(prefix, state):
    return {prefix + k: v for k, v in state.items()}


def is_not_norm(name):
    return not any(part in name for part in ("bn", "norm", "running"))


def others(state):
    """Of the same names and shapes with other values: what must not be taken."""
    return {k: torch.randn_like(v) if v.is_floating_point() else v for k, v in state.items()}


# name -> (what is saved of a state, options of convert). Half precision rounds; every other way
# keeps the bits.
SAVINGS = {
    "plain": (lambda s: s, []),
    "parallel": (
        lambda s: {
            "epoch": 3,
            "state_dict": under("module.", s),
            "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}},
        },
        [],
    ),
    "lightning": (
        lambda s: {
            "state_dict": {
                **under("model.", rounded(s, torch.float16)),
                "loss.weight": torch.ones(5),
            },
            "pytorch-lightning_version": "2.5.0",
            "hyper_parameters": {"lr": 0.1},
        },
        [],
    ),
    "compiled": (
        lambda s: {"model": under("_orig_mod.", rounded(s, torch.bfloat16)), "best_acc": 0.5},
        [],
    ),
    "averaged": (
        lambda s: {"model": others(s), "ema": under("module._orig_mod.", s)},
        ["--key", "ema"],
    ),
    "mixed": (lambda s: {"net": rounded(s, torch.float16, is_not_norm), "step": 12}, []),
    "half": (lambda s: rounded(s, torch.float16), []),
    "legacy": (lambda s: under("module.model.", s), []),
    "safetensors": (lambda s: under("model.", s), []),
    "safetensors_bf16": (lambda s: rounded(s, torch.bfloat16), []),
}


def same_values(saved, state):
    """The state that a loader of `saved` has: float32 again."""
    flat = saved.get("state_dict", saved.get("ema", saved.get("model", saved.get("net", saved))))
    if not isinstance(flat, dict):
        flat = saved
    out = {}
    for name, tensor in state.items():
        found = [
            v
            for k, v in flat.items()
            if k == name
            or k.endswith("." + name)
            and k[: -len(name) - 1]
            in ("module", "model", "_orig_mod", "module._orig_mod", "module.model")
        ]
        assert len(found) == 1, (name, len(found))
        out[name] = found[0].to(tensor.dtype)
    return out


def save(kind, state, path):
    """Writes the checkpoint; returns its path, options of convert, and the state that it holds."""
    make, options = SAVINGS[kind]
    saved = make({k: v.clone() for k, v in state.items()})
    if kind.startswith("safetensors"):
        from safetensors.torch import save_file

        path = path.with_suffix(".safetensors")
        save_file({k: v.contiguous() for k, v in saved.items()}, str(path))
    else:
        path = path.with_suffix(".pth")
        torch.save(saved, path, _use_new_zipfile_serialization=kind != "legacy")
    return path, options, same_values(saved, state)
