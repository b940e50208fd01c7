# SPDX-License-Identifier: Apache-2.0
"""Models of several subgraphs: branches, loops, calls, variables; and a sparse constant."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from written_model import Fed, Model

F = np.float32


def finished(graph, outputs):
    """A further subgraph ends with its outputs."""
    graph.graph.outputs = outputs
    return graph.model.subgraphs.index(graph.graph)


def binary(graph, op, a, b, kind, out=F):
    return graph.add(op, (kind, {}), [a, b], [out])[0]


def parameter(graph, dtype, shape):
    at = graph.tensor(dtype, shape, f"p{len(graph.graph.tensors)}")
    graph.graph.inputs.append(at)
    return at


def branches(rng):
    """x > 0 in its sum: twice x, else x - 1."""
    main = Model()
    shape = [int(n) for n in rng.integers(1, 5, 2)]
    indices = []
    for op, kind, other in (("MUL", "MulOptions", 2), ("SUB", "SubOptions", 1)):
        branch = Model(main)
        x = parameter(branch, F, shape)
        indices.append(finished(branch, [binary(branch, op, x, np.array(other, F), kind)]))
    x = main.value(Fed(rng.standard_normal(shape).astype(F)))
    total = main.add("SUM", ("ReducerOptions", {}), [x, np.array([0, 1], np.int32)], [F])[0]
    chosen = binary(main, "GREATER", total, np.array(0, F), "GreaterOptions", np.bool_)
    fields = {"thenSubgraphIndex": indices[0], "elseSubgraphIndex": indices[1]}
    return main, main.add("IF", ("IfOptions", fields), [chosen, x], [(F, shape)])


def repeated(rounds):
    """x = x * 0.9 + i, so many rounds."""

    def build(rng):
        main = Model()
        shape = [int(n) for n in rng.integers(1, 5, 2)]
        condition, body = Model(main), Model(main)
        i, _ = parameter(condition, np.int32, []), parameter(condition, F, shape)
        less = binary(condition, "LESS", i, np.array(rounds, np.int32), "LessOptions", np.bool_)
        first = finished(condition, [less])
        i, x = parameter(body, np.int32, []), parameter(body, F, shape)
        more = binary(body, "ADD", i, np.array(1, np.int32), "AddOptions", np.int32)
        scaled = binary(body, "MUL", x, np.array(0.9, F), "MulOptions")
        number = body.add("CAST", ("CastOptions", {}), [i], [F])[0]
        second = finished(body, [more, binary(body, "ADD", scaled, number, "AddOptions")])
        fields = {"condSubgraphIndex": first, "bodySubgraphIndex": second}
        operands = [np.array(0, np.int32), Fed(rng.standard_normal(shape).astype(F))]
        made = main.add("WHILE", ("WhileOptions", fields), operands, [(np.int32, []), (F, shape)])
        return main, made[1:]

    return build


def nested(rng):
    """Twice what a loop makes of x, until it adds up to 50; that one lets x grow up to 10."""
    main = Model()
    shape = [int(n) for n in rng.integers(1, 5, 2)]

    def below(most):
        graph = Model(main)
        x = parameter(graph, F, shape)
        axes = np.array([0, 1], np.int32)
        total = graph.add("SUM", ("ReducerOptions", {}), [x, axes], [F])[0]
        less = binary(graph, "LESS", total, np.array(most, F), "LessOptions", np.bool_)
        return finished(graph, [less])

    def loop(graph, condition, body, x):
        fields = {"condSubgraphIndex": condition, "bodySubgraphIndex": body}
        return graph.add("WHILE", ("WhileOptions", fields), [x], [(F, shape)])[0]

    inner = Model(main)
    x = parameter(inner, F, shape)
    grown = finished(inner, [binary(inner, "MUL", x, np.array(1.5, F), "MulOptions")])
    outer = Model(main)
    made = loop(outer, below(10), grown, parameter(outer, F, shape))
    twice = finished(outer, [binary(outer, "MUL", made, np.array(2, F), "MulOptions")])
    x = Fed(rng.uniform(0.01, 6, shape).astype(F))
    return main, [loop(main, below(50), twice, x)]


def accumulated(rng):
    """A variable begins with 0.5 everywhere; each run adds to it and gives what it held."""
    main = Model()
    shape = [int(n) for n in rng.integers(1, 5, 2)]

    def handle(graph):
        at = graph.add("VAR_HANDLE", ("VarHandleOptions", {"sharedName": "sum"}), [], [F])[0]
        graph.graph.tensors[at].type = schema.TensorType.RESOURCE
        return at

    first = Model(main)
    start = np.full(shape, 0.5, F)
    first.add("ASSIGN_VARIABLE", ("AssignVariableOptions", {}), [handle(first), start], [])
    index = finished(first, [])
    main.add("CALL_ONCE", ("CallOnceOptions", {"initSubgraphIndex": index}), [], [])
    held = handle(main)
    was = main.add("READ_VARIABLE", ("ReadVariableOptions", {}), [held], [(F, shape)])[0]
    x = Fed(rng.standard_normal(shape).astype(F))
    now = binary(main, "ADD", was, x, "AddOptions")
    main.add("ASSIGN_VARIABLE", ("AssignVariableOptions", {}), [held, now], [])
    return main, [binary(main, "MUL", was, np.array(2, F), "MulOptions")]


def sparse(rng):
    """A matrix of which the rows are dense and the columns a list of places."""
    main = Model()
    rows, columns = (int(n) * 4 for n in rng.integers(1, 4, 2))
    dense = rng.standard_normal((rows, columns)).astype(F)
    dense[rng.random((rows, columns)) < 0.6] = 0
    at = main.value(dense)
    segments, places = [0], []
    for row in dense:
        places += [int(i) for i in np.flatnonzero(row)]
        segments.append(len(places))
    values = dense[dense != 0]
    main.model.buffers[main.graph.tensors[at].buffer].data = np.frombuffer(
        values.tobytes(), np.uint8
    )
    outer, inner = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    outer.format, outer.denseSize = schema.DimensionType.DENSE, rows
    inner.format = schema.DimensionType.SPARSE_CSR
    inner.arraySegmentsType = inner.arrayIndicesType = schema.SparseIndexVector.Int32Vector
    inner.arraySegments, inner.arrayIndices = schema.Int32VectorT(), schema.Int32VectorT()
    inner.arraySegments.values, inner.arrayIndices.values = segments, places
    parameters = schema.SparsityParametersT()
    parameters.traversalOrder, parameters.blockMap = [0, 1], []
    parameters.dimMetadata = [outer, inner]
    main.graph.tensors[at].sparsity = parameters
    whole = main.add("DENSIFY", ("DensifyOptions", {}), [at], [(F, [rows, columns])])[0]
    return main, [binary(main, "ADD", whole, Fed(np.array(1, F)), "AddOptions")]


def composite(rng):
    """An operator that the model spells out: twice x, less one."""
    main = Model()
    shape = [int(n) for n in rng.integers(1, 5, 2)]
    inside = Model(main)
    x = parameter(inside, F, shape)
    twice = binary(inside, "MUL", x, np.array(2, F), "MulOptions")
    index = finished(inside, [binary(inside, "SUB", twice, np.array(1, F), "SubOptions")])
    x = Fed(rng.standard_normal(shape).astype(F))
    made = main.add("STABLEHLO_COMPOSITE", None, [x], [(F, shape)])
    node, options = main.graph.operators[-1], schema.StableHLOCompositeOptionsT()
    options.name, options.decompositionSubgraphIndex = "twice_less_one", index
    options.compositeAttributes = [0, 0, 1, 0, 0, 36, 1]  # FlexBuffers: an empty map
    node.builtinOptions2Type = schema.BuiltinOptions2.StableHLOCompositeOptions
    node.builtinOptions2 = options
    return main, made


# What a conversion is told besides.
TOLD = {"while_nested": ["--max-elements", "40"]}
CONTROL = {
    "composite": (composite, False),
    "if": (branches, False),
    "while_unrolled": (repeated(5), False),
    "while_loop": (repeated(100), False),
    "while_nested": (nested, False),
    "variable": (accumulated, True),
    "sparse": (sparse, False),
}


def build_control(name, rng):
    """The bytes of a model, what to feed it, and whether it keeps state."""
    make, has_state = CONTROL[name]
    model, outputs = make(rng)
    # The first subgraph is what runs.
    return model.finish(outputs), model.fed, has_state
