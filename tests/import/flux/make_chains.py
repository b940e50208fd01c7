# SPDX-License-Identifier: Apache-2.0
"""Writes Flux Chains in BSON, as BSON.jl does, with the outputs that numpy computes for them:
goldens for flux_test.py.
  make_chains.py FOLDER
Arrays here have Julia's order of extents; a golden has them turned around, which is the same
memory."""

import os
import struct
import sys

import numpy as np

rng = np.random.default_rng(7)


# BSON
def element(name, value):
    key = name.encode() + b"\0"
    if value is None:
        return b"\x0a" + key
    if isinstance(value, bool):
        return b"\x08" + key + bytes([value])
    if isinstance(value, int):
        return b"\x12" + key + struct.pack("<q", value)
    if isinstance(value, float):
        return b"\x01" + key + struct.pack("<d", value)
    if isinstance(value, str):
        text = value.encode() + b"\0"
        return b"\x02" + key + struct.pack("<i", len(text)) + text
    if isinstance(value, bytes):
        return b"\x05" + key + struct.pack("<i", len(value)) + b"\0" + value
    if isinstance(value, list):
        return b"\x04" + key + document({str(i): v for i, v in enumerate(value)})
    return b"\x03" + key + document(value)


def document(items):
    body = b"".join(element(k, v) for k, v in items.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


# Julia
def datatype(*name, params=()):
    return {"tag": "datatype", "params": list(params), "name": list(name)}


def number(kind, value):
    return {
        "tag": "struct",
        "type": datatype("Main", "Core", kind),
        "data": np.array(value, {"Float32": "<f4"}[kind]).tobytes(),
    }


def array(a):
    kind = {"float32": "Float32", "float64": "Float64", "float16": "Float16"}[a.dtype.name]
    return {
        "tag": "array",
        "type": datatype("Main", "Core", kind),
        "size": [int(n) for n in a.shape],
        "data": a.tobytes(order="F"),
    }


def tup(*items):
    return {"tag": "tuple", "data": list(items)}


def layer(kind, *fields):
    return {"tag": "struct", "type": datatype("Flux", kind), "data": list(fields)}


def function(*name):
    return {"tag": "struct", "type": datatype(*name[:-1], "#" + name[-1]), "data": []}


relu, tanh, sigmoid = (
    function("NNlib", "relu"),
    function("Main", "Base", "tanh"),
    function("NNlib", "σ"),
)
identity, softmax, flatten = (
    function("Main", "Base", "identity"),
    function("NNlib", "softmax"),
    function("Flux", "flatten"),
)
plus, vcat = function("Main", "Base", "+"), function("Main", "Base", "vcat")


def chain(*layers):
    return layer("Chain", tup(*layers))


def f32(*shape, scale=0.5):
    return (rng.standard_normal(shape) * scale).astype("f4")


# What the layers compute, one sample at a time, written down from Flux' documentation and not from
# any code here.
def sig(x):
    return 1 / (1 + np.exp(-x))


def soft(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def conv(x, w, b, stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    """x (W, H, C), w (kw, kh, C/groups, O): a convolution proper, the kernel turned."""
    x = np.pad(x, ((pad[0], pad[1]), (pad[2], pad[3]), (0, 0)))
    kw, kh, cin, out = w.shape
    ow = (x.shape[0] - (kw - 1) * dilation[0] - 1) // stride[0] + 1
    oh = (x.shape[1] - (kh - 1) * dilation[1] - 1) // stride[1] + 1
    y = np.zeros((ow, oh, out))
    for o in range(out):
        group = o // (out // groups)
        for i in range(ow):
            for j in range(oh):
                total = float(b[o]) if b is not None else 0.0
                for p in range(kw):
                    for q in range(kh):
                        at = x[
                            i * stride[0] + p * dilation[0],
                            j * stride[1] + q * dilation[1],
                            group * cin : (group + 1) * cin,
                        ]
                        total += float(at @ w[kw - 1 - p, kh - 1 - q, :, o])
                y[i, j, o] = total
    return y


def pool(x, k, stride, how):
    ow, oh = (x.shape[0] - k[0]) // stride[0] + 1, (x.shape[1] - k[1]) // stride[1] + 1
    return np.array(
        [
            [
                how(
                    x[i * stride[0] : i * stride[0] + k[0], j * stride[1] : j * stride[1] + k[1]],
                    axis=(0, 1),
                )
                for j in range(oh)
            ]
            for i in range(ow)
        ]
    )


def mlp():
    w1, b1, w2, b2, a, c = f32(6, 4), f32(6), f32(3, 6), f32(3), f32(4, 4), f32(3, 3)
    x = f32(4)
    model = chain(
        layer("Dense", array(w1), array(b1), relu),
        layer("Dropout", 0.5, {"tag": "symbol", "name": ":"}, None, None),
        layer("Dense", array(w2), array(b2), tanh),
        layer("SkipConnection", chain(layer("Dense", array(c), False, sigmoid)), plus),
        softmax,
    )
    h = np.tanh(w2 @ np.maximum(w1 @ x + b1, 0) + b2)
    return model, x, soft(sig(c @ h) + h)


def picture():
    w1, b1, w2 = f32(3, 2, 2, 4), f32(4), f32(3, 3, 2, 4)
    beta, gamma, mean, variance = f32(4), f32(4) + 1, f32(4), np.abs(f32(4)) + 0.5
    wd, bd = f32(5, 8), f32(5)
    x = f32(9, 8, 2)
    model = chain(
        layer("Conv", relu, array(w1), array(b1), tup(2, 1), tup(1, 1, 0, 0), tup(1, 1), 1),
        layer(
            "BatchNorm",
            tanh,
            array(beta),
            array(gamma),
            array(mean),
            array(variance),
            number("Float32", 1e-5),
            number("Float32", 0.1),
            True,
            True,
            None,
            4,
        ),
        layer("Conv", identity, array(w2), False, tup(1, 1), tup(1, 1), tup(1, 1), 2),
        layer("MaxPool", tup(2, 2), tup(0, 0), tup(2, 2)),
        layer("MeanPool", tup(2, 2), tup(0, 0), tup(1, 2)),
        flatten,
        layer(
            "Parallel",
            vcat,
            tup(
                layer("Dense", array(wd[:, :4].copy()), array(bd), identity),
                layer("Dense", array(wd[:, 4:].copy()), array(bd), relu),
            ),
        ),
    )
    h = np.maximum(conv(x, w1, b1, stride=(2, 1), pad=(1, 1, 0, 0)), 0)
    h = np.tanh((h - mean) / np.sqrt(variance + 1e-5) * gamma + beta)
    h = conv(h, w2, None, pad=(1, 1, 1, 1), groups=2)
    h = pool(pool(h, (2, 2), (2, 2), np.max), (2, 2), (1, 2), np.mean)
    v = h.flatten(order="F")
    assert v.shape == (4,), v.shape
    return model, x, np.concatenate([wd[:, :4] @ v + bd, np.maximum(wd[:, 4:] @ v + bd, 0)])


def recurrent():
    n, h = 3, 5
    wi, wh, b = f32(4 * h, n), f32(4 * h, h), f32(4 * h)
    gi, gh, gb = f32(3 * h, h), f32(3 * h, h), f32(3 * h)
    ri, rh, rb = f32(4, h), f32(4, 4), f32(4)
    x = f32(n, 6)
    model = chain(
        layer("LSTM", layer("LSTMCell", array(wi), array(wh), array(b))),
        layer("GRU", layer("GRUCell", array(gi), array(gh), array(gb))),
        layer("RNN", layer("RNNCell", tanh, array(ri), array(rh), array(rb))),
    )
    state, cell, first = np.zeros(h), np.zeros(h), []
    for t in range(6):
        i, f, c, o = np.split(wi @ x[:, t] + wh @ state + b, 4)
        cell = sig(f) * cell + sig(i) * np.tanh(c)
        state = sig(o) * np.tanh(cell)
        first.append(state)
    state, second = np.zeros(h), []
    for v in first:
        a, r, z = np.split(gi @ v, 3), np.split(gh @ state, 3), np.split(gb, 3)
        reset, update = sig(a[0] + r[0] + z[0]), sig(a[1] + r[1] + z[1])
        state = (1 - update) * np.tanh(a[2] + reset * r[2] + z[2]) + update * state
        second.append(state)
    state, third = np.zeros(4), []
    for v in second:
        state = np.tanh(ri @ v + rh @ state + rb)
        third.append(state)
    return model, x, np.stack(third, axis=1)


def more():
    w, b, scale, shift, gain, offset = f32(3, 3, 2, 3), f32(3), f32(3), f32(3), f32(3), f32(3)
    x = f32(6, 5, 2)
    model = chain(
        layer("CrossCor", identity, array(w), array(b), tup(1, 1), tup(0, 0), tup(1, 1)),
        layer("GlobalMeanPool"),
        flatten,
        layer("Scale", array(scale), array(shift), relu),
        layer(
            "LayerNorm",
            tanh,
            layer("Scale", array(gain), array(offset), identity),
            number("Float32", 1e-2),
            tup(3),
            True,
        ),
    )
    h = conv(x, w[::-1, ::-1], b).mean(axis=(0, 1))
    h = np.maximum(h * scale + shift, 0)
    h = (h - h.mean()) / np.sqrt(h.var() + 1e-4)
    return model, x, np.tanh(h * gain + offset)


def main(folder):
    for make in (mlp, picture, recurrent, more):
        model, x, y = make()
        with open(os.path.join(folder, make.__name__ + ".bson"), "wb") as out:
            out.write(document({"model": model}))
        turned = {"in:x": x.astype("f4").T[None], "out:y": y.astype("f4").T[None]}
        np.savez(
            os.path.join(folder, make.__name__ + ".npz"),
            **{k: np.ascontiguousarray(v) for k, v in turned.items()},
        )
    code = {
        "tag": "struct",
        "type": {
            "tag": "jl_anonymous",
            "params": [],
            "typename": {"tag": "symbol", "name": "##1#2"},
        },
        "data": [],
    }
    model = chain(
        layer("Dense", array(f32(2, 2)), array(f32(2)), relu), code, layer("MyLayer", array(f32(2)))
    )
    with open(os.path.join(folder, "refused.bson"), "wb") as out:
        out.write(document({"model": model}))


main(sys.argv[1])
