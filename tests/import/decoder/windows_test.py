#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caches of layers with a sliding window are rings: logits behind several turns of them beside
those that NumPy computes in f64, the bits of splits and slots, how far a text goes back.

  windows_test.py --ingot BIN
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("rings")
from decoder_test import VOCABULARY, Run  # noqa: E402
from gemma4_test import LAYERS, METADATA, WINDOW, random_tensors, reference  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402

CONTEXT, ROWS, PART = 1024, 256, 64
BACK = ROWS - WINDOW + 1  # tokens that a text goes back by
TOKENS = np.random.default_rng(7).integers(0, VOCABULARY, 10 * PART)
WORDS = ("--context", CONTEXT, "--dtype", "fp32", "--dim", f"T=1..{PART}")


def write_model(path, kinds, tensors):
    pattern = {"attention.sliding_window_pattern": [kind == "s" for kind in kinds]}
    keyed = {**METADATA, **pattern, "context_length": CONTEXT}
    metadata = {f"gemma4.{key}": value for key, value in keyed.items()}
    write_gguf(path, {"general.architecture": "gemma4", **metadata}, tensors)


def states(ingot):
    """{name: dims} of what `file` keeps."""
    import json

    found = json.loads(ingot("inspect", ingot.file, "--json").succeeded().stdout)
    return {state["name"]: state["dims"] for state in found["state_variables"]}


def in_parts(ingot, name, size):
    """The conversation of all tokens, and the logits of its last."""
    run = Run(ingot, name)
    for at in range(0, len(TOKENS), size):
        found = run(TOKENS[at : at + size])
    return run, found


def check_logits(checks, ingot, wanted):
    run, errors = Run(ingot, "logits"), []
    for at in range(0, len(TOKENS), PART):
        found = run(TOKENS[at : at + PART])
        errors.append(largest_error(found[0], wanted[at + PART - 1], 1e-3))
    checks.check(max(errors) < 1e-5, "logits", f"{max(errors):.1e}")
    return found


def check_back(checks, ingot, whole):
    """A text goes back by as much as is in front of the narrowest window, and not by more."""
    run, _ = in_parts(ingot, "back", PART)
    begin = len(TOKENS) - BACK
    run.at = begin
    until = Run(ingot, "until")
    for at in range(0, begin, PART):
        until(TOKENS[at : min(at + PART, begin)])
    other = (TOKENS[begin : begin + 9] + 1) % VOCABULARY
    checks.check(np.array_equal(run(other), until(other)), f"{BACK} tokens back")
    run.at = begin
    for at in range(begin, len(TOKENS), PART):
        found = run(TOKENS[at : at + PART])
    checks.check(np.array_equal(found, whole), "and on again")
    fed = {"in:tokens": np.array([[1]], np.int32)}
    path = pathlib.Path(ingot.folder) / "bad.npz"
    for at in (begin - 1, len(TOKENS) + 1, -1, CONTEXT):
        np.savez(path, **fed, **{"in:position": np.array([at], np.int64)})
        files = ("--inputs", path, "--outputs", path.with_name("o.npz"), "--load-state", run.state)
        done = ingot("run", ingot.file, "-q", *files)
        checks.report(f"a position of {at} is refused", done.refusal(range(1, 20), "index"))
    run.at = 0
    checks.check(np.array_equal(run(TOKENS[:9]), Run(ingot, "anew")(TOKENS[:9])), "position 0")


def check_slots(checks, ingot, source, whole, *words):
    checks.report("slots", ingot.convert(source, *WORDS, "--slots", 3, *words).error)
    half, state = PART // 2, pathlib.Path(ingot.folder) / "slots.state"
    state.unlink(missing_ok=True)
    other = (TOKENS + 3) % VOCABULARY
    for at in range(0, len(TOKENS), half):
        positions = np.arange(at, at + half)
        pair = np.stack([TOKENS[at : at + half], other[at : at + half]])
        order = np.argsort(np.random.default_rng(at).integers(0, 2, PART), kind="stable")
        fed = {
            "tokens": pair.reshape(-1)[order][None].astype(np.int32),
            "position": np.tile(positions, 2)[order][None],
            "slot": np.repeat([2, 0], half)[order][None],
            "rows": np.pad([np.flatnonzero(order == half - 1)[0]], (0, PART - 1))[None],
        }
        found = ingot.outputs(fed, state=state)
    checks.check(np.array_equal(found["logits"][0], whole[0]), "a slot has the bits of a lone run")


def check_model(checks, ingot, source, kinds):
    tensors = random_tensors(kinds)
    write_model(source, kinds, tensors)
    done = ingot.convert(source, *WORDS)
    checks.report("convert", done.error)
    checks.check(f"goes back by {BACK} tokens" in done.output, "a note", done.output)
    kept = states(ingot)
    rows = {name: dims[0] for name, dims in kept.items()}
    rings = [name for name in rows if name.startswith("windows.")]
    checks.check(all(rows[name] == ROWS for name in rings) and len(rings) >= 2, "rings", str(rows))
    checks.check(max(rows.values()) == CONTEXT, "a state bounds the text", str(rows))
    whole = check_logits(checks, ingot, reference(tensors, TOKENS, kinds))
    for size in (40, 7):
        _, found = in_parts(ingot, f"parts{size}", size)
        checks.check(np.array_equal(found, whole), f"the bits of runs of {size}")
    check_back(checks, ingot, whole)
    bench = ("bench", ingot.file, "--prompt", 600, "--generate", 9, "--json")
    checks.report("prompts beyond a ring", ingot(*bench).error)
    over = ingot(*(CONTEXT + 1 if word == 600 else word for word in bench))
    checks.report("a prompt beyond the context", over.refusal(range(1, 20), str(CONTEXT)))
    check_slots(checks, ingot, source, whole)
    f16 = ("--cache", "f16")
    checks.report("f16", ingot.convert(source, *WORDS, *f16).error)
    check_slots(checks, ingot, source, in_parts(ingot, "f16", PART)[1], *f16)
    checks.report("look-up", ingot.convert(source, *WORDS, "--lookup", 3).error)
    checks.report("answers with look-up", ingot(*bench).error)
    checks.report("whole", ingot.convert(source, *WORDS, "--full-windows").error)
    names = [name for name in states(ingot) if name.startswith("windows.")]
    checks.check(not names, "--full-windows: no rings", str(names))
    run, found = in_parts(ingot, "full", PART)
    error = largest_error(found[0], whole[0].astype(np.float64), 1e-3)
    checks.check(error < 1e-5, "their logits", f"{error:.1e}")
    run.at = 5
    checks.check(np.array_equal(run(TOKENS[5:8]), Run(ingot, "early")(TOKENS[:8])), "go back to 5")


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("rings")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        for kinds in (LAYERS, "s" * len(LAYERS)):
            for saved in pathlib.Path(work).glob("*.state"):
                saved.unlink()
            check_model(checks, ingot, pathlib.Path(work) / "model.gguf", kinds)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
