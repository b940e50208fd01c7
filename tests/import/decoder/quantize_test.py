#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ingot convert --weights q4_0` and the other types of blocks, over small models of plain numbers:
which type each matrix gets, errors beside the usual formulas, logits beside f32, and refusals.

  quantize_test.py --ingot BIN
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, numpy_or_skip, work_folder  # noqa: E402

np = numpy_or_skip("weights quantized by conversion")
from decoder_test import VOCABULARY, folder_of, small_llama, write_safetensors  # noqa: E402
from experts_test import HEADS, HIDDEN, WIDTH, logits_of, small_mixture  # noqa: E402
from gguf_writer import RandomBlocks, write_gguf  # noqa: E402

TOKENS = np.random.default_rng(2).integers(0, VOCABULARY, 17)
# Root mean square of what logits differ by from those of f32, of theirs: about twice as measured.
TOLERANCES = {
    "q4_0": 0.5, "q4_1": 0.4, "q5_0": 0.2, "q5_1": 0.2, "q8_0": 0.05, "q4_k": 0.4, "q5_k": 0.25,
    "q6_k": 0.2,
}  # fmt: skip


def half(x):
    return x.astype(np.float16).astype(np.float32)


def inverse(x):
    return np.where(x == 0, 0, 1 / np.where(x == 0, 1, x))


def plain_around_zero(x, codes):
    """The largest number over the code at the end of the range."""
    x = x.reshape(-1, 32)
    most = np.take_along_axis(x, np.abs(x).argmax(1, keepdims=True), 1)
    scale = most / codes[0]
    return np.clip(np.round(x * inverse(scale)), *codes) * half(scale)


def plain_with_minimum(x, last):
    x = x.reshape(-1, 32)
    low = x.min(1, keepdims=True)
    scale = (x.max(1, keepdims=True) - low) / last
    return np.clip(np.round((x - low) * inverse(scale)), 0, last) * half(scale) + half(low)


def plain_minimum_parts(x, last, first, steps):
    """Super-blocks with a minimum: each 32 fitted with larger weights for larger numbers, over
    `steps` scales, then scales and minima as six bits."""
    x = x.reshape(-1, 32)
    weight = np.abs(x) + np.sqrt((x * x).mean(1, keepdims=True))
    low, high = np.minimum(x.min(1, keepdims=True), 0), x.max(1, keepdims=True)
    total = lambda values: (weight * values).sum(1, keepdims=True)
    best, scale, minimum = np.inf, (high - low) / last, low
    for step in range(-1, steps + 1):
        divisor = last if step < 0 else last + first + 0.1 * step
        code = np.clip(np.round((x - low) * divisor * inverse(high - low)), 0, last)
        if step < 0:
            s, m = scale, minimum
        else:
            w, c, cc, v, cv = total(1), total(code), total(code**2), total(x), total(code * x)
            spread = inverse(w * cc - c * c)
            s, m = (w * cv - v * c) * spread, (cc * v - c * cv) * spread
            s, m = np.where(m > 0, cv * inverse(cc), s), np.minimum(m, 0)
        error = total((x - s * code - m) ** 2)
        better = error < best
        best = np.where(better, error, best)
        scale, minimum = np.where(better, s, scale), np.where(better, m, minimum)

    def six_bits(values):
        parts = values.reshape(-1, 8)
        most = parts.max(1, keepdims=True)
        whole = np.clip(np.round(parts * 63 * inverse(most)), 0, 63)
        return (whole * half(most / 63)).reshape(-1, 1)

    scale, minimum = six_bits(scale), six_bits(-minimum)
    return np.clip(np.round((x + minimum) * inverse(scale)), 0, last) * scale - minimum


def plain_q6_k(x):
    x = x.reshape(-1, 16)
    weight = x * x
    most = np.take_along_axis(x, np.abs(x).argmax(1, keepdims=True), 1)
    best, scale = np.zeros_like(most), np.zeros_like(most)
    for step in (0, *range(-9, 10)):
        code = np.clip(np.round(-(32 + 0.1 * step) * x * inverse(most)), -32, 31)
        cx = (weight * code * x).sum(1, keepdims=True)
        cc = (weight * code * code).sum(1, keepdims=True)
        gain = cx * cx * inverse(cc)
        best, scale = np.maximum(best, gain), np.where(gain > best, cx * inverse(cc), scale)
    parts = scale.reshape(-1, 16)
    most = np.take_along_axis(parts, np.abs(parts).argmax(1, keepdims=True), 1) / -128
    whole = np.clip(np.round(parts * inverse(most)), -128, 127)
    scale = (whole * half(most)).reshape(-1, 1)
    return np.clip(np.round(x * inverse(scale)), -32, 31) * scale


PLAIN = {
    "q4_0": lambda x: plain_around_zero(x, (-8, 7)),
    "q5_0": lambda x: plain_around_zero(x, (-16, 15)),
    "q8_0": lambda x: plain_around_zero(x, (-127, 127)),
    "q4_1": lambda x: plain_with_minimum(x, 15),
    "q5_1": lambda x: plain_with_minimum(x, 31),
    "q4_k": lambda x: plain_minimum_parts(x, 15, -1, 20),
    "q5_k": lambda x: plain_minimum_parts(x, 31, -0.5, 15),
    "q6_k": plain_q6_k,
}


def losses(output):
    """{tensor: (type, percent)} of the note."""
    found = re.findall(r"(\w+) (q\d_\w) ([\d.e+-]+) %", output)
    return {name: (kind, float(percent)) for name, kind, percent in found}


def wide_mixture():
    """Rows of 256 weights, the experts in one tensor; a head of its own."""
    metadata, tensors = small_mixture("Q8_0")
    metadata["llama.block_count"], metadata["llama.expert_count"] = 1, 2
    tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("blk.1")}
    rng = np.random.default_rng(3)
    for name, tensor in tensors.items():
        if isinstance(tensor, RandomBlocks):  # a few large ones among them, as in trained models
            drawn = rng.standard_t(5, (2, *tensor.shape[1:])) / 16
            tensors[name] = drawn.astype(np.float32)
    tensors["blk.0.ffn_gate_inp.weight"] = tensors["blk.0.ffn_gate_inp.weight"][:2]
    return metadata, tensors


def check_types(checks, ingot):
    source = ingot.folder / "wide.gguf"
    metadata, tensors = wide_mixture()
    write_gguf(source, metadata, tensors)
    checks.report("convert", ingot.convert(source).error)
    wanted, plain_bytes = logits_of(ingot, TOKENS), ingot.file.stat().st_size
    for kind, plain in PLAIN.items():
        done = ingot.convert(source, "--weights", kind)
        checks.report(kind, done.error)
        lost = losses(done.output)
        named = {"token_embd", "output", "attn_q", "attn_k", "attn_v", "attn_output",
                 "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}  # fmt: skip
        checks.check(set(lost) == named, f"{kind}: what it lost, without routers", done.output)
        for name, (found, percent) in lost.items():
            expected = "q6_k" if name == "output" and kind != "q8_0" else kind
            checks.check(found == expected, f"{kind}: the type of {name}", found)
            if name not in ("token_embd", "output", "attn_q", "ffn_down_exps"):
                continue  # as these
            full = name if name in ("token_embd", "output") else f"blk.0.{name}"
            x = tensors[f"{full}.weight"].reshape(-1)
            usual = PLAIN[expected](x).reshape(-1) - x
            squares = lambda values: (values.astype(np.float64) ** 2).sum()
            most = 100 * np.sqrt(squares(usual) / squares(x))
            ok = 0.5 * most < percent <= most * 1.005  # three digits are printed
            checks.check(ok, f"{kind}: {name} loses what is usual at most", f"{percent} {most:.4g}")
        error = logits_of(ingot, TOKENS) - wanted
        error = np.sqrt((error**2).mean() / (wanted**2).mean())
        ok = TOLERANCES[kind] / 8 < error < TOLERANCES[kind]
        checks.check(ok, f"{kind}: logits are near those of f32", f"{error:.2e}")
        small = ingot.file.stat().st_size < plain_bytes * 0.5
        checks.check(small, f"{kind}: a smaller file", str(ingot.file.stat().st_size))


def mixtral_of(tensors):
    """The same as a folder has it: an expert in three tensors, rows of q and k as halves."""
    config = {
        "model_type": "mixtral", "hidden_size": WIDTH, "intermediate_size": HIDDEN,
        "num_hidden_layers": 1, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "vocab_size": VOCABULARY,
        "tie_word_embeddings": False, "hidden_act": "silu", "rope_theta": 10000.0,
        "num_local_experts": 2, "num_experts_per_tok": 2,
    }  # fmt: skip
    names = {
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm", "ffn_gate_inp": "block_sparse_moe.gate",
    }  # fmt: skip
    parts = {"ffn_gate_exps": "w1", "ffn_up_exps": "w3", "ffn_down_exps": "w2"}
    whole = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    out = {}
    for name, array in tensors.items():
        kind = name.removeprefix("blk.0.").removesuffix(".weight")
        if kind in ("attn_q", "attn_k"):
            halves = array.reshape(HEADS, -1, 2, WIDTH).swapaxes(1, 2)
            array = np.ascontiguousarray(halves.reshape(array.shape))
        if kind in parts:
            for expert, own in enumerate(array):
                place = f"model.layers.0.block_sparse_moe.experts.{expert}.{parts[kind]}"
                out[f"{place}.weight"] = own
        else:
            out[(whole.get(kind) or f"model.layers.0.{names[kind]}") + ".weight"] = array
    return config, out


def check_experts(checks, ingot):
    metadata, tensors = wide_mixture()
    source, folder = ingot.folder / "wide.gguf", ingot.folder / "mixtral"
    write_gguf(source, metadata, tensors)
    write_folder(folder, *mixtral_of(tensors))
    bits = []
    for path in (source, folder):
        done = ingot.convert(path, "--weights", "q8_0")
        checks.report(f"experts of {path.name}", done.error)
        bits.append(logits_of(ingot, TOKENS))
    checks.check(np.array_equal(*bits), "experts in a tensor each have the bits of those in one")


def write_folder(folder, config, tensors):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)


def check_widths(checks, ingot):
    """Rows of 32 in the place of 256, and of 48, which no block fits; a tied embedding."""
    metadata, tensors = small_llama()
    source = ingot.folder / "narrow.gguf"
    write_gguf(source, metadata, tensors)
    for kind, narrow in (("q4", "q5_0"), ("q5", "q5_1"), ("q8", "q8_0"), ("q4_1", "q4_1")):
        done = ingot.convert(source, "--weights", kind)
        lost = losses(done.output)
        same = {found for name, (found, _) in lost.items() if name != "token_embd"} == {narrow}
        checks.check(same and "ffn_down" not in lost, f"{kind} as {narrow}", done.output)
        stays = "48 are no multiple of 32 and stay f32" in done.output
        checks.check(stays, f"{kind}: rows of 48", done.output)
        checks.check(lost["token_embd"][0] == "q8_0", "an embedding that is the head", done.output)
    report = ingot("inspect", ingot.file, "--json").stdout
    checks.check("weights as q4_1" in report and "RMS error" in report, "inspect tells", report)
    bits, first = logits_of(ingot, TOKENS), ingot.file.read_bytes()
    ingot.convert(source, "--weights", "q4_1")
    checks.check(ingot.file.read_bytes() == first, "the same bytes again")
    folder = ingot.folder / "llama"
    write_folder(folder, *folder_of(tensors))
    checks.report("a folder", ingot.convert(folder, "--weights", "q4_1").error)
    # rows of q and k lie in another order, and blocks go with their rows
    same = np.array_equal(logits_of(ingot, TOKENS), bits)
    checks.check(same, "a folder has the bits of the GGUF")
    halves = {name: x.astype(np.float16) if x.ndim == 2 else x for name, x in tensors.items()}
    write_gguf(source, metadata, halves)
    checks.report("f16", ingot.convert(source, "--weights", "q8").error)


def check_exact(checks, ingot):
    """Weights that a type holds already come back as they were."""
    metadata, tensors = small_llama()
    rng = np.random.default_rng(4)
    for name, x in tensors.items():
        if x.ndim == 2 and x.shape[1] == 32:
            codes = rng.integers(0, 16, x.shape)
            codes[:, :2] = 0, 15
            scale, low = 2.0 ** rng.integers(-9, -5, (len(x), 1)), -(2.0 ** -4)
            tensors[name] = (codes * scale + low).astype(np.float32)
    source = ingot.folder / "exact.gguf"
    write_gguf(source, metadata, tensors)
    for kind in ("q4_1", "q5_1"):
        lost = losses(ingot.convert(source, "--weights", kind).output)
        exact = all(percent < 1e-5 for name, (_, percent) in lost.items() if name != "token_embd")
        checks.check(exact, f"{kind}: nothing is lost where nothing must be", str(lost))


def check_refusals(checks, ingot):
    metadata, tensors = small_llama()
    source = ingot.folder / "plain.gguf"
    write_gguf(source, metadata, tensors)
    convert = ingot.convert
    checks.report("no type", convert(source, "--weights", "q5_2").refusal(1, "q5_2", "'q5_"))
    file = convert(source, "--weights", "./q8_0")
    checks.report("a file's name", file.refusal(4, "own weights", "--weights q8"))
    both = convert(source, "--weights", "q8_0", "--dtype", "fp16")
    checks.report("two types", both.refusal(1, "--weights q8_0 and --dtype fp16"))
    key = convert(source, "--weights", "q8_0", "--key", "model")
    checks.report("no checkpoint", key.refusal(1, "--key", "--weights CHECKPOINT"))
    for value, said in ((np.nan, "nan"), (np.inf, "inf"), (40000, "40000")):
        changed = {**tensors, "blk.1.ffn_up.weight": tensors["blk.1.ffn_up.weight"].copy()}
        changed["blk.1.ffn_up.weight"][3, 5] = value
        write_gguf(source, metadata, changed)
        refused = convert(source, "--weights", "q4_0").refusal(5, "blk.1.ffn_up.weight", said)
        checks.report(f"a weight of {said}", refused)
    name = "blk.0.attn_q.weight"
    write_gguf(source, metadata, {**tensors, name: ("Q8_0", tensors[name])})
    blocks = convert(source, "--weights", "q4_0")
    checks.report("blocks already", blocks.refusal(5, name, "Q8_0", "F16"))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("weights quantized by conversion")
    for check in (check_types, check_experts, check_widths, check_exact, check_refusals):
        with work_folder() as folder:
            check(checks, Ingot(args.ingot, folder, suffix=".gguf"))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
