# SPDX-License-Identifier: Apache-2.0
"""The small networks of opset_sweep.py by exporter: each gives (export(path, opset), inputs, what
the framework computes, opsets)."""

import numpy as np

TORCH_OPSETS = {"torchscript": range(7, 21), "dynamo": range(18, 26)}


def torch_network(name):
    import torch
    from torch import nn

    class Lambda(nn.Module):
        def __init__(self, function, *modules):
            super().__init__()
            self.parts, self.function = nn.ModuleList(modules), function

        def forward(self, x):
            return self.function(x, *self.parts)

    torch.manual_seed(1)
    image, rows, steps = torch.randn(2, 3, 16, 16), torch.randn(3, 12), torch.randn(2, 7, 12)
    norm = nn.BatchNorm2d(8)
    norm.running_mean.uniform_(-1, 1), norm.running_var.uniform_(0.5, 2)
    if name == "mlp":
        parts = nn.Linear(12, 16), nn.LeakyReLU(0.1), nn.Linear(16, 5), nn.LogSoftmax(1)
        return nn.Sequential(*parts), rows
    if name == "cnn":
        parts = nn.Conv2d(3, 8, 3, padding=1), norm, nn.ReLU6(), nn.MaxPool2d(3, 2, 1)
        return nn.Sequential(*parts, nn.AvgPool2d(2), nn.Flatten(), nn.Linear(128, 4)), image
    if name == "inverted residual":
        block = nn.Sequential(
            nn.Conv2d(3, 12, 1), nn.SiLU(), nn.Conv2d(12, 12, 3, padding=1, groups=12),
            nn.Hardswish(), nn.Conv2d(12, 3, 1),
        )  # fmt: skip
        gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(3, 3, 1), nn.Hardsigmoid())
        return Lambda(lambda x, b, g: x + b(x) * g(x), block, gate), image
    if name == "u-net":
        down, up = nn.Conv2d(3, 8, 3, 2, 1), nn.ConvTranspose2d(8, 5, 2, 2)

        def run(x, down, up):
            y = up(torch.relu(down(x)))
            wide = nn.functional.interpolate(y, scale_factor=2.0, mode="nearest")
            pad = nn.functional.pad(x, (1, 2, 3, 0))
            return torch.cat([wide[:, :, ::1, :16], pad[:, :, :16, 1:17].repeat(1, 1, 2, 1)], 1)

        return Lambda(run, down, up), image
    if name == "lstm":
        return Lambda(
            lambda x, l, o: o(l(x)[0][:, -1]),
            nn.LSTM(12, 9, 2, batch_first=True, bidirectional=True),
            nn.Linear(18, 4),
        ), steps
    if name == "gru":
        return Lambda(lambda x, g: torch.tanh(g(x)[0]).mean(1), nn.GRU(12, 9)), steps
    if name == "transformer":
        q, out, norm1 = nn.Linear(12, 36), nn.Linear(12, 12), nn.LayerNorm(12)

        def attend(x, q, out, norm1):
            a, b, c = q(norm1(x)).reshape(2, 7, 3, 3, 4).permute(2, 0, 3, 1, 4).unbind(0)
            mask = torch.tril(torch.ones(7, 7)) == 0
            scores = (a @ b.transpose(-1, -2) / 2).masked_fill(mask, float("-inf")).softmax(-1)
            y = out((scores @ c).transpose(1, 2).reshape(2, 7, 12)) + x
            return nn.functional.gelu(y) * torch.erf(y).clamp(-0.9, 0.9)

        return Lambda(attend, q, out, norm1), steps
    assert name == "selection"
    table = nn.Embedding(10, 6)

    def choose(x, table):
        values, places = x.topk(4, dim=1)
        seen = table(places % 10).sum(1)
        return torch.where(seen > 0, seen, seen.exp() - 1), places, x.cumsum(1)[:, 2:9:3], values

    return Lambda(choose, table), rows


TORCH = "mlp, cnn, inverted residual, u-net, lstm, gru, transformer, selection".split(", ")


def from_torch(name, dynamo):
    import torch

    module, x = torch_network(name)
    module.eval()
    with torch.no_grad():
        wanted = module(x)
    wanted = [w.numpy() for w in (wanted if isinstance(wanted, tuple) else (wanted,))]

    def export(path, opset):
        torch.onnx.export(
            module, (x,), str(path), opset_version=opset, dynamo=dynamo, input_names=["x"],
            external_data=False,
        )  # fmt: skip

    opsets = TORCH_OPSETS["dynamo" if dynamo else "torchscript"]
    return export, [x.numpy()], wanted, opsets


def from_sklearn(name):
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn import ensemble, linear_model, pipeline, preprocessing

    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (60, 5)).astype(np.float32)
    label, number = (x[:, 0] > x[:, 1]).astype(int) + (x[:, 2] > 1), x[:, 0] * x[:, 1]
    model = {
        "forest": lambda: ensemble.RandomForestClassifier(8, max_depth=5, random_state=1),
        "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=9, random_state=1),
        "pipeline": lambda: pipeline.make_pipeline(
            preprocessing.StandardScaler(), linear_model.LogisticRegression()
        ),
    }[name]()
    model.fit(x, number if name == "boosting" else label)

    def export(path, opset):
        options = None if name == "boosting" else {id(model): {"zipmap": False}}
        ports = [("x", FloatTensorType([None, 5]))]
        made = skl2onnx.convert_sklearn(
            model, initial_types=ports, target_opset=opset, options=options
        )
        path.write_bytes(made.SerializeToString())

    if name == "boosting":
        wanted = [model.predict(x).astype(np.float32)[:, None]]
    else:
        wanted = [model.predict(x).astype(np.int64), model.predict_proba(x).astype(np.float32)]
    return export, [x], wanted, range(9, skl2onnx.__max_supported_opset__ + 1)


def from_keras(name):
    import keras
    from keras import layers

    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).standard_normal((2, 12, 12, 3)).astype(np.float32)
    port = keras.Input((12, 12, 3), batch_size=2)
    if name == "keras cnn":
        y = layers.Conv2D(8, 3, padding="same", activation="relu")(port)
        y = layers.MaxPooling2D()(layers.BatchNormalization()(y))
        y = layers.GlobalAveragePooling2D()(layers.DepthwiseConv2D(3)(y))
    else:
        y = layers.SeparableConv2D(6, 3, strides=2, padding="same", activation="elu")(port)
        y = layers.Concatenate()([layers.UpSampling2D(2)(y), layers.ReLU(negative_slope=0.2)(port)])
        y = layers.Flatten()(layers.AveragePooling2D(3)(layers.Conv2DTranspose(4, 2, 2)(y)))
        y = layers.Dense(9, activation="tanh")(y)
    model = keras.Model(port, layers.Dense(4, activation="softmax")(y))
    wanted = [np.asarray(model.predict(x, verbose=0))]

    def export(path, opset):
        model.export(str(path), format="onnx", verbose=False, opset_version=opset)

    return export, [x], wanted, TORCH_OPSETS["dynamo"]


def each(names, make, *more):
    return {name: lambda name=name: make(name, *more) for name in names}


# exporter, the packages that it needs, networks
EXPORTERS = [
    ("torch.onnx, TorchScript", ["torch"], each(TORCH, from_torch, False)),
    ("torch.onnx, dynamo", ["torch", "onnxscript"], each(TORCH, from_torch, True)),
    (
        "skl2onnx",
        ["sklearn", "skl2onnx"],
        each(["forest", "boosting", "pipeline"], from_sklearn),
    ),
    ("keras", ["keras", "torch", "onnxscript"], each(["keras cnn", "keras hourglass"], from_keras)),
]
