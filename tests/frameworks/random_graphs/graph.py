# SPDX-License-Identifier: Apache-2.0
"""A random ONNX graph while it is drawn: its values with types and extents, what is fed to it.

An extent has a number for each of the runs (RUNS) and, where it is open, a name. Two dynamic
extents are equal where their names are; a name says how the extent came about ("n", "(n+1)//2"), so
that equal formulas are equal extents. What the generator writes is valid at every run."""

import numpy as np
import onnx
from ml_dtypes import bfloat16
from onnx import helper, numpy_helper

RUNS = 3
KINDS = {
    "float32": onnx.TensorProto.FLOAT,
    "float16": onnx.TensorProto.FLOAT16,
    "float64": onnx.TensorProto.DOUBLE,
    "bfloat16": onnx.TensorProto.BFLOAT16,
    "int8": onnx.TensorProto.INT8,
    "uint8": onnx.TensorProto.UINT8,
    "int16": onnx.TensorProto.INT16,
    "uint16": onnx.TensorProto.UINT16,
    "int32": onnx.TensorProto.INT32,
    "uint32": onnx.TensorProto.UINT32,
    "int64": onnx.TensorProto.INT64,
    "uint64": onnx.TensorProto.UINT64,
    "bool": onnx.TensorProto.BOOL,
}
FLOATS = ("float32", "float16", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
EVERY = NUMBERS + ("bool",)


# Floats that are fed stay exact through these.
EXACT = {
    "Abs", "Add", "Ceil", "Clip", "Concat", "CumSum", "Expand", "Flatten", "Floor", "Gather",
    "GatherElements", "GatherND", "Identity", "Max", "MaxPool", "Min", "Mul", "Neg", "OneHot",
    "Pad",
    "ReduceMax", "ReduceMin", "Relu", "Reshape", "Round", "ScatterElements", "ScatterND", "Sign",
    "Slice", "Split", "Squeeze", "Sub", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
}  # fmt: skip


class Unsuitable(Exception):
    """What was drawn does not fit what is there; draw again."""


def need(condition):
    if not condition:
        raise Unsuitable


class Extent:
    def __init__(self, values, name=None):
        self.values = tuple(int(v) for v in values)
        self.name = name

    def __eq__(self, other):
        return self.name == other.name and self.values == other.values

    def __hash__(self):
        return hash((self.name, self.values))

    @property
    def is_open(self):
        return self.name is not None

    @property
    def least(self):
        return min(self.values)

    def map(self, text, function):
        """The extent that `function` makes of it; {} in `text` stands for its name."""
        values = [function(v) for v in self.values]
        need(min(values) >= 0)
        return Extent(values, text.format(self.name) if self.is_open else None)


def fixed(number):
    return Extent((number,) * RUNS)


ONE = fixed(1)


def shape_of(*numbers):
    return tuple(n if isinstance(n, Extent) else fixed(n) for n in numbers)


def product(extents):
    if all(not e.is_open for e in extents):
        return fixed(int(np.prod([e.values[0] for e in extents], dtype=np.int64)))
    names = sorted(e.name if e.is_open else str(e.values[0]) for e in extents if e != ONE)
    values = np.prod([e.values for e in extents], axis=0, dtype=np.int64)
    return Extent(values, names[0] if len(names) == 1 else "(" + "*".join(names) + ")")


class Value:
    def __init__(self, name, dtype, shape, constant=None):
        self.name, self.dtype, self.shape, self.constant = name, dtype, tuple(shape), constant
        self.is_exact = True  # the same bits in every runtime

    @property
    def rank(self):
        return len(self.shape)

    @property
    def is_fixed(self):
        return not any(e.is_open for e in self.shape)

    @property
    def dims(self):
        """Of a value whose extents are all fixed."""
        need(self.is_fixed)
        return tuple(e.values[0] for e in self.shape)


def draw_numbers(rng, dtype, shape, low=None, high=None):
    """Mostly small multiples of 1/8, whose sums and products are exact."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        least = 0 if dtype in UNSIGNED else -9
        return rng.integers(
            least if low is None else low, 10 if high is None else high, shape
        ).astype(dtype)
    low, high = -4 if low is None else low, 4 if high is None else high
    if rng.random() < 0.7:
        array = np.round(rng.uniform(low, high, shape) * 8) / 8
        array = np.clip(array, low, high)
    else:
        array = rng.uniform(low, high, shape)
    return np.asarray(array).astype(bfloat16 if dtype == "bfloat16" else dtype)


class Graph:
    """@param outer: the graph that this one is a body in."""

    def __init__(self, rng, opset, has_open=False, outer=None):
        self.rng, self.opset, self.outer = rng, opset, outer
        self.nodes, self.inputs, self.initializers, self.values = [], [], [], []
        self.fed = [{} for _ in range(RUNS)]
        self.symbols, self.used, self.options, self.drawn = [], set(), [], []
        self.top = outer.top if outer else self
        if not outer:
            self.count = 0
            self.is_stepping = False  # what is drawn makes much of a rounding
            names = ["n", "m", "len"][: rng.integers(1, 4)] if has_open else []
            for name in names:
                self.symbols.append(Extent(rng.integers(1, 9, RUNS), name))

    # Chances and numbers.
    def chance(self, p):
        return self.rng.random() < p

    def one_of(self, choices):
        return choices[int(self.rng.integers(0, len(choices)))]

    def number(self, low, high):
        """low..high, both included."""
        return int(self.rng.integers(low, high + 1))

    def name(self, stem):
        self.top.count += 1
        return f"{stem}{self.top.count}"

    # Extents.
    def extent(self, least=0, most=6):
        symbols = [s for s in self.top.symbols if s.least >= least]
        if symbols and self.chance(0.4):
            return self.one_of(symbols)
        if least == 0 and self.chance(0.03):
            return fixed(0)
        return fixed(self.number(max(least, 1), max(most, least, 1)))

    def shape(self, rank=None, least=0):
        if rank is None:
            rank = self.one_of((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5))
        return tuple(self.extent(least) for _ in range(rank))

    # Values.
    def constant(self, array, stem="c"):
        array = np.asarray(array)
        name = self.name(stem)
        tensor = numpy_helper.from_array(array, name)
        if self.outer or self.chance(0.2):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        return Value(name, array.dtype.name, shape_of(*array.shape), array)

    def integers(self, numbers, dtype="int64"):
        return self.constant(np.array(numbers, dtype))

    def feed(self, dtype, shape, low=None, high=None, arrays=None):
        """An input of the model."""
        need(all(e in self.top.symbols for e in shape if e.is_open))
        top = self.top
        name = top.name("x")
        for run in range(RUNS):
            dims = [e.values[run] for e in shape]
            array = arrays[run] if arrays else draw_numbers(self.rng, dtype, dims, low, high)
            top.fed[run][name] = np.asarray(array)
        dims = [e.name or e.values[0] for e in shape]
        top.inputs.append(helper.make_tensor_value_info(name, KINDS[dtype], dims))
        value = Value(name, dtype, shape)
        top.values.append(value)
        return value

    def new(self, dtype, shape, low=None, high=None, constant=None):
        """An input, or a constant where its extents are fixed."""
        need(low is None or low < high)
        if constant is None:
            constant = self.chance(0.3)
        if constant and not any(e.is_open for e in shape):
            dims = [e.values[0] for e in shape]
            return self.constant(draw_numbers(self.rng, dtype, dims, low, high))
        return self.feed(dtype, shape, low, high)

    def visible(self):
        return self.values + (self.outer.visible() if self.outer else [])

    def pick(self, dtype, rank=None, fits=None, least=0, low=None, high=None):
        """A value of that type: of the graph where one fits, else a new one of `rank` extents (a
        number, or a range of them)."""
        ranks = [rank] if isinstance(rank, int) else rank
        known = [
            v
            for v in self.visible()
            if v.dtype == dtype
            and (ranks is None or v.rank in ranks)
            and all(e.least >= least for e in v.shape)
            and (fits is None or fits(v))
            and self.may_read(v)
        ]
        if known and low is None and self.chance(0.8):
            return self.use(self.one_of(known[-6:] if self.chance(0.7) else known))
        rank = self.one_of(list(ranks)) if ranks is not None else None
        value = self.new(dtype, self.shape(rank, least), low, high, constant=False)
        need(fits is None or fits(value))
        return self.use(value)

    def like(self, dtype, shape, low=None, high=None):
        """A value of exactly that shape."""
        known = [v for v in self.visible() if v.dtype == dtype and v.shape == tuple(shape)]
        known = [v for v in known if self.may_read(v)]
        if known and low is None and self.chance(0.6):
            return self.use(self.one_of(known))
        return self.use(self.new(dtype, shape, low, high))

    def partner(self, dtype, shape, low=None, high=None):
        """(value, shape of both): one that broadcasts with `shape`."""
        known = [v for v in self.visible() if v.dtype == dtype and joined(v.shape, shape)]
        known = [v for v in known if self.may_read(v)]
        if known and low is None and self.chance(0.6):
            value = self.use(self.one_of(known))
        else:
            ends = tuple(ONE if self.chance(0.25) else e for e in shape)
            cut = self.number(0, len(ends)) if self.chance(0.3) else 0
            value = self.use(self.new(dtype, ends[cut:], low, high))
        both = joined(value.shape, shape)
        need(both is not None)
        return value, both

    def may_read(self, value):
        """Steps read what is the same in both runtimes; f16 between nodes is f32 here."""
        return value.is_exact or value.dtype in INTEGERS + ("bool",) or not self.top.is_stepping

    def use(self, value):
        self.top.used.add(value.name)
        return value

    # Nodes.
    def node(self, op, inputs, *results, domain="", **attributes):
        """results: (dtype, shape) of each output, None for one that is left out. Returns their
        values, the one where there is one."""
        names = [getattr(v, "name", v) for v in inputs]
        self.top.used.update(names)
        in_single = op == "MaxPool" and any(getattr(v, "dtype", "") == "float64" for v in inputs)
        exact = op in EXACT and not in_single and all(getattr(v, "is_exact", True) for v in inputs)
        outputs = [Value(self.name("v"), *r) if r else None for r in results]
        for v in outputs:
            if v:
                v.is_exact = v.dtype not in ("float16", "bfloat16") and exact
        written = [v.name if v else "" for v in outputs]
        while written and not written[-1]:
            written.pop()
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, names, written, domain=domain, **attributes))
        kinds = [v.dtype for v in inputs if hasattr(v, "dtype")]
        self.top.drawn.append((op, kinds[0] if kinds else results[0][0]))
        made = [v for v in outputs if v]
        self.values += made
        return made[0] if len(outputs) == 1 else outputs

    def body(self):
        return Graph(self.rng, self.opset, outer=self)

    def model(self):
        read = self.used | set(o for n in self.nodes for o in n.input)
        made = {o for n in self.nodes for o in n.output}
        leaves = [v for v in self.values if v.name in made and v.name not in read]
        inner = [v for v in self.values if v.name in made and v.name in read]
        outputs = leaves + [v for v in inner if self.chance(0.1)]
        need(outputs)
        ports = [helper.make_tensor_value_info(v.name, KINDS[v.dtype], None) for v in outputs]
        fed = {i.name for i in self.inputs} & read
        inputs = [i for i in self.inputs if i.name in fed]
        for run in self.fed:
            for name in set(run) - fed:
                del run[name]
        kept = [t for t in self.initializers if t.name in read]
        graph = helper.make_graph(self.nodes, "drawn", inputs, ports, kept)
        opsets = [helper.make_opsetid("", self.opset)]
        if any(n.domain == "com.microsoft" for n in self.nodes):
            opsets.append(helper.make_opsetid("com.microsoft", 1))
        version = helper.find_min_ir_version_for(opsets, ignore_unknown=True)
        return helper.make_model(graph, opset_imports=opsets, ir_version=max(version, 4))


def joined(a, b):
    """The shape of a broadcast; None where the extents do not fit at every run."""
    a, b = tuple(a), tuple(b)
    rank = max(len(a), len(b))
    a, b = (ONE,) * (rank - len(a)) + a, (ONE,) * (rank - len(b)) + b
    if any(x != y and x != ONE and y != ONE for x, y in zip(a, b)):
        return None
    return tuple(y if x == ONE else x for x, y in zip(a, b))
