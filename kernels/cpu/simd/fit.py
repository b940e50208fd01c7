# SPDX-License-Identifier: Apache-2.0
"""Coefficients of kernels/cpu/simd/math.inl: weighted minimax fits by reweighted least squares on
Chebyshev nodes. Prints each polynomial, lowest power first, rounded to float, with its largest
error in the unit that matters there."""

from math import erfc, sqrt, erf, pi
import numpy as np


def nodes(low, high, count=4001):
    return (low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, count))


def fit(name, powers, target, weight):
    w, best = weight.copy(), None
    for _ in range(150):
        c = np.linalg.lstsq(powers * w[:, None], target * w, rcond=None)[0]
        e = np.abs((powers @ c - target) * weight)
        if best is None or e.max() < best[0]:
            best = e.max(), c
        w *= (e / e.max()) ** 0.3 + 1e-2
        w /= w.max()
    c = best[1].astype(np.float32)
    e = np.abs((powers @ c.astype(np.float64) - target) * weight).max()
    print(f"{name}: {best[0]:.2e} ({e:.2e} rounded) ", ", ".join(f"{x:.9g}f" for x in c))


def power(x, degree):
    return np.vander(x, degree + 1, increasing=True)


r = nodes(-0.3475, 0.3475)
r = r[np.abs(r) > 1e-3]
for d in (3, 4, 5):
    fit(f"exp {d}: e^r = 1 + r + r^2 p(r)", power(r, d), (np.expm1(r) - r) / r**2, r**2 / np.exp(r))
f = nodes(-0.2932, 0.4145)
f = f[np.abs(f) > 1e-3]
for d in (6, 7, 8):
    fit(
        f"log {d}: f - f^2/2 + f^3 p(f)",
        power(f, d),
        (np.log1p(f) - f + f * f / 2) / f**3,
        np.abs(f**3 / np.log1p(f)),
    )
x = nodes(1e-4, 0.93)
for d in (5, 6):
    fit(
        f"erf {d}: x + x p(x^2)",
        power(x * x, d),
        np.array([erf(v) / v - 1 for v in x]),
        1 / np.array([erf(v) / v for v in x]),
    )
t = nodes(0.92, 4.1)
for d in (6, 7, 8):
    fit(
        f"erf tail {d}: log2 erfc = p(t)",
        power(t, d),
        np.array([np.log2(erfc(v)) for v in t]),
        np.array([erfc(v) / erf(v) * 0.693 for v in t]),
    )
t = nodes(0, 13.3)
h = np.array([0.5 * erfc(v / sqrt(2)) for v in t])
for d in (9, 10, 11, 12):
    # relative to the smaller of |gelu| on both sides, but no better than 2e-7 absolute is asked of
    # the far tail
    fit(
        f"gelu {d}: log2(erfc(t / sqrt 2) / 2)",
        power(t, d),
        np.log2(h),
        np.maximum(h, 1e-4) / h.max() * 0.693,
    )
x = nodes(1e-3, pi / 4 * 1.0001)
fit("sin: x + x^3 p(x^2)", power(x * x, 3), (np.sin(x) - x) / x**3, x**3 / np.sin(x))
fit(
    "cos: 1 - x^2/2 + x^4 p(x^2)",
    power(x[x > 0.02] ** 2, 2),
    ((np.cos(x) - 1 + x * x / 2) / x**4)[x > 0.02],
    (x**4 / np.cos(x))[x > 0.02],
)
x = nodes(1e-3, 1)
for d in (7, 8, 9):
    fit(
        f"atan {d}: x + x^3 p(x^2)", power(x * x, d), (np.arctan(x) - x) / x**3, x**3 / np.arctan(x)
    )
x = nodes(1e-3, 0.5)
for d in (4, 5):
    fit(
        f"asin {d}: x + x^3 p(x^2)", power(x * x, d), (np.arcsin(x) - x) / x**3, x**3 / np.arcsin(x)
    )
s = nodes(1e-3, 0.1718)
for d in (2, 3):
    fit(
        f"atanh {d}: s + s^3 p(s^2)",
        power(s * s, d),
        (np.arctanh(s) - s) / s**3,
        s**3 / np.arctanh(s),
    )
