# SPDX-License-Identifier: Apache-2.0
"""Whether two runtimes gave the same, up to the order of sums."""

import numpy as np

ALLOWED = {"float32": 1e-4, "float64": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}
NOTHING = 5e-7  # what is fed is of the order of 1: the rest of a cancellation
SMALL = 1e-5  # of a change of every input: what a graph makes of it is its own unrest


def first_difference(found, wanted):
    """(name, line) of the first of the wanted arrays that another was found for, or None."""
    for name, array in wanted.items():
        line = difference(found.get(name), array)
        if line:
            return name, line
    return None


def difference(found, wanted):
    """A line, or None. Numbers are compared beside the largest of theirs."""
    if found is None:
        return "is missing"
    if found.shape != wanted.shape:
        return f"shape {list(found.shape)}, expected {list(wanted.shape)}"
    if found.dtype != wanted.dtype:
        return f"type {found.dtype}, expected {wanted.dtype}"
    if wanted.dtype.kind in "biu":
        bad = np.flatnonzero(found != wanted)
    else:
        bad = far(found, wanted)
    if not len(bad):
        return None
    i = bad[0]
    first = f"element {i}: {found.flat[i]}, expected {wanted.flat[i]}"
    return f"{len(bad)} of {wanted.size} differ, {first}"


def far(found, wanted):
    f, w = found.astype(np.float64).ravel(), wanted.astype(np.float64).ravel()
    same = (f == w) | (np.isnan(f) & np.isnan(w))
    limit = ALLOWED[wanted.dtype.name]
    finite = np.isfinite(w)
    most = max(float(np.abs(w[finite]).max(initial=0)), 1e-3)
    with np.errstate(invalid="ignore"):
        near = finite & (
            np.abs(f - w) <= NOTHING + limit * np.minimum(most, np.abs(w) * 100 + 1e-2 * most)
        )
    return np.flatnonzero(~(same | near))


def spread(found, wanted):
    """The largest difference of two answers of one shape."""
    f, w = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where((f == w) | (np.isnan(f) & np.isnan(w)), 0, np.abs(f - w))
    return float(apart.max(initial=0)) if np.isfinite(apart).all() else np.inf


def moved(fed, rng):
    """The same inputs, each float a little elsewhere."""
    made = {}
    for name, array in fed.items():
        if array.dtype.kind == "f" and array.dtype.itemsize >= 4:
            array = (array * (1 + SMALL * rng.choice([-1, 1], array.shape))).astype(array.dtype)
        elif array.dtype.kind not in "biu":
            array = (
                array.astype(np.float32) * (1 + 1e-3 * rng.choice([-1, 1], array.shape))
            ).astype(array.dtype)
        made[name] = np.asarray(array)  # numbers times numbers are no arrays
    return made
