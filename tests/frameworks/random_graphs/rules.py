# SPDX-License-Identifier: Apache-2.0
"""The rules of a family of operators: (name, types, first opset, function of (graph, type)).

A rule is a function of a graph and a type that adds nodes with the shapes they give:

    @rule("Trilu", since=14)
    def trilu(g, t):
        x = g.pick(t, range(2, 5))
        g.node("Trilu", [x], (t, x.shape), upper=g.number(0, 1))

Extents are numbers or dynamic; a dynamic one has a value for each of three runs, and two are equal
where their formulas are. What was found is kept in tests/frameworks/onnx_backend/fuzzed_forms.py.
"""


class Rules(list):
    """`types` and `since` are those of a rule that does not say its own."""

    def __init__(self, types=(), since=7):
        super().__init__()
        self.types, self.since = types, since

    def rule(self, name, types=None, since=None):
        def add(function):
            self.append((name, types or self.types, since or self.since, function))
            return function

        return add
