#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matrices of -1, 0 and 1: folders of Hugging Face as quant_method bitnet has them, and GGUF in
TQ1_0 and TQ2_0; logits beside those of the same weights in f32, and refusals.

  ternary_test.py --ingot BIN
"""

import pathlib
import sys

from packed_int4_test import Folder
from testing import Checks, Ingot, ingot_parser, largest_error, numpy_or_skip, work_folder

np = numpy_or_skip("ternary matrices")
from decoder_test import CONTEXT, folder_of, small_llama  # noqa: E402
from gguf_writer import GivenBlocks, write_gguf  # noqa: E402

WIDTH = 256  # of rows of all matrices but down_proj, which are in f32
SOME = "model.layers.0.mlp.up_proj."
DIVIDED = {"quant_method": "bitnet"}
TIMES = {**DIVIDED, "linear_class": "autobitlinear", "quantization_mode": "offline"}
ONLINE = {**TIMES, "quantization_mode": "online", "modules_to_not_convert": ["lm_head"]}


def packed(codes):
    """Rows a quarter of them apart share a byte."""
    quarters = codes.reshape(4, -1, codes.shape[1]).astype(np.uint8)
    return sum(quarter << 2 * i for i, quarter in enumerate(quarters)).astype(np.uint8)


def rounded(weights):
    """As transformers rounds them when they are used."""
    scale = np.float32(1) / np.abs(weights).mean(dtype=np.float32)
    return np.clip(np.round(weights * scale), -1, 1) / scale


def folders(ingot, name, how, scale, stored_as="packed"):
    """A folder of that kind, and one of the same weights in f32."""
    config, plain = folder_of(small_llama(WIDTH)[1])
    rng, stored = np.random.default_rng(5), {}
    for tensor, array in list(plain.items()):
        stored[tensor] = array
        if not tensor.endswith("proj.weight"):
            continue
        if how is ONLINE:
            plain[tensor] = rounded(array)
            continue
        codes = rng.integers(0, 3, array.shape)
        numbers = (codes - 1).astype(np.float32)
        plain[tensor] = numbers * np.float32(scale)
        stored[tensor] = packed(codes) if stored_as == "packed" else numbers
        own = 1 / scale if "linear_class" not in how else scale
        stored[tensor + "_scale"] = np.full(1, own, np.float32)
    return Folder(ingot, name, config, stored), Folder(ingot, name + "-plain", config, plain)


def check_kind(checks, ingot, name, how, scale=0.0625, most=0.0, stored_as="packed"):
    folder, plain = folders(ingot, name.replace(" ", "-"), how, scale, stored_as)
    checks.report(f"{name}: plain", plain.convert().error)
    wanted = plain.logits()
    done = folder.convert(how)
    checks.report(name, done.error)
    checks.check("matrices of -1, 0 and 1 (14) are kept" in done.output, f"{name}: a note")
    if stored_as == "packed":
        error = largest_error(folder.logits(), wanted, 1e-3)
        checks.check(0 < error < 1e-1, f"{name}: near f32 in blocks", f"{error:.1e}")
    checks.report(f"{name}: widened", folder.convert(how, None, "--dtype", "fp32").error)
    error = largest_error(folder.logits(), wanted, 1e-3)
    checks.check(error <= most, f"{name}: the weights", f"{error:.1e}")
    return folder


def thirds(codes):
    """TQ1_0's bytes of rows of codes [n, of a byte], the first the most significant."""
    value = sum(codes[..., i, :] * 3 ** (4 - i) for i in range(codes.shape[-2]))
    return ((value * 256 + 242) // 243).astype(np.uint8)


def gguf_bytes(kind, codes, scale):
    """Blocks of 256 codes, as the format has them."""
    blocks = codes.reshape(-1, 256)
    if kind == "TQ2_0":
        crumbs = blocks.reshape(-1, 2, 4, 32)
        parts = [sum(crumbs[:, :, i] << 2 * i for i in range(4)).reshape(-1, 64)]
    else:
        shapes = ((0, 5, 32), (160, 5, 16), (240, 4, 4))
        parts = [thirds(blocks[:, at : at + n * m].reshape(-1, n, m)) for at, n, m in shapes]
    d = np.full((len(blocks), 1), scale, np.float16).view(np.uint8)
    return np.concatenate([*(p.astype(np.uint8) for p in parts), d], 1).tobytes()


def check_gguf(checks, ingot, folder):
    """The same weights in both types and in f32."""
    scale, logits = 0.0625, {}
    for kind in ("F32", "TQ1_0", "TQ2_0"):
        metadata, tensors = small_llama(WIDTH)
        rng = np.random.default_rng(6)
        for name, array in list(tensors.items()):
            if not name.startswith("blk.") or array.ndim != 2 or array.shape[1] != WIDTH:
                continue
            codes = rng.integers(0, 3, array.shape)
            tensors[name] = (
                ((codes - 1) * scale).astype(np.float32)
                if kind == "F32"
                else GivenBlocks(kind, array.shape, gguf_bytes(kind, codes, scale))
            )
        source = pathlib.Path(folder) / f"{kind}.gguf"
        write_gguf(source, metadata, tensors)
        fed = Folder.fed()
        for how in (["--dtype", "fp32"], []):
            checks.report(
                f"{kind} {how}", ingot.convert(source, "--context", CONTEXT, *how).error
            )
            logits[kind, bool(how)] = ingot.outputs(fed)["logits"]
    wanted = logits["F32", True]
    for kind in ("TQ1_0", "TQ2_0"):
        same = np.array_equal(logits[kind, True], wanted)
        checks.check(same, f"{kind}: the bits of f32 where it is widened")
        error = largest_error(logits[kind, False], wanted, 1e-3)
        checks.check(0 < error < 1e-1, f"{kind}: near f32 in blocks", f"{error:.1e}")
    same = np.array_equal(logits["TQ1_0", False], logits["TQ2_0", False])
    checks.check(same, "both types have the same blocks")


def check_refusals(checks, folder):
    own = folder.tensors
    changed = lambda part, array: {**own, SOME + part: array}
    without = {k: v for k, v in own.items() if k != SOME + "weight_scale"}
    number = lambda value: np.full(1, value, np.float32)
    tests = {
        "no scale": (TIMES, without, 5, ["up_proj.weight' is packed", "weight_scale' is missing"]),
        "two scales": (TIMES, changed("weight_scale", np.ones(2, np.float32)), 5, ["[2]", "one"]),
        "a scale of integers": (TIMES, changed("weight_scale", np.ones(1, np.int32)), 5, ["int32"]),
        "no number": (TIMES, changed("weight_scale", number(np.nan)), 5, ["up_proj", "no number"]),
        "divided by 0": (DIVIDED, changed("weight_scale", number(0)), 5, ["is infinite"]),
        "beyond f16": (TIMES, changed("weight_scale", number(1e9)), 4, ["scale 1e+09", "f16"]),
        "too few rows": (TIMES, changed("weight", own[SOME + "weight"][1:]), 5, ["expected ["]),
        "codes of integers": (TIMES, changed("weight", own[SOME + "weight"].astype(np.int32)), 5,
                              ["is int32", "expected uint8"]),
        "another class": ({**TIMES, "linear_class": "bit"}, None, 4, ["linear_class", '"bit"']),
        "another mode": ({**TIMES, "quantization_mode": "now"}, None, 4, ["quantization_mode"]),
        "norms of inputs": ({**TIMES, "use_rms_norm": True}, None, 4, ["use_rms_norm", "false"]),
        "no configuration of it": (None, None, 4, ["is packed", "no quantization_config"]),
        "once more in blocks": (TIMES, None, 5, ["is in blocks already"], "--weights", "q4"),
    }  # fmt: skip
    for name, (how, tensors, code, words, *options) in tests.items():
        done = folder.convert(how, tensors, *options)
        checks.report(name, done.refusal(code, *words))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("ternary matrices")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        folder = check_kind(checks, ingot, "times", TIMES)
        check_refusals(checks, folder)
        check_kind(checks, ingot, "divided", DIVIDED)
        check_kind(checks, ingot, "another scale", TIMES, 0.0437, 1e-3)
        check_kind(checks, ingot, "not packed", TIMES, 0.0437, 0.0, "numbers")
        check_kind(checks, ingot, "online", ONLINE, most=1e-3)
        check_gguf(checks, ingot, work)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
