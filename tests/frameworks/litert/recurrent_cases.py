# SPDX-License-Identifier: Apache-2.0
"""Cells and layers that repeat them, as operator_cases.py has the others."""

from operator_cases import F, floats
from written_model import Fed, Variable


def svdf(rng):
    rank, units, steps, width = (int(n) for n in rng.integers(1, 5, 4))
    filters = rank * units
    operands = [
        Fed(floats(rng, 2, width)),
        floats(rng, filters, width),
        floats(rng, filters, steps),
    ]
    operands += [floats(rng, units), Variable([2, filters * steps])]
    fields = {"rank": rank, "fusedActivationFunction": int(rng.choice([0, 1]))}
    return "SVDF", ("SVDFOptions", fields), operands, [F]


def sequence_lstm(rng):
    batch, steps, width, cells = (int(n) for n in rng.integers(1, 5, 4))
    time = bool(rng.integers(0, 2))
    coupled, peephole, projected, normed = (bool(rng.random() < 0.3) for _ in range(4))
    out = int(rng.integers(1, 4)) if projected else cells
    ins = [floats(rng, cells, width) for _ in range(4)]
    rec = [floats(rng, cells, out) for _ in range(4)]
    peep = [floats(rng, cells) if peephole else None for _ in range(3)]
    bias = [floats(rng, cells) for _ in range(4)]
    norm = [floats(rng, cells) if normed else None for _ in range(4)]
    if coupled:
        ins[0] = rec[0] = peep[0] = bias[0] = norm[0] = None
    shape = (steps, batch, width) if time else (batch, steps, width)
    operands = [Fed(floats(rng, *shape)), *ins, *rec, *peep, *bias]
    operands += [floats(rng, out, cells) if projected else None]
    operands += [floats(rng, out) if projected and rng.random() < 0.5 else None]
    operands += [Variable([batch, out]), Variable([batch, cells])]
    operands += norm if normed else [None] * 4 if rng.random() < 0.5 else []
    fields = {
        "fusedActivationFunction": 4,
        "cellClip": float(rng.choice([0, 0.5, 10])),
        "projClip": float(rng.choice([0, 0.4])) if projected else 0.0,
        "timeMajor": time,
    }
    kind = "UnidirectionalSequenceLSTMOptions"
    return "UNIDIRECTIONAL_SEQUENCE_LSTM", (kind, fields), operands, [F]


def both_ways_lstm(rng):
    batch, steps, width, cells = (int(n) for n in rng.integers(1, 5, 4))
    time = bool(rng.integers(0, 2))
    # Merged with the batch in front, LiteRT 2.3 reads memory that it never wrote.
    merged = time and bool(rng.integers(0, 2))
    operands = [Fed(floats(rng, *((steps, batch, width) if time else (batch, steps, width))))]
    for _ in range(2):
        operands += [floats(rng, cells, width) for _ in range(4)]
        operands += [floats(rng, cells, cells) for _ in range(4)] + [None] * 3
        operands += [floats(rng, cells) for _ in range(4)] + [None] * 2
    operands += [Variable([batch, cells]) for _ in range(4)] + [None] * 9
    fields = {"fusedActivationFunction": 4, "timeMajor": time, "mergeOutputs": merged}
    options = ("BidirectionalSequenceLSTMOptions", fields)
    return "BIDIRECTIONAL_SEQUENCE_LSTM", options, operands, [F] * (1 if merged else 2)


def sequence_rnn(op):
    def build(rng):
        batch, steps, width, cells = (int(n) for n in rng.integers(1, 5, 4))
        fields, kind, shape = (
            {"fusedActivationFunction": int(rng.choice([1, 4]))},
            "RNNOptions",
            (batch, width),
        )
        if op != "RNN":
            kind, time = "SequenceRNNOptions", bool(rng.integers(0, 2))
            shape = (steps, batch, width) if time else (batch, steps, width)
            fields["timeMajor"] = time
        operands = [Fed(floats(rng, *shape)), floats(rng, cells, width), floats(rng, cells, cells)]
        operands += [floats(rng, cells), Variable([batch, cells])]
        return op, (kind, fields), operands, [F]

    return build
