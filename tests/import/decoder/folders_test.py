#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small GPT-2 as a folder of Hugging Face, whose matrices lie transposed: the bits of its GGUF
file; and what is refused of it and of GPT-NeoX, Phi, Falcon and StarCoder.

  folders_test.py --ingot BIN
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, numpy_or_skip, work_folder  # noqa: E402

np = numpy_or_skip("folders of earlier models")
from decoder_test import CONTEXT, HEADS, LAYERS, VOCABULARY, WIDTH, Run  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402
from lfm2_test import Folder  # noqa: E402

TOKENS = np.random.default_rng(4).integers(0, VOCABULARY, CONTEXT)
HIDDEN = 4 * WIDTH
NAMES = {
    "wte": ("token_embd", VOCABULARY, WIDTH),
    "wpe": ("position_embd", CONTEXT, WIDTH),
    "ln_f": ("output_norm", WIDTH),
}
LAYER = {
    "ln_1": ("attn_norm", WIDTH),
    "attn.c_attn": ("attn_qkv", 3 * WIDTH, WIDTH),
    "attn.c_proj": ("attn_output", WIDTH, WIDTH),
    "ln_2": ("ffn_norm", WIDTH),
    "mlp.c_fc": ("ffn_up", HIDDEN, WIDTH),
    "mlp.c_proj": ("ffn_down", WIDTH, HIDDEN),
}
METADATA = {
    "block_count": LAYERS,
    "context_length": CONTEXT,
    "embedding_length": WIDTH,
    "feed_forward_length": HIDDEN,
    "attention.head_count": HEADS,
    "attention.layer_norm_epsilon": 1e-5,
}
GPT2 = {
    "model_type": "gpt2",
    "n_embd": WIDTH,
    "n_layer": LAYERS,
    "n_head": HEADS,
    "n_positions": CONTEXT,
    "layer_norm_epsilon": 1e-5,
    "activation_function": "gelu_new",
}
USUAL = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
    "max_position_embeddings": CONTEXT,
    "layer_norm_eps": 1e-5,
}
FALCON = {"alibi": False, "multi_query": True, "layer_norm_epsilon": 1e-5, "bias": False}


def small_gpt2():
    """Tensors of a folder and of a GGUF file."""
    rng = np.random.default_rng(5)
    folder, gguf = {}, {}

    def add(stem, name, ends, to, dims, has_bias=True):
        array = (rng.standard_normal(dims) / 4).astype(np.float32) + (len(dims) == 1)
        is_turned = len(dims) == 2 and stem
        folder[stem + name + ".weight"] = np.ascontiguousarray(array.T) if is_turned else array
        gguf[ends + to + ".weight"] = array
        if has_bias:
            bias = (rng.standard_normal(dims[:1]) / 4).astype(np.float32)
            folder[stem + name + ".bias"] = gguf[ends + to + ".bias"] = bias

    for name, (to, *dims) in NAMES.items():
        add("", name, "", to, dims, has_bias=len(dims) == 1)
    for i in range(LAYERS):
        for name, (to, *dims) in LAYER.items():
            add(f"h.{i}.", name, f"blk.{i}.", to, dims)
    return folder, gguf


def check_gpt2(checks, ingot):
    tensors, gguf = small_gpt2()
    source = pathlib.Path(ingot.folder) / "gpt2.gguf"
    metadata = {f"gpt2.{key}": value for key, value in METADATA.items()}
    write_gguf(source, {"general.architecture": "gpt2", **metadata}, gguf)
    for words in ((), ("--weights", "q8_0")):
        done = ingot.convert(source, "--context", CONTEXT, *words)
        checks.report("a GGUF file", done.error)
        wanted = Run(ingot, "gguf" + "".join(words))(TOKENS)
        for prefix in ("", "transformer."):
            stored = {prefix + name: array for name, array in tensors.items()}
            stored[prefix + "h.0.attn.bias"] = np.ones((1, 1, 4, 4), np.float32)
            done = Folder(ingot, stored, GPT2).convert(*words)
            checks.report(f"names begin with '{prefix}'", done.error)
            found = Run(ingot, prefix + "folder" + "".join(words))(TOKENS)
            checks.check(np.array_equal(found, wanted), "a folder has the bits of the GGUF file")
    folder = Folder(ingot, tensors, GPT2)
    plain, qkv = dict(tensors), "h.1.attn.c_attn.weight"
    plain[qkv] = np.ascontiguousarray(tensors[qkv].T)
    whole = {**tensors, qkv: np.zeros(tensors[qkv].shape, np.int32)}
    for name, changed, code, words, keys in (
        ("no width", None, 4, ["its 'n_embd' is missing, expected a number"], {"n_embd": None}),
        ("no epsilon", None, 4, ["'layer_norm_epsilon' is missing"], {"layer_norm_epsilon": None}),
        ("a text for a number", None, 4, ["'n_layer' is \"2\""], {"n_layer": "2"}),
        ("another activation", None, 4, ["'activation_function' is \"relu\"", "gpt2"],
         {"activation_function": "relu"}),
        ("scores by the layer", None, 4, ["scale_attn_by_inverse_layer_idx", "not built"],
         {"scale_attn_by_inverse_layer_idx": True}),
        ("scores as they are", None, 4, ["scale_attn_weights", "true"],
         {"scale_attn_weights": False}),
        ("fewer positions", None, 5, [f"--context {CONTEXT}", f"has {CONTEXT - 1} learned"],
         {"n_positions": CONTEXT - 1}),
        ("another width inside", None, 5, ["mlp.c_fc.weight' is [32, 128], expected [32, 96]"],
         {"n_inner": 96}),
        ("a matrix that is not transposed", plain, 5,
         ["h.1.attn.c_attn.weight' is [96, 32], expected [32, 96]"], {}),
        ("whole numbers", whole, 4, ["c_attn.weight' is int32, expected float32"], {}),
    ):  # fmt: skip
        checks.report(name, folder.convert(tensors=changed, **keys).refusal(code, *words))


REFUSALS = {
    "gpt_neox": (
        ("no epsilon", ["'layer_norm_eps' is missing"], {"layer_norm_eps": None}),
        ("a part that is odd", ["rotary_pct", "even"], {"rotary_pct": 0.4}),
        ("a base of 1", ["'rope_theta'", "more than 1"], {"rotary_emb_base": 1}),
    ),
    "phi": (
        ("norms of q and k", ["qk_layernorm", "not built"], {"qk_layernorm": True}),
        ("another activation", ["hidden_act", "relu", "phi2"], {"hidden_act": "relu"}),
    ),
    "falcon": (
        ("slopes for positions", ["'alibi' is true", "not built"], {"alibi": True}),
        ("parts in sequence", ["'parallel_attn' is false"], {"parallel_attn": False}),
        ("another activation", ["'activation' is \"relu\""], {"activation": "relu"}),
        ("heads that do not share", ["'num_kv_heads' is 3", "divisor of the 4"],
         {"new_decoder_architecture": True, "num_kv_heads": 3}),
        ("three norms", ["num_ln_in_parallel_attn", "1 to 2"],
         {"new_decoder_architecture": True, "num_ln_in_parallel_attn": 3}),
    ),
    "gpt_bigcode": (
        ("no flag", ["'multi_query' is 1", "true or false"], {"multi_query": 1}),
        ("other keys", ["add_cross_attention", "not built"], {"add_cross_attention": True}),
    ),
    "mpt": (
        ("no slopes", ["'alibi' is false", "true"], {"attn_config": {"alibi": False}}),
        ("steep slopes", ["'alibi_bias_max' is 0", "above 0"],
         {"attn_config": {"alibi_bias_max": 0}}),
        ("norms of q and k", ["'qk_ln' is true", "not built"], {"attn_config": {"qk_ln": True}}),
        ("a prefix", ["'prefix_lm' is true"], {"attn_config": {"prefix_lm": True}}),
        ("no object", ["'attn_config' is [1]", "an object"], {"attn_config": [1]}),
        ("no expansion", ["'expansion_ratio' is 0", "1 to 64"],
         {"expansion_ratio": 0, "intermediate_size": None}),
    ),
    "opt": (
        ("no biases", ["'enable_bias' is false", "true"], {"enable_bias": False}),
        ("no last norm", ["_remove_final_layer_norm", "not built"],
         {"_remove_final_layer_norm": True}),
        ("norms behind", ["'do_layer_norm_before' is false"], {"do_layer_norm_before": False}),
        ("a narrow embedding", ["'word_embed_proj_dim' is 16", "the width, 32"],
         {"word_embed_proj_dim": 16}),
        ("another activation", ["'activation_function' is \"gelu\"", "'opt'"],
         {"activation_function": "gelu"}),
    ),
    "gpt_neo": (
        ("windows by types alone", ["'attention_layers' is missing"],
         {"attention_types": [[["global", "local"], 1]]}),
        ("another kind", ["'attention_layers'", "sliding_attention"],
         {"attention_layers": ["global", "near"]}),
        ("fewer kinds", ["'attention_layers'"], {"attention_layers": ["global"]}),
    ),
    "ministral3": (
        ("a temperature beyond f32", ["'llama_4_scaling_beta' is 1e+308", "0 to 1000"],
         {"rope_scaling": {"rope_type": "default", "llama_4_scaling_beta": 1e308}}),
        ("half a pair turned", ["'rotary_dim' is 3", "that is even"], {"rotary_dim": 3}),
        ("two scalings", ["'rope_scaling' is {\"factor\":4.0", "its keys in rope_parameters"],
         {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
          "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}),
    ),
}  # fmt: skip


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("folders")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        check_gpt2(checks, ingot)
        for kind, rows in REFUSALS.items():
            own = {**(FALCON if kind == "falcon" else {}), "model_type": kind}
            folder = Folder(ingot, {"x": np.zeros(1, np.float32)}, {**USUAL, **own})
            done = folder.convert()
            checks.report(f"{kind}: no weights", done.refusal(5, "is missing", "expected ["))
            for name, words, keys in rows:
                done = folder.convert(**keys)
                checks.report(f"{kind}: {name}", done.refusal(4, *words))
        heads = {name: np.zeros(1, np.float32) for name in ("embed_out.weight", "lm_head.weight")}
        done = Folder(ingot, heads, {**USUAL, "model_type": "gpt_neox"}).convert()
        checks.report("two heads", done.refusal(5, "'lm_head.weight' is there twice"))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
