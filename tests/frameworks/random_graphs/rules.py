"""The rules of a family of operators: (name, types, first opset, function of (graph, type))."""


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
