#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of random weights of every architecture: logits of Ingot and of `transformers`.

  random_models_test.py --ingot BIN [--only NAME] [--figures]

Each is written as GGUF, and as a folder of Hugging Face where those are read; converted, and run as
a prompt, token by token, and as a second prompt behind it; logits of each run's last token are
compared. Needs torch and transformers.
"""

import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("random_decoders")

TOLERANCE = 2e-5  # of the largest logit; f32 on both sides
RUNS = [9, 1, 1, 1, 1, 7, 1, 1]  # tokens of each; windows of 8 wrap


# whose masks or queries depend on positions, or whose rows are several, as no other test's do
AMONG_SLOTS = ("bloom", "ministral3", "gemma3n")
# whose folder would be one of another
NO_FOLDER = ("internlm2", "exaone", "qwen2vl", "qwen3vl", "qwen3vlmoe")


def largest_difference(ingot, tokens, wanted):
    """Of the logits of all runs of one conversation."""
    logits = ingot.conversation(tokens, RUNS)
    ends = np.cumsum(RUNS) - 1
    return max(largest_error(f[0], wanted[end], 1e-3) for f, end in zip(logits, ends))


def save(row, model, folder, **shard):
    from safetensors.torch import load_file, save_file

    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, **shard)
    weights, config = folder / "model.safetensors", folder / "config.json"
    if row.pickled:
        import torch

        state = model.state_dict()
        views = {n: v.t().contiguous().t() for n, v in state.items() if n.endswith("wpe.weight")}
        torch.save({**state, **views}, folder / "pytorch_model.bin")
        weights.unlink()
    if row.saved_whole:
        save_file(model.state_dict(), weights)
    if row.stored:
        tensors, said = load_file(weights), json.loads(config.read_text())
        row.stored(tensors, said)
        save_file(tensors, weights, {"format": "pt"})
        config.write_text(json.dumps(said))


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--figures", action="store_true", help="print the errors")
    args = parser.parse_args()
    checks = Checks("random_decoders")
    try:
        import torch
        from decoder_test import check_slots
        from gguf_writer import write_gguf
        from make_models import as_gguf, make_model
        from random_dense import DENSE
        from random_float8 import FLOAT8
        from random_folders import FOLDERS
        from random_gemma3n import GEMMA3N
        from random_gpts import GPTS
        from random_hybrids import HYBRIDS
        from random_latents import LATENTS
        from random_mixtures import MIXTURES
        from random_mixers import MIXERS
        from random_models import MODELS
        from random_seeing import SEEING
    except ImportError as missing:
        checks.skip(f"no {missing.name} for Python")
        return checks.finish()
    tokens = np.random.default_rng(3).integers(0, 97, sum(RUNS))
    with work_folder() as folder:
        ingot = Ingot(args.ingot, folder, suffix=".gguf")
        all_of = {**MODELS, **DENSE, **GPTS, **FOLDERS, **MIXTURES, **HYBRIDS, **MIXERS, **LATENTS}
        all_of.update({**FLOAT8, **GEMMA3N, **SEEING})
        for name, row in all_of.items():
            if args.only not in name:
                continue
            model = make_model(row)
            sources = {}
            if not row.folder:
                sources["GGUF"] = pathlib.Path(folder) / "model.gguf"
                write_gguf(sources["GGUF"], *as_gguf(row, model))
            if row.folder or row.architecture not in NO_FOLDER:
                sources["folder"] = pathlib.Path(folder) / "folder"
                # shards where there are biases, one file where there are none
                shard = {"max_shard_size": "60KB"} if "biases" in name else {}
                save(row, model, sources["folder"], **shard)
                model = row.reread(sources["folder"]) if row.reread else model
            with torch.no_grad():
                wanted = model(torch.from_numpy(tokens)[None]).logits[0].numpy()
            for kind, source in sources.items():
                given = source / "config.json" if kind == "folder" else source
                done = ingot.convert(given, "--context", 32, "--dtype", "fp32")
                if done.returncode:
                    checks.report(f"{name}, {kind}", done.error)
                    continue
                worst = largest_difference(ingot, tokens, wanted)
                if args.figures:
                    print(f"{name:20} {kind:8} {worst:.2e}", flush=True)
                checks.check(
                    worst <= TOLERANCE,
                    f"{name}, {kind}: differs by {worst:.2e} of the largest logit",
                )
                if name in AMONG_SLOTS:
                    with work_folder() as own:
                        lone = Ingot(args.ingot, own, suffix=".gguf")
                        check_slots(checks, lone, given, tokens[:12], "--context", 32)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
