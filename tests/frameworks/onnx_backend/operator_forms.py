# SPDX-License-Identifier: Apache-2.0
"""Forms for run_forms.py: transforms of constant length, products of many operands, pads longer
than what they go around, random numbers."""

import numpy as np


def pairs(z):
    return np.stack([z.real, z.imag], -1).astype(np.float32)


def fourier(rng, form, node):
    """Lengths of small factors, of large ones and prime; signals longer and shorter than they."""
    for length in (1, 2, 3, 16, 45, 77, 97, 128, 400, 1102, 4096):
        x = rng.standard_normal((3, 2, length, 1)).astype(np.float32)
        real = x[..., 0].astype(np.float64)
        form(
            f"fast transform of {length}, one-sided",
            [node("DFT", "x", "y", onesided=1)],
            {"x": x},
            {"y": pairs(np.fft.rfft(real))},
        )
        form(
            f"fast transform of {length} and back",
            [node("DFT", "x,n,a", "f"), node("DFT", "f,n,a", "y", inverse=1)],
            {"x": x},
            {"f": pairs(np.fft.fft(real)), "y": pairs(real + 0j)},
            {"n": np.int64(length), "a": np.int64(-2)},
        )
        form(
            f"one-sided transform of {length} and back",
            [
                node("DFT", "x,n", "f", onesided=1),
                node("DFT", "f,n", "y", inverse=1, onesided=1),
            ],
            {"x": x},
            {"y": x},
            {"n": np.int64(length)},
        )
    x = rng.standard_normal((5, 40, 1)).astype(np.float32)
    for length in (30, 64):
        form(
            f"fast transform of 40 numbers to {length}",
            [node("DFT", "x,n", "y", onesided=1)],
            {"x": x},
            {"y": pairs(np.fft.rfft(x[..., 0], length))},
            {"n": np.int64(length)},
            {"x": ["B", 40, 1]},
        )
    form(
        "inverse transform of real numbers",
        [node("DFT", "x", "y", inverse=1)],
        {"x": x},
        {"y": pairs(np.fft.ifft(x[..., 0]))},
    )
    wide = rng.standard_normal((2, 60, 2)).astype(np.float64)
    z = np.fft.fft(wide[..., 0] + 1j * wide[..., 1])
    form(
        "fast transform of f64",
        [node("DFT", "x", "y")],
        {"x": wide},
        {"y": np.stack([z.real, z.imag], -1)},
    )
    window = np.hanning(32)
    frames = np.stack([wide[:, i : i + 32, 0] * window for i in range(0, 29, 7)], 1)
    z = np.fft.rfft(frames)
    form(
        "frames of f64",
        [node("STFT", "x,s,w", "y")],
        {"x": wide[..., :1]},
        {"y": np.stack([z.real, z.imag], -1)},
        {"s": np.int64(7), "w": window},
    )
    form(
        "transform along another axis",
        [node("DFT", "x,,a", "y", onesided=1)],
        {"x": x.reshape(5, 40, 1, 1)},
        {"y": pairs(np.fft.rfft(x.reshape(5, 40, 1), axis=0))},
        {"a": np.int64(0)},
    )


def products(rng, form, node):
    def einsum(equation, *shapes, dims=None):
        names = "abcd"[: len(shapes)]
        arrays = {n: rng.standard_normal(s).astype(np.float32) for n, s in zip(names, shapes)}
        form(
            f"einsum {equation} of {shapes}",
            [node("Einsum", ",".join(names), "y", equation=equation)],
            arrays,
            {"y": np.einsum(equation, *(np.float64(a) for a in arrays.values())).astype("f")},
            dims=dims or {},
        )

    einsum("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 1, 6, 5))
    einsum("bhid,bhjd->bhij", (2, 3, 4, 5), (1, 1, 6, 5), dims={"a": ["B", 3, "I", 5]})
    einsum("ij,ij->i", (3, 4), (3, 1))
    einsum("ij,jk->ik", (3, 1), (4, 5))
    einsum("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 6))
    einsum("...ij,...jk->...ik", (1, 3, 4), (7, 5, 4, 6), dims={"b": ["N", 5, 4, 6]})
    einsum("...i,i...->...", (3, 4), (4, 3))
    einsum("i...,i...", (3, 4), (3, 1))
    einsum("abc,cd,def->abd", (2, 3, 4), (4, 5), (5, 2, 3))
    einsum("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 6))
    einsum("i,j,k->kji", (2,), (3,), (4,))
    einsum("ab,ab,ab->b", (2, 3), (1, 3), (2, 1))
    einsum("ii,ij,j->i", (3, 3), (3, 4), (4,))


def around(rng, form, node):
    x = rng.standard_normal((3, 4)).astype(np.float32)
    for pads in ((7, 9, 5, 6), (3, 4, 4, 5), (0, 0, 8, 1), (10, -1, 0, 9)):
        cut = x[:, 1:] if pads[1] < 0 else x
        before = [max(p, 0) for p in pads[:2]]
        form(
            f"pads {pads} that go around",
            [node("Pad", "x,p", "y", mode="wrap")],
            {"x": x},
            {"y": np.pad(cut, list(zip(before, pads[2:])), mode="wrap")},
            {"p": np.array(pads)},
        )


def random(rng, form, node):
    x = rng.standard_normal((2, 300)).astype(np.float32)
    form(
        "noise times zero",
        [node("RandomNormalLike", "x", "n", scale=0.8), node("Mul", "n,s", "m"),
         node("Add", "x,m", "y")],
        {"x": x, "s": np.zeros(1, np.float32)},
        {"y": x},
        dims={"x": ["B", "T"]},
    )
    form(
        "noise of no deviation is its mean",
        [node("RandomNormalLike", "x", "n", mean=2.0, scale=0.0), node("Add", "x,n", "y")],
        {"x": x},
        {"y": x + 2},
    )
    form(
        "uniform numbers of one value",
        [node("RandomUniformLike", "x", "n", low=1.5, high=1.5), node("Add", "x,n", "y")],
        {"x": x},
        {"y": x + np.float32(1.5)},
    )
    form(
        "certain and impossible events",
        [node("Bernoulli", "p", "y")],
        {"p": np.array([[0, 1, 0, 1, 1]] * 50, np.float32)},
        {"y": np.array([[0, 1, 0, 1, 1]] * 50, np.float32)},
    )
    scores = np.full((3, 6), -np.inf, np.float32)
    scores[[0, 1, 2], [5, 0, 3]] = 0
    form(
        "samples of one class",
        [node("Multinomial", "x", "y", sample_size=4, dtype=7)],
        {"x": scores},
        {"y": np.repeat(np.array([[5], [0], [3]]), 4, 1)},
    )
    uniform = rng.standard_normal((64, 64)).astype(np.float32)
    form(
        "moments of numbers that are drawn",
        [
            node("RandomUniformLike", "x", "u", low=-3.0, high=5.0),
            node("ReduceMax", "u", "h", keepdims=0),
            node("Less", "h,c5", "a"),
            node("ReduceMin", "u", "l", keepdims=0),
            node("Greater", "l,c3", "b"),
            node("And", "a,b", "y"),
        ],
        {"x": uniform},
        {"y": np.array(True)},
        {"c5": np.float32(5.001), "c3": np.float32(-3.001)},
    )


def linear_attention(rng, form, node):
    batch, tokens, heads, shared, keys, values = 3, 9, 4, 2, 8, 5
    rows = lambda count, low, high: rng.uniform(low, high, (batch, tokens, count)).astype(np.float32)
    q, k, v = (rows(n, -0.5, 0.5) for n in (heads * keys, shared * keys, shared * values))
    past = rng.standard_normal((batch, shared, keys, values)).astype(np.float32)
    for rule in ("linear", "gated", "delta", "gated_delta"):
        decay = rows(shared, -2, 0) if "gated" in rule else None
        beta = rows(shared, 0, 1) if "delta" in rule else None
        states, y = past.astype(np.float64), np.zeros((batch, tokens, heads, values))
        for t in range(tokens):
            key = k[:, t].reshape(batch, shared, keys, 1)
            added = v[:, t].reshape(batch, shared, 1, values).astype(np.float64)
            if decay is not None:
                states = states * np.exp(decay[:, t, :, None, None].astype(np.float64))
            if beta is not None:
                added = beta[:, t, :, None, None] * (added - (key * states).sum(2, keepdims=True))
            states = states + key * added
            query = q[:, t].reshape(batch, shared, heads // shared, keys) / np.sqrt(keys)
            y[:, t] = (query @ states).reshape(batch, heads, values)
        given = {"q": q, "k": k, "v": v, "past": past}
        given.update({"decay": decay} if decay is not None else {})
        given.update({"beta": beta} if beta is not None else {})
        names = [name if name in given else "" for name in ("q", "k", "v", "past", "decay", "beta")]
        attributes = {"q_num_heads": heads, "kv_num_heads": shared, "update_rule": rule}
        form(
            f"linear attention of dynamic lengths, {rule}",
            [node("LinearAttention", ",".join(names).rstrip(","), "y,present", **attributes)],
            given,
            {"y": y.reshape(batch, tokens, -1).astype(np.float32),
             "present": states.astype(np.float32)},
            dims={name: ["B", *(["T"] if name != "past" else []), *x.shape[1 + (name != "past"):]]
                  for name, x in given.items()},
            opset=27,
        )


def operators(rng, form, node):
    fourier(rng, form, node)
    products(rng, form, node)
    around(rng, form, node)
    random(rng, form, node)
    linear_attention(rng, form, node)
