#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small Granite 4.0-H, Qwen3.5, Mamba, Mamba-2 and Nemotron-H as GGUF: logits of prompts and
steps beside those that NumPy computes in f64, in slots, in blocks, and how far a conversation goes
back.

  hybrids_test.py --ingot BIN
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small hybrids")
from decoder_test import CONTEXT, Run  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402
from hybrid_model import (  # noqa: E402
    ALONE,
    FIRST,
    GRANITE,
    MAMBA,
    NEMOTRON,
    QWEN,
    RUNS,
    TOKENS,
    as_folder,
    config_of,
    metadata_of,
    random_tensors,
    reference,
)
from lfm2_test import (  # noqa: E402
    Folder,
    check_back,
    check_caches,
    check_threads,
    check_turns,
    check_ways,
)


def largest_difference(ingot, wanted, name):
    """Of the logits of all runs of one conversation."""
    run, at, errors = Run(ingot, name), 0, []
    for count in RUNS:
        found = run(TOKENS[at : at + count])
        at += count
        errors.append(largest_error(found[0], wanted[at - 1], 1e-3))
    return max(errors)


def check_order(checks, ingot, source):
    """A state changes in the order of the tokens: a slot's that come in another one are refused."""
    words = ("--context", CONTEXT, "--dtype", "fp32", "--slots", 2)
    checks.report("convert with slots", ingot.convert(source, *words).error)
    path = pathlib.Path(ingot.folder) / "order.npz"
    for positions, is_refused in (([0, 1, 0], False), ([1, 0, 0], True)):
        fed = {"position": [positions], "slot": [[0, 0, 1]], "rows": [[1, 2, 0]]}
        arrays = {f"in:{name}": np.array(array, np.int64) for name, array in fed.items()}
        np.savez(path, **arrays, **{"in:tokens": np.array([[3, 4, 5]], np.int32)})
        files = ("--inputs", path, "--outputs", path.with_name("o.npz"))
        done = ingot("run", ingot.file, "-q", *files)
        checks.check(
            ("index" in done.stderr) == is_refused and (done.returncode != 0) == is_refused,
            f"positions {positions} of two slots",
            done.output,
        )


def check_weights(checks, ingot, source, wanted):
    for kind, most in (("q8", 0.15), ("q4", 0.8)):
        done = ingot.convert(source, "--context", CONTEXT, "--weights", kind)
        checks.report(f"--weights {kind}", done.error)
        checks.check("ssm_out" in done.output, "its loss is named", done.output)
        error = largest_error(Run(ingot, "as" + kind)(TOKENS[:12])[0], wanted[11], 1e-3)
        checks.check(0 < error < most, f"--weights {kind} is near f32", f"{error:.1e}")


def check_folder(checks, ingot, kind, tensors, wanted):
    """The same model; Qwen3.5 as a part of one that sees, too. And what is refused."""
    folder = Folder(ingot, as_folder(kind, tensors), config_of(kind))
    checks.report(f"{kind}: a folder", folder.convert("--dtype", "fp32").error)
    error = largest_difference(ingot, wanted, kind + "-folder")
    checks.check(error < 2e-5, f"{kind}: a folder's logits", f"{error:.1e}")
    if kind == QWEN:
        larger = {
            name.replace("model.", "model.language_model.", 1): array
            for name, array in folder.tensors.items()
        }
        larger |= {name: np.ones(3, np.float32) for name in ("model.visual.x", "mtp.fc.weight")}
        whole = Folder(ingot, larger, {"model_type": "qwen3_5", "text_config": folder.config})
        done = whole.convert("--dtype", "fp32")
        checks.report("a part of a larger model", done.error)
        checks.check("left out: mtp (1), visual (1)" in done.output, "a note", done.output)
        error = largest_difference(ingot, wanted, "larger")
        checks.check(error < 2e-5, "its logits", f"{error:.1e}")
    for name, code, words, keys in REFUSALS[kind]:
        checks.report(name, folder.convert(**keys).refusal(code, *words))


REFUSALS = {
    GRANITE: (
        ("a type of no layer", 4, ["layer 3 is of the type 'conv'", "mamba"],
         {"layer_types": ["mamba", "attention", "mamba", "conv"]}),
        ("a layer of feed-forward alone", 4, ["of the type 'mlp'"],
         {"layer_types": ["mamba", "attention", "mamba", "mlp"]}),
        ("no types", 4, ["layer_types", "a list of 4 texts"], {"layer_types": None}),
        ("numbers for types", 4, ["layer_types", "texts"], {"layer_types": [1, 2, 3, 4]}),
        ("no attention", 4, ["one layer of attention"], {"layer_types": ["mamba"] * 4}),
        ("no heads", 4, ["mamba_n_heads", "missing"], {"mamba_n_heads": None}),
        ("heads beyond reason", 4, ["mamba_n_heads"], {"mamba_n_heads": 1e30}),
        ("heads that do not divide", 4, ["inner_size", "a multiple of the 7 heads"],
         {"mamba_n_heads": 7}),
        ("heads of another width", 4, ["inner_size", "is 512, expected 256"], {"mamba_d_head": 64}),
        ("groups that do not divide", 4, ["group_count", "is 3", "8 heads"],
         {"mamba_n_groups": 3}),
        ("a state of 0", 4, ["mamba_d_state"], {"mamba_d_state": 0}),
        ("a length of 1", 4, ["mamba_d_conv", "2 to 32"], {"mamba_d_conv": 1}),
        ("one bound", 4, ["time_step_limit", "two numbers"], {"time_step_limit": [0.0]}),
        ("bounds in turn", 4, ["time_step_limit", "upper"], {"time_step_limit": [1.0, 0.5]}),
        ("biases that are not there", 5, ["mamba.in_proj.bias' is missing"],
         {"mamba_proj_bias": True}),
        ("experts that are not there", 5, ["block_sparse_moe.router.layer.weight' is missing"],
         {"num_local_experts": 4, "num_experts_per_tok": 2}),
    ),
    QWEN: (
        ("no heads", 4, ["linear_num_value_heads", "missing"], {"linear_num_value_heads": None}),
        ("no width of a head", 4, ["head_dim", "missing"], {"head_dim": None}),
        ("no gates", 4, ["attn_output_gate", "true"], {"attn_output_gate": False}),
        ("another interval", 5, ["layers.1.linear_attn.in_proj_qkv.weight' is missing"],
         {"full_attention_interval": 3}),
        ("wider values", 5, ["expected [576, 128]"], {"linear_value_head_dim": 64}),
    ),
    MAMBA: (
        ("no heads", 4, ["num_heads", "missing"], {"num_heads": None}),
        ("another expansion", 4, ["inner_size", "is 256, expected 512"], {"expand": 4}),
        ("an activation of its own", 4, ["hidden_act", "mamba2"], {"hidden_act": "gelu"}),
        ("biases that are not there", 5, ["mixer.in_proj.bias' is missing"], {"use_bias": True}),
    ),
    FIRST: (
        ("no state", 4, ["state_size", "missing"], {"state_size": None}),
        ("columns beyond heads", 4, ["intermediate_size", "1 to 65536"],
         {"intermediate_size": 65537}),
        ("columns beyond heads by expansion", 4, ["hidden_size", "at most 65536"],
         {"intermediate_size": None, "hidden_size": 65536}),
        ("another rank", 5, ["mixer.x_proj.weight' is [44, 256], expected [40, 256]"],
         {"time_step_rank": "auto"}),
        ("no epsilon", 4, ["mixer_rms_eps"], {"mixer_rms_eps": 0}),
        ("biases that are not there", 5, ["mixer.in_proj.bias' is missing"], {"use_bias": True}),
    ),
    NEMOTRON: (
        ("a letter of no layer", 4, ["of the type 'X'", "mlp or moe"],
         {"hybrid_override_pattern": "M*EX"}),
        ("no experts", 4, ["n_routed_experts", "missing"], {"n_routed_experts": None}),
        ("no number of those used", 4, ["num_experts_per_tok"], {"num_experts_per_tok": None}),
        ("more than all", 4, ["num_experts_per_tok"], {"num_experts_per_tok": 7}),
        ("no width of the shared one", 4, ["moe_shared_expert_intermediate_size", "missing"],
         {"moe_shared_expert_intermediate_size": None}),
        ("groups that do not divide", 4, ["n_group", "a divisor of the 6 experts"],
         {"n_group": 4}),
        ("no latent", 5, ["experts.0.up_proj.weight' is [64, 64], expected [64, 128]"],
         {"moe_latent_size": None}),
        ("experts in a dense layer", 5, ["layers.3.mixer.gate.weight' is missing"],
         {"hybrid_override_pattern": "M*EE"}),
        ("a dense layer of experts", 5, ["layers.2.mixer.up_proj.weight' is missing"],
         {"hybrid_override_pattern": "M*--"}),
    ),
}  # fmt: skip


JAMBA = {
    "model_type": "jamba",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
    "num_experts": 1,
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "mamba_d_state": 8,
}
NO_JAMBA = (
    ("a period of 0", 4, ["attn_layer_period", "1 to 1024"], {"attn_layer_period": 0}),
    ("attention behind its period", 4, ["attn_layer_offset", "0 to 1"], {"attn_layer_offset": 2}),
    ("no attention", 4, ["one layer of attention"],
     {"attn_layer_period": 1000, "attn_layer_offset": 999}),
    ("no state", 4, ["mamba_d_state", "missing"], {"mamba_d_state": None}),
    ("a rank of 0", 4, ["mamba_dt_rank"], {"mamba_dt_rank": 0}),
    ("columns beyond heads", 4, ["hidden_size", "at most 65536"], {"hidden_size": 65536}),
    ("one expert of none", 4, ["num_experts"], {"num_experts": -1}),
    ("more than all experts", 4, ["num_experts_per_tok"],
     {"num_experts": 4, "num_experts_per_tok": 5}),
    ("no norms of parts", 5, ["layers.0.mamba.dt_layernorm.weight' is missing"], {}),
)  # fmt: skip


def check_jamba(checks, ingot):
    """What its configurations are refused for, and a layer without a norm."""
    shapes = {
        "model.embed_tokens": (9, 32),
        "model.layers.0.input_layernorm": (32,),
        "model.layers.0.mamba.in_proj": (128, 32),
        "model.layers.0.mamba.conv1d": (64, 1, 4),
        "model.layers.0.mamba.x_proj": (18, 64),
        "model.layers.0.mamba.dt_proj": (64, 2),
    }
    tensors = {f"{name}.weight": np.ones(dims, np.float32) for name, dims in shapes.items()}
    tensors["model.layers.0.mamba.conv1d.bias"] = np.ones(64, np.float32)
    folder = Folder(ingot, tensors, JAMBA)
    for name, code, words, keys in NO_JAMBA:
        checks.report(f"jamba: {name}", folder.convert(**keys).refusal(code, *words))
    keys = {"model_type": "minicpm", "num_experts": None, "dim_model_base": 0}
    done = folder.convert(**keys)
    checks.report("minicpm: a width of 0", done.refusal(4, "dim_model_base", "above 0"))


def check_model(checks, ingot, kind):
    tensors = random_tensors(kind)
    source = pathlib.Path(ingot.folder) / f"{kind}.gguf"
    write_gguf(source, metadata_of(kind), tensors)
    words = ("--context", CONTEXT, "--dtype", "fp32")
    done = ingot.convert(source, *words)
    checks.report(f"{kind}: GGUF", done.error)
    checks.check("recurrent layers" in done.output, "a note has the bytes of state", done.output)
    wanted = reference(kind, tensors)
    error = largest_difference(ingot, wanted, kind)
    checks.check(error < 2e-5, f"{kind}: logits", f"{error:.1e}")
    whole = Run(ingot, "whole-" + kind)(TOKENS)
    check_threads(checks, ingot, whole)
    check_folder(checks, ingot, kind, tensors, wanted)
    checks.report("convert", ingot.convert(source, *words).error)
    check_ways(checks, ingot, source, whole, *words)
    check_order(checks, ingot, source)
    check_back(checks, ingot, source, most=1)
    check_turns(checks, ingot, source, back=1)
    if kind not in ALONE:
        check_caches(checks, ingot, source)
    check_weights(checks, ingot, source, wanted)


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("hybrids")
    for kind in (GRANITE, QWEN, MAMBA, FIRST, NEMOTRON):
        with work_folder() as work:
            check_model(checks, Ingot(args.ingot, work), kind)
    with work_folder() as work:
        check_jamba(checks, Ingot(args.ingot, work))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
