#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real GGUF file: logits and greedy tokens of Ingot, beside those of `transformers` on the same
dequantized weights, and of llama.cpp where llama_cpp is there.

  real_model.py --ingot BIN MODEL.gguf [--tokens N] [--prompt 1,2,3] [--context N]

Needs torch, transformers, accelerate and gguf for Python, and the Python package of Ingot.
"""

import pathlib
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from testing import Checks, ingot_parser, largest_error, run, work_folder  # noqa: E402

PROMPT = "504,3575,282,4649,314"  # of SmolLM2: " The capital of France is"


def generate(step, prompt, count):
    """Greedy tokens and the logits that chose them. `step`: tokens, position -> logits"""
    tokens, logits, fed, at = [], [], list(prompt), 0
    for _ in range(count):
        logits.append(step(fed, at))
        at += len(fed)
        fed = [int(logits[-1].argmax())]
        tokens += fed
    return tokens, np.stack(logits)


def divergence(wanted, found):
    """Kullback-Leibler divergence of each row, in double."""

    def logs(x):
        x = x.astype(np.float64) - x.max(-1, keepdims=True)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    p, q = logs(wanted), logs(found)
    return (np.exp(p) * (p - q)).sum(-1)


def of_transformers(model, tokens, first):
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    reference = transformers.AutoModelForCausalLM.from_pretrained(
        str(model.parent), gguf_file=model.name, dtype=torch.float32
    ).eval()
    with torch.no_grad():
        return reference(torch.tensor([tokens])).logits[0, first:].float().numpy()


def of_llama_cpp(model, tokens, first):
    """None where there is no llama_cpp."""
    try:
        import llama_cpp
    except ImportError:
        return None
    llama = llama_cpp.Llama(
        str(model), n_ctx=len(tokens) + 8, n_threads=1, logits_all=True, verbose=False
    )
    llama.eval(tokens)
    return np.array(llama.scores[first : len(tokens)])


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--context", default="256")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--blocks", action="store_true", help="weights stay in their blocks")
    args = parser.parse_args()
    import ingot

    checks = Checks(args.model.name)
    prompt = [int(word) for word in args.prompt.split(",")]
    with work_folder() as folder:
        file = pathlib.Path(folder) / "model.ingot"
        began = time.time()
        stored = () if args.blocks else ("--dtype", "fp32")
        run(
            args.ingot, "convert", args.model, "-o", file, "--context", args.context, *stored
        ).succeeded()
        print(f"converted in {time.time() - began:.1f} s, {file.stat().st_size:,} bytes")
        session = ingot.Session(ingot.Model(str(file)), rebindable=True)

        def step(tokens, at):
            session.rebind(T=len(tokens))
            fed = {
                "tokens": np.array([tokens], np.int32),
                "position": np.array([at], np.int64),
            }
            return session.run(fed)["logits"][0].copy()

        began = time.time()
        found, logits = generate(step, prompt, args.tokens)
        print(f"{args.tokens / (time.time() - began):.1f} tokens a second")
    print("tokens", found)
    everything, first = prompt + found[:-1], len(prompt) - 1
    wanted = of_transformers(args.model, everything, first)
    error, apart = largest_error(logits, wanted, 1), divergence(wanted, logits).max()
    print(f"transformers: {error:.2e} of the largest logit, divergence {apart:.2e}")
    same = int((wanted.argmax(-1) == np.array(found)).sum())
    if not args.blocks:  # which round activations to 8 bits
        checks.check(error <= args.tolerance, f"logits differ by {error:.2e}")
        checks.check(apart <= 1e-5, f"divergence {apart:.2e}")
        checks.check(same == len(found), f"{same} of {len(found)} tokens are those of transformers")
    other = of_llama_cpp(args.model, everything, first)
    if other is None:
        checks.skip("no llama_cpp for Python")
        return checks.finish()
    error, apart = largest_error(logits, other, 1), divergence(other, logits)
    same = int((other.argmax(-1) == np.array(found)).sum())
    print(
        f"llama.cpp: {error:.2e} of the largest logit, divergence {apart.mean():.2e} (mean) and "
        f"{apart.max():.2e} (largest), {same} of {len(found)} tokens"
    )
    # it rounds activations to 8 bits, which f32 here does not
    checks.check(apart.mean() <= (1e-3 if args.blocks else 1e-2), f"mean divergence from llama.cpp {apart.mean():.2e}")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
