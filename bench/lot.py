#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks by lot, of timm's and torchvision's lists, as ONNX files for run.py.

  lot.py SEED FOLDER [--count 20] [--list]

The seed decides all: which networks, and their random weights. A network takes part if it has at
most 60 million parameters and one image in. Three in ten are torchvision's. --list: the names
alone.
"""

import argparse
import contextlib
import io
import pathlib
import random
import sys
import warnings
import zlib

MOST_PARAMETERS = 60e6


def sources():
    """(library, names, build(name)) of those whose networks take one image."""
    import timm
    import torchvision
    from torchvision import models

    modules = [models, models.segmentation]
    names = [name for module in modules for name in models.list_models(module=module)]
    return [
        ("timm", sorted(timm.list_models()), timm.create_model),
        ("torchvision", sorted(names), lambda name: models.get_model(name, weights=None)),
    ]


def build(library, make, name):
    """(network, shape of its input), or None where it does not take part."""
    import torch

    with torch.device("meta"), contextlib.redirect_stderr(io.StringIO()):
        try:
            sketch = make(name)
        except Exception:  # some refuse the device, some need weights
            return None
    if sum(p.numel() for p in sketch.parameters()) > MOST_PARAMETERS:
        return None
    size = (3, 224, 224)
    if library == "timm":
        size = sketch.default_cfg.get("input_size", size)
    elif "inception" in name:
        size = (3, 299, 299)
    return make(name), (1, *size)


def randomize(network, shape):
    """Scales near one, biases near zero, so that no branch is multiplied by nothing; batch norms
    have the mean and the variance of what random images make of the layers before them."""
    import torch

    with torch.no_grad():
        for name, tensor in network.named_parameters():
            if tensor.dim() != 1:
                continue
            is_scale = name.endswith(("weight", "gamma"))
            tensor.uniform_(*((0.6, 1.4) if is_scale else (-0.2, 0.2)))
        for module in network.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.momentum = None  # the mean of what it sees
        images = torch.randn((2, *shape[1:]))
        network.train()(images)
        for name, tensor in network.named_buffers():
            if name.endswith("running_var"):  # of one pixel an image: next to nothing
                tensor.clamp_(min=0.1)


class First:
    """Of what a network returns, what run.py compares: one tensor."""

    @staticmethod
    def of(network):
        import torch

        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, x):
                y = self.network(x)
                while not isinstance(y, torch.Tensor):
                    y = next(iter(y.values())) if isinstance(y, dict) else y[0]
                return y

        return Wrapped().eval()


def export(network, shape, path):
    import torch

    x = torch.zeros(shape)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            First.of(network),
            (x,),
            str(path),
            opset_version=17,
            dynamo=False,
            input_names=["input"],
            output_names=["output"],
        )


def draw(args):
    import torch

    lot = random.Random(args.seed)
    wanted = {"timm": args.count - 3 * args.count // 10, "torchvision": 3 * args.count // 10}
    for library, names, make in sources():
        drawn = 0
        for name in lot.sample(names, len(names)):
            if drawn == wanted[library]:
                break
            torch.manual_seed(zlib.crc32(f"{args.seed} {name}".encode()))
            made = build(library, make, name)
            if made is None:
                continue
            drawn += 1
            path = args.folder / f"{library}-{name}.onnx"
            if args.list or path.exists():
                print(path.stem if args.list else path, flush=True)
                continue
            randomize(*made)
            try:
                export(*made, path)
                print(path, flush=True)
            except Exception as why:
                path.unlink(missing_ok=True)
                print(f"{path.stem}: torch does not export it: {str(why)[:120]}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seed")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    draw(args)


if __name__ == "__main__":
    main()
