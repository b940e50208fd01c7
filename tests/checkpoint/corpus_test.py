"""The sample checkpoints beside the project: every tensor's type, shape and hash, every hostile
file's refusal. Skipped, and counted, where they are absent. corpus_test.py INGOT SOURCE_DIR"""

import json
import os
import subprocess
import sys

ingot, source = sys.argv[1:3]
sys.path.insert(0, os.path.join(source, "tests/support"))
from shared import SHARED  # noqa: E402

shared = str(SHARED)
formats = os.path.join(shared, "formats")
passed = failed = 0
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
    return subprocess.run(
        [ingot, "inspect", path, "--json", "--hashes"], capture_output=True, text=True, timeout=120
    )


def check(ok, text):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("[fail] " + text)


def compare(name, expected):
    result = inspect(os.path.join(formats, name))
    if result.returncode:
        return check(False, f"{name}: {result.stderr.strip()}")
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
    print("[skip] sample checkpoints: there is no shared material")
    print("checkpoints: 0 passed, 0 failed, 1 skipped")
    sys.exit(0)
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
        one_line = len(result.stderr.strip().splitlines()) == 1 and result.stderr.startswith(
            "ingot: "
        )
        if folder == "evil" and name not in READABLE:
            allowed = (3,) if name in UNSAFE else (7,) if name in OUT_OF_PROPORTION else (2,)
            check(
                result.returncode in allowed and one_line,
                f"{name}: exit {result.returncode}, {result.stderr.strip()[:200]}",
            )
        elif name.endswith("broken.pt"):  # a line of text
            check(
                result.returncode == 4 and one_line,
                f"{name}: exit {result.returncode}, {result.stderr.strip()[:200]}",
            )
        elif name.startswith("bad_"):
            check(
                result.returncode == 2 and one_line,
                f"{name}: exit {result.returncode}, {result.stderr.strip()[:200]}",
            )
        else:
            check(
                result.returncode == 0,
                f"{name}: exit {result.returncode}, {result.stderr.strip()[:200]}",
            )


def differences(a, b):
    result = subprocess.run(
        [ingot, "diff", a, b, "--json"], capture_output=True, text=True, timeout=120
    )
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
        result = subprocess.run(
            [ingot, "inspect", os.path.join(folder, name), "--weights", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        check(
            result.returncode == 0,
            f"{name}: exit {result.returncode}, {result.stderr.strip()[:200]}",
        )
print(f"checkpoints: {passed} passed, {failed} failed, 0 skipped")
sys.exit(1 if failed else 0)
