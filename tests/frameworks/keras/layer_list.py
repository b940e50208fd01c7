#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every layer of keras.layers that has a meaning in inference, alone in a model: saved as .keras,
converted, run, and compared with keras' own output to 1e-4 of the largest number (networks whose
roundings in keras are larger: with f64, to twice keras' own distance).

  layer_list.py --ingot PATH --work DIR [--write PAGE] [--applications]
                [--only NAME ...]

--applications: 20 networks of keras.applications with random weights, too. Needs keras with a back
end (KERAS_BACKEND; torch by default). Fails where a layer differs, is refused that is not
in REFUSED, or is a class of keras.layers that no list here names, or both LAYERS and REFUSED.
"""

import functools
import inspect
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

import make_networks

L = keras.layers
HEAD = """# Layers of Keras, counted
Every class of `keras.layers` that has a meaning in inference, alone in a model with random weights,
saved as .keras, converted, run and compared with Keras' own output to 1e-4 of the largest number;
then networks of `keras.applications` with random weights. `./dev show keras-layers` makes this page
(part of `./dev test keras`).

"""
LIMIT = 1e-4
SIGNAL, IMAGE, VOLUME, ROW = (10, 6), (9, 8, 4), (6, 5, 4, 3), (7,)
PLAIN = {1: SIGNAL, 2: IMAGE, 3: VOLUME}


def over(kinds, dims, *arguments, **options):
    """name{1,2,3}D over a signal, an image and a volume."""
    found = {}
    for kind in kinds:
        for d in dims:
            found[f"{kind}{d}D"] = (
                lambda k=kind, n=d: getattr(L, f"{k}{n}D")(*arguments, **options),
                PLAIN[d],
            )
    return found


# name of the class -> layer and shape of its input; a list of shapes where it has several inputs
LAYERS = {
    **over(["Conv"], (1, 2, 3), 5, 3, padding="same", activation="relu"),
    **{
        f"Conv{d}DTranspose": (
            lambda n=d: getattr(L, f"Conv{n}DTranspose")(5, 3, strides=2, padding="same"),
            PLAIN[d],
        )
        for d in (1, 2)
    },
    **over(["DepthwiseConv"], (1, 2), 3, depth_multiplier=2),
    **over(["SeparableConv"], (1, 2), 5, 3),
    **over(["MaxPooling", "AveragePooling"], (1, 2, 3), 2, padding="same"),
    **over(["GlobalMaxPooling", "GlobalAveragePooling"], (1, 2, 3)),
    **over(["AdaptiveMaxPooling", "AdaptiveAveragePooling"], (1, 2, 3), 3),
    **over(["ZeroPadding", "Cropping"], (1, 2, 3), 1),
    **over(["UpSampling"], (1, 2, 3), 2),
    **over(["SpatialDropout"], (1, 2, 3), 0.3),
    **{
        f"ConvLSTM{d}D": (
            lambda n=d: getattr(L, f"ConvLSTM{n}D")(3, 2, padding="same", return_sequences=True),
            (4,) + PLAIN[d],
        )
        for d in (1, 2, 3)
    },
    "Activation": (lambda: L.Activation("gelu"), SIGNAL),
    "ActivityRegularization": (lambda: L.ActivityRegularization(0.1), SIGNAL),
    "Add": (L.Add, [SIGNAL, SIGNAL]),
    "AdditiveAttention": (L.AdditiveAttention, [(5, 6), (4, 6)]),
    "AlphaDropout": (lambda: L.AlphaDropout(0.2), SIGNAL),
    "Attention": (lambda: L.Attention(use_scale=True), [(5, 6), (4, 6), (4, 6)]),
    "Average": (L.Average, [SIGNAL, SIGNAL, SIGNAL]),
    "BatchNormalization": (L.BatchNormalization, IMAGE),
    "Bidirectional": (lambda: L.Bidirectional(L.LSTM(5, return_sequences=True)), SIGNAL),
    "CategoryEncoding": (lambda: L.CategoryEncoding(8, output_mode="multi_hot"), ("int32", (5,))),
    "CenterCrop": (lambda: L.CenterCrop(5, 4), IMAGE),
    "Concatenate": (lambda: L.Concatenate(axis=1), [SIGNAL, SIGNAL]),
    "Dense": (lambda: L.Dense(5, activation="swish"), SIGNAL),
    "Discretization": (lambda: L.Discretization([-0.5, 0.0, 0.5]), ROW),
    "Dot": (lambda: L.Dot(axes=(2, 1), normalize=True), [(5, 6), (6, 4)]),
    "Dropout": (lambda: L.Dropout(0.2), SIGNAL),
    "ELU": (lambda: L.ELU(0.7), SIGNAL),
    "EinsumDense": (lambda: L.EinsumDense("...a,ab->...b", 5, bias_axes="b"), SIGNAL),
    "Embedding": (lambda: L.Embedding(9, 4), ("int32", (5,))),
    "Flatten": (L.Flatten, IMAGE),
    "GRU": (lambda: L.GRU(5), SIGNAL),
    "GaussianDropout": (lambda: L.GaussianDropout(0.2), SIGNAL),
    "GaussianNoise": (lambda: L.GaussianNoise(0.2), SIGNAL),
    "GroupNormalization": (lambda: L.GroupNormalization(2), IMAGE),
    "GroupQueryAttention": (lambda: L.GroupQueryAttention(4, 4, 2), [(5, 6), (4, 6)]),
    "Identity": (L.Identity, SIGNAL),
    "LSTM": (lambda: L.LSTM(5, return_sequences=True), SIGNAL),
    "LayerNormalization": (L.LayerNormalization, SIGNAL),
    "LeakyReLU": (lambda: L.LeakyReLU(negative_slope=0.1), SIGNAL),
    "Masking": (lambda: L.Masking(0.5), SIGNAL),
    "Maximum": (L.Maximum, [SIGNAL, SIGNAL]),
    "Minimum": (L.Minimum, [SIGNAL, SIGNAL]),
    "MultiHeadAttention": (lambda: L.MultiHeadAttention(2, 4, value_dim=3), [(5, 6), (4, 6)]),
    "Multiply": (L.Multiply, [SIGNAL, SIGNAL]),
    "Normalization": (lambda: L.Normalization(mean=0.2, variance=1.5), SIGNAL),
    "PReLU": (lambda: L.PReLU(alpha_initializer="uniform"), SIGNAL),
    "Permute": (lambda: L.Permute((2, 1)), SIGNAL),
    "RMSNormalization": (L.RMSNormalization, SIGNAL),
    "RNN": (lambda: L.RNN([L.LSTMCell(5), L.LSTMCell(4), L.GRUCell(3)]), SIGNAL),
    "ReLU": (lambda: L.ReLU(max_value=1.0), SIGNAL),
    "RepeatVector": (lambda: L.RepeatVector(3), ROW),
    "ReversibleEmbedding": (lambda: L.ReversibleEmbedding(9, 4), ("int32", (5,))),
    "Rescaling": (lambda: L.Rescaling(2.0, 0.5), SIGNAL),
    "Reshape": (lambda: L.Reshape((6, -1)), SIGNAL),
    "Resizing": (lambda: L.Resizing(13, 5), IMAGE),
    "SimpleRNN": (lambda: L.SimpleRNN(5), SIGNAL),
    "Softmax": (L.Softmax, SIGNAL),
    "SpectralNormalization": (lambda: L.SpectralNormalization(L.Dense(4)), SIGNAL),
    "Subtract": (L.Subtract, [SIGNAL, SIGNAL]),
    "TimeDistributed": (lambda: L.TimeDistributed(L.Conv1D(3, 2)), (4, 6, 3)),
    "UnitNormalization": (L.UnitNormalization, SIGNAL),
    # other forms of some
    "Attention, concat": (lambda: L.Attention(score_mode="concat"), [(5, 6), (4, 6)]),
    "CategoryEncoding, count": (
        lambda: L.CategoryEncoding(8, output_mode="count"),
        ("int32", (5,)),
    ),
    "CategoryEncoding, one_hot": (
        lambda: L.CategoryEncoding(8, output_mode="one_hot"),
        ("int32", (1,)),
    ),
    "ConvLSTM2D, valid": (lambda: L.ConvLSTM2D(3, 3, strides=2), (4,) + IMAGE),
    "ReversibleEmbedding, two tables": (
        lambda: L.ReversibleEmbedding(9, 4, tie_weights=False, logit_soft_cap=3.0),
        ("int32", (5,)),
    ),
    "Dot, rows": (lambda: L.Dot(axes=1), [ROW, ROW]),
    "EinsumDense, heads": (
        lambda: L.EinsumDense("abc,cde->abde", (None, 2, 5), bias_axes="de"),
        SIGNAL,
    ),
    "RNN, one cell": (lambda: L.RNN(L.SimpleRNNCell(5), return_sequences=True), SIGNAL),
    "Resizing, nearest": (lambda: L.Resizing(13, 5, interpolation="nearest"), IMAGE),
    "UpSampling2D, bilinear": (lambda: L.UpSampling2D(2, interpolation="bilinear"), IMAGE),
}
RANDOM = (
    "RandomBrightness RandomColorDegeneration RandomContrast RandomErasing RandomGaussianBlur"
    " RandomHue RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear"
    " RandomTranslation RandomZoom"
)
for name in RANDOM.split():
    LAYERS[name] = (
        lambda n=name: (
            getattr(L, n)(0.2) if n != "RandomPosterization" else L.RandomPosterization(3)
        ),
        IMAGE,
    )
LAYERS["RandomColorDegeneration"] = (lambda: L.RandomColorDegeneration(0.2), (9, 8, 3))
LAYERS["RandomTranslation"] = (lambda: L.RandomTranslation(0.2, 0.2), IMAGE)
LAYERS["RandomFlip"] = (lambda: L.RandomFlip("horizontal"), IMAGE)
LAYERS["RandomGrayscale"] = (lambda: L.RandomGrayscale(0.2), (9, 8, 3))
LAYERS["RandomInvert"] = (lambda: L.RandomInvert(0.2), IMAGE)
LAYERS["RandomPerspective"] = (lambda: L.RandomPerspective(0.2), IMAGE)
LAYERS["RandomColorJitter"] = (lambda: L.RandomColorJitter(0.2), (9, 8, 3))
LAYERS["RandomElasticTransform"] = (lambda: L.RandomElasticTransform(0.2), (9, 8, 3))

REFUSED = {
    "AugMix": "an augmentation that its batch and labels feed",
    "AutoContrast": "an augmentation that is drawn from the image",
    "ContrastLimitedAdaptiveHistogramEqualization": "an augmentation that is drawn from the image",
    "CutMix": "an augmentation that its batch and labels feed",
    "Equalization": "an augmentation that is drawn from the image",
    "Hashing": "hashes of text and integers",
    "HashedCrossing": "hashes of text and integers",
    "IntegerLookup": "its table is an asset beside the weights",
    "Lambda": "holds a function, which is never executed",
    "MaxNumBoundingBoxes": "boxes of training",
    "MelSpectrogram": "is not built",
    "MixUp": "an augmentation that its batch and labels feed",
    "Pipeline": "is not built",
    "RandomCrop": "versions of Keras differ in what it does in inference",
    "Conv3DTranspose": "transposed convolutions over 3 dimensions are not built",
    "RandAugment": "an augmentation that its batch and labels feed",
    "STFTSpectrogram": "is not built",
    "Solarization": "is not built",
    "StringLookup": "is of text",
    "TextVectorization": "is of text",
    "FlaxLayer": "holds a program of another framework",
    "JaxLayer": "holds a program of another framework",
    "TFSMLayer": "holds a program of another framework",
    "TorchModuleWrapper": "holds a program of another framework",
}
PARTS = "GRUCell LSTMCell SimpleRNNCell StackedRNNCells InputLayer InputSpec Layer Wrapper".split()
APPLICATIONS = (
    "MobileNet MobileNetV2 MobileNetV3Small MobileNetV3Large EfficientNetB0 EfficientNetB1"
    " EfficientNetV2B0 EfficientNetV2B1 EfficientNetV2S ResNet50 ResNet50V2 ResNet101 DenseNet121"
    " DenseNet169 Xception InceptionV3 InceptionResNetV2 ResNet101V2 ConvNeXtTiny VGG16"
).split()


def aliases():
    """Names of one class: Conv2D and Convolution2D."""
    found = {}
    for name in dir(L):
        if inspect.isclass(getattr(L, name)):
            found.setdefault(getattr(L, name), []).append(name)
    return found


def model_of(name):
    make, shape = LAYERS[name]
    many = shape if isinstance(shape, list) else [shape]
    inputs, arrays = [], {}
    for i, one in enumerate(many):
        kind, dims = one if isinstance(one[0], str) else ("float32", one)
        inputs.append(keras.Input(dims, dtype=kind, name=f"in{i}"))
        drawn = np.random.default_rng(len(name) + i)
        arrays[f"in{i}"] = (
            drawn.integers(0, 8, (2,) + dims).astype("i4")
            if kind == "int32"
            else drawn.uniform(-1, 1, (2,) + dims).astype("f4")
        )
    layer = make()
    merges = isinstance(layer, (L.Add, L.Average, L.Concatenate, L.Dot, L.Maximum, L.Minimum,
                                L.Multiply, L.Subtract, L.Attention))  # fmt: skip
    made = layer(inputs) if merges else layer(*inputs)
    return keras.Model(inputs if len(inputs) > 1 else inputs[0], made), arrays


def settle(model, shape):
    """Statistics of normalizations as training leaves them. With random ones a deep network's
    numbers grow by powers, its gates flip and its softmax is a 1 among zeros: nothing is compared
    then."""
    for layer in model.layers:
        if isinstance(layer, L.BatchNormalization):
            layer.momentum = 0.0
    batch = np.random.default_rng(7).uniform(0, 1, [4] + shape[1:]).astype("f4")
    model(batch, training=True)


def in_double(make, model, value):
    """What a network gives in f64."""
    keras.config.set_dtype_policy("float64")
    try:
        wide = make()
    finally:
        keras.config.set_dtype_policy("float32")
    wide.set_weights([w.astype("f8") for w in model.get_weights()])
    return keras.ops.convert_to_numpy(wide(value.astype("f8"), training=False))


def compare(ingot, work, name, model, arrays, limit=LIMIT, settled=None, make=None):
    """(verdict, reason). `settled`: the shape of an input, for networks that are settled first.
    `make` makes the network again: one whose roundings in keras are themselves above the limit,
    measured in f64, may be twice as far from f64 as keras is."""
    make_networks.randomise(model)
    if settled:
        settle(model, settled)
    stem = work / re.sub(r"\W+", "_", name)
    values = list(arrays.values())
    want = keras.ops.convert_to_numpy(
        model(values if len(values) > 1 else values[0], training=False)
    )
    model.save(f"{stem}.keras")
    np.savez(f"{stem}.npz", **arrays)
    file, out = f"{stem}.ingot", f"{stem}.out.npz"
    said = run(ingot, "convert", f"{stem}.keras", "-o", file)
    if said.returncode == 0:
        said = run(ingot, "run", file, "--inputs", f"{stem}.npz", "--outputs", out)
    if said.returncode:
        text = " ".join(said.stderr.split())
        return ("refused" if said.returncode == 4 else f"exit {said.returncode}"), text[:200]
    got = np.load(out)
    got = got[got.files[0]]
    for path in (f"{stem}.keras", file, out):
        os.unlink(path)
    if got.shape != want.shape:
        return "different", f"shape {got.shape}, keras has {want.shape}"
    largest = max(1e-30, float(np.abs(want).max()))
    error = float(np.abs(got.astype("f8") - want.astype("f8")).max()) / largest
    if error > limit and make:
        exact = in_double(make, model, values[0])
        error = float(np.abs(got - exact).max()) / largest
        limit = max(limit, 2 * float(np.abs(want - exact).max()) / largest)
    return ("equal", "") if error <= limit else ("different", f"{error:.2g} of the largest number")


def compare_stateful(ingot, work, name, **options):
    """A recurrent layer that keeps its state, over three runs."""
    x = keras.Input(batch_shape=(2, 4, 3), name="x")
    model = keras.Model(x, getattr(L, name)(5, stateful=True, name="y", **options)(x))
    make_networks.randomise(model)
    source, golden = work / "stateful.keras", work / "stateful.npz"
    model.save(source)
    runs = np.random.default_rng(len(name)).uniform(-1, 1, (3, 2, 4, 3)).astype("f4")
    want = np.stack([keras.ops.convert_to_numpy(model(one, training=False)) for one in runs])
    meta = json.dumps({"ref": "keras", "steps": len(runs)})
    np.savez(golden, meta=meta, **{"in:x": runs, "out:y": want})
    options = ("--golden", golden, "--rtol", LIMIT)
    said = run(ingot, "convert", source, "-o", work / "stateful.ingot", options)
    return ("equal", "") if said.returncode == 0 else ("different", said.stderr[:200])


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--applications", action="store_true")
    parser.add_argument("--only", nargs="+")
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    rows, checks = [], Checks("keras_layers")
    for name in sorted(LAYERS):
        if a.only and name not in a.only:
            continue
        if not hasattr(L, name.split(",")[0]):
            checks.skip(f"this keras has no layer {name}")
            continue
        try:
            verdict, why = compare(a.ingot, a.work, name, *model_of(name))
        except Exception as error:  # what keras throws is anything
            verdict, why = "not made", f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
        rows.append((name, verdict, why))
        checks.check(verdict == "equal", name, f"{verdict}: {why}")
    for name in ("LSTM", "GRU", "SimpleRNN") if not a.only else ():
        for options in ({}, {"return_sequences": True, "go_backwards": True}):
            label = f"{name}, stateful{', backwards' if options else ''}"
            verdict, why = compare_stateful(a.ingot, a.work, name, **options)
            rows.append((label, verdict, why))
            checks.check(verdict == "equal", label, f"{verdict}: {why}")
    if not a.only:
        for names in aliases().values():
            if not any(n in LAYERS or n in REFUSED or n in PARTS for n in names):
                checks.report(f"keras.layers.{names[0]}", "is in no list of layer_list.py")
            if any(n in LAYERS for n in names) and any(n in REFUSED for n in names):
                checks.report(f"keras.layers.{names[0]}", "is in LAYERS and in REFUSED")
    networks = []
    for name in APPLICATIONS if a.applications else []:
        side = {"input_shape": (224, 224, 3)} if "V3" in name and "Mobile" in name else {}
        keras.utils.set_random_seed(APPLICATIONS.index(name))
        make = functools.partial(getattr(keras.applications, name), weights=None, **side)
        model = make()
        shape = [1] + list(model.input_shape[1:])
        x = np.random.default_rng(5).uniform(0, 1, shape).astype("f4")
        key = model.layers[0].name
        verdict, why = compare(a.ingot, a.work, name, model, {key: x}, settled=shape, make=make)
        networks.append((name, verdict, why))
        print(f"{name}: {verdict} {why}", flush=True)
        checks.check(verdict == "equal", name, f"{verdict}: {why}")
    equal = sum(v == "equal" for _, v, _ in rows)
    lines = [
        f"{equal} of {len(rows)} layers and forms equal keras {keras.__version__};"
        " refused by name:",
        "",
        "| layer | why |",
        "| --- | --- |",
        *[f"| {name} | {why} |" for name, why in sorted(REFUSED.items()) if hasattr(L, name)],
        "",
        "Compared: " + ", ".join(n for n, v, _ in rows if v == "equal") + ".",
    ]
    good = [n for n, v, _ in networks if v == "equal"]
    if networks:
        lines += ["", f"Of keras.applications {len(good)} of {len(networks)}: {', '.join(good)}."]
    print("\n".join(lines))
    if a.write and not a.only and a.applications:
        a.write.parent.mkdir(parents=True, exist_ok=True)
        a.write.write_text(HEAD + "\n".join(lines) + "\n")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
