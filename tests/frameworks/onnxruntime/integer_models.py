#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole quantized ONNX models against onnxruntime, layer by layer: what each layer makes from the
bytes that onnxruntime's graph as it stands (not optimized) has before it, and the outputs of the
whole model, within the spread of onnxruntime's own optimized graph.

  integer_models.py --ingot BIN [--runs N] [--dim NAME=EXTENT] [--networks [FOLDER]] [MODEL ...]

With --networks ResNet-18 and MobileNetV2 (random weights) are quantized by onnxruntime's tools: QDQ
of S8S8 and U8S8, and QOperator; a small transformer and an LSTM with activations that each run
quantizes, and with weights in blocks of 4 and 8 bits. All are kept in FOLDER. Needs onnx and
onnxruntime; torch and torchvision for --networks."""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, shape_inference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

BYTES = (onnx.TensorProto.UINT8, onnx.TensorProto.INT8)
MAKE_BYTES = ("QuantizeLinear", "QLinear", "QGemm", "MaxPool", "Reshape", "Flatten", "Transpose")


def session_of(model, optimized=False, threads=2):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    )
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def drawn(session, dims, rng):
    fed = {}
    for each in session.get_inputs():
        shape = [d if isinstance(d, int) else dims.get(d, 1) for d in each.shape]
        kind = {"tensor(int64)": np.int64, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8}
        dtype = kind.get(each.type, np.float32)
        if dtype == np.float32:
            fed[each.name] = rng.standard_normal(shape).astype(np.float32)
        else:
            low, high = (0, 4) if dtype == np.int64 else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            fed[each.name] = rng.integers(low, high + 1, shape).astype(dtype)
    return fed


def byte_tensors(model):
    """Tensors of 8 bits that nodes make, in order, with their element type."""
    inferred = shape_inference.infer_shapes(model)
    types = {v.name: v.type.tensor_type.elem_type for v in inferred.graph.value_info}
    types |= {v.name: v.type.tensor_type.elem_type for v in inferred.graph.output}
    zeros = {t.name: t.data_type for t in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if not node.op_type.startswith(MAKE_BYTES):
            continue
        kind = types.get(node.output[0], 0)
        if kind == 0 and "Q" in node.op_type:  # behind what shape inference does not know
            candidates = [zeros[i] for i in node.input if zeros.get(i) in BYTES]
            kind = candidates[-1] if candidates else 0
        elif kind == 0:
            kind = found.get(node.input[0], 0)
        if kind in BYTES:
            found[node.output[0]] = kind
    return found


def layer_of(model, target, sources):
    """(nodes, inputs) from the bytes in `sources` to `target`."""
    made_by = {o: n for n in model.graph.node for o in n.output}
    nodes, inputs, seen, ahead = [], [], set(), [made_by[target]]
    while ahead:
        node = ahead.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        nodes.append(node)
        for name in node.input:
            if name in sources:
                inputs.append(name)
            elif name in made_by:
                ahead.append(made_by[name])
    order = {id(n): i for i, n in enumerate(model.graph.node)}
    return sorted(nodes, key=lambda n: order[id(n)]), sorted(set(inputs))


def compare_layers(ingot, model, fed):
    """(layers, elements, how many differ, by how many steps at most)"""
    kinds = byte_tensors(model)
    open_model = onnx.ModelProto()
    open_model.CopyFrom(model)
    have = {o.name for o in model.graph.output}
    for name, kind in kinds.items():
        if name not in have:
            open_model.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    session = session_of(open_model)
    names = [o.name for o in session.get_outputs()]
    values = dict(zip(names, session.run(None, fed)), **fed)
    weights = {t.name: t for t in model.graph.initializer}
    layers = elements = different = most = 0
    for target, kind in kinds.items():
        sources = (set(kinds) | set(fed)) - {target}
        nodes, inputs = layer_of(model, target, sources)
        wanted = {i for n in nodes for i in n.input}
        given = []
        for name in inputs:
            dtype = helper.np_dtype_to_tensor_dtype(values[name].dtype)
            given.append(helper.make_tensor_value_info(name, dtype, values[name].shape))
        graph = helper.make_graph(
            nodes,
            "layer",
            given,
            [helper.make_tensor_value_info(target, kind, None)],
            [t for n, t in weights.items() if n in wanted],
        )
        layer = helper.make_model(
            graph, opset_imports=model.opset_import, ir_version=model.ir_version
        )
        try:
            found = ingot.computed(layer, {n: values[n] for n in inputs})[target]
        except RunError as why:
            raise RunError(f"layer of {target}: {why}") from why
        away = np.abs(found.astype(int) - values[target].astype(int))
        layers, elements = layers + 1, elements + away.size
        different += int((away > 0).sum())
        most = max(most, int(away.max(initial=0)))
    return layers, elements, different, most


def compare(ingot, path, runs, dims):
    """What is wrong, and a line of figures."""
    model = onnx.load(path)
    plain, optimized = session_of(model), session_of(model, True)
    rng = np.random.default_rng(5)
    fed = drawn(plain, dims, rng)
    layers, elements, different, most = compare_layers(ingot, model, fed)
    wrong = f"a layer is {most} steps away" if most > 1 else ""
    spread = ours = largest = 0.0
    names = [o.name for o in plain.get_outputs()]
    for _ in range(runs):
        fed = drawn(plain, dims, rng)
        want, other = plain.run(None, fed), optimized.run(None, fed)
        found = ingot.computed(path, fed)
        for a, b, c in zip(want, other, (found[name] for name in names)):
            a, b, c = (np.asarray(t, np.float64) for t in (a, b, c))
            spread = max(spread, np.abs(a - b).max(initial=0))
            ours = max(ours, min(np.abs(a - c).max(initial=0), np.abs(b - c).max(initial=0)))
            largest = max(largest, np.abs(a).max(initial=0))
    if ours > max(2 * spread, 0.02 * largest):
        wrong = f"outputs are {ours:.3g} away"
    return wrong, (
        f"{layers} layers, {different} of {elements} bytes differ, by at most {most}; outputs "
        f"{ours:.3g} away of {largest:.3g}, onnxruntime's own spread is {spread:.3g}"
    )


def quantized_networks(folder):
    """Paths of networks that onnxruntime's tools quantized."""
    import torch
    import torchvision
    from onnxruntime import quantization

    class Images(quantization.CalibrationDataReader):
        def __init__(self, name):
            rng = np.random.default_rng(3)
            self.all = [
                {name: rng.standard_normal((1, 3, 224, 224)).astype(np.float32)} for _ in range(4)
            ]

        def get_next(self):
            return self.all.pop() if self.all else None

    made = []
    for name in ("resnet18", "mobilenet_v2"):
        torch.manual_seed(1)
        network = getattr(torchvision.models, name)(weights=None).eval()
        plain, prepared = folder / f"{name}.onnx", folder / f"{name}_prepared.onnx"
        torch.onnx.export(
            network, torch.zeros(1, 3, 224, 224), str(plain), opset_version=17, dynamo=False
        )
        quantization.shape_inference.quant_pre_process(str(plain), str(prepared))
        source = onnx.load(prepared).graph.input[0].name
        formats, kinds = quantization.QuantFormat, quantization.QuantType
        for suffix, style, activations in (
            ("qdq_s8s8", formats.QDQ, kinds.QInt8),
            ("qdq_u8s8", formats.QDQ, kinds.QUInt8),
            ("qoperator", formats.QOperator, kinds.QUInt8),
        ):
            out = folder / f"{name}_{suffix}.onnx"
            quantization.quantize_static(
                str(prepared),
                str(out),
                Images(source),
                quant_format=style,
                activation_type=activations,
                weight_type=kinds.QInt8,
                per_channel=True,
            )
            made.append(out)
    return made


def dynamic_networks(folder):
    """Paths of networks whose activations are quantized in each run, or not at all."""
    import torch
    from onnxruntime import quantization
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    class Transformer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layer = torch.nn.TransformerEncoderLayer(64, 4, 320, batch_first=True)
            self.words = torch.nn.Embedding(100, 64)
            self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.out = torch.nn.Linear(64, 10)

        def forward(self, x):
            return self.out(self.layers(self.words(x)))

    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(16, 24, bidirectional=True)
            self.out = torch.nn.Linear(48, 5)

        def forward(self, x):
            return self.out(self.lstm(x)[0])

    torch.manual_seed(2)
    made = []
    for name, network, x in (
        ("transformer", Transformer(), torch.zeros(1, 12, dtype=torch.int64)),
        ("lstm", Recurrent(), torch.zeros(7, 1, 16)),
    ):
        plain = folder / f"{name}.onnx"
        torch.onnx.export(network.eval(), x, str(plain), opset_version=17, dynamo=False)
        for kind in (quantization.QuantType.QInt8, quantization.QuantType.QUInt8):
            made.append(folder / f"{name}_dynamic_{kind.name.lower()}.onnx")
            quantization.quantize_dynamic(
                str(plain), str(made[-1]), per_channel=name == "transformer", weight_type=kind
            )
    for bits, symmetric in ((4, True), (4, False), (8, True)):
        source = onnx.load(folder / "transformer.onnx")
        packed = MatMulNBitsQuantizer(source, bits=bits, block_size=32, is_symmetric=symmetric)
        packed.process()
        made.append(folder / f"transformer_{bits}bits{'' if symmetric else '_zeros'}.onnx")
        onnx.save(packed.model.model, made[-1])
    return made


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--networks", nargs="?", const="")
    parser.add_argument("models", nargs="*")
    a = parser.parse_args()
    dims = {k: int(v) for k, v in (each.split("=") for each in a.dim)}
    checks = Checks("integer_models")
    with work_folder() as folder:
        ingot, models = Ingot(a.ingot, folder), [pathlib.Path(m) for m in a.models]
        if a.networks is not None:
            kept = pathlib.Path(a.networks) if a.networks else folder
            models += quantized_networks(kept) + dynamic_networks(kept)
        for path in models:
            try:
                wrong, line = compare(ingot, path, a.runs, dims)
            except RunError as why:
                wrong, line = str(why), "cannot be compared"
            print(f"{path.name}: {line}", flush=True)
            checks.report(path.name, wrong)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
