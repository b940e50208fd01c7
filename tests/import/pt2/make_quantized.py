#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small quantized programs of PyTorch with what torch computes: NAME.pt and NAME.npz into
tests/import/torchscript/data, NAME.pt2 and NAME.npz into tests/import/pt2/data.

Inputs lie on the steps of the input, and so few elements are drawn that all of them are equal in
integer arithmetic; tests/frameworks/torch/quantized_operators.py says how far others may be. Needs
torch and torchao; the committed files were written with 2.15 and 0.18.
"""

import io
import pathlib
import sys
import warnings

import numpy as np
import torch
from quantized_programs import (
    Dynamic,
    Embedded,
    Functions,
    Imitated,
    Plain,
    Recurrent,
    Static,
    dynamic,
    dynamic_cells,
    eager,
    exported,
    on_steps,
    quantizers,
)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torchscript"))
import make_programs  # noqa: E402
import make_small  # noqa: E402


def results_of(net, inputs):
    with torch.no_grad():
        made = net(*inputs)
    made = made if isinstance(made, (list, tuple)) else (made,)
    arrays = {f"in{i}": x.numpy() for i, x in enumerate(inputs)}
    arrays.update({f"out{i}": y.contiguous().numpy() for i, y in enumerate(made)})
    return arrays


def save_program(name, net, inputs):
    with torch.no_grad():
        program = torch.jit.trace(net, inputs)
    make_programs.save(name, program, results_of(net, inputs))


def save_export(name, net, inputs):
    held = io.BytesIO()
    torch.export.save(torch.export.export(net, inputs), held)
    make_small.shrink(make_small.OUT / f"{name}.pt2", held.getvalue())
    np.savez_compressed(make_small.OUT / f"{name}.npz", **results_of(net, inputs))


def main():
    warnings.filterwarnings("ignore")
    torch.manual_seed(3)
    image = (torch.randn(1, 3, 10, 12),)
    net = eager(Static(), image)
    save_program("quantized_static", net, on_steps(net, image))
    small = (torch.randn(1, 4, 3, 4),)
    net = eager(Functions(), small)
    save_program("quantized_functions", net, on_steps(net, small))
    rows = (torch.randn(3, 12),)
    save_program("quantized_dynamic", dynamic(Dynamic()), rows)
    for name, net, inputs, quantizer, training in (
        ("quantized_xnnpack", Plain(), image, quantizers()["xnnpack"], False),
        ("quantized_trained", Plain(), image, quantizers()["xnnpack_trained"], True),
        ("quantized_x86", Plain(), image, quantizers()["x86"], False),
        ("quantized_in_run", Dynamic(), rows, quantizers()["x86_dynamic"], False),
        ("quantized_signed", Dynamic(), rows, quantizers()["xnnpack_dynamic"], False),
        (
            "quantized_table",
            Embedded(),
            (torch.randint(0, 20, (2, 5)),),
            quantizers()["table"],
            False,
        ),
    ):
        save_export(name, exported(net, inputs, quantizer, training), inputs)
    save_export("quantized_imitated", Imitated(), (torch.randn(1, 2, 6, 7),))
    torch.manual_seed(3)
    ids = (torch.randint(0, 12, (3, 2)),)
    save_program("quantized_recurrent", dynamic_cells(Recurrent()), ids)


if __name__ == "__main__":
    sys.exit(main())
