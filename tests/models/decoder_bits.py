#!/usr/bin/env python3
"""Token by token with the cache as state, and the whole sequence at once: the same bits.

  decoder_bits.py --ingot BIN --work DIR

Converts decoder_full and decoder_state of make_decoder.py, runs the first, and checks the second
against its logits, step by step, with no tolerance at all, on every instruction set of this
machine; then with one bit changed, which must be found.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import ingot_parser  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
STATES = [
    f"past_{name}_{layer}=present_{name}_{layer}" for layer in range(2) for name in ("key", "value")
]


def call(*command, isa=None):
    env = {**os.environ, **({"INGOT_CPU_ISA": isa} if isa else {})}
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    args = parser.parse_args()
    work = pathlib.Path(args.work) / "decoder_bits"
    made = call(sys.executable, HERE / "make_decoder.py", work)
    full, state, exact = work / "full.ingot", work / "state.ingot", work / "exact.npz"
    steps = [
        made,
        call(args.ingot, "convert", work / "decoder_full.onnx", "-o", full),
        call(
            args.ingot,
            "convert",
            work / "decoder_state.onnx",
            "-o",
            state,
            *(word for s in STATES for word in ("--state", s)),
        ),
        call(
            args.ingot,
            "run",
            full,
            "--inputs",
            work / "decoder_full.npz",
            "--outputs",
            work / "logits.npz",
        ),
    ]
    failed = [s.stderr.strip() for s in steps if s.returncode]
    if failed:
        print(f"[fail] decoder: {failed[0][-300:]}")
        return 1
    golden = dict(np.load(work / "decoder_state.npz"))
    logits = np.load(work / "logits.npz")["logits"][0]
    golden["out:logits"] = logits.reshape(golden["out:logits"].shape)
    np.savez(exact, **golden)
    faults = 0
    isas = {"x86_64": ["scalar", "avx2", "avx512"], "aarch64": ["scalar", "neon"]}[
        os.uname().machine
    ]
    for isa in isas:
        done = call(
            args.ingot, "check", state, "--golden", exact, "--rtol", "0", "--atol", "0", isa=isa
        )
        if "instruction set" in done.stderr and done.returncode:
            print(f"[skip] {isa}: not on this machine")
            continue
        faults += done.returncode != 0
        print(
            ("[ok]   " if done.returncode == 0 else "[fail] ")
            + f"decoder: {len(logits)} steps equal the whole sequence, {isa}: "
            + (done.stdout + done.stderr).strip()[-200:]
        )
    golden["out:logits"].reshape(-1).view(np.int32)[-1] ^= 1
    np.savez(exact, **golden)
    found = (
        call(args.ingot, "check", state, "--golden", exact, "--rtol", "0", "--atol", "0").returncode
        == 6
    )
    print(("[ok]   " if found else "[fail] ") + "decoder: one bit of the last step is found")
    return 1 if faults or not found else 0


if __name__ == "__main__":
    sys.exit(main())
