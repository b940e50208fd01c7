# SPDX-License-Identifier: Apache-2.0
"""The sample checkpoints beside the project: every tensor's type, shape and hash, every hostile
file's refusal. Skipped, and counted, where they are absent. corpus_test.py INGOT SOURCE_DIR"""

import json
import os
import sys

ingot, source = sys.argv[1:3]
sys.path.insert(0, os.path.join(source, "tests/support"))
from shared import SHARED  # noqa: E402
from testing import Checks, run  # noqa: E402

shared = str(SHARED)
formats = os.path.join(shared, "formats")
checks = Checks("checkpoints")
check = checks.check
INTEGERS = {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}
# Hostile files that hold nothing harmful once read as inert data.
READABLE = {"t_ok.pth", "memo_bomb.pth", "self_ref_list.pth"}
UNSAFE = {
    "ext1_opcode.pth",
    "global_os_system_echo.pth",
    "global_reduce_print.pth",
    "inst_opcode.pth",
    "obj_opcode.pth",
    "stack_global_eval.pth",
}

# Asks for more memory than is in proportion to its bytes, so a limit that the user may raise ends
# it.
OUT_OF_PROPORTION = {"billion_laughs.pth"}


def inspect(path):
    return run(ingot, "inspect", path, "--json", "--hashes")


def compare(name, expected):
    result = inspect(os.path.join(formats, name))
    if result.error:
        return checks.report(name, result.error)
    report = json.loads(result.stdout)
    tensors = {t["name"]: t for t in report["tensors"]}
    facts = {f["name"]: f["value"] for f in report["facts"]}
    wrong = []
    for key, want in expected.items():
        if "value" in want:
            wrong += [key] if facts.get(key) != want["value"] else []
            continue
        got = tensors.get(key)
        same = got and (got["dtype"], got["dims"], got["sha256"]) == (
            INTEGERS.get(want["dtype"], want["dtype"]),
            want["shape"],
            want["sha256_rowmajor_le"],
        )
        if same and "qscheme" in want:
            q = got["quantization"]
            scales = want["scales"] if "scales" in want else [want["scale"]]
            zeros = want["zero_points"] if "zero_points" in want else [want["zero_point"]]
            same = (
                q["scheme"] == want["qscheme"]
                and q["scales"] == scales
                and q["zero_points"] == zeros
            )
        wrong += [] if same else [key]
    check(not wrong, f"{name}: {len(wrong)} of {len(expected)} entries differ, {wrong[:3]}")


if not os.path.isdir(formats):
    checks.skip("sample checkpoints: there is no shared material")
    sys.exit(checks.finish())
with open(os.path.join(formats, "expected_torch.json")) as file:
    for name, expected in sorted(json.load(file).items()):
        compare(name, expected)
for folder in ("evil", "safetensors", "torch", "burn_torch2", "torchscript"):
    for name in sorted(os.listdir(os.path.join(formats, folder))):
        path = os.path.join(formats, folder, name)
        if (
            os.path.isdir(path)
            or name.rsplit(".", 1)[-1] not in ("pth", "pt", "ckpt", "safetensors", "json", "ptl")
            or name == "ops.json"
        ):
            continue
        result = inspect(path)
        if folder == "evil" and name not in READABLE:
            code = 3 if name in UNSAFE else 7 if name in OUT_OF_PROPORTION else 2
        else:  # broken.pt is a line of text
            code = 4 if name.endswith("broken.pt") else 2 if name.startswith("bad_") else 0
        checks.report(name, result.refusal(code, "ingot: ") if code else result.error)


def differences(a, b):
    result = run(ingot, "diff", a, b, "--json")
    rows = (
        json.loads(result.stdout)["rows"]
        if result.stdout.startswith("{")
        else [{"what": result.stderr.strip()}]
    )
    return [r for r in rows if r["what"] != "fact"]


# torch.export's archives hold what the state dictionaries beside them hold.
for name in ("mlp", "cnn"):
    for container in ("archive", "legacy"):
        apart = differences(
            os.path.join(formats, "pt2", f"{name}_{container}.pt2"),
            os.path.join(formats, "torchscript", f"{name}_sd.pth"),
        )
        check(not apart, f"{name}_{container}.pt2: {apart[:2]}")
# Programs whose weights are read: every TFLite and ONNX model.
for folder, _, names in sorted(os.walk(os.path.join(shared, "models"))):
    for name in sorted(names):
        if not name.endswith((".tflite", ".onnx")):
            continue
        path = os.path.join(folder, name)
        checks.report(name, run(ingot, "inspect", path, "--weights", "--json").error)
sys.exit(checks.finish())
