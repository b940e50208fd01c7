#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small DeepSeek-V3 as GGUF, in each form that such files have had, and as a folder of Hugging
Face: logits of prompts and steps beside those that NumPy computes in f64, in slots, in blocks, and
refusals.

  latents_test.py --ingot BIN
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small DeepSeek-V3")
from decoder_test import CONTEXT, Run  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402
from latent_model import (  # noqa: E402
    BLOCKS,
    CONFIG,
    FACTOR,
    NEW,
    OLD,
    as_gguf,
    random_weights,
    reference,
)
from lfm2_model import TOKENS  # noqa: E402
from lfm2_test import (  # noqa: E402
    Folder,
    check_caches,
    check_threads,
    check_turns,
    check_ways,
    largest_difference,
)

WORDS = ("--context", CONTEXT, "--dtype", "fp32")


def check_forms(checks, ingot, folder, wanted):
    """Each form has the same bits, blocks where they are widened. @return the file of the newer,
    and its logits."""
    checks.report("a folder", folder.convert("--dtype", "fp32").error)
    error = largest_difference(ingot, wanted)
    checks.check(error < 1e-5, "a folder's logits", f"{error:.1e}")
    whole = Run(ingot, "whole")(TOKENS)
    for form in (OLD, BLOCKS, NEW):
        source = pathlib.Path(ingot.folder) / "latents.gguf"
        write_gguf(source, *as_gguf(folder.tensors, form))
        for words in (WORDS[:2], WORDS):
            checks.report(f"{form}: GGUF", ingot.convert(source, *words).error)
            found = Run(ingot, form + str(len(words)))(TOKENS)
            error = largest_error(found[0], wanted[-1], 1e-3)
            if form == BLOCKS and words != WORDS:
                checks.check(1e-5 < error < 0.05, "keys in blocks stay so", f"{error:.1e}")
            else:
                same = np.array_equal(found, whole)
                checks.check(same, f"{form}: GGUF has the bits of the folder", words)
    return source, whole


def check_weights(checks, ingot, source, wanted):
    for kind, most in (("q8", 0.2), ("q4", 1.0)):  # other experts may be chosen
        done = ingot.convert(source, "--context", CONTEXT, "--weights", kind)
        checks.report(f"--weights {kind}", done.error)
        checks.check("attn_k_b" in done.output, "its loss is named", done.output)
        error = largest_error(Run(ingot, "as" + kind)(TOKENS)[0], wanted[-1], 1e-3)
        checks.check(0 < error < most, f"--weights {kind} is near f32", f"{error:.1e}")


YARN = CONFIG["rope_scaling"]
REFUSALS = (
    ("no rank", 4, ["kv_lora_rank", "missing"], {"kv_lora_rank": None}),
    ("a rank beyond reason", 4, ["kv_lora_rank"], {"kv_lora_rank": 1e30}),
    ("another rank", 5, ["kv_a_proj_with_mqa.weight' is [64, 128], expected [63, 128]"],
     {"kv_lora_rank": 31}),
    ("another rank of queries", 5, ["q_a_proj.weight' is [64, 128], expected [32, 128]"],
     {"q_lora_rank": 32}),
    ("queries without a latent", 5, ["q_proj.weight' is missing"], {"q_lora_rank": None}),
    ("nothing turns", 4, ["qk_rope_head_dim"], {"qk_rope_head_dim": 0}),
    ("an odd number turns", 4, ["qk_rope_head_dim", "even"], {"qk_rope_head_dim": 31}),
    ("narrower keys", 5, ["q_b_proj.weight' is [256, 64], expected [192, 64]"],
     {"qk_nope_head_dim": 16}),
    ("no width of values", 4, ["v_head_dim", "missing"], {"v_head_dim": None}),
    ("wider values", 5, ["kv_b_proj.weight' is [384, 32], expected [512, 32]"],
     {"v_head_dim": 96}),
    ("fewer heads of keys", 4, ["num_key_value_heads", "the 4 heads"], {"num_key_value_heads": 2}),
    ("no layers that propose", 5, ["model.layers.3.eh_proj.weight' is not expected"],
     {"num_nextn_predict_layers": None}),
    ("another choice", 4, ["scoring_func", "expected sigmoid"], {"scoring_func": "softmax"}),
    ("another method", 4, ["topk_method", "noaux_tc"], {"topk_method": "greedy"}),
    ("no groups", 4, ["n_group", "missing"], {"n_group": None}),
    ("groups that do not divide", 4, ["n_group", "a divisor of the 8 experts"], {"n_group": 3}),
    ("groups of one", 4, ["n_group", "two experts or more"], {"n_group": 8, "topk_group": 4}),
    ("groups of too few", 4, ["topk_group", "3 experts"], {"topk_group": 1}),
    ("no such group", 4, ["topk_group", "1 to 4"], {"topk_group": 5}),
    ("experts in some layers", 4, ["moe_layer_freq"], {"moe_layer_freq": 2}),
    ("more shared experts", 5, ["shared_experts.gate_proj.weight' is [32, 128], expected [64"],
     {"n_shared_experts": 2}),
    ("a scale beyond reason", 4, ["mscale_all_dim"],
     {"rope_scaling": {**YARN, "mscale_all_dim": 1e30}}),
    ("weights of 8 bits", 4, ["quant_method", "hqq"],
     {"quantization_config": {"quant_method": "hqq"}}),
    ("a normalized softmax", 4, ["norm_topk_prob", "false"],
     {"model_type": "deepseek_v2", "scoring_func": "softmax"}),
)  # fmt: skip


def check_scales(checks, folder):
    """YaRN's scales, of what turns and of all: two, one that counts for scores alone, none."""
    for turned, whole, wanted in ((0.4, 1.0, (0.4, 1.0)), (0.0, 0.7, None), (0.4, 0.0, (1.0, 0.0))):
        scales = {"mscale": turned, "mscale_all_dim": whole}
        done = folder.convert("--dtype", "fp32", rope_scaling={**YARN, **scales})
        checks.report(f"{scales}", done.error)
        if wanted is None:  # which nothing divides then
            wanted = (1 + whole + 0.1 * whole * np.log(FACTOR), whole)
        error = largest_difference(folder.ingot, reference(folder.tensors, *wanted))
        checks.check(error < 1e-5, f"{scales}: logits", f"{error:.1e}")


def check_refusals(checks, folder):
    for name, code, words, keys in REFUSALS:
        checks.report(name, folder.convert(**keys).refusal(code, *words))
    for name in ("self_attn.kv_b_proj.weight", "mlp.gate.e_score_correction_bias"):
        own = f"model.layers.1.{name}"
        without = {key: array for key, array in folder.tensors.items() if key != own}
        refused = folder.convert(tensors=without)
        checks.report(f"no {name}", refused.refusal(5, f"'{own}' is missing"))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("latents")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        folder = Folder(ingot, random_weights(), CONFIG)
        wanted = reference(folder.tensors)
        source, whole = check_forms(checks, ingot, folder, wanted)
        check_threads(checks, ingot, whole)
        checks.report("ingot compare", ingot("compare", source).error)
        checks.report("convert", ingot.convert(source, *WORDS).error)
        check_ways(checks, ingot, source, whole, *WORDS)
        check_turns(checks, ingot, source)
        check_caches(checks, ingot, source)
        check_weights(checks, ingot, source, wanted)
        check_scales(checks, folder)
        check_refusals(checks, folder)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
