# SPDX-License-Identifier: Apache-2.0
"""Keras models with their own outputs: goldens for keras_test.py.
  make_networks.py FOLDER NAME...     small: the committed samples; else names of
  keras.applications, with random weights
Needs keras with a back end (KERAS_BACKEND; torch by default)."""

import os
import sys
import zipfile

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

L = keras.layers
keras.utils.set_random_seed(3)
rng = np.random.default_rng(5)


def randomise(model):
    """Statistics, scales and biases other than 0 and 1, or they would show nothing."""
    for v in model.weights:
        name = v.path.split("/")[-1]
        if name in ("moving_mean", "beta", "bias"):
            v.assign(rng.normal(0, 0.05, v.shape).astype("f4"))
        if name in ("moving_variance", "gamma"):
            v.assign(rng.uniform(0.6, 1.4, v.shape).astype("f4"))


def text(*layers):
    words = keras.Input((20,), dtype="int32", name="words")
    x = L.Embedding(50, 12)(words)
    for layer in layers:
        x = layer(x)
    return keras.Model(words, L.Dense(3, activation="softmax")(L.Dropout(0.3)(x)))


def lstm():
    return text(L.Bidirectional(L.LSTM(8, return_sequences=True)), L.LSTM(6))


def gru():
    return text(
        L.GRU(8, return_sequences=True),
        L.Bidirectional(
            L.GRU(5, reset_after=False, recurrent_activation="hard_sigmoid"), merge_mode="sum"
        ),
    )


def rnn():
    return text(
        L.SimpleRNN(8, return_sequences=True, go_backwards=True),
        L.TimeDistributed(L.Dense(4, activation="relu")),
        L.Flatten(),
    )


def mix():
    """Many layers once, and two outputs."""
    i = keras.Input((17, 15, 6), name="picture")
    a = L.SeparableConv2D(8, 3, strides=2, padding="same", depth_multiplier=2, activation="swish")(
        i
    )
    a = L.Conv2DTranspose(5, 3, strides=2, padding="same")(a)
    a = L.LeakyReLU(negative_slope=0.1)(L.LayerNormalization()(a))
    b = L.Conv2DTranspose(5, 2, strides=2, padding="valid")(i)
    b = L.ZeroPadding2D(((1, 0), (0, 1)))(L.AveragePooling2D(2, padding="same")(b))
    c = L.Concatenate()([L.Cropping2D(0)(a), b])
    c = L.UpSampling2D((1, 2))(L.UpSampling2D(2, interpolation="bilinear")(c))
    c = L.PReLU(shared_axes=[1, 2])(L.DepthwiseConv2D(3, dilation_rate=2)(c))
    c = L.Reshape((10, -1))(L.Permute((3, 1, 2))(L.GroupNormalization(groups=5)(c)))
    c = L.GlobalMaxPooling1D()(
        L.Conv1D(2, 1, padding="causal")(L.AveragePooling1D(7, data_format="channels_first")(c))
    )
    d = L.Dense(2, activation="gelu")(L.Flatten()(L.GlobalAveragePooling2D(keepdims=True)(i)))
    p = L.Softmax()(L.Subtract()([L.Multiply()([c, d]), d]))
    return keras.Model(i, [L.Average()([c, d]), p])


def nested():
    """A Sequential and a shared layer inside of a Functional model; preprocessing layers."""
    block = keras.Sequential(
        [
            keras.Input((9, 8)),
            L.Conv1D(8, 3, padding="same", activation="elu"),
            L.BatchNormalization(),
            L.Activation("relu6"),
        ],
        name="block",
    )
    i = keras.Input((9, 8), name="signal")
    x = L.Normalization(axis=-1, mean=[0.1] * 8, variance=[2.0] * 8)(
        L.Rescaling(0.5, offset=-0.25)(i)
    )
    twice = L.Dense(8, activation="tanh", name="twice")
    x = L.Add()([block(x), twice(twice(x))])
    return keras.Model(i, L.Dense(2)(L.GlobalAveragePooling1D()(L.MaxPooling1D(2)(x))))


def sequential():
    return keras.Sequential(
        [
            keras.Input((8, 8, 3), name="picture"),
            L.Conv2D(4, 3, padding="same", strides=2),
            L.BatchNormalization(),
            L.ReLU(),
            L.SpatialDropout2D(0.2),
            L.Flatten(),
            L.Dense(5, activation="softmax", name="out"),
        ]
    )


SMALL = {f.__name__: f for f in (lstm, gru, rnn, mix, nested, sequential)}


def write(folder, name):
    model = (
        SMALL[name]()
        if name in SMALL
        else getattr(keras.applications, name)(
            weights=None, **({"input_shape": (224, 224, 3)} if "V3Small" in name else {})
        )
    )
    randomise(model)
    shape = [1 if d is None else d for d in model.input_shape]
    if model.inputs[0].dtype == "int32":
        x = rng.integers(0, 50, shape).astype("i4")
    else:
        x = (
            rng.uniform(0, 255, shape) if "EfficientNet" in name else rng.uniform(-1, 1, shape)
        ).astype("f4")
    made = model(x, training=False)
    made = made if isinstance(made, (list, tuple)) else [made]
    inputs = [layer.name for layer in model._layers if isinstance(layer, L.InputLayer)] or [
        "picture"
    ]
    arrays = {"in:" + inputs[0]: x}
    for output, value in zip(getattr(model, "output_names", [model.layers[-1].name]), made):
        arrays["out:" + output] = keras.ops.convert_to_numpy(value)
    path = os.path.join(folder, name + ".keras")
    model.save(path)
    if name in ("gru", "rnn", "mix"):  # smaller, and deflated members are read too
        with zipfile.ZipFile(path) as stored:
            members = {m: stored.read(m) for m in stored.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for member, data in members.items():
                packed.writestr(member, data)
    if name in ("lstm", "sequential", "nested") or name not in SMALL:
        model.save(os.path.join(folder, name + ".h5"))
    np.savez_compressed(os.path.join(folder, name + ".npz"), **arrays)
    print(name, [a.shape for a in arrays.values()], flush=True)


if __name__ == "__main__":
    names = sys.argv[2:]
    for each in list(SMALL) if names == ["small"] else names:
        write(sys.argv[1], each)
