#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks with masks of steps (Embedding with mask_zero, Masking), initial states and keras.ops
between the layers: saved as .keras, converted, run on sequences with gaps everywhere, and compared
with keras' own output to 1e-5 of the largest number. Steps that a mask leaves out of an output are
compared too, but for those of attention, where versions of Keras differ.

  masked_networks.py --ingot PATH --work DIR [--samples DIR]

--samples: writes the networks of SAMPLES there, with their outputs, for
tests/import/keras/keras_test.py.
"""

import functools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

import make_networks

L = keras.layers
LIMIT = 1e-5
STEPS = 7
SAMPLES = ("masked_lstm", "masked_sequential", "translator", "every_activation", "every_operation")


def tokens(steps=None):
    x = keras.Input((steps,), dtype="int32", name="x")
    return x, L.Embedding(11, 4, mask_zero=True)(x)


def numbers():
    x = keras.Input((STEPS, 3), name="x")
    return x, L.Masking(0.5)(x)


def over(begin, *layers):
    x, y = begin()
    for layer in layers:
        y = layer(y)
    return keras.Model(x, y)


def merged(make):
    x, y = tokens(STEPS)
    other = keras.Input((STEPS,), dtype="int32", name="other")
    z = L.Embedding(11, 4, mask_zero=True)(other)
    return keras.Model([x, other], L.GRU(3, return_sequences=True)(make([y, z])))


def attended(layer, average=True):
    x, y = tokens(STEPS)
    other = keras.Input((STEPS,), dtype="int32", name="other")
    z = L.Embedding(11, 4, mask_zero=True)(other)
    made = layer(y, z) if not isinstance(layer, L.Attention) else layer([y, z])
    return keras.Model([x, other], L.GlobalAveragePooling1D()(made) if average else made)


def translator():
    """An encoder's states begin a decoder."""
    x, y = tokens()
    _, h, c = L.LSTM(5, return_state=True)(y)
    other = keras.Input((STEPS,), dtype="int32", name="other")
    z = L.Embedding(11, 4, mask_zero=True)(other)
    z = L.LSTM(5, return_sequences=True)(z, initial_state=[h, c])
    return keras.Model([x, other], L.Dense(6, activation="softmax")(z))


def both_ways_from_states():
    x, y = tokens()
    first = L.Bidirectional(L.LSTM(3, return_state=True))(y)
    other = keras.Input((STEPS, 4), name="other_numbers")
    made = L.Bidirectional(L.LSTM(3, return_sequences=True))(other, initial_state=list(first[1:]))
    return keras.Model([x, other], made)


def operations():
    x = keras.Input((STEPS, 3), name="x")
    ops = keras.ops
    y = 1.0 - x * 2.0
    y = ops.maximum(y, 0.1) / (ops.abs(x) + 2.0) - x
    z = ops.mean(ops.exp(y), axis=1, keepdims=True) + ops.sqrt(
        ops.sum(x * x, axis=(1, 2), keepdims=True)
    )
    w = ops.expand_dims(ops.max(y, axis=-1), 2)
    return keras.Model(x, ops.concatenate([y + z, w, ops.zeros_like(w)], axis=-1))


def every_activation():
    """Each function of keras.activations, as an output of its own, and those of keras.ops that are
    one operator; not sparsemax, whose outputs do not sum to 1 in Keras 3."""
    x = keras.Input((STEPS, 4), name="x")
    names = (
        "celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu "
        "linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax "
        "softplus softsign sparse_plus sparse_sigmoid squareplus tanh tanh_shrink"
    )
    y = 3 * x
    unary = (
        "arcsinh arctan cosh exp2 fabs glu hard_silu hard_tanh log_sigmoid sinh softsign "
        "sparse_plus sparse_sigmoid stop_gradient tan tanh_shrink trunc"
    )
    ops, small = keras.ops, 0.9 * x
    return keras.Model(
        x,
        [L.Activation(name)(y) for name in names.split()]
        + [getattr(ops, name)(y) for name in unary.split()]
        + [
            ops.arccos(small),
            ops.arccosh(ops.square(x) + 1.5),
            ops.arcsin(small),
            ops.arctanh(small),
            ops.arctan2(y, small),
            ops.reciprocal(ops.square(x) + 1.0),
            ops.celu(y, alpha=0.7),
            ops.glu(y[:, :6], axis=1),
            ops.hard_shrink(y, threshold=0.3),
            ops.soft_shrink(y, threshold=0.7),
            ops.cast(ops.isnan(y), "float32"),
            ops.cast(ops.logical_xor(y > 0, small > 0.3), "float32"),
            ops.amax(y, axis=1),
            ops.amin(y, axis=-1, keepdims=True),
            ops.argmin(y, axis=-1),
        ],
    )


def every_operation():
    """Each of keras.ops that is built, alone, as an output of its own."""
    ops = keras.ops
    x = keras.Input((STEPS, 4), name="x")
    turned = ops.transpose(x, (0, 2, 1))
    return keras.Model(
        x,
        [
            x[:, 0],
            x[:, -1, :],
            x[..., 1:3],
            x[:, ::2],
            x[:, None, 1:5:2, 3],
            ops.reshape(x, (-1, 4 * STEPS)),
            ops.reshape(x, (-1, 2, 2, STEPS)),
            turned,
            ops.transpose(ops.transpose(x, (2, 0, 1))),
            ops.swapaxes(x, 1, -1),
            ops.expand_dims(x, (1, -1)),
            ops.squeeze(x[:, 0:1], axis=1),
            ops.squeeze(x[:, 0:1]),
            ops.stack([x, -x], axis=1),
            ops.split(x, 2, axis=-1)[1],
            ops.split(x, [2, 3], axis=1)[1],
            ops.flip(x, axis=1),
            ops.repeat(x, 3, axis=1),
            ops.tile(x, (1, 2, 3)),
            ops.pad(x, ((0, 0), (1, 2), (0, 1))),
            ops.pad(x, ((0, 0), (1, 2), (0, 0)), mode="reflect"),
            ops.take(x, [3, 0, 0], axis=2),
            ops.take(x, 1, axis=1),
            ops.softmax(x, axis=1),
            ops.log_softmax(x),
            ops.matmul(x, turned),
            ops.einsum("abc,adc->abd", x, x),
            ops.where(x > 0, x * 2.0, -x),
            ops.cast(ops.argmax(x, axis=-1), "float32"),
            ops.cast(ops.cast(x * 5.0, "int32"), "float32"),
            (ops.abs(x) + 0.5) ** 1.5,
            2.0**x,
            ops.square(x),
            ops.rsqrt(ops.abs(x) + 1.0),
            ops.sin(x) + ops.cos(x) + ops.erf(x),
            ops.floor(x * 3.0) + ops.ceil(x * 3.0) + ops.round(x * 3.0) + ops.sign(x),
            ops.clip(x, -0.25, 0.5),
            ops.gelu(x) + ops.gelu(x, approximate=False),
            ops.silu(x) + ops.leaky_relu(x) + ops.softplus(x) + ops.relu6(x * 9.0),
            ops.hard_sigmoid(x) + ops.elu(x) + ops.selu(x),
            ops.var(x, axis=1),
            ops.std(x, axis=(1, 2), keepdims=True),
            ops.norm(x, axis=-1),
            ops.logsumexp(x, axis=-1),
            ops.prod(x, axis=1),
            ops.cumsum(x, axis=1),
            ops.mean(x, axis=(0, 1, 2), keepdims=True),
            ops.cast(ops.any(x > 0.9, axis=1), "float32"),
            ops.cast(ops.all(x > -0.9, axis=1), "float32"),
            ops.cast(ops.logical_and(x > 0, ops.logical_not(x >= 0.5)), "float32"),
            ops.minimum(1.0 / (x + 3.0), ops.ones_like(x) * 0.3),
            ops.maximum(0.5, x),
            ops.log(ops.exp(x)) - ops.sqrt(ops.abs(x)),
            7 - ops.cast(x * 5.0, "int32") * 16777217,
            ops.convert_to_tensor(ops.cast(x * 5.0, "int32"), dtype="float32"),
            ops.logical_not(x),
        ],
    )


NETWORKS = {
    "masked_lstm": lambda: over(tokens, L.LSTM(5, return_sequences=True), L.Dense(3), L.LSTM(4)),
    "masked_sequential": lambda: keras.Sequential(
        [keras.Input((STEPS, 3), name="x"), L.Masking(0.5), L.Dropout(0.1), L.GRU(4)]
    ),
    "lstm_last": lambda: over(tokens, L.LSTM(5)),
    "gru": lambda: over(tokens, L.GRU(5, return_sequences=True)),
    "gru_before": lambda: over(tokens, L.GRU(5, return_sequences=True, reset_after=False)),
    "simple": lambda: over(tokens, L.SimpleRNN(5, return_sequences=True)),
    "zeros": lambda: over(tokens, L.LSTM(5, return_sequences=True, zero_output_for_mask=True)),
    "zeros_last": lambda: over(tokens, L.LSTM(5, zero_output_for_mask=True)),
    "backwards": lambda: over(tokens, L.LSTM(5, return_sequences=True, go_backwards=True)),
    "backwards_last": lambda: over(tokens, L.GRU(5, go_backwards=True)),
    "masking": lambda: over(numbers, L.LSTM(5, return_sequences=True)),
    "masking_itself": lambda: over(numbers),
    "both_ways": lambda: over(
        tokens,
        L.Bidirectional(L.LSTM(5, return_sequences=True)),
        L.Bidirectional(L.GRU(4)),
    ),
    "both_ways_sum": lambda: over(
        tokens,
        L.Bidirectional(L.GRU(5, return_sequences=True), merge_mode="sum"),
        L.GRU(3),
    ),
    "cells": lambda: over(tokens, L.RNN([L.LSTMCell(5), L.GRUCell(4)], return_sequences=True)),
    "cells_last": lambda: over(tokens, L.RNN(L.SimpleRNNCell(5))),
    "average": lambda: over(tokens, L.Dense(4), L.GlobalAveragePooling1D()),
    "average_kept": lambda: over(tokens, L.GlobalAveragePooling1D(keepdims=True)),
    "largest": lambda: over(tokens, L.GlobalMaxPooling1D()),  # sees no mask
    "handed_on": lambda: over(
        tokens,
        L.Dense(6),
        L.LayerNormalization(),
        L.BatchNormalization(),
        L.Activation("gelu"),
        L.SpatialDropout1D(0.2),
        L.TimeDistributed(L.Dense(4)),
        L.LSTM(3),
    ),
    "lost": lambda: over(tokens, L.Conv1D(4, 3, padding="same"), L.LSTM(3)),
    "add": lambda: merged(L.Add()),
    "multiply": lambda: merged(L.Multiply()),
    "maximum": lambda: merged(L.Maximum()),
    "minimum": lambda: merged(L.Minimum()),
    "average_of_two": lambda: merged(L.Average()),
    "beside": lambda: merged(L.Concatenate()),
    "behind": lambda: merged(L.Concatenate(axis=1)),
    "attention": lambda: attended(L.Attention(), False),
    "additive_attention": lambda: attended(L.AdditiveAttention(), False),
    "heads": lambda: attended(L.MultiHeadAttention(2, 3)),
    "groups_of_heads": lambda: attended(L.GroupQueryAttention(3, 4, 2)),
    "translator": translator,
    "states_both_ways": both_ways_from_states,
    "operations": operations,
    "every_activation": every_activation,
    "every_operation": every_operation,
}


# What Keras lets a mask change and Ingot does not build.
REFUSED = {
    "softmax": lambda: over(tokens, L.Softmax()),
    "steps of steps": lambda: over(tokens, L.TimeDistributed(L.Softmax())),
    "a list of masks": lambda: masks_in_a_list(),
}
# What makes other types than its operands have, and sums over no axis.
REFUSED_OPERATIONS = {
    "truths times a number": lambda x: (x > 0) * 5,
    "integers and a float": lambda x: keras.ops.cast(x, "int32") + 1.0,
    "a product as integers": lambda x: keras.ops.prod(x, axis=1, dtype="int32"),
    "a sum over no axis": lambda x: keras.ops.sum(x, axis=()),
    "the square of truths": lambda x: keras.ops.square(x > 0),
}


def masks_in_a_list():
    x, y = tokens(STEPS)
    held = keras.ops.not_equal(x, 0)
    return keras.Model(x, L.Attention()([y, y], mask=[None, held]))


def refused_operation(make):
    x = keras.Input((STEPS, 4), name="x")
    return keras.Model(x, make(x))


def inputs_of(model, seed):
    drawn = np.random.default_rng(seed)
    arrays = {}
    for one in model.inputs:
        if "int" in one.dtype:
            values = drawn.integers(1, 11, (4, STEPS))
            values[drawn.random((4, STEPS)) < 0.4] = 0
            values[0, :3] = 0  # padded in front
            values[1, 4:] = 0  # and behind
            values[2] = np.maximum(values[2], 1)  # nothing left out
            values[3, 2] = 5
            arrays[one.name] = values.astype("i4")
        else:
            values = drawn.uniform(-1, 1, (4,) + tuple(one.shape[1:])).astype("f4")
            values[drawn.random((4, STEPS)) < 0.4] = 0.5
            arrays[one.name] = values
    return arrays


def made(name):
    model = NETWORKS[name]()
    make_networks.randomise(model)
    arrays = inputs_of(model, 1)
    values = [arrays[one.name] for one in model.inputs]
    outputs = model(values if len(values) > 1 else values[0])
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return model, arrays, [keras.ops.convert_to_numpy(one) for one in outputs]


def write_sample(folder, name):
    model, arrays, want = made(name)
    stem = str(folder / name)
    model.save(stem + ".keras")
    if not name.startswith("every_"):
        model.save(stem + ".h5")
    names = getattr(model, "output_names", [model.layers[-1].name])
    named = {"in:" + key: value for key, value in arrays.items()}
    named.update({"out:" + name: value for name, value in zip(names, want)})
    np.savez_compressed(stem + ".npz", **named)


def compare(ingot, work, name):
    model, arrays, want = made(name)
    stem = work / name
    model.save(f"{stem}.keras")
    np.savez(f"{stem}.npz", **arrays)
    files = ("--inputs", f"{stem}.npz", "--outputs", f"{stem}.out.npz")
    why = run(ingot, "convert", f"{stem}.keras", "-o", f"{stem}.ingot").error
    why = why or run(ingot, "run", f"{stem}.ingot", files).error
    if why:
        return why
    got = np.load(f"{stem}.out.npz")
    if len(got.files) != len(want):
        return f"{len(got.files)} outputs, keras has {len(want)}"
    for i, (key, wanted) in enumerate(zip(got.files, want)):
        found = got[key].astype("f8")
        if got[key].dtype != wanted.dtype:
            return f"output {i}, {key}: {got[key].dtype}, keras has {wanted.dtype}"
        if found.shape != wanted.shape:
            return f"output {i}, {key}: shape {found.shape}, keras has {wanted.shape}"
        error = float(np.abs(found - wanted.astype("f8")).max())
        if not error <= LIMIT * max(1e-30, float(np.abs(wanted).max())):
            return f"output {i}, {key}: differs by {error:.2g}"
    return None


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--samples", type=pathlib.Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    checks = Checks("masked_networks")
    for name in SAMPLES if args.samples else ():
        write_sample(args.samples, name)
    refused = {name: (make, "mask") for name, make in REFUSED.items()}
    for name, make in REFUSED_OPERATIONS.items():
        refused[name] = (functools.partial(refused_operation, make), "not built")
    for name, (make, word) in refused.items():
        model = make()
        model.save(str(args.work / "refused.keras"))
        done = run(args.ingot, "convert", args.work / "refused.keras", "-o", os.devnull)
        checks.report(name, done.refusal(4, word, lines=None))
    for name in NETWORKS:
        checks.report(name, compare(args.ingot, args.work, name) or "")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
