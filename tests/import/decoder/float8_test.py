#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of Hugging Face whose matrices are float8 with scales, as fp8 and compressed-tensors have
them: logits beside those of the same weights in f32, and refusals.

  float8_test.py --ingot BIN
"""

import sys

from packed_int4_test import Folder
from testing import Checks, Ingot, ingot_parser, largest_error, numpy_or_skip, work_folder

np = numpy_or_skip("matrices of float8")
from decoder_test import folder_of, small_llama  # noqa: E402

BLOCK = [16, 24]  # blocks at the edges are smaller
SOME = "model.layers.0.mlp.down_proj."
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
BLOCKS = {**FP8, "weight_block_size": BLOCK}
WHOLE = {**FP8, "activation_scheme": "static", "weight_block_size": None}


def compressed(strategy, **weights):
    own = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": strategy, **weights}
    group = {"weights": own, "input_activations": {"num_bits": 8, "type": "float"}}
    return {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "config_groups": {"group_0": group},
        "sparsity_config": {},
    }


def numbers(codes):
    """What codes of E4M3 stand for, f32."""
    exponent, mantissa = codes >> 3 & 15, (codes & 7).astype(np.float64)
    normal = (1 + mantissa / 8) * 2.0 ** (exponent.astype(np.int64) - 7)
    plain = np.where(exponent > 0, normal, mantissa * 2.0**-9)
    return (plain * np.where(codes & 128, -1, 1)).astype(np.float32)


def scales_of(kind, rows, columns, rng):
    """As they are stored, and one for each weight, f32."""
    whole = lambda count, of: -(-count // of)
    dims = {
        "blocks": (whole(rows, BLOCK[0]), whole(columns, BLOCK[1])),
        "rows": (rows, 1),
        "matrix": (1, 1),
    }[kind]
    scales = (rng.uniform(0.5, 2, dims) / 512).astype(np.float32)
    each = (rows, columns) if kind == "matrix" else BLOCK if kind == "blocks" else (1, columns)
    return scales, np.repeat(np.repeat(scales, each[0], 0), each[1], 1)[:rows, :columns]


def float8_folder(ingot, name, kind, end, shape=None, left_out=()):
    """A folder of that kind, and one of the same weights in f32."""
    config, plain = folder_of(small_llama()[1])
    rng, stored = np.random.default_rng(4), {}
    for tensor, array in list(plain.items()):
        stored[tensor] = array
        if not tensor.endswith("proj.weight"):
            continue
        codes = rng.integers(0, 256, array.shape).astype(np.uint8)
        codes[codes & 127 == 127] = 3  # no numbers
        scales, of_each = scales_of(kind, *array.shape, rng)
        plain[tensor] = numbers(codes) * of_each
        stored[tensor] = codes.view("V1")
        stored[tensor + end] = scales if shape is None else scales.reshape(shape)
        for other in left_out:
            stored[tensor.removesuffix("weight") + other] = np.ones(1, np.float32)
    return Folder(ingot, name, config, stored), Folder(ingot, name + "-plain", config, plain)


def check_kind(checks, ingot, name, how, *kind):
    folder, plain = float8_folder(ingot, name.replace(" ", "-"), *kind)
    checks.report(f"{name}: plain", plain.convert().error)
    wanted = plain.logits()
    done = folder.convert(how)
    checks.report(name, done.error)
    checks.check("matrices of float8 (14) are multiplied" in done.output, f"{name}: a note")
    left_out = "their scales (14) are left out" in done.output
    checks.check(left_out == ("input_scale" in str(kind)), f"{name}: scales of inputs")
    checks.check(np.array_equal(folder.logits(), wanted), f"{name}: the bits of f32")
    checks.report(f"{name}: in blocks", folder.convert(how, None, "--weights", "q8_0").error)
    in_blocks = folder.logits()
    checks.report(f"{name}: blocks of f32", plain.convert(None, None, "--weights", "q8_0").error)
    checks.check(np.array_equal(in_blocks, plain.logits()), f"{name}: the same blocks")
    error = largest_error(in_blocks, wanted, 1e-3)
    checks.check(0 < error < 5e-2, f"{name}: near f32 in blocks", f"{error:.1e}")
    return folder


def check_refusals(checks, folder):
    own, scales = folder.tensors, folder.tensors[SOME + "weight_scale_inv"]
    changed = lambda part, array: {**own, SOME + part: array}
    without = {k: v for k, v in own.items() if k != SOME + "weight_scale_inv"}
    infinite, no_number = scales.copy(), scales.copy()
    infinite[1, 1], no_number[0, 1] = np.inf, np.nan
    weights = compressed("block", block_structure=BLOCK)
    group = weights["config_groups"]["group_0"]
    shifted = {"config_groups": {"group_0": {**group, "output_activations": {"num_bits": 8}}}}
    tests = {
        "no scales": (BLOCKS, without, 5, ["down_proj.weight_scale_inv' or '", "is missing"]),
        "scales of other blocks": (BLOCKS, changed("weight_scale_inv", scales[:, :1]), 5,
                                   ["is [2, 1], expected [2, 2]", "'model.layers.0.mlp.down_proj"]),
        "scales of all where the matrix has one": (WHOLE, None, 5, ["expected [1, 1]"]),
        "scales of rows": (compressed("channel"), None, 5, ["expected [32, 1]"]),
        "scales of integers": (BLOCKS, changed("weight_scale_inv", scales.astype(np.int32)), 5,
                               ["weight_scale_inv' is int32"]),
        "an infinite scale": (BLOCKS, changed("weight_scale_inv", infinite), 5, ["is infinite"]),
        "a scale that is no number": (BLOCKS, changed("weight_scale_inv", no_number), 5,
                                      ["is no number"]),
        "scales of a plain matrix": (BLOCKS, changed("weight", np.zeros((32, 48), np.float32)), 5,
                                     ["weight_scale_inv' is not expected"]),
        "no configuration of it": (None, None, 4, ["is float8_e4m3fn", "expected float32"]),
        "another method": ({**BLOCKS, "quant_method": "fbgemm_fp8"}, None, 4, ["fbgemm_", " fp8"]),
        "another format of float8": ({**BLOCKS, "fmt": "e5m2"}, None, 4, ["e5m2", "e4m3"]),
        "blocks of nothing": ({**FP8, "weight_block_size": [0, 16]}, None, 4,
                              ["weight_block_size", "rows and columns"]),
        "one size of blocks": ({**FP8, "weight_block_size": [16]}, None, 4, ["weight_block_size"]),
        "16 bits": (compressed("channel", num_bits=16), None, 4, ["num_bits", "expected 8"]),
        "integers of compressed-tensors": (compressed("channel", type="int"), None, 4, ["float"]),
        "zeros": (compressed("channel", symmetric=False), None, 4, ["symmetric"]),
        "groups of inputs": (compressed("group"), None, 4, ["strategy", "tensor, channel"]),
        "no size of blocks": (compressed("block"), None, 4, ["block_structure"]),
        "quantized outputs": ({**weights, **shifted}, None, 4, ["output_activations"]),
        "a rotation": ({**weights, "transform_config": {"a": 1}}, None, 4, ["transform_config"]),
    }  # fmt: skip
    for name, (how, tensors, code, words) in tests.items():
        checks.report(name, folder.convert(how, tensors).refusal(code, *words))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("matrices of float8")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        one, rows, inputs = (), None, ["input_scale"]
        folder = check_kind(checks, ingot, "blocks", BLOCKS, "blocks", "_scale_inv")
        check_refusals(checks, folder)
        check_kind(checks, ingot, "whole", WHOLE, "matrix", "_scale_inv", one, ["input_scale"])
        check_kind(checks, ingot, "one", compressed("tensor"), "matrix", "_scale", 1, inputs)
        check_kind(checks, ingot, "rows", compressed("channel"), "rows", "_scale", rows)
        check_kind(checks, ingot, "a column", compressed("channel"), "rows", "_scale", -1)
        how = compressed("block", block_structure=BLOCK)
        check_kind(checks, ingot, "compressed blocks", how, "blocks", "_scale")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
