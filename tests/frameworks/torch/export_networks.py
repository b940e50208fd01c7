#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports torchvision and timm networks with random weights by torch.export (.pt2) or
torch.jit.trace (.pt), with what eager torch computes as a golden.

  export_networks.py --out DIR [--format pt2|decomposed|torchscript] [--only NAME ...] [--list]

Format decomposed is a .pt2 of core ATen operators alone (run_decompositions), with a free batch
where the network allows one.

Writes NAME.pt2 (or NAME.pt) and NAME.npz: in0, in1, ... and out0, out1, ... in the order of the
module's arguments and results. Weights and inputs are seeded by the name, so both formats have the
same golden. A network that this torch cannot export is reported with [skip] and its reason.
"""

import argparse
import pathlib
import sys
import zipfile
import zlib

import numpy as np
import torch

FORMATS = ["pt2", "decomposed", "torchscript", "mobile", "flat"]

# name -> (library, size of the picture, keyword arguments)
NETWORKS = {
    "resnet18": ("torchvision", 96, {}),
    "mobilenet_v2": ("torchvision", 96, {}),
    "mobilenet_v3_small": ("torchvision", 96, {}),
    "efficientnet_b0": ("torchvision", 96, {}),
    "shufflenet_v2_x1_0": ("torchvision", 96, {}),
    "squeezenet1_1": ("torchvision", 96, {}),
    "densenet121": ("torchvision", 96, {}),
    "regnet_y_400mf": ("torchvision", 96, {}),
    "convnext_tiny": ("torchvision", 96, {}),
    "swin_t": ("torchvision", 96, {}),
    "mnasnet0_5": ("torchvision", 96, {}),
    "googlenet": ("torchvision", 96, {"init_weights": False, "aux_logits": False}),
    "inception_v3": ("torchvision", 139, {"init_weights": False, "aux_logits": False}),
    "alexnet": ("torchvision", 96, {}),
    "lraspp_mobilenet_v3_large": ("segmentation", 96, {"weights": None, "weights_backbone": None}),
    "fcn_resnet50": (
        "segmentation",
        64,
        {"weights": None, "weights_backbone": None, "aux_loss": False},
    ),
    "vit_tiny_patch16_224": ("timm", 224, {}),
    "mixer_s32_224": ("timm", 224, {}),
    "ghostnet_050": ("timm", 96, {}),
    "repvgg_a0": ("timm", 96, {}),
    "resmlp_12_224": ("timm", 224, {}),
    "levit_128s": ("timm", 224, {}),
    "maxvit_rmlp_pico_rw_256": ("timm", 256, {}),
    "edgenext_xx_small": ("timm", 96, {}),
    "mobilevit_xxs": ("timm", 96, {}),
    "poolformer_s12": ("timm", 96, {}),
    "efficientformer_l1": ("timm", 224, {}),
    "deit_tiny_patch16_224": ("timm", 224, {}),
    "xcit_nano_12_p16_224": ("timm", 224, {}),
    "convmixer_768_32": ("timm", 64, {}),
    "fastvit_t8": ("timm", 96, {}),
    "eva02_tiny_patch14_224": ("timm", 224, {}),
}


class FirstOfMapping(torch.nn.Module):
    """Segmentation networks give a dictionary; its entry 'out' is what is compared."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)["out"]


def settle(net):
    """Statistics that are not those of a fresh module, so that each matters; and no head that
    starts at zero, which would show nothing."""
    for module in net.modules():
        if (
            isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
            and module.running_mean is not None
        ):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.normal_(module.weight, 0, 0.02)


def build(name):
    library, size, options = NETWORKS[name]
    torch.manual_seed(zlib.crc32(name.encode()))
    if library == "timm":
        import timm

        net = timm.create_model(name, pretrained=False, **options)
    else:
        import torchvision

        net = torchvision.models.get_model(name, **options)
    if library == "segmentation":
        net = FirstOfMapping(net)
    settle(net)
    return net.eval(), (torch.rand(1, 3, size, size),)


def without_code(path):
    """What phones read of a program for PyTorch Mobile: its bytecode, not the text beside it."""
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            if "/code/" not in name:
                archive.writestr(name, content)


def save_mobile(net, inputs, path, is_flat):
    """Scripted where that is possible, since scripts have branches and loops."""
    try:
        program = torch.jit.script(net)
    except Exception:
        program = torch.jit.trace(net, inputs, check_trace=False)
    program._save_for_lite_interpreter(str(path), _use_flatbuffer=is_flat)
    if not is_flat:
        without_code(path)


def save(name, out, kind):
    net, inputs = build(name)
    with torch.no_grad():
        results = net(*inputs)
        results = results if isinstance(results, (tuple, list)) else (results,)
        if kind == "pt2":
            torch.export.save(torch.export.export(net, inputs), out / f"{name}.pt2")
        elif kind == "decomposed":
            try:
                free = {0: torch.export.Dim("batch", max=64)}
                program = torch.export.export(
                    net,
                    tuple(x.repeat(3, 1, 1, 1) for x in inputs),
                    dynamic_shapes=[free] * len(inputs),
                )
            except Exception:  # batch sizes that the network fixes
                program = torch.export.export(net, inputs)
            torch.export.save(program.run_decompositions(), out / f"{name}.pt2")
        elif kind in ("mobile", "flat"):
            save_mobile(net, inputs, out / f"{name}.ptl", kind == "flat")
        else:
            torch.jit.trace(net, inputs, check_trace=False).save(str(out / f"{name}.pt"))
    arrays = {f"in{i}": x.numpy() for i, x in enumerate(inputs)}
    arrays.update({f"out{i}": x.contiguous().numpy() for i, x in enumerate(results)})
    np.savez(out / f"{name}.npz", **arrays)


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--out", type=pathlib.Path)
    arguments.add_argument("--format", choices=FORMATS, default="pt2")
    arguments.add_argument("--only", nargs="+", default=list(NETWORKS))
    arguments.add_argument("--list", action="store_true")
    a = arguments.parse_args()
    if a.list:
        print("\n".join(NETWORKS))
        return
    if not a.out:
        arguments.error("--out is needed")
    a.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name in a.only:
        try:
            save(name, a.out, a.format)
            print(f"{name}: written", flush=True)
        except Exception as error:  # what an exporter throws is anything
            print(
                f"[skip] {name}: this torch does not export it: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
