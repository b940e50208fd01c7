#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Linear layers that torchao quantized (weights alone in 8 and 4 bits, activations in each run
beside them), exported by torch.export, against torch: shapes, groups and numbers drawn at random. A
line for each configuration: models, numbers, how far at most, as a share of the largest, and which
kernels the products have.

  torchao_operators.py --ingot BIN [--seeds N]

Needs torch and torchao."""

import io
import pathlib
import sys
import warnings

import numpy as np
import torch
import torchao.quantization as ao
from quantized_operators import ingot_gives
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402

ROUNDING = 3e-6  # f32 in another order


def per_group(rng):
    return ao.PerGroup(int(rng.choice([8, 16, 32])))


# name: (configuration, the operator that all products are)
CONFIGURATIONS = {
    "int8 weights": (lambda rng: ao.Int8WeightOnlyConfig(), "linear"),
    "int8 weights and activations": (
        lambda rng: ao.Int8DynamicActivationInt8WeightConfig(), "quantized_linear"),
    "int4 weights": (
        lambda rng: ao.IntxWeightOnlyConfig(torch.int4, per_group(rng)), "linear"),
    "int8 activations, int4 weights": (
        lambda rng: ao.Int8DynamicActivationIntxWeightConfig(torch.int4, per_group(rng)), None),
}  # fmt: skip


class Net(nn.Module):
    def __init__(self, rng):
        super().__init__()
        k, hidden, out = (32 * int(n) for n in rng.integers(1, 4, 3))
        self.first, self.second = nn.Linear(k, hidden), nn.Linear(hidden, out, bias=False)
        lead = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 3)))]
        self.inputs = (torch.from_numpy(rng.standard_normal((*lead, k)).astype(np.float32)),)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def trial(ingot, make, op, seed):
    """What is wrong; how far at most; how many numbers."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    net = Net(rng).eval()
    ao.quantize_(net, make(rng))
    with torch.no_grad():
        wanted = net(*net.inputs).numpy()
    held = io.BytesIO()
    torch.export.save(torch.export.export(net, net.inputs).run_decompositions({}), held)
    made = ingot_gives(ingot, held.getvalue(), net.inputs)
    if isinstance(made, str):
        return made, 0, 0
    found, _ = made
    if found.shape != wanted.shape:
        return f"shape {found.shape}, expected {wanted.shape}", 0, 0
    apart = float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-6))
    if apart > ROUNDING:
        return f"off by {apart:.3g} of the largest", apart, wanted.size
    if op and f"{op} 2" not in ingot("inspect", ingot.file).stdout:
        return f"its products are no {op}", apart, wanted.size
    return "", apart, wanted.size


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    checks = Checks("torchao_operators")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".pt2")
        for name, (make, op) in CONFIGURATIONS.items():
            worst, numbers = 0.0, 0
            for seed in range(a.seeds):
                what, apart, count = trial(ingot, make, op, seed)
                worst, numbers = max(worst, apart), numbers + count
                checks.report(f"{name}, seed {seed}", what)
            print(
                f"{name}: {a.seeds} models, {numbers} numbers, {worst:.2g} of the largest at most"
            )
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
