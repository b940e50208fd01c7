# SPDX-License-Identifier: Apache-2.0
"""A graph of a seed: some rules of the tables, one after the other."""

import chains
import control
import elementwise
import gathering
import images
import movement
import numpy as np
import products
from graph import Graph, Unsuitable
from runtimes import Peer, Refused

FAMILIES = (
    elementwise.RULES,
    movement.RULES,
    gathering.RULES,
    products.RULES,
    images.RULES,
    control.RULES,
    chains.RULES,
)
OLDEST, NEWEST = 7, 24
PROBES = 6
# What makes much of a rounding.
STEPS = {
    "Ceil", "Floor", "Round", "Sign", "Cast", "CastLike", "Equal", "Less", "Greater", "LessOrEqual",
    "GreaterOrEqual", "Mod", "ArgMax", "ArgMin", "TopK", "Hardmax", "Shrink", "ThresholdedRelu",
    "Loop", "If", "Sinh", "Cosh", "Exp", "Scan", "IsInf", "IsNaN",
    "NonZero", "Unique", "Compress",
}  # fmt: skip


def all_rules():
    return [rule for family in FAMILIES for rule in family]


def taken_types(name, types, since, function):
    """The types that onnxruntime computes a rule in, each tried on a few graphs of it alone."""
    taken = []
    for t in types:
        for seed in range(PROBES):
            g = Graph(np.random.default_rng([seed, 77]), max(since, 15 if since <= 15 else since))
            try:
                function(g, t)
                Peer(g.model())
            except (Unsuitable, Refused):
                continue
            taken.append(t)
            break
    return taken


def drawable_rules():
    """(name, types, first opset, function), of the types that onnxruntime computes."""
    rules = []
    for name, types, since, function in all_rules():
        taken = taken_types(name, types, since, function)
        if taken:
            rules.append((name, taken, since, function))
    return rules


def draw(rules, seed):
    """@raises Unsuitable where nothing could be drawn."""
    rng = np.random.default_rng(seed)
    opset = (
        int(rng.integers(OLDEST, NEWEST + 1)) if rng.random() < 0.5 else int(rng.integers(13, 22))
    )
    g = Graph(rng, opset, has_open=rng.random() < 0.4)
    favourite = g.one_of(
        (
            "float32",
            "float32",
            "float32",
            "float16",
            "float64",
            "int32",
            "int64",
            "int8",
            "uint8",
            "bool",
        )
    )
    wanted = g.one_of((1, 1, 2, 2, 3, 4, 5, 6, 8))
    for _ in range(40):
        if wanted == 0:
            break
        name, types, since, function = g.one_of(rules)
        if since > opset:
            continue
        t = favourite if favourite in types and g.chance(0.7) else g.one_of(types)
        g.is_stepping = name in STEPS
        try:
            function(g, t)
            wanted -= 1
        except Unsuitable:
            pass
    return g
