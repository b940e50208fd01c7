#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small Gemma 3n as GGUF and as a folder: logits of prompts, steps and rings of windows beside
those that NumPy computes in f64; splits, slots and look-up have the bits of one run; what is
refused.

  gemma3n_test.py --ingot BIN
"""

import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small Gemma 3n")
import windows_test  # noqa: E402
from decoder_test import CONTEXT, VOCABULARY, Run  # noqa: E402
from gemma_model import (  # noqa: E402
    EPSILON,
    FOLDER,
    HEADS,
    INPUT,
    KV_HEADS,
    LAYER_TYPES,
    LAYERS,
    SHARED,
    WIDTH,
    WINDOW,
    Reference,
    gelu,
    mean_square,
)
from gguf_writer import write_gguf  # noqa: E402
from hybrid_model import TOKENS  # noqa: E402
from hybrids_test import largest_difference  # noqa: E402
from lfm2_test import Folder, check_threads, check_ways  # noqa: E402

HEAD, RANK, STREAMS, ACTIVE = 16, 6, 4, 1
ROWS = VOCABULARY - 9  # of the table of layers' inputs
HIDDEN = [48, 64, 48, 48, 64]
SHARES = [0.95, 0.0, 0.5, 0.3, 0.0]  # of gates that stay shut
CAP = 5.0
NORMS = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm")
STREAM_NORMS = ("altup_router_norm", "laurel_post_norm")


def scales(shares):
    return [statistics.NormalDist().inv_cdf(p) if p else -math.inf for p in shares]


def random_tensors(streams=STREAMS):
    rng = np.random.default_rng(1)
    draw = lambda *dims: (rng.standard_normal(dims) * 1.5 / dims[-1] ** 0.5).astype(np.float32)
    near = lambda count: (1 + rng.standard_normal(count) / 5).astype(np.float32)
    tensors = {
        "token_embd.weight": draw(VOCABULARY, WIDTH),
        "output_norm.weight": near(WIDTH),
        "altup_proj.weight": draw(streams - 1, WIDTH, WIDTH),
        "altup_unembd_proj.weight": draw(streams - 1, WIDTH, WIDTH),
        "per_layer_token_embd.weight": draw(ROWS, len(LAYERS) * INPUT),
        "per_layer_model_proj.weight": draw(len(LAYERS) * INPUT, WIDTH),
        "per_layer_proj_norm.weight": near(INPUT),
    }
    for layer in range(len(LAYERS)):
        own = {name: near(WIDTH) for name in NORMS + STREAM_NORMS}
        own["attn_q"], own["attn_q_norm"] = draw(HEADS * HEAD, WIDTH), near(HEAD)
        own["attn_output"] = draw(WIDTH, HEADS * HEAD)
        for part in "kv":
            own[f"attn_{part}"] = draw(KV_HEADS * HEAD, WIDTH)
        own["attn_k_norm"] = near(HEAD)  # which files have for layers that read others' caches, too
        own["ffn_gate"], own["ffn_up"] = draw(HIDDEN[layer], WIDTH), draw(HIDDEN[layer], WIDTH)
        own["ffn_down"] = draw(WIDTH, HIDDEN[layer])
        own["inp_gate"], own["proj"] = draw(INPUT, WIDTH), draw(WIDTH, INPUT)
        own["altup_router"] = draw(streams, WIDTH) * WIDTH  # so that it does not give next to 0
        own["altup_predict_coef"] = draw(streams**2, streams) / 4
        own["altup_correct_coef"] = draw(streams, streams)
        own["altup_correct_scale"] = near(WIDTH)
        own["laurel_l"], own["laurel_r"] = draw(RANK, WIDTH), draw(WIDTH, RANK)
        tensors.update({f"blk.{layer}.{name}.weight": array for name, array in own.items()})
    return tensors


METADATA = {
    "block_count": len(LAYERS),
    "context_length": 64,
    "embedding_length": WIDTH,
    "feed_forward_length": HIDDEN,
    "attention.head_count": HEADS,
    "attention.head_count_kv": KV_HEADS,
    "attention.key_length": HEAD,
    "attention.value_length": HEAD,
    "attention.layer_norm_rms_epsilon": EPSILON,
    "attention.sliding_window": WINDOW,
    "attention.sliding_window_pattern": [kind == "s" for kind in LAYERS],
    "attention.shared_kv_layers": SHARED,
    "embedding_length_per_layer_input": INPUT,
    "altup.num_inputs": STREAMS,
    "altup.active_idx": ACTIVE,
    "activation_sparsity_scale": scales(SHARES),
    "rope.freq_base": 1e6,
    "final_logit_softcapping": CAP,
}
CONFIG = {
    "model_type": "gemma3n_text",
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": len(LAYERS),
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "num_kv_shared_layers": SHARED,
    "hidden_size_per_layer_input": INPUT,
    "vocab_size_per_layer_input": ROWS,
    "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 64,
    "rms_norm_eps": EPSILON,
    "layer_types": LAYER_TYPES,
    "sliding_window": WINDOW,
    "rope_theta": 1e6,
    "rope_local_base_freq": 1e4,
    "final_logit_softcapping": CAP,
    "altup_num_inputs": STREAMS,
    "altup_active_idx": ACTIVE,
    "altup_coef_clip": 0.01,  # of training
    "altup_correct_scale": True,
    "laurel_rank": RANK,
    "activation_sparsity_pattern": SHARES,
    "tie_word_embeddings": True,
    "vocab_size": VOCABULARY,
}
NAMES = {
    **FOLDER,
    "altup_proj": "model.altup_projections",
    "altup_unembd_proj": "model.altup_unembed_projections",
    "altup_router": "altup.modality_router",
    "altup_router_norm": "altup.router_norm",
    "altup_predict_coef": "altup.prediction_coefs",
    "altup_correct_coef": "altup.correction_coefs",
    "laurel_l": "laurel.linear_left",
    "laurel_r": "laurel.linear_right",
    "laurel_post_norm": "laurel.post_laurel_norm",
}


def as_folder(tensors):
    out = {}
    for name, array in tensors.items():
        stem = name.removesuffix(".weight")
        if stem.startswith("blk."):
            _, layer, module = stem.split(".", 2)
            bare = module == "altup_correct_scale"
            own = "altup.correct_output_scale" if bare else NAMES[module] + ".weight"
            out[f"model.layers.{layer}.{own}"] = array
        elif array.ndim == 3:
            out.update({f"{NAMES[stem]}.{i}.weight": each for i, each in enumerate(array)})
        else:
            out[NAMES[stem] + ".weight"] = array
    return out


def reference(tensors, tokens=TOKENS, active=ACTIVE):
    """Logits of every token."""
    model, count = Reference(tensors), len(tokens)
    w, linear, norm = model.w, model.linear, model.norm
    of_size = lambda x, like: x * np.sqrt(mean_square(like) / np.maximum(mean_square(x), 1e-5))

    def routed(x, b):
        return np.tanh(linear(norm(x, b + "altup_router_norm") / WIDTH, b + "altup_router"))

    def feed_forward(x, layer):
        b = f"blk.{layer}."
        gate = linear(x, b + "ffn_gate")
        if SHARES[layer]:
            cut = gate.mean(-1, keepdims=True) + gate.std(-1, keepdims=True) * scales(SHARES)[layer]
            gate = np.maximum(gate - cut, 0)
        return linear(gelu(gate) * linear(x, b + "ffn_up"), b + "ffn_down")

    first = w["token_embd.weight"][tokens] * WIDTH**0.5
    split = lambda x: x.reshape(count, len(LAYERS), INPUT)
    inputs = norm(split(linear(first, "per_layer_model_proj") * WIDTH**-0.5), "per_layer_proj_norm")
    rows = np.where(np.asarray(tokens) < ROWS, tokens, 0)
    inputs = (inputs + split(w["per_layer_token_embd.weight"][rows]) * INPUT**0.5) * 0.5**0.5
    x = np.stack([first] + [of_size(first @ m.T, first) for m in w["altup_proj.weight"]])
    for layer, kind in enumerate(LAYERS):
        b, streams = f"blk.{layer}.", len(x)
        shares = linear(routed(x[active], b), b + "altup_predict_coef")
        p = x + np.einsum("tjk,ktw->jtw", shares.reshape(count, streams, streams), x)
        z = norm(p[active], b + "attn_norm")
        s = p[active] + norm(model.attend(z, layer, kind, HEAD), b + "post_attention_norm")
        low = linear(linear(z, b + "laurel_l"), b + "laurel_r")
        s = (s + z + norm(low, b + "laurel_post_norm")) / 2**0.5
        y = s + norm(feed_forward(norm(s, b + "ffn_norm"), layer), b + "post_ffw_norm")
        shares = 1 + linear(routed(y, b), b + "altup_correct_coef")
        x = p + shares.T[..., None] * (y - p[active])
        d = linear(x[active] * w[b + "altup_correct_scale.weight"], b + "inp_gate")
        x[1:] += norm(linear(gelu(d) * inputs[:, layer], b + "proj"), b + "post_norm")
    last = [of_size(x[j + 1] @ m.T, x[0]) for j, m in enumerate(w["altup_unembd_proj.weight"])]
    x = (x[0] + sum(last)) / len(x)
    return CAP * np.tanh(norm(x, "output_norm") @ w["token_embd.weight"].T / CAP)


def write(source, tensors, metadata):
    keyed = {f"gemma3n.{k}": v for k, v in metadata.items() if v is not None}
    write_gguf(source, {"general.architecture": "gemma3n", **keyed}, tensors)


def check_rings(checks, ingot, source, tensors):
    """Windows that wrap: several turns of the caches of layers with one."""
    write(source, tensors, {**METADATA, "context_length": windows_test.CONTEXT})
    done = ingot.convert(source, *windows_test.WORDS)
    checks.report("rings", done.error)
    names = list(windows_test.states(ingot))
    checks.check(sum(name.startswith("windows.keys") for name in names) == 2, "rings", str(names))
    wanted = reference(tensors, windows_test.TOKENS)
    whole = windows_test.check_logits(checks, ingot, wanted)
    windows_test.check_slots(checks, ingot, source, whole)


def check_blocks(checks, ingot, source, tensors):
    """Blocks of a file, 16 bits of it, and those that --weights makes."""
    in_blocks = ("attn", "ffn", "token", "altup_proj", "altup_unembd", "altup_router.")
    as_blocks = lambda k, v: ("Q8_0", v) if v.shape[-1] % 32 == 0 and v.ndim > 1 else v
    kept = {
        k: as_blocks(k, v) if any(word in k for word in in_blocks) else v
        for k, v in tensors.items()
    }
    halves = {k: v.astype(np.float16) if v.ndim > 1 else v for k, v in tensors.items()}
    wanted = reference(tensors)[-1]
    for name, own, words, most in (
        ("Q8_0", kept, (), 0.2),
        ("f16", halves, (), 0.01),
        ("--weights q8_0", tensors, ("--weights", "q8_0"), 0.2),
    ):
        write(source, own, METADATA)
        checks.report(name, ingot.convert(source, "--context", CONTEXT, *words).error)
        error = largest_error(Run(ingot, name.strip("-"))(TOKENS)[0], wanted, 1e-3)
        checks.check(1e-7 < error < most, f"logits in {name}", f"{error:.1e}")


def check_refusals(checks, ingot, source, tensors, folder):
    def written(changed, lacks=(), **others):
        rest = {k: v for k, v in {**tensors, **others}.items() if k not in lacks}
        write(source, rest, {**METADATA, **changed})
        return ingot.convert(source, "--context", CONTEXT)

    scale, inf = "activation_sparsity_scale", math.inf
    for name, code, words, changed, lacks in (
        ("no streams", 4, ("altup.num_inputs' is 0", "2 to 64"), {"altup.num_inputs": 0}, ()),
        ("one stream", 4, ("altup.num_inputs' is 1", "2 to 64"), {"altup.num_inputs": 1}, ()),
        ("too many streams", 4, ("1000000000", "2 to 64"), {"altup.num_inputs": 10**9}, ()),
        ("streams that are not there", 5, ("altup_",), {"altup.num_inputs": 5}, ()),
        ("fewer streams than there are", 5, ("altup_",), {"altup.num_inputs": 3}, ()),
        ("an active one behind the last", 4, ("altup.active_idx", "0 to 3"),
         {"altup.active_idx": 4}, ()),
        ("no number of streams", 4, ("altup.num_inputs' is missing",),
         {"altup.num_inputs": None}, ()),
        ("no shared layers", 4, ("attention.shared_kv_layers' is missing",),
         {"attention.shared_kv_layers": None}, ()),
        ("all layers share", 4, ("0 to 4",), {"attention.shared_kv_layers": 5}, ()),
        ("a kind without caches", 4, ("fewer",), {"attention.shared_kv_layers": 3}, ()),
        ("no scales", 4, (scale + "' is missing",), {scale: None}, ()),
        ("too few scales", 4, (scale, "has 4 numbers", "expected 5"), {scale: [1.0] * 4}, ()),
        ("too many scales", 4, (scale, "has 6 numbers"), {scale: [1.0] * 6}, ()),
        ("an infinite scale", 4, (scale, "inf for layer 2"),
         {scale: [1.0, 1.0, inf, 1.0, 1.0]}, ()),
        ("a scale beyond all", 4, (scale, "-40 to 40"), {scale: [1e30] * 5}, ()),
        ("a scale that is no number", 4, (scale, "nan"), {scale: [math.nan] * 5}, ()),
        ("widths of other layers", 4, ("feed_forward_length", "4 numbers"),
         {"feed_forward_length": HIDDEN[:4]}, ()),
        ("no input of layers", 4, ("embedding_length_per_layer_input", "1 to"),
         {"embedding_length_per_layer_input": 0}, ()),
        ("no matrices of streams", 5, ("'altup_proj.weight.0' is missing",), {},
         ("altup_proj.weight",)),
        ("no router", 5, ("'blk.3.altup_router.weight' is missing",), {},
         ("blk.3.altup_router.weight",)),
        ("no low rank", 5, ("'blk.3.laurel_l.weight' is missing",), {}, ("blk.3.laurel_l.weight",)),
        ("no table", 5, ("per_layer_token_embd.weight' is missing",), {},
         ("per_layer_token_embd.weight",)),
        ("no keys", 5, ("'blk.1.attn_k.weight' is missing",), {}, ("blk.1.attn_k.weight",)),
    ):  # fmt: skip
        checks.report(name, written(changed, lacks).refusal(code, *words))
    for name, words, others in (
        ("another rank", "'blk.1.laurel_r.weight' is [32, 5], expected [32, 6]",
         {"blk.1.laurel_r.weight": np.ones((WIDTH, RANK - 1), np.float32)}),
        ("streams of another width", "'altup_proj.weight.0' is [31, 32], expected [32, 32]",
         {"altup_proj.weight": np.ones((STREAMS - 1, WIDTH - 1, WIDTH), np.float32)}),
        ("streams in a matrix", "'altup_proj.weight.0' is missing",
         {"altup_proj.weight": np.ones((WIDTH, WIDTH), np.float32)}),
    ):  # fmt: skip
        checks.report(name, written({}, **others).refusal(5, words))
    check_folder_refusals(checks, folder)


def check_folder_refusals(checks, folder):
    pattern = "activation_sparsity_pattern"
    for name, words, changed in (
        ("no streams", ("altup_num_inputs", "2 to 64"), {"altup_num_inputs": 0}),
        ("one stream", ("altup_num_inputs", "2 to 64"), {"altup_num_inputs": 1}),
        ("too many streams", ("altup_num_inputs", "2 to 64"), {"altup_num_inputs": 10**9}),
        ("half a stream", ("altup_num_inputs", "whole"), {"altup_num_inputs": 2.5}),
        ("an active one behind the last", ("altup_active_idx", "0 to 3"), {"altup_active_idx": 4}),
        ("an active one in front", ("altup_active_idx", "0 to 3"), {"altup_active_idx": -1}),
        ("no rank", ("laurel_rank", "1 to"), {"laurel_rank": 0}),
        ("a flag that is none", ("altup_correct_scale", "true or"), {"altup_correct_scale": 1}),
        ("all gates shut", (pattern, "layer 1", "less than 1"), {pattern: [0.5, 1.0, 0, 0, 0]}),
        ("more than all", (pattern, "layer 0"), {pattern: [1e300] * 5}),
        ("less than none", (pattern, "layer 0"), {pattern: [-0.5] * 5}),
        ("too few shares", (pattern, "list of 5"), {pattern: [0.5] * 4}),
        ("too many shares", (pattern, "list of 5"), {pattern: [0.5] * 6}),
        ("no share", (pattern, "list of 5"), {pattern: []}),
        ("one share for all", (pattern, "list of numbers"), {pattern: 0.5}),
        ("too few widths", ("intermediate_size", "list of 5"), {"intermediate_size": HIDDEN[:4]}),
        ("no width", ("intermediate_size", "list of 5"), {"intermediate_size": []}),
        ("a width of 0", ("intermediate_size", "1 to"), {"intermediate_size": [0] + HIDDEN[1:]}),
        ("a width that is a text", ("intermediate_size", "numbers"),
         {"intermediate_size": ["48"] * 5}),
        ("all layers share", ("num_kv_shared_layers", "0 to 4"), {"num_kv_shared_layers": 5}),
        ("a kind without caches", ("num_kv_shared_layers", "fewer"), {"num_kv_shared_layers": 3}),
        ("no input of layers", ("hidden_size_per_layer_input", "1 to"),
         {"hidden_size_per_layer_input": 0}),
        ("no table", ("vocab_size_per_layer_input", "1 to"), {"vocab_size_per_layer_input": 0}),
        ("biases", ("attention_bias", "false"), {"attention_bias": True}),
    ):  # fmt: skip
        checks.report(name + " of a folder", folder.convert(**changed).refusal(4, *words))
    nan = folder.convert(**{pattern: [math.nan] * 5})
    checks.report("no number of a folder", nan.refusal(2, "config.json", "JSON"))
    rows = folder.convert(vocab_size_per_layer_input=ROWS + 1)
    checks.report("rows that are not there", rows.refusal(5, f"expected [{ROWS + 1}, 40]"))
    stem = "model.layers.2."
    for lost in (
        "laurel.linear_left.weight",
        "altup.correct_output_scale",
        "altup.router_norm.weight",
    ):
        rest = {k: v for k, v in folder.tensors.items() if k != stem + lost}
        done = folder.convert(tensors=rest)
        checks.report(f"no {lost}", done.refusal(5, f"'{stem}{lost}' is missing"))
    rest = {k: v for k, v in folder.tensors.items() if "altup_projections.2" not in k}
    done = folder.convert(tensors=rest)
    checks.report("no matrix", done.refusal(5, "'model.altup_projections.2.weight' is missing"))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("gemma 3n")
    tensors = random_tensors()
    wanted = reference(tensors)
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        source = pathlib.Path(work) / "model.gguf"
        write(source, tensors, METADATA)
        words = ("--context", CONTEXT, "--dtype", "fp32")
        checks.report("GGUF", ingot.convert(source, *words).error)
        error = largest_difference(ingot, wanted, "gguf")
        checks.check(error < 1e-5, "logits of GGUF", f"{error:.1e}")
        whole = Run(ingot, "whole")(TOKENS)
        check_threads(checks, ingot, whole)
        check_ways(checks, ingot, source, whole, *words)
        folder = Folder(ingot, as_folder(tensors), CONFIG)
        checks.report("a folder", folder.convert("--dtype", "fp32").error)
        close = np.abs(Run(ingot, "folder")(TOKENS) - whole).max() < 1e-5 * np.abs(whole).max()
        checks.check(close, "a folder has the logits of GGUF")
        larger = {
            name.replace("model.", "model.language_model.", 1): array
            for name, array in folder.tensors.items()
        }
        for other in ("vision_tower", "audio_tower", "embed_vision", "embed_audio"):
            larger[f"model.{other}.x"] = np.ones(3, np.float32)
        same = Run(ingot, "same")(TOKENS)
        part = Folder(ingot, larger, {"model_type": "gemma3n", "text_config": CONFIG})
        done = part.convert("--dtype", "fp32")
        checks.report("a part of a larger model", done.error)
        checks.check("vision_tower (1)" in done.output, "a note of other parts", done.output)
        larger_has = np.array_equal(Run(ingot, "larger")(TOKENS), same)
        checks.check(larger_has, "it has the same bits")
        check_refusals(checks, ingot, source, tensors, folder)
        check_blocks(checks, ingot, source, tensors)
        for saved in pathlib.Path(work).glob("*.state"):
            saved.unlink()
        check_rings(checks, ingot, source, tensors)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
