#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small networks of TensorFlow, exported by tf2onnx at every opset that it knows, with what
TensorFlow itself computes of them.

  tensorflow_networks.py --out FOLDER

Writes FOLDER/NAME/OPSET.onnx and FOLDER/NAME/case.npz (in0 .., out0 ..). A file NAME/OPSET.txt has
why there is none. Needs tensorflow and tf2onnx, which want an environment of their own; see
opset_sweep.py."""

import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf2onnx  # noqa: E402

OPSETS = range(7, 19)
L = keras.layers


def image_network():
    return keras.Sequential(
        [
            L.Input((16, 16, 3)),
            L.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
            L.BatchNormalization(),
            L.MaxPooling2D(2, padding="same"),
            L.Flatten(),
            L.Dense(5, activation="softmax"),
        ]
    )


def mobile_network():
    x = first = L.Input((17, 13, 6))
    y = L.Conv2D(24, 1, activation="relu6")(x)
    y = L.DepthwiseConv2D(3, padding="same", activation="relu6")(L.BatchNormalization()(y))
    x = L.Add()([x, L.Conv2D(6, 1)(y)])
    return keras.Model(first, L.Dense(4)(L.GlobalAveragePooling2D()(L.Activation("swish")(x))))


def hourglass_network():
    x = first = L.Input((8, 12, 3))
    down = L.AveragePooling2D(2)(L.Conv2D(8, 3, padding="same", activation="elu")(x))
    up = L.Conv2DTranspose(8, 3, strides=2, padding="same")(down)
    up = L.Concatenate()([up, L.UpSampling2D(interpolation="bilinear")(down)])
    return keras.Model(first, L.Conv2D(2, 1, activation="sigmoid")(up))


def sequence_network():
    x = first = L.Input((7, 5))
    y = L.Bidirectional(L.LSTM(6, return_sequences=True, unroll=True))(x)
    return keras.Model(first, L.Dense(3)(L.GRU(4, unroll=True)(y)))


def attention_network():
    x = first = L.Input((9, 16))
    y = L.MultiHeadAttention(2, 8)(L.LayerNormalization()(x), x)
    x = L.Add()([x, y])
    return keras.Model(first, L.Dense(16, activation="tanh")(x))


def selection(x):
    best, where = tf.math.top_k(x, 3)
    steps = tf.cumsum(x, axis=1)[:, 1::2]
    taken = tf.gather(steps, [2, 0, 1], axis=1)
    chosen = tf.where(taken > best, tf.pad(best, [[0, 0], [1, 0]])[:, :3], tf.abs(taken))
    return chosen, tf.cast(where, tf.int64)


NETWORKS = {
    "cnn": (image_network, (1, 16, 16, 3)),
    "inverted residual": (mobile_network, (2, 17, 13, 6)),
    "hourglass": (hourglass_network, (1, 8, 12, 3)),
    "recurrent": (sequence_network, (1, 7, 5)),
    "attention": (attention_network, (1, 9, 16)),
    "selection": (lambda: selection, (2, 8)),
}


def write(folder, make, shape):
    folder.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(5)
    network = make()
    for weight in getattr(network, "weights", []):  # statistics of norms too
        drawn = np.random.default_rng(weight.shape[-1]).uniform(0.1, 0.9, weight.shape)
        if "moving" in weight.path or "gamma" in weight.path:
            weight.assign(drawn.astype(np.float32))
    call = network if network is selection else lambda x: network(x, training=False)
    fed = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    answers = [np.asarray(a) for a in tf.nest.flatten(call(tf.constant(fed)))]
    np.savez(folder / "case.npz", in0=fed, **{f"out{i}": a for i, a in enumerate(answers)})
    signature = [tf.TensorSpec(shape, tf.float32, "x")]
    for opset in OPSETS:
        try:
            tf2onnx.convert.from_function(
                tf.function(call), signature, opset=opset, output_path=folder / f"{opset}.onnx"
            )
        except Exception as why:  # what it raises is its own
            (folder / f"{opset}.txt").write_text(f"{type(why).__name__}: {why}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    for name, (make, shape) in NETWORKS.items():
        write(out / name, make, shape)


if __name__ == "__main__":
    sys.exit(main())
