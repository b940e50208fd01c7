#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ingot perplexity`: equal to what the logits of `ingot run` give, for windows and strides; and
what is refused.

  perplexity_test.py --ingot BIN
"""

import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, numpy_or_skip, work_folder  # noqa: E402

np = numpy_or_skip("perplexity of small language models")
from chat_test import tokenizer  # noqa: E402
from decoder_test import CONTEXT, Run, small_llama  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402

MOST = 5  # tokens of a run
TEXT = "the quick brown fox jumps over the lazy dog."


def expected(ingot, ids, window, stride):
    """(tokens, windows, the mean of -ln p), by the formula of the help."""
    total, scored, windows, begin = 0.0, 1, 0, 0
    while scored < len(ids):
        run = Run(ingot, f"window{begin}")
        at = begin
        for token in range(scored, min(begin + window, len(ids))):
            while at < token:
                count = min(token - at, MOST)
                logits = run(ids[at : at + count]).reshape(-1).astype(np.float64)
                at += count
            total += np.log(np.exp(logits - logits.max()).sum()) - logits[ids[token]] + logits.max()
            scored += 1
        windows += 1
        begin += stride
        run.state.unlink()
    return len(ids) - 1, windows, total / (len(ids) - 1)


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("perplexity")
    with work_folder() as folder:
        folder = pathlib.Path(folder)
        ingot = Ingot(args.ingot, folder, suffix=".gguf")
        metadata, tensors = small_llama()
        write_gguf(folder / "llama.gguf", {**metadata, **tokenizer()}, tensors)
        done = ingot.convert(folder / "llama.gguf", "--context", CONTEXT, "--dim", f"T=1..{MOST}")
        checks.report("convert", done.error)
        text = folder / "text.txt"
        text.write_text(TEXT)
        ids = [int(i) for i in ingot("tokenize", ingot.file, TEXT, "--ids").stdout.split()]
        checks.check(len(ids) > CONTEXT, "more than one window", str(len(ids)))

        def measure(*words, **options):
            done = ingot("perplexity", ingot.file, "--json", *words, **options)
            return json.loads(done.stdout) if not done.error else done.error

        for words, window, stride in (
            ([], CONTEXT, CONTEXT // 2),
            (["--window", 10, "--stride", 3], 10, 3),
            (["--window", 7, "--stride", 6], 7, 6),
        ):
            found = measure("--text", text, *words)
            tokens, windows, mean = expected(ingot, ids, window, stride)
            same = (found["tokens"], found["windows"], found["window"], found["stride"]) == (
                tokens, windows, window, stride)
            same &= abs(found["nll"] - mean) < 1e-5
            same &= abs(found["perplexity"] - math.exp(found["nll"])) < 1e-7 * found["perplexity"]
            bits = found["nll"] * tokens / math.log(2) / len(TEXT)
            same &= found["bytes"] == len(TEXT) and abs(found["bits_per_byte"] - bits) < 1e-6
            checks.check(same, f"window {window}, stride {stride}", f"{found} {mean} {windows}")
        piped = measure("--text", "-", "--tokens", 9, input=TEXT)
        checks.check(piped["tokens"] == 8, "standard input, the first tokens", str(piped))
        shown = ingot("perplexity", ingot.file, "--text", text, "--tokens", 9).stdout
        words = f"8 tokens in 1 window of {CONTEXT}, stride {CONTEXT // 2}\n"
        checks.check(words in shown, "the report", shown)
        help_text = ingot("perplexity", "--help").stdout
        checks.check("exp(-(sum of ln p) / N)" in help_text, "the help has the formula", help_text)
        empty = folder / "empty.txt"
        empty.write_text("")
        for name, path, words, code, says in (
            ("no token to score", empty, [], 5, "1 token, expected 2 at least"),
            ("a window beyond the context", text, ["--window", 25], 1, "2 to the context, 24"),
            ("a stride of a window", text, ["--window", 8, "--stride", 8], 1, "expected 1 to 7"),
            ("a window of one", text, ["--window", 1], 1, "--window"),
            ("no text", folder / "none", [], 7, "none"),
        ):
            done = ingot("perplexity", ingot.file, "--text", path, *words)
            checks.report(name, done.refusal(code, says))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
