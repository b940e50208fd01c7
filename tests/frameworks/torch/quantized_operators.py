#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers of PyTorch's quantized programs, drawn at random, against torch: eager mode on each of its
engines (TorchScript), and PT2E (torch.export). Every layer reads integers, and what it makes is
compared in steps of its scale: equal, or one step away.

  quantized_operators.py --ingot BIN [--seeds N] [--figures] [name ...]

With --figures a line for each layer. Needs torch."""

import io
import pathlib
import sys
import warnings

import numpy as np
import torch
import torch.ao.nn.quantized as nnq
import torch.ao.nn.quantized.dynamic as nnqd
import torch.ao.quantization as quantization
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  registers quantized_decomposed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

ENGINES = ("fbgemm", "qnnpack", "onednn")
IN_FLOATS = "in f32"
# What moves elements has integers on neither side here, and sums over three dimensions have none.
MOVE_OR_WIDE = ("max_pool2d", "upsample_nearest2d", "conv3d")
# Of the largest number. QNNPACK takes 8 bits where the program asks for 7.
IN_RUN = {"fbgemm": 1e-3, "onednn": 1e-3, "qnnpack": 4e-2}


def number(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


class Layer(nn.Module):
    """`call` on the integers of its inputs; it gives one quantized tensor, or one of floats."""

    def __init__(self, rng, call, shapes, layer=None):
        super().__init__()
        self.call, self.layer = call, layer
        self.steps = [(number(rng, 0.005, 0.1), int(rng.integers(0, 256))) for _ in shapes]
        self.inputs = tuple(
            torch.from_numpy(((rng.integers(0, 256, s) - z) * np.float32(k)).astype(np.float32))
            for s, (k, z) in zip(shapes, self.steps)
        )

    def result(self, *inputs):
        held = zip(inputs, self.steps)
        q = [torch.quantize_per_tensor(x, s, z, torch.quint8) for x, (s, z) in held]
        return self.call(self.layer, *q) if self.layer is not None else self.call(*q)

    def forward(self, x):
        return self.result(x).dequantize()


class Pair(Layer):
    def forward(self, x, y):
        return self.result(x, y).dequantize()


def weights(rng, shape, axis=0, many=True):
    """Integers with a scale of each element of the axis, or one; some fill all their range."""
    values = torch.from_numpy(rng.integers(-127, 128, shape).astype(np.float32))
    if not many or rng.random() < 0.3:
        scale = number(rng, 0.001, 0.02)
        return torch.quantize_per_tensor(values * scale, scale, 0, torch.qint8)
    scales = torch.tensor([number(rng, 0.001, 0.02) for _ in range(shape[axis])])
    view = [1] * len(shape)
    view[axis] = -1
    zeros = torch.zeros(len(scales), dtype=torch.int64)
    return torch.quantize_per_channel(values * scales.view(view), scales, zeros, axis, torch.qint8)


def placed(rng, module):
    """Steps of the result, of about the size of what the layer gives."""
    scale, zero = number(rng, 0.02, 0.5), int(rng.integers(0, 256))
    if isinstance(module, nnq.BatchNorm2d):
        scale, zero = torch.tensor(scale), torch.tensor(zero)
    module.scale, module.zero_point = scale, zero
    return module


def convolution(dims, relu=False, grouped=False):
    def draw(rng):
        groups = int(rng.integers(2, 5)) if grouped else 1
        into, out = groups * int(rng.integers(1, 6)), groups * int(rng.integers(1, 6))
        kernel, stride = ([int(n) for n in rng.integers(1, k, dims)] for k in (4, 3))
        padding = [int(rng.integers(0, k)) for k in kernel]
        kinds = {1: nnq.Conv1d, 2: nnq.Conv2d, 3: nnq.Conv3d}
        if relu:
            import torch.ao.nn.intrinsic.quantized as fused

            kinds = {1: fused.ConvReLU1d, 2: fused.ConvReLU2d, 3: fused.ConvReLU3d}
        layer = kinds[dims](into, out, kernel, stride, padding, groups=groups)
        w = weights(rng, [out, into // groups, *kernel])
        layer.set_weight_bias(w, torch.randn(out) if rng.random() < 0.7 else None)
        shape = [2, into, *(int(n) for n in rng.integers(4, 9, dims))]
        return Layer(rng, lambda f, x: f(x), [shape], placed(rng, layer))

    return draw


def transposed(rng):
    into, out = (int(n) for n in rng.integers(1, 6, 2))
    stride = int(rng.integers(1, 4))
    layer = nnq.ConvTranspose2d(into, out, 3, stride, 1, int(rng.integers(0, stride)))
    layer.set_weight_bias(weights(rng, [into, out, 3, 3], many=False), torch.randn(out))
    return Layer(rng, lambda f, x: f(x), [[1, into, 5, 6]], placed(rng, layer))


def linear(relu):
    def draw(rng):
        import torch.ao.nn.intrinsic.quantized as fused

        k, out = (int(n) for n in rng.integers(1, 40, 2))
        layer = (fused.LinearReLU if relu else nnq.Linear)(k, out)
        layer.set_weight_bias(weights(rng, [out, k]), torch.randn(out))
        return Layer(rng, lambda f, x: f(x), [[3, k]], placed(rng, layer))

    return draw


def binary(op):
    def draw(rng):
        scale, zero = number(rng, 0.01, 0.3), int(rng.integers(0, 256))
        call = getattr(torch.ops.quantized, op)
        return Pair(rng, lambda a, b: call(a, b, scale, zero), [[2, 5, 7]] * 2)

    return draw


def joined(rng):
    scale, zero = number(rng, 0.01, 0.3), int(rng.integers(0, 256))
    return Pair(
        rng,
        lambda a, b: torch.ops.quantized.cat([a, b], 1, scale, zero),
        [[2, int(n), 7] for n in rng.integers(1, 9, 2)],
    )


def function(call):
    def draw(rng):
        scale, zero = number(rng, 0.01, 0.1), int(rng.integers(0, 256))
        return Layer(rng, lambda x: call(x, scale, zero), [[2, 3, 6, 8]])

    return draw


def normal(rng):
    layer = placed(rng, nnq.BatchNorm2d(4))
    for name, low in (("weight", 0.2), ("bias", -1), ("running_mean", -1), ("running_var", 0.3)):
        held = getattr(layer, name)
        held.data = torch.from_numpy(rng.uniform(low, 2, 4).astype(np.float32))
    return Layer(rng, lambda f, x: f(x), [[2, 4, 5, 6]], layer.eval())


class InRun(nn.Module):
    """A linear layer whose input, of floats, is quantized in each run."""

    def __init__(self, rng):
        super().__init__()
        k, out = (int(n) for n in rng.integers(2, 40, 2))
        self.layer = nnqd.Linear(k, out)
        self.layer.set_weight_bias(weights(rng, [out, k]), torch.randn(out))
        self.inputs = (torch.from_numpy(rng.standard_normal((3, k)).astype(np.float32)),)

    def forward(self, x):
        return self.layer(x)


class Kept(nn.Module):
    """The results of a recurrent layer, without its last states."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class RecurrentInRun(InRun):
    """LSTM or GRU of one or two layers, its inputs and states quantized in each run."""

    def __init__(self, rng, kind):
        nn.Module.__init__(self)
        k, cells, layers = (int(n) for n in rng.integers(1, (20, 20, 3)))
        options = {name: bool(rng.integers(0, 2)) for name in ("bidirectional", "batch_first")}
        plain = Kept(kind(k, cells, layers, **options)).eval()
        self.layer = quantization.quantize_dynamic(plain, {kind}, torch.qint8)
        shape = [int(n) for n in rng.integers(1, 6, 2)]
        self.inputs = (torch.from_numpy(rng.standard_normal((*shape, k)).astype(np.float32)),)


def recurrent(kind):
    return lambda rng: RecurrentInRun(rng, kind)


class Embedded(InRun):
    """Rows of a table of bytes."""

    def __init__(self, rng):
        nn.Module.__init__(self)
        rows, columns = (int(n) for n in rng.integers(2, 30, 2))
        table = torch.from_numpy(rng.standard_normal((rows, columns)).astype(np.float32))
        self.layer = nnq.Embedding(rows, columns, _weight=quantized_table(table))
        self.inputs = (torch.from_numpy(rng.integers(0, rows, (2, 5))),)


def quantized_table(table):
    """Bytes with a scale and a zero point of each row, which are floats."""
    observer = quantization.PerChannelMinMaxObserver(
        dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
    )
    observer(table)
    scales, zeros = observer.calculate_qparams()
    return torch.quantize_per_channel(table, scales, zeros, 0, torch.quint8)


q = torch.ops.quantized
LAYERS = {
    "conv1d": convolution(1),
    "conv2d": convolution(2),
    "conv2d_relu": convolution(2, relu=True),
    "conv2d grouped": convolution(2, grouped=True),
    "conv3d": convolution(3),
    "conv_transpose2d": transposed,
    "linear": linear(False),
    "linear_relu": linear(True),
    "linear_dynamic": InRun,
    "quantized_lstm": recurrent(nn.LSTM),
    "quantized_gru": recurrent(nn.GRU),
    "embedding_byte": Embedded,
    "add": binary("add"),
    "add_relu": binary("add_relu"),
    "mul": binary("mul"),
    "mul_relu": binary("mul_relu"),
    "cat": joined,
    "batch_norm2d": normal,
    "hardswish": function(q.hardswish),
    "leaky_relu": function(lambda x, s, z: q.leaky_relu(x, 0.1, False, s, z)),
    "elu": function(lambda x, s, z: q.elu(x, s, z, 1, 1, 1)),
    "sigmoid": function(lambda x, s, z: torch.sigmoid(x)),
    "tanh": function(lambda x, s, z: torch.tanh(x)),
    "relu": function(lambda x, s, z: torch.relu(x)),
    "clamp": function(lambda x, s, z: torch.clamp(x, -0.7, 1.3)),
    "max_pool2d": function(lambda x, s, z: nn.functional.max_pool2d(x, 2)),
    "avg_pool2d": function(lambda x, s, z: nn.functional.avg_pool2d(x, 2)),
    "adaptive_avg_pool2d": function(lambda x, s, z: nn.functional.adaptive_avg_pool2d(x, 1)),
    "mean": function(lambda x, s, z: x.mean([2, 3])),
    "upsample_nearest2d": function(lambda x, s, z: nn.functional.interpolate(x, scale_factor=2)),
    "add_scalar": function(lambda x, s, z: q.add_scalar(x, 0.6)),
    "mul_scalar": function(lambda x, s, z: q.mul_scalar(x, -1.7)),
}


def ingot_gives(ingot, program, inputs):
    """(array, what the conversion said), or what went wrong."""
    try:
        said = ingot.convert(program).succeeded().stderr
        found = ingot.outputs({name: x.numpy() for name, x in zip("xy", inputs)})
    except RunError as why:
        return str(why)
    return next(iter(found.values())), said


def leaves_its_floats(net, wanted, step):
    """Whether the engine is more than a step from torch's own f32 of the same numbers: OneDNN of
    torch 2.15 in some transposed convolutions."""
    layer = net.layer
    if not isinstance(layer, nnq.ConvTranspose2d):
        return False
    with torch.no_grad():
        x = torch.quantize_per_tensor(net.inputs[0], *net.steps[0], torch.quint8).dequantize()
        exact = nn.functional.conv_transpose2d(
            x, layer.weight().dequantize(), layer.bias(), layer.stride, layer.padding,
            layer.output_padding, layer.groups, layer.dilation)  # fmt: skip
        y = torch.quantize_per_tensor(exact, step, layer.zero_point, torch.quint8).dequantize()
    return bool(np.abs(y.numpy() - wanted).max(initial=0) > 1.5 * step)


def trial(ingot, name, engine, seed):
    """(what is wrong, elements, how many differ); None for what the engine does not have, or has
    wrong."""
    torch.backends.quantized.engine = engine
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, sum(name.encode())])
    try:
        net = LAYERS[name](rng)
        with torch.no_grad():
            wanted = net(*net.inputs).numpy()
            step = None if isinstance(net, InRun) else net.result(*net.inputs).q_scale()
            held = io.BytesIO()
            torch.jit.save(torch.jit.trace(net, net.inputs), held)
    except (RuntimeError, NotImplementedError) as why:
        return None if "qnnpack" in engine or "onednn" in engine else (str(why)[:200], 0, 0)
    if step and leaves_its_floats(net, wanted, step):
        return None
    made = ingot_gives(ingot, held.getvalue(), net.inputs)
    if isinstance(made, str):
        return made, 0, 0
    found, said = made
    if found.shape != wanted.shape:
        return f"shape {found.shape}, expected {wanted.shape}", 0, 0
    if step is None:
        apart = np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-6)
        return ("" if apart < IN_RUN[engine] else f"off by {apart:.3g} of the largest"), 0, 0
    steps = np.abs(np.rint((found - wanted) / step))
    differ = int((steps > 0).sum())
    if IN_FLOATS in said and name not in MOVE_OR_WIDE:
        return "computed in f32", found.size, differ
    return (
        ("" if steps.max(initial=0) <= 1 else f"{steps.max():.0f} steps away"),
        found.size,
        differ,
    )


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    checks, skipped = Checks("quantized_operators"), 0
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".pt")
        for name in a.names or LAYERS:
            for engine in ENGINES:
                elements = different = 0
                for seed in range(a.seeds):
                    made = trial(ingot, name, engine, seed)
                    if made is None:
                        skipped += 1
                        continue
                    what, count, differ = made
                    elements, different = elements + count, different + differ
                    checks.report(f"{name} on {engine}, seed {seed}", what)
                if a.figures and elements:
                    print(f"{name} on {engine}: {different} of {elements} differ, by one step")
    if skipped:
        checks.skip(f"{skipped} of the layers drawn are none that their engine has, or has right")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
