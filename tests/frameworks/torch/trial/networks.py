# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision, timm and transformers by their own names, small and with random weights.

The name of a program is `library: name`. networks.txt has those of torchvision and timm,
transformers.txt those of transformers, blocks_networks.py kinds that they lack.
"""

import ast
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def read_list():
    """library and name -> side of the image, keyword arguments."""
    found = {}
    for line in (HERE / "networks.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            library, name, side, *options = line.split()
            pairs = (o.split("=") for o in options)
            found[library, name] = side, {k: ast.literal_eval(v) for k, v in pairs}
    return found


def read_transformers():
    """class -> that of its configuration, arguments of that, what it takes."""
    found, shared = {}, {}
    for line in (HERE / "transformers.txt").read_text().replace("\n  ", " ").splitlines():
        if line.startswith("#"):
            continue
        name, *words = line.split()
        config, takes = (None, None) if name.isupper() else (words.pop(0), words.pop(0))
        options = {}
        for word in words:
            key, _, value = word.partition("=")
            options.update({key: ast.literal_eval(value)} if value else shared[key])
        if name.isupper():
            shared[name] = options
        else:
            found[name] = config, options, takes
    return found


IMAGES, TRANSFORMERS = read_list(), read_transformers()


def blocks():
    """The names of blocks_networks.py, which needs torch to be imported."""
    text = (HERE / "blocks_networks.py").read_text()
    return re.findall(r'^    "(\w+)": lambda: \(', text, re.MULTILINE)


def names():
    return (
        [f"{library}: {name}" for library, name in IMAGES]
        + [f"transformers: {name}" for name in TRANSFORMERS]
        + [f"blocks: {name}" for name in blocks()]
    )


def entry(program):
    """What the lists say about it, as a text."""
    library, name = program.split(": ")
    if library == "blocks":
        return (HERE / "blocks_networks.py").read_text()
    return repr(TRANSFORMERS[name] if library == "transformers" else IMAGES[library, name])


def settle(net):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    import export_networks

    export_networks.settle(net)


def tensors_of(result):
    """Tensors of a result in their order, whatever classes hold them."""
    import torch

    if isinstance(result, torch.Tensor):
        return [result]
    values = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, (tuple, list))
        else ()
    )
    return [t for v in values for t in tensors_of(v)]


def wrapped(inner, keywords, fixed=None):
    """A module that hands its parameters to a network by keyword or in order; gives a tuple."""
    import torch

    class Program(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = inner

        def give(self, *tensors):
            if keywords:
                return tuple(tensors_of(self.net(**dict(zip(keywords, tensors)), **(fixed or {}))))
            return tuple(tensors_of(self.net(*tensors)))

    class One(Program):
        def forward(self, x):
            return self.give(x)

    class Two(Program):
        def forward(self, x, y):
            return self.give(x, y)

    return (Two if keywords and len(keywords) > 1 or keywords == () else One)()


def torchvision_network(name):
    import torch
    import torchvision

    size, options = IMAGES["torchvision", name][0], {"weights": None}
    if name in ("googlenet", "inception_v3"):
        options.update(init_weights=False, aux_logits=False)
    if name.startswith(("deeplab", "fcn", "lraspp")):
        options["weights_backbone"] = None
    net = torchvision.models.get_model(name, **options)
    if size == "pair":
        return wrapped(net, ()), {"x": torch.rand(1, 3, 128, 128), "y": torch.rand(1, 3, 128, 128)}
    if size.startswith("video"):
        side, frames = (224, 16) if size == "video224" else (64, 16 if name == "s3d" else 8)
        return wrapped(net, None), {"x": torch.rand(1, 3, frames, side, side)}
    return wrapped(net, None), {"x": torch.rand(1, 3, int(size), int(size))}


def timm_network(name):
    import timm
    import torch

    side, options = IMAGES["timm", name]
    size = int(side)
    net = timm.create_model(name, pretrained=False, **options)
    fixed = getattr(net, "pretrained_cfg", {}).get("fixed_input_size") or hasattr(
        net, "patch_embed"
    )
    if fixed and size not in (getattr(net, "pretrained_cfg", {}).get("input_size") or ())[1:]:
        try:
            net = timm.create_model(name, pretrained=False, img_size=size, **options)
        except TypeError:  # takes images of any size
            pass
    return wrapped(net, None), {"x": torch.rand(1, 3, size, size)}


def transformers_network(name):
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    config, options, takes = TRANSFORMERS[name]
    net = getattr(transformers, name)(getattr(transformers, config)(**options))
    ids = torch.randint(3, 90, (2, 12))
    if takes == "ids":
        return wrapped(net, ("input_ids",)), {"x": ids}
    if takes == "masked":
        mask = torch.ones(2, 12, dtype=torch.int64)
        mask[1, 9:] = 0
        return wrapped(net, ("input_ids", "attention_mask")), {"x": ids, "y": mask}
    if takes == "both":
        return wrapped(net, ("input_ids", "decoder_input_ids")), {"x": ids, "y": ids[:, :7].clone()}
    if takes.startswith("image"):
        side = int(takes[5:])
        return wrapped(net, ("pixel_values",)), {"x": torch.rand(1, 3, side, side)}
    if takes == "sound":
        return wrapped(net, ("input_values",)), {"x": torch.randn(1, 2000)}
    if takes == "spectrogram":
        return wrapped(net, ("input_values",)), {"x": torch.randn(1, 48, 32)}
    if takes == "series":
        return wrapped(net, ("past_values",)), {"x": torch.randn(2, 32, 2)}
    return (
        wrapped(net, ("input_features", "decoder_input_ids")),
        {"x": torch.randn(2, 16, 40), "y": ids[:, :7].clone()},
    )


def block(name):
    import blocks_networks

    net, inputs = blocks_networks.NETWORKS[name]()
    return wrapped(net, () if len(inputs) == 2 else None), inputs


def build(program):
    library, name = program.split(": ")
    net, inputs = {
        "torchvision": torchvision_network,
        "timm": timm_network,
        "transformers": transformers_network,
        "blocks": block,
    }[library](name)
    settle(net)
    return net.eval(), inputs
