# SPDX-License-Identifier: Apache-2.0
"""Small quantized networks of PyTorch, each with the steps of every layer as an output: eager mode
(static, dynamic), PT2E of torch.export (static, dynamic), and training that imitates it."""

import torch
import torch.ao.nn.quantized as nnq
import torch.ao.quantization as quantization
from torch import nn


class Static(nn.Module):
    """Modules of eager mode: convolutions, sums, products, joins, pools, a linear layer."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU())
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.normal = nn.BatchNorm2d(8)
        self.wide = nn.Conv2d(8, 6, (1, 3), padding=(0, 2), dilation=(1, 2), bias=False)
        self.line = nn.Sequential(nn.Linear(14, 10), nn.ReLU())
        self.last = nn.Linear(10, 5)
        self.sum, self.product = nnq.FloatFunctional(), nnq.FloatFunctional()
        self.join, self.sum_relu = nnq.FloatFunctional(), nnq.FloatFunctional()

    def fuse(self):
        quantization.fuse_modules(
            self, [["first.0", "first.1"], ["line.0", "line.1"]], inplace=True
        )
        return self

    def forward(self, x):
        a = self.first(self.quant(x))
        b = self.normal(self.depthwise(a))
        c = self.sum.add(a, b)
        d = self.sum_relu.add_relu(b, c)
        e = self.product.mul(torch.sigmoid(c), d)
        f = self.wide(nn.functional.max_pool2d(e, 2))
        g = self.join.cat([f, nn.functional.avg_pool2d(d, 2)], 1)
        h = nn.functional.adaptive_avg_pool2d(g, 1).flatten(1)
        y = self.last(self.line(h))
        return [self.dequant(t) for t in (a, b, c, d, e, f, g, h, y)]


class Functions(nn.Module):
    """Layers with steps of their own for the result, and operators that keep those of their
    argument."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)
        self.swish, self.leaky, self.elu = nn.Hardswish(), nn.LeakyReLU(0.1), nn.ELU()
        self.rows = nn.Conv1d(6, 5, 3, stride=2, padding=1)

    def forward(self, x):
        q = self.quant(x)
        a = self.up(q)
        b, c, d = self.swish(a), self.leaky(a), self.elu(a)
        e = nn.functional.interpolate(b, scale_factor=2.0, mode="nearest")
        f = nn.functional.hardtanh(c, -0.5, 0.75)
        g = torch.tanh(d).mean([2, 3], keepdim=True)
        h = self.rows(torch.relu(c).permute(0, 1, 3, 2).reshape(1, 6, -1))
        return [self.dequant(t) for t in (a, b, c, d, e, f, g, h)]


class Dynamic(nn.Module):
    """Linear layers whose input is quantized in each run."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(12, 16), nn.Linear(16, 7, bias=False)

    def forward(self, x):
        a = self.first(x)
        return a, self.second(torch.relu(a))


class Recurrent(nn.Module):
    """Rows of a table of bytes, then cells whose inputs and states are quantized in each run."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(10, 4, batch_first=True)

    def forward(self, ids):
        a = self.table(ids)
        b, (h, c) = self.lstm(a)
        d, last = self.gru(b)
        return a, b, h, c, d, last


class Plain(nn.Module):
    """What PT2E quantizes: nothing in it speaks of integers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        a = torch.relu(self.first(x))
        b = nn.functional.hardtanh(self.depthwise(a), 0.0, 6.0) + a
        c = nn.functional.max_pool2d(torch.cat([a, b], 1), 2)
        d = nn.functional.adaptive_avg_pool2d(c[:, 4:12], 1).flatten(1)
        return self.last(d)


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.line = nn.Embedding(20, 12), nn.Linear(12, 6)

    def forward(self, ids):
        return self.line(self.table(ids).mean(1))


def eager(net, inputs, engine="x86"):
    """Calibrated on the inputs, then converted."""
    torch.backends.quantized.engine = engine
    net.eval()
    if hasattr(net, "fuse"):
        net.fuse()
    net.qconfig = quantization.get_default_qconfig(engine)
    for module in net.modules():  # transposed weights have one scale
        if isinstance(module, nn.ConvTranspose2d):
            module.qconfig = quantization.QConfig(
                net.qconfig.activation, quantization.default_weight_observer
            )
    with torch.no_grad():
        quantization.prepare(net, inplace=True)(*inputs)
    return quantization.convert(net, inplace=True)


def dynamic(net, engine="x86"):
    torch.backends.quantized.engine = engine
    return quantization.quantize_dynamic(net.eval(), {nn.Linear}, dtype=torch.qint8)


def dynamic_cells(net, engine="x86"):
    """LSTM and GRU dynamic, embeddings of bytes."""
    torch.backends.quantized.engine = engine
    kinds = {nn.LSTM: quantization.default_dynamic_qconfig}
    kinds[nn.GRU] = quantization.default_dynamic_qconfig
    kinds[nn.Embedding] = quantization.float_qparams_weight_only_qconfig
    return quantization.quantize_dynamic(net.eval(), kinds)


def exported(net, inputs, quantizer, training=False):
    """PT2E: the program of torch.export with quantize and dequantize around its operators."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

    net.train(training)
    program = torch.export.export(net, inputs, strict=True).module()
    prepared = (prepare_qat_pt2e if training else prepare_pt2e)(program, quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def quantizers():
    """Of PT2E, by name."""
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
    from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer
    from torchao.testing.pt2e import _xnnpack_quantizer as xnnpack

    def of_x86(**options):
        config = x86.get_default_x86_inductor_quantization_config(**options)
        return x86.X86InductorQuantizer().set_global(config)

    def of_xnnpack(**options):
        config = xnnpack.get_symmetric_quantization_config(is_per_channel=True, **options)
        return xnnpack.XNNPACKQuantizer().set_global(config)

    return {
        "x86": of_x86(),
        "x86_dynamic": of_x86(is_dynamic=True),
        "xnnpack": of_xnnpack(),
        "xnnpack_dynamic": of_xnnpack(is_dynamic=True),
        "xnnpack_trained": of_xnnpack(is_qat=True),
        "table": EmbeddingQuantizer(),
    }


def on_steps(net, inputs):
    """Inputs that the first layer of an eager network quantizes without rounding."""
    scale, zero = float(net.quant.scale), int(net.quant.zero_point)
    return tuple(((x / scale).round().clamp(-zero, 255 - zero) * scale).float() for x in inputs)


class Imitated(nn.Module):
    """What training imitates: steps around a convolution, in 7 and in 8 bits, and of 12 bits."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 2, 3, 3) * 0.2)
        self.register_buffer("scales", torch.tensor([0.01, 0.02, 0.015, 0.005]))
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int32))

    def forward(self, x):
        a = torch.fake_quantize_per_tensor_affine(x, 0.03, 60, 0, 127)
        w = torch.fake_quantize_per_channel_affine(
            self.weight, self.scales, self.zeros, 0, -127, 127
        )
        b = torch.fake_quantize_per_tensor_affine(
            nn.functional.conv2d(a, w, padding=1), 0.02, -5, -128, 127
        )
        return b, torch.fake_quantize_per_tensor_affine(b * 0.37, 0.001, 0, -2048, 2047)
