#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network of the zoo as ExecuTorch runs it: quantized by PT2E for XNNPACK, per channel, with
calibration data of one seed, and lowered to one delegate.

  executorch_model.py PLAIN.onnx OUT.pte

Needs torch, torchao and executorch."""

import os
import pathlib
import sys

import numpy as np
import onnx
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from onnx_as_torch import build
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


def main():
    plain, out = sys.argv[1], pathlib.Path(sys.argv[2])
    rng = np.random.default_rng(3)
    samples = [
        torch.from_numpy(rng.standard_normal((1, 3, 224, 224)).astype(np.float32)) for _ in range(4)
    ]
    network, _ = build(onnx.load(plain), {"input": samples[0].numpy()})
    network.eval()
    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True)
    )
    prepared = prepare_pt2e(torch.export.export(network, (samples[0],)).module(), quantizer)
    with torch.no_grad():
        for sample in samples:
            prepared(sample)
    exported = torch.export.export(convert_pt2e(prepared), (samples[0],))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    beside = out.with_suffix(".part")
    beside.write_bytes(lowered.to_executorch().buffer)
    os.replace(beside, out)


main()
