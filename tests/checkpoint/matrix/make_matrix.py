#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one network's weights as every habit of saving leaves them: trained on {cpu, cuda:0,
cuda:1, mps, other} x {plain, DataParallel, DDP, torch.compile, Lightning} x {fp32, fp16, bf16, AMP
mixture} x {zip, legacy, safetensors, TorchScript, pt2}.

  make_matrix.py --out DIR [--few]

Writes DIR/FILES, DIR/matrix.json (what each file is), DIR/net.onnx (the architecture with other
weights) and goldens of eager torch. --few: a small part in which every pair of {device, wrapper,
container} and every precision with every wrapper and container occurs; tests/checkpoint/matrix/data
was written so.

Devices that are not there are forged as real files have them: the location beside each storage of a
pickle, torch.device(...) in TorchScript's code and pickles, "device" in pt2's JSON. "other" is an
Intel GPU (storages at xpu:0) or a TPU (arrays with a device, as torch saves tensors without
storages), in turns. Needs torch, numpy, onnx and safetensors; the committed files were written with
torch 2.15.
"""

import collections
import json
import os
import pathlib
import re
import sys
import zipfile

import numpy as np
import onnx
import torch
import torch.serialization
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import save_file
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import text_parser, work_folder  # noqa: E402

DEVICES = ["cpu", "cuda:0", "cuda:1", "mps", "other"]
WRAPPERS = ["plain", "DataParallel", "DDP", "torch.compile", "Lightning"]
PRECISIONS = ["fp32", "fp16", "bf16", "AMP"]
CONTAINERS = ["zip", "legacy", "safetensors", "TorchScript", "pt2"]
ENDINGS = {
    "zip": "pth",
    "legacy": "pth",
    "safetensors": "safetensors",
    "TorchScript": "pt",
    "pt2": "pt2",
}


class Net(nn.Module):
    """A constant made on the input's device: what fails with "invalid device context" where a
    program insists on the GPU it was traced on."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 3)
        self.mixed = False

    def forward(self, x):
        if not self.mixed:
            return self.compute(x)
        with torch.autocast("cpu", torch.float16, cache_enabled=False):
            return self.compute(x)

    def compute(self, x):
        x = torch.relu(self.bn(self.conv(x))).mean((2, 3))
        return self.fc(x + torch.arange(4, device=x.device).to(x.dtype) * 0.125)


class Held(nn.Module):
    """A network as a wrapper's attribute, for what cannot be traced through the wrapper itself."""

    def __init__(self, name, net):
        super().__init__()
        setattr(self, name, net)
        self.held = name

    def forward(self, x):
        return getattr(self, self.held)(x)


class Moved:
    """A tensor of a device without storages of torch's own, pickled as torch pickles it."""

    def __init__(self, tensor, device):
        self.tensor, self.device = tensor, device

    def __reduce__(self):
        t = self.tensor
        array = (t.float() if t.dtype == torch.bfloat16 else t).numpy()
        return torch._utils._rebuild_device_tensor_from_numpy, (array, t.dtype, self.device, False)


def trained_net():
    torch.manual_seed(5)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(4):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 2, 6, 6)), torch.randint(0, 3, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval(), optimizer


def in_precision(net, precision):
    other = Net().eval()
    other.load_state_dict(net.state_dict())
    if precision == "fp16":
        other.half()
    elif precision == "bf16":
        other.bfloat16()
    elif precision == "AMP":  # products in half precision, statistics in single
        other.conv.half()
        other.fc.half()
    return other


def wrapped(net, wrapper):
    if wrapper == "DataParallel":
        return nn.DataParallel(net)
    if wrapper == "DDP":
        return Held(
            "module", net
        )  # what DistributedDataParallel's state has; it needs a process group
    if wrapper == "torch.compile":
        return torch.compile(net)
    return Held("model", net) if wrapper == "Lightning" else net


def location(device, wrapper):
    """Where the file says that its tensors lay."""
    if device != "other":
        return device
    return "xpu:0" if wrapper in ("plain", "torch.compile") else "xla:0"


def checkpoint(net, optimizer, wrapper):
    state = collections.OrderedDict(
        (k, v.clone()) for k, v in wrapped(net, wrapper).state_dict().items()
    )
    if wrapper == "DDP":
        return {
            "epoch": 7,
            "model": state,
            "optimizer": optimizer.state_dict(),
            "scaler": {"scale": 65536.0},
            "best_acc": 0.75,
        }
    if wrapper == "Lightning":
        return {
            "epoch": 7,
            "global_step": 28,
            "pytorch-lightning_version": "2.5.0",
            "state_dict": state,
            "callbacks": {},
            "optimizer_states": [optimizer.state_dict()],
            "lr_schedulers": [],
            "hyper_parameters": {"lr": 0.02},
        }
    return state


def on_device(value, place):
    if isinstance(value, torch.Tensor):
        return Moved(value, place)
    if isinstance(value, dict):
        return type(value)((k, on_device(v, place)) for k, v in value.items())
    return [on_device(v, place) for v in value] if isinstance(value, list) else value


def save_pickle(value, place, path, legacy):
    tag = torch.serialization.location_tag
    if place.startswith("xla"):
        value = on_device(value, place)
    else:
        torch.serialization.location_tag = lambda storage: place
    try:
        torch.save(value, path, _use_new_zipfile_serialization=not legacy)
    finally:
        torch.serialization.location_tag = tag


def forge(path, place):
    """A program saved on the CPU as one that was saved on `place`, without what names the machine
    it was written on."""
    kind, _, index = place.partition(":")
    device = {"type": kind, "index": int(index) if index else None}
    word = lambda text: b"X" + len(text).to_bytes(4, "little") + text.encode()

    def moved(value):
        if isinstance(value, dict):
            if value.get("type") == "cpu" and set(value) == {"type", "index"}:
                return device
            return {
                k: moved(v)
                for k, v in value.items()
                if k not in ("stack_trace", "nn_module_stack", "torch_fn")
            }
        return [moved(v) for v in value] if isinstance(value, list) else value

    with zipfile.ZipFile(path) as archive:
        members = [(item.filename, archive.read(item)) for item in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            if name.endswith(".debug_pkl") or "sample_inputs" in name:
                continue
            if name.endswith(".json"):
                data = json.dumps(moved(json.loads(data))).encode()
            elif name.endswith(".py"):
                data = data.replace(b'torch.device("cpu")', f'torch.device("{place}")'.encode())
            elif name.endswith(".pkl"):
                data = data.replace(word("cpu"), word(place))
            archive.writestr(
                zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED
            )


def in_type(tensor, precision):
    return (
        tensor.half()
        if precision == "fp16"
        else tensor.bfloat16() if precision == "bf16" else tensor
    )


def save_program(net, x, wrapper, precision, container, path):
    """Trained in mixed precision means here that autocast chooses; its weights stay single. Gives
    the inputs by name and what eager computes."""
    module = wrapped(net, wrapper)
    x = in_type(x, precision)
    if container == "TorchScript" and wrapper == "torch.compile":
        module = Held("_orig_mod", net)  # torch does not trace what it compiled
    net.mixed = precision == "AMP"
    with torch.no_grad():
        result = net(x)
        if container == "TorchScript":
            torch.jit.trace(module, x, check_trace=False).save(str(path))
            return {"input" if wrapper == "DataParallel" else "x": x}, {"output": result}
        program = torch.export.export(module, (x,))
        torch.export.save(program, path)
        names = program.graph_signature
        return {names.user_inputs[0]: x}, {names.user_outputs[0]: result}


def as_array(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view("V2")
    return tensor.contiguous().numpy()


def write_golden(path, inputs, outputs):
    np.savez(
        path,
        **{f"in:{k}": as_array(v) for k, v in inputs.items()},
        **{f"out:{k}": as_array(v) for k, v in outputs.items()},
    )


def write_architecture(path):
    """Net by hand: named as its state is, with weights that are no one's."""
    rng = np.random.default_rng(3)
    weights = {
        name: rng.normal(0, 0.5, shape).astype(np.float32)
        for name, shape in [
            ("conv.weight", (4, 2, 3, 3)),
            ("bn.weight", (4,)),
            ("bn.bias", (4,)),
            ("bn.running_mean", (4,)),
            ("fc.weight", (3, 4)),
            ("fc.bias", (3,)),
        ]
    }
    weights["bn.running_var"] = rng.uniform(0.5, 1.5, 4).astype(np.float32)
    constants = dict(weights, positions=np.arange(4, dtype=np.float32) * 0.125)
    node = helper.make_node
    graph = helper.make_graph(
        [
            node("Conv", ["x", "conv.weight"], ["c"], pads=[1, 1, 1, 1]),
            node(
                "BatchNormalization",
                ["c", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"],
                ["b"],
                epsilon=1e-5,
            ),
            node("Relu", ["b"], ["r"]),
            node("ReduceMean", ["r"], ["m"], axes=[2, 3], keepdims=0),
            node("Add", ["m", "positions"], ["p"]),
            node("Gemm", ["p", "fc.weight", "fc.bias"], ["y"], transB=1),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
        [numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path
    )


def chosen(few):
    for w, wrapper in enumerate(WRAPPERS):
        for c, container in enumerate(CONTAINERS):
            for d, device in enumerate(DEVICES):
                for p, precision in enumerate(PRECISIONS):
                    # Latin squares: each pair of device, wrapper, container once; precisions in
                    # turns.
                    if not few or (d == (w + c) % 5 and p == (w + 2 * c) % 4):
                        yield wrapper, container, device, precision


def main():
    arguments = text_parser(__doc__)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("--few", action="store_true")
    a = arguments.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    net, optimizer = trained_net()
    torch.manual_seed(11)
    x = torch.randn(1, 2, 6, 6)
    write_architecture(a.out / "net.onnx")
    for precision in PRECISIONS:
        rounded = in_precision(net, precision).float()
        with torch.no_grad():
            write_golden(a.out / f"weights_{precision}.npz", {"x": x}, {"y": rounded(x)})
    programs = {}  # (wrapper, container, precision) -> bytes saved on the CPU, golden
    cells = []
    for wrapper, container, device, precision in chosen(a.few):
        place = location(device, wrapper)
        name = (
            re.sub(
                "[^a-z0-9_.]",
                "",
                f"{container}_{wrapper}_{device}_{precision}".lower().replace(
                    "torch.compile", "compile"
                ),
            )
            + "."
            + ENDINGS[container]
        )
        path = a.out / name
        cell = {
            "file": name,
            "container": container,
            "wrapper": wrapper,
            "device": device,
            "precision": precision,
            "location": place,
            "golden": f"weights_{precision}.npz",
        }
        if container in ("zip", "legacy"):
            save_pickle(
                checkpoint(in_precision(net, precision), optimizer, wrapper),
                place,
                path,
                container == "legacy",
            )
        elif container == "safetensors":
            save_file(
                {
                    k: v.contiguous()
                    for k, v in wrapped(in_precision(net, precision), wrapper).state_dict().items()
                },
                path,
                metadata={"format": "pt"},
            )
            cell["location"] = ""  # the format has no place for it
        else:
            key = wrapper, container, precision
            if key not in programs:
                with work_folder() as folder:
                    saved = folder / ("net." + ENDINGS[container])
                    weights = in_precision(net, "fp32" if precision == "AMP" else precision)
                    inputs, outputs = save_program(weights, x, wrapper, precision, container, saved)
                    golden = f"{container}_{wrapper}_{precision}.npz".lower().replace("torch.", "")
                    write_golden(a.out / golden, inputs, outputs)
                    programs[key] = saved.read_bytes(), golden
            data, cell["program"] = programs[key]
            path.write_bytes(data)
            forge(path, place)
            if precision == "AMP":
                cell["golden"] = "weights_fp32.npz"
        cells.append(cell)
    (a.out / "matrix.json").write_text(
        json.dumps({"torch": torch.__version__.split("+")[0], "cells": cells}, indent=0) + "\n"
    )
    print(
        f"{len(cells)} files in {a.out}, {sum(f.stat().st_size for f in a.out.iterdir()) >> 10} KiB"
    )


if __name__ == "__main__":
    os.environ.setdefault("TORCH_SHOW_CPP_STACKTRACES", "0")
    main()
