#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token by token with the cache as state, and the whole sequence at once: the same bits.

  decoder_bits.py --ingot BIN --work DIR

Converts decoder_full and decoder_state of make_decoder.py, runs the first, and checks the second
against its logits, step by step, with no tolerance at all, on every instruction set of this
machine; then with one bit changed, which must be found.
"""

import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
STATES = [
    f"past_{name}_{layer}=present_{name}_{layer}" for layer in range(2) for name in ("key", "value")
]


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    args = parser.parse_args()
    work = pathlib.Path(args.work) / "decoder_bits"
    full, state, exact = work / "full.ingot", work / "state.ingot", work / "exact.npz"
    states = [word for s in STATES for word in ("--state", s)]
    files = ("--inputs", work / "decoder_full.npz", "--outputs", work / "logits.npz")
    run(sys.executable, HERE / "make_decoder.py", work).succeeded()
    run(args.ingot, "convert", work / "decoder_full.onnx", "-o", full).succeeded()
    run(args.ingot, "convert", work / "decoder_state.onnx", "-o", state, states).succeeded()
    run(args.ingot, "run", full, files).succeeded()
    golden = dict(np.load(work / "decoder_state.npz"))
    logits = np.load(work / "logits.npz")["logits"][0]
    golden["out:logits"] = logits.reshape(golden["out:logits"].shape)
    np.savez(exact, **golden)
    checks = Checks("decoder", verbose=True)
    check = ("check", state, "--golden", exact, "--rtol", 0, "--atol", 0)
    isas = {"x86_64": ["scalar", "avx2", "avx512"], "aarch64": ["scalar", "neon"]}[
        os.uname().machine
    ]
    for isa in isas:
        done = run(args.ingot, check, env={"INGOT_CPU_ISA": isa})
        if "is not what this processor can run" in done.stderr:
            checks.skip(f"{isa}: not on this machine")
            continue
        checks.report(f"{len(logits)} steps equal the whole sequence, {isa}", done.error)
    golden["out:logits"].reshape(-1).view(np.int32)[-1] ^= 1
    np.savez(exact, **golden)
    checks.check(run(args.ingot, check).returncode == 6, "one bit of the last step is found")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
