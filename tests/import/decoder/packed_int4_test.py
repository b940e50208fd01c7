#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of Hugging Face whose matrices are packed in 4 bits as GPTQ, AWQ and compressed-tensors
do it: logits beside those of the same weights in f32, and refusals.

  packed_int4_test.py --ingot BIN
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("matrices packed in 4 bits")
from decoder_test import (  # noqa: E402
    CONTEXT,
    LAYERS,
    VOCABULARY,
    WIDTH,
    folder_of,
    small_llama,
    write_safetensors,
)

GROUP, HIDDEN, WIDE = 32, 64, 128  # two groups of hidden ones, four of a wide model's
TOKENS = np.random.default_rng(2).integers(0, VOCABULARY, 17)
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # outputs of a word, from the lowest bits on
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "gemm"}
WEIGHTS = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group"}
COMPRESSED = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "config_groups": {"group_0": {"weights": {**WEIGHTS, "group_size": GROUP}}},
}


def compressed_with(weights=(), **group):
    own = {**WEIGHTS, "group_size": GROUP, **dict(weights)}
    return {**COMPRESSED, "config_groups": {"group_0": {"weights": own, **group}}}


def pack(codes, order=range(8)):
    """Eight codes of the last axis in a word, from the lowest bits on."""
    eights = codes.reshape(*codes.shape[:-1], -1, 8).astype(np.uint32)
    words = sum(eights[..., at] << np.uint32(4 * place) for place, at in enumerate(order))
    return words.astype(np.uint32).view(np.int32)


def quantize(matrix, rng, is_centered, order=None):
    """Codes [out, in], scales and zeros [out, groups], and what they stand for. `order`: inputs
    are in groups of so many of these."""
    if order is not None:
        codes, scales, zeros, plain = quantize(matrix[:, order], rng, is_centered)
        back = np.argsort(order)
        return codes[:, back], scales, zeros, np.ascontiguousarray(plain[:, back])
    groups = matrix.reshape(len(matrix), -1, GROUP)
    scales = (np.abs(groups).max(-1) / 7).astype(np.float16)
    zeros = np.full(scales.shape, 8) if is_centered else rng.integers(0, 16, scales.shape)
    wide = scales.astype(np.float32)[..., None]
    codes = np.clip(np.round(groups / wide) + zeros[..., None], 0, 15).astype(np.int64)
    plain = ((codes - zeros[..., None]) * wide).astype(np.float32)
    return codes.reshape(matrix.shape), scales, zeros, plain.reshape(matrix.shape)


def parts_of(kind, codes, scales, zeros, order=None):
    of_group = np.arange(codes.shape[1]) // GROUP
    if order is not None:
        of_group = of_group[np.argsort(order)]
    if kind == "compressed":
        shape = np.array(codes.shape, np.int64)
        parts = {"weight_packed": pack(codes), "weight_scale": scales, "weight_shape": shape}
        if (zeros != 8).any():
            whole = np.pad(zeros, ((0, -len(zeros) % 8), (0, 0)))
            parts["weight_zero_point"] = np.ascontiguousarray(pack(whole.T).T)
        if order is not None:
            parts["weight_g_idx"] = of_group.astype(np.int32)
        return parts
    if kind == "awq":
        return {
            "qweight": pack(codes.T, AWQ_ORDER),
            "qzeros": pack(zeros.T, AWQ_ORDER),
            "scales": scales.T,
        }
    return {
        "qweight": pack(codes).T,
        "qzeros": pack((zeros.T - (kind == "gptq")) & 15),  # 0 is stored as 15
        "scales": scales.T,
        "g_idx": of_group.astype(np.int32),
    }


class Folder:
    def __init__(self, ingot, name, config, tensors):
        self.ingot, self.config, self.tensors = ingot, config, tensors
        self.path = pathlib.Path(ingot.folder) / name
        self.path.mkdir()

    def convert(self, how=None, tensors=None, *words):
        config = self.config if how is None else {**self.config, "quantization_config": how}
        (self.path / "config.json").write_text(json.dumps(config))
        write_safetensors(self.path / "model.safetensors", tensors or self.tensors)
        return self.ingot.convert(self.path, "--context", CONTEXT, *words)

    @staticmethod
    def fed():
        return {"tokens": TOKENS[None].astype(np.int32), "position": np.zeros(1, np.int64)}

    def logits(self):
        return self.ingot.outputs(self.fed())["logits"]


def packed_folder(ingot, name, kind, is_centered, has_order=False):
    """A folder of that kind, and one of the same weights in f32."""
    width = WIDE if has_order else WIDTH
    config, plain = folder_of(small_llama(width)[1])
    rng, packed = np.random.default_rng(3), {}
    config["intermediate_size"] = HIDDEN
    for tensor, array in plain.items():
        if ".mlp." in tensor:
            shape = (width, HIDDEN) if "down" in tensor else (HIDDEN, width)
            plain[tensor] = (rng.standard_normal(shape) / 4).astype(np.float32)
    for tensor, array in list(plain.items()):
        if not tensor.endswith("proj.weight"):
            packed[tensor] = array
            continue
        order = None
        if has_order:  # of q, k and v the same, and of gate and up
            seed = ("o_proj" in tensor) + 2 * (".mlp." in tensor) + ("down" in tensor)
            order = np.random.default_rng(seed).permutation(array.shape[1])
        codes, scales, zeros, plain[tensor] = quantize(array, rng, is_centered, order)
        for part, own in parts_of(kind, codes, scales, zeros, order).items():
            packed[tensor.removesuffix("weight") + part] = own
    return Folder(ingot, name, config, packed), Folder(ingot, name + "-plain", config, plain)


def check_kind(checks, ingot, name, how, kind, is_centered, has_order=False):
    folder, plain = packed_folder(ingot, name, kind, is_centered, has_order)
    checks.report(f"{name}: plain", plain.convert().error)
    wanted = plain.logits()
    checks.report(f"{name}: widened", folder.convert(how, None, "--dtype", "fp32").error)
    error = largest_error(folder.logits(), wanted, 1e-3)
    # a minimum is rounded to f16, a scale is not; sums over other orders round otherwise
    most = (3e-5 if has_order else 0) if is_centered else 1e-2
    checks.check(error <= most, f"{name}: the weights", f"{error:.1e}")
    done = folder.convert(how)
    checks.report(f"{name}: in blocks", done.error)
    error = largest_error(folder.logits(), wanted, 1e-3)
    checks.check(0 < error < 1e-1, f"{name}: near f32 in blocks", f"{error:.1e}")
    return folder


def check_refusals(checks, folder):
    some = "model.layers.0.mlp.down_proj."
    without = lambda part: {k: v for k, v in folder.tensors.items() if k != some + part}
    changed = lambda part, array: {**folder.tensors, some + part: array}
    order = folder.tensors[some + "g_idx"]
    uneven, beyond = order.copy(), order.copy()
    uneven[0], beyond[3] = 1, 2
    scales = folder.tensors[some + "scales"].astype(np.float32)
    tests = {
        "3 bits": ({**GPTQ, "bits": 3}, None, 4, ["bits", "expected 4"]),
        "another method": ({**GPTQ, "quant_method": "hqq"}, None, 4, ["hqq", "awq"]),
        "another version of AWQ": ({**AWQ, "version": "gemv"}, None, 4, ["gemv"]),
        "no group": ({**GPTQ, "group_size": 48}, None, 4, ["groups of 48", "multiple of 32"]),
        "a part is missing": (GPTQ, without("qzeros"), 5, ["qzeros is missing"]),
        "groups of other sizes": (GPTQ, changed("g_idx", uneven), 5,
                                  ["g_idx has 31 inputs in group 0, expected 32"]),
        "a group that is none": (GPTQ, changed("g_idx", beyond), 5, ["group 2 for input 3"]),
        "a negative group": (GPTQ, changed("g_idx", beyond - 3), 5, ["group -3 for input 0"]),
        "an order of f32": (GPTQ, changed("g_idx", scales), 5, ["g_idx is ["]),
        "scales of another size": (GPTQ, changed("scales", scales[:, 1:]), 5, ["scales is [2, "]),
        "codes of f32": (GPTQ, changed("qweight", scales), 5, ["qweight is float32"]),
        "an infinite scale": (GPTQ, changed("scales", scales * np.inf), 4, ["scale inf", "f16"]),
        "a scale beyond f16": (GPTQ, changed("scales", scales * 1e9), 4, ["e+0", "f16"]),
        "an order without groups": ({**GPTQ, "desc_act": True}, without("g_idx"), 5, ["g_idx"]),
        "some matrices otherwise": ({**GPTQ, "dynamic": {"a": {}}}, None, 4, ["dynamic"]),
        "packed and not": (GPTQ, changed("weight", scales), 5, ["there twice"]),
        "no configuration of it": (None, None, 4, ["qweight", "no quantization_config"]),
        "another order, compressed": (
            compressed_with({"actorder": "other"}), None, 4, ["actorder", "static"],
        ),
        "quantized inputs": (compressed_with(input_activations={"num_bits": 8}), None, 4,
                             ["input_activations"]),
        "sparse matrices": (
            {**COMPRESSED, "sparsity_config": {"format": "sparse-24"}}, None, 4, ["sparse-24"],
        ),
        "a rotation": ({**COMPRESSED, "transform_config": {"a": 1}}, None, 4, ["transform_config"]),
        "another format of a group": (compressed_with(format="marlin-24"), None, 4, ["marlin-24"]),
        "floats of compressed-tensors": (
            {**COMPRESSED, "format": "float-quantized"}, None, 4, ["num_bits", "expected 8"],
        ),
        "another format": ({**COMPRESSED, "format": "marlin-24"}, None, 4, ["pack-quantized or"]),
        "no object": ([4], None, 4, ["an object"]),
    }  # fmt: skip
    for name, (how, tensors, code, words) in tests.items():
        checks.report(name, folder.convert(how, tensors).refusal(code, *words))


def check_compressed_refusals(checks, folder):
    some = "model.layers.0.mlp.down_proj."
    own = folder.tensors
    zeros = own[some + "weight_zero_point"]
    asymmetric = compressed_with({"symmetric": False})
    ordered = compressed_with({"symmetric": False, "actorder": "group"})
    changed = lambda array: {**own, some + "weight_zero_point": array}
    without = {k: v for k, v in own.items() if k != some + "weight_zero_point"}
    for name, how, tensors, words in (
        ("zeros of a symmetric matrix", COMPRESSED, None, ["zero points, expected none"]),
        ("no zeros", asymmetric, without, ["weight_zero_point is missing"]),
        ("zeros turned", asymmetric, changed(zeros.T.copy()), ["is [2, 4], expected [4, 2]"]),
        ("zeros of f32", asymmetric, changed(zeros.astype(np.float32)), ["is float32, expected"]),
        ("no groups of inputs", ordered, None, ["weight_g_idx is missing, which actorder asks"]),
    ):
        checks.report(name, folder.convert(how, tensors).refusal(5, *words))


def check_order(checks, ingot):
    """Inputs are put in order once for the products that share it; the bits are those of any
    number of threads."""
    folder, _ = packed_folder(ingot, "order", "gptq", True, True)
    checks.report("convert", folder.convert({**GPTQ, "desc_act": True}).error)
    listed = ingot("inspect", ingot.file, "--ops").output
    gathers = sum(" gather " in line for line in listed.splitlines())
    plain = packed_folder(ingot, "neighbors", "gptq", True)[0]
    wanted = folder.logits()
    for threads in (1, 2, 3):
        fed = {"tokens": TOKENS[None].astype(np.int32), "position": np.zeros(1, np.int64)}
        own = ingot.outputs(fed, "--threads", threads)["logits"]
        checks.check(np.array_equal(own, wanted), f"the same bits on {threads} threads")
    checks.report("convert", plain.convert(GPTQ).error)
    listed = ingot("inspect", ingot.file, "--ops").output
    others = sum(" gather " in line for line in listed.splitlines())
    checks.check(gathers - others == 4 * LAYERS, "four orders a layer", f"{gathers} {others}")
    some = "model.embed_tokens."  # rows of which are looked up
    array = np.random.default_rng(7).standard_normal((64, WIDE)).astype(np.float32)
    order = np.arange(WIDE)[::-1]
    parts = parts_of("gptq", *quantize(array, None, True, order)[:3], order)
    tensors = {k: v for k, v in folder.tensors.items() if not k.startswith(some)}
    tensors.update({some + part: own for part, own in parts.items()})
    refused = folder.convert({**GPTQ, "desc_act": True}, tensors)
    checks.report("an order of what is looked up", refused.refusal(4, "embed_tokens", "g_idx"))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("matrices packed in 4 bits")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        folder = check_kind(checks, ingot, "gptq", GPTQ, "gptq", True)
        check_kind(checks, ingot, "gptq-zeros", GPTQ, "gptq", False)
        v2 = {**GPTQ, "checkpoint_format": "gptq_v2"}
        check_kind(checks, ingot, "gptq-v2", v2, "gptq_v2", False)
        check_kind(checks, ingot, "awq", AWQ, "awq", False)
        check_kind(checks, ingot, "compressed-tensors", COMPRESSED, "compressed", True)
        ordered = compressed_with({"actorder": "weight"})
        ordered["sparsity_config"] = {"format": "dense"}
        check_kind(checks, ingot, "compressed-ordered", ordered, "compressed", True)
        check_refusals(checks, folder)
        by_activation = {**GPTQ, "desc_act": True}
        check_kind(checks, ingot, "gptq-order", by_activation, "gptq", True, True)
        check_kind(checks, ingot, "gptq-order-zeros", by_activation, "gptq", False, True)
        asymmetric = compressed_with({"symmetric": False})
        folder = check_kind(checks, ingot, "compressed-zeros", asymmetric, "compressed", False)
        check_compressed_refusals(checks, folder)
        for symmetric, name in ((True, "compressed-group"), (False, "compressed-group-zeros")):
            how = compressed_with({"symmetric": symmetric, "actorder": "group"})
            check_kind(checks, ingot, name, how, "compressed", symmetric, True)
        check_order(checks, ingot)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
