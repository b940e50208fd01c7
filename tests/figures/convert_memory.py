# SPDX-License-Identifier: Apache-2.0
"""Memory of conversion: what is resident at most, compared with the source, for every kind of
source that this machine can make.
  convert_memory.py --ingot BIN --work FOLDER [--mb 300] [--only WORD ...]
Fails where conversion takes more than 1.3 times the bytes of its source (external data counted; of
an overlay the larger of network and checkpoint). Sources are made by a process of their own, so
that its memory is not the converter's."""

import argparse
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import run, work_folder  # noqa: E402

CEILING = 1.3


def onnx_network(path, op, shape, megabytes, half=False, external=False):
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)
    dtype = np.float16 if half else np.float32
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    each = int(np.prod(shape)) * (2 if half else 4)
    nodes, weights, x = [], [], "x"
    for i in range(max(1, round(megabytes * 1e6 / each))):
        w = (rng.standard_normal(shape, dtype=np.float32) * 0.02).astype(dtype)
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        wide = {"pads": [shape[-1] // 2] * 4} if op == "Conv" else {}
        nodes.append(helper.make_node(op, [x, f"w{i}"], [f"m{i}"], **wide))
        if op == "Conv":
            for part in ("scale", "shift", "mean", "variance"):
                one = np.abs(rng.standard_normal(shape[0], dtype=np.float32)) + 1
                weights.append(numpy_helper.from_array(one, f"{part}{i}"))
            inputs = [f"m{i}"] + [f"{part}{i}" for part in ("scale", "shift", "mean", "variance")]
            nodes.append(helper.make_node("BatchNormalization", inputs, [f"n{i}"]))
        nodes.append(helper.make_node("Relu", [f"n{i}" if op == "Conv" else f"m{i}"], [f"y{i}"]))
        x = f"y{i}"
    dims = [1, shape[1], 8, 8] if op == "Conv" else [4, shape[0]]
    end = [1, shape[0], 8, 8] if op == "Conv" else [4, shape[1]]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, dims)],
        [helper.make_tensor_value_info(x, kind, end)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if external:
        onnx.save(
            model, path, save_as_external_data=True, location=os.path.basename(path) + ".data"
        )
    else:
        onnx.save(model, path)


def torch_network(folder, megabytes):
    import torch
    from safetensors.torch import save_file

    n = 1024
    layers = []
    for _ in range(max(1, round(megabytes * 1e6 / (4 * n * n)))):
        layers += [torch.nn.Linear(n, n), torch.nn.ReLU()]
    net, x = torch.nn.Sequential(*layers).eval(), torch.randn(4, n)
    with torch.no_grad():
        torch.jit.save(torch.jit.trace(net, x, check_trace=False), f"{folder}/net.jit")
        torch.export.save(torch.export.export(net, (x,)), f"{folder}/net.pt2")
        torch.onnx.export(net, x, f"{folder}/net.onnx", dynamo=False)
    save_file(net.state_dict(), f"{folder}/net.safetensors")
    torch.save(net.state_dict(), f"{folder}/net.pth")


def keras_network(path, megabytes):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    n = 1024
    layers = [
        keras.layers.Dense(n, activation="relu")
        for _ in range(max(1, round(megabytes * 1e6 / (4 * n * n))))
    ]
    keras.Sequential([keras.Input((n,))] + layers).save(path)


def make(folder, kind, megabytes):
    """In a process of its own. False where something that it needs is missing."""
    made = run(sys.executable, __file__, "--make", kind, "--work", folder, "--mb", megabytes)
    if made.returncode == 3:
        print(f"[skip] memory of conversion, {kind}: {made.stdout.strip()}")
        return False
    if made.returncode:
        sys.exit(f"{kind}: its source could not be made:\n{made.stderr[-2000:]}")
    return True


ONNX = {  # file: operator, shape of a weight, f16, external data
    "matmul": ("MatMul", (2048, 2048), False, False),
    "small-weights": ("MatMul", (192, 192), False, False),
    "conv": ("Conv", (512, 512, 3, 3), False, False),
    "pointwise": ("Conv", (1024, 1024, 1, 1), False, False),
    "f16": ("MatMul", (2048, 2048), True, False),
    "external": ("MatMul", (2048, 2048), False, True),
}
TORCH = [
    ["net.jit"],
    ["net.pt2"],
    ["net.onnx"],
    ["net.onnx", "--weights", "net.safetensors"],
    ["net.onnx", "--weights", "net.pth"],
    ["net.pt2", "--weights", "net.safetensors"],
    ["net.onnx", "--check"],
]


def making(arguments):
    try:
        if arguments.make in ONNX:
            op, shape, half, external = ONNX[arguments.make]
            onnx_network(
                f"{arguments.work}/{arguments.make}.onnx", op, shape, arguments.mb, half, external
            )
        elif arguments.make == "torch":
            torch_network(arguments.work, arguments.mb)
        else:
            keras_network(f"{arguments.work}/{arguments.make}", arguments.mb)
    except ImportError as missing:
        print(missing)
        sys.exit(3)


def measure(ingot, folder, words):
    """One conversion: bytes of its source, seconds of the clock, what the system counted."""
    paths = [os.path.join(folder, word) for word in words if not word.startswith("-")]
    source = max(
        os.path.getsize(p) + (os.path.getsize(p + ".data") if os.path.exists(p + ".data") else 0)
        for p in paths
    )
    out = os.path.join(folder, "out.ingot")
    call = (
        [ingot, "convert"]
        + [w if w.startswith("-") else os.path.join(folder, w) for w in words]
        + ["-o", out]
    )
    with open(os.path.join(folder, "messages"), "w+b") as messages:
        start = time.monotonic()
        process = subprocess.Popen(call, stdout=messages, stderr=messages)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = status
        messages.seek(0)
        if status:
            sys.exit(f"{' '.join(words)}: conversion failed: {messages.read().decode()[-1000:]}")
    os.remove(out)
    return source, seconds, used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ingot")
    parser.add_argument("--work", required=True)
    parser.add_argument("--mb", type=int, default=300)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--make", help="for its own processes")
    arguments = parser.parse_args()
    if arguments.make:
        return making(arguments)
    os.makedirs(arguments.work, exist_ok=True)
    worst = 0
    print(f"{'source':44} {'MB':>8} {'resident at most':>17} {'times':>6}  (at most {CEILING})")
    for kind in [*ONNX, "torch", "net.keras", "net.h5"]:
        if arguments.only and kind not in arguments.only:
            continue
        with work_folder(dir=arguments.work) as folder:
            if not make(folder, kind, arguments.mb):
                continue
            for words in TORCH if kind == "torch" else [[kind + ".onnx" if kind in ONNX else kind]]:
                source, _, used = measure(arguments.ingot, folder, words)
                most = used.ru_maxrss * 1024
                worst = max(worst, most / source)
                mark = "" if most <= CEILING * source else "  TOO MUCH"
                print(
                    f"{' '.join(words):44} {source / 1e6:8.1f} {most / 1e6:14.1f} MB {most / source:6.2f}{mark}",
                    flush=True,
                )
    if worst > CEILING:
        sys.exit(f"memory of conversion: {worst:.2f} times the source, at most {CEILING} expected")


if __name__ == "__main__":
    main()
