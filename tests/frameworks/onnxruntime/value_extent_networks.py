# SPDX-License-Identifier: Apache-2.0
"""The networks of value_extents.py, each with the extents that it is run at."""

import dataclasses

import numpy as np

RNG = np.random.default_rng(11)
MOST = ("--max-elements=16",)


@dataclasses.dataclass
class Network:
    """text: as onnx.parser reads it. options: what converts it, () where nothing is to be said.
    beyond: inputs that a run refuses, None where nothing is beyond."""

    name: str
    text: str
    feeds: list
    options: tuple = MOST
    beyond: dict = None
    opset: int = 18


NETWORKS = []


def network(name, text, feeds, options=MOST, beyond=None, opset=18):
    NETWORKS.append(Network(name, text, feeds, options, beyond, opset))


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def integers(*numbers):
    return np.array(numbers, np.int64)


X = floats(1, 3, 5, 7)


def extents_of_movement():
    network(
        "resize to sizes that are an input",
        """resized (float[1,3,H,W] x, int64[2] s) => (float[1,3,h,w] y) {
          front = Constant<value_ints=[1,3]>()
          sizes = Concat<axis=0>(front, s)
          y = Resize<mode="linear">(x, , , sizes)
        }""",
        [{"x": X, "s": integers(h, w)} for h, w in ((9, 4), (1, 16), (5, 7))],
        beyond={"x": X, "s": integers(17, 3)},
    )
    network(
        "resize by scales that are an input",
        """scaled (float[1,3,5,7] x, float[4] s) => (float[1,3,h,w] y) {
          y = Resize<mode="nearest">(x, , s)
        }""",
        [{"x": X, "s": np.float32([1, 1, a, b])} for a, b in ((2, 2), (1.5, 0.5), (1, 1))],
        beyond={"x": X, "s": np.float32([1, 1, 9, 1])},
    )
    network(
        "resize by scales of the spatial axes, linear, of a batch",
        """scaled (float[N,3,5,7] x, float[2] s) => (float[n,3,h,w] y) {
          y = Resize<mode="linear", axes=[2,3]>(x, , s)
        }""",
        [{"x": floats(n, 3, 5, 7), "s": np.float32(s)} for n, s in ((1, [2, 2]), (3, [1.25, 0.7]))],
    )
    network(
        "resize to the size of another input times a number",
        """grown (float[1,3,5,7] x, int64[1] k) => (float[1,3,h,w] y) {
          front = Constant<value_ints=[1,3]>()
          plane = Constant<value_ints=[5,7]>()
          grown = Mul(plane, k)
          sizes = Concat<axis=0>(front, grown)
          y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, , , sizes)
        }""",
        [{"x": X, "k": integers(k)} for k in (1, 2)],
        beyond={"x": X, "k": integers(9)},
    )
    network(
        "a range up to an input",
        """counted (int64 n) => (int64[k] y) {
          zero = Constant<value_int=0>()
          one = Constant<value_int=1>()
          y = Range(zero, n, one)
        }""",
        [{"n": np.array(n, np.int64)} for n in (0, 1, 5, 16)],
        beyond={"n": np.array(17, np.int64)},
    )
    network(
        "a range whose limit was computed",
        """counted (int64[2] n, float[3] x) => (float[k,3] y) {
          total = ReduceSum<keepdims=0>(n)
          zero = Constant<value_int=0>()
          one = Constant<value_int=1>()
          places = Range(zero, total, one)
          f = Cast<to=1>(places)
          axes = Constant<value_ints=[1]>()
          column = Unsqueeze(f, axes)
          y = Mul(column, x)
        }""",
        [{"n": integers(*n), "x": floats(3)} for n in ((1, 2), (0, 0), (9, 7))],
        beyond={"n": integers(9, 8), "x": floats(3)},
    )
    network(
        "a range of a maximum, as lengths become masks",
        """masked (int64[B] lengths, float[B,16] x) => (float[B,16] y) {
          zero = Constant<value_int=0>()
          one = Constant<value_int=1>()
          most = ReduceMax<keepdims=0>(lengths)
          places = Range(zero, most, one)
          axes = Constant<value_ints=[1]>()
          column = Unsqueeze(lengths, axes)
          inside = Less(places, column)
          mask = Cast<to=1>(inside)
          start = Constant<value_ints=[0]>()
          width = Unsqueeze(most, start)
          part = Slice(x, start, width, axes)
          kept = Mul(part, mask)
          whole = Constant<value_ints=[16]>()
          rest = Sub(whole, width)
          nothing = Constant<value_ints=[0,0,0]>()
          pads = Concat<axis=0>(nothing, rest)
          y = Pad(kept, pads)
        }""",
        [{"lengths": integers(*n), "x": floats(len(n), 16)} for n in ((3, 5), (16, 1, 2), (1,))],
    )
    network(
        "a constant of a shape that is an input",
        """filled (int64[2] s) => (float[h,w] y) {
          y = ConstantOfShape<value = float[1] {2.5}>(s)
        }""",
        [{"s": integers(*s)} for s in ((3, 4), (0, 2), (16, 16))],
        beyond={"s": integers(3, 17)},
    )
    network(
        "a constant of a computed shape, added to",
        """filled (float[N,4] x, int64[1] k) => (float[M,4] y) {
          four = Constant<value_ints=[4]>()
          two = Constant<value_ints=[2]>()
          more = Mul(k, two)
          shape = Concat<axis=0>(more, four)
          zeros = ConstantOfShape(shape)
          y = Concat<axis=0>(x, zeros)
        }""",
        [{"x": floats(n, 4), "k": integers(k)} for n, k in ((2, 3), (5, 0), (1, 8))],
        beyond={"x": floats(1, 4), "k": integers(9)},
    )
    network(
        "a shape that is an input",
        """shaped (float[6,4] x, int64[3] s) => (float[a,b,c] y) { y = Reshape(x, s) }""",
        [{"x": floats(6, 4), "s": integers(*s)} for s in ((2, 3, 4), (1, 12, 2), (4, 1, 6))],
        ("--max-elements=24",),
        beyond={"x": floats(6, 4), "s": integers(1, 1, 25)},
    )
    network(
        "a shape that is an input, with a dynamic dimension",
        """shaped (float[6,4] x, int64[2] s) => (float[a,b] y) { y = Reshape(x, s) }""",
        [{"x": floats(6, 4), "s": integers(*s)} for s in ((2, -1), (-1, 3), (24, 1), (0, -1))],
        ("--max-elements=24",),
    )
    network(
        "groups whose number is an input",
        """shaped (float[B,12] x, int64[1] g) => (float[B,a,b] y) {
          minus = Constant<value_ints=[-1]>()
          zero = Constant<value_ints=[0]>()
          s = Concat<axis=0>(zero, g, minus)
          z = Reshape(x, s)
          y = Transpose<perm=[0,2,1]>(z)
        }""",
        [{"x": floats(b, 12), "g": integers(g)} for b, g in ((1, 3), (2, 4), (3, 12), (2, 1))],
    )
    network(
        "repeats that are an input",
        """tiled (float[2,3] x, int64[2] r) => (float[a,b] y) { y = Tile(x, r) }""",
        [{"x": floats(2, 3), "r": integers(*r)} for r in ((1, 1), (3, 2), (0, 5), (16, 1))],
        beyond={"x": floats(2, 3), "r": integers(17, 1)},
    )
    network(
        "repeats of a dynamic dimension",
        """tiled (float[N,3] x, int64[1] r) => (float[a,3] y) {
          one = Constant<value_ints=[1]>()
          repeats = Concat<axis=0>(r, one)
          z = Tile(x, repeats)
          y = Relu(z)
        }""",
        [{"x": floats(n, 3), "r": integers(r)} for n, r in ((1, 4), (5, 2), (3, 1))],
    )
    network(
        "an expansion to a shape that is an input",
        """spread (float[1,3,1] x, int64[3] s) => (float[a,b,c] y) { y = Expand(x, s) }""",
        [{"x": floats(1, 3, 1), "s": integers(*s)} for s in ((4, 3, 2), (1, 1, 1), (2, 3, 16))],
        beyond={"x": floats(1, 3, 1), "s": integers(2, 3, 17)},
    )
    network(
        "an expansion of a dynamic dimension",
        """spread (float[N,1] x, int64[2] s) => (float[a,b] y) { y = Expand(x, s) }""",
        [
            {"x": floats(n, 1), "s": integers(*s)}
            for n, s in ((4, (4, 2)), (1, (3, 5)), (3, (1, 2)))
        ],
    )
    network(
        "pads that are an input",
        """padded (float[1,2,4,5] x, int64[8] p) => (float[1,2,h,w] y) {
          y = Pad<mode="constant">(x, p)
        }""",
        [
            {"x": floats(1, 2, 4, 5), "p": integers(0, 0, a, b, 0, 0, c, d)}
            for a, b, c, d in ((1, 0, 2, 3), (0, 0, 0, 0), (2, 2, 2, 2))
        ],
        beyond={"x": floats(1, 2, 4, 5), "p": integers(0, 0, 17, 0, 0, 0, 0, 0)},
    )
    network(
        "pads to a multiple of an input",
        """padded (float[N,4] x, int64[1] m) => (float[M,4] y) {
          first = Constant<value_ints=[0]>()
          last = Constant<value_ints=[1]>()
          shape = Shape<start=0,end=1>(x)
          rest = Mod(shape, m)
          lack = Sub(m, rest)
          more = Mod(lack, m)
          pads = Concat<axis=0>(first, first, more, first)
          y = Pad<mode="constant">(x, pads)
        }""",
        [{"x": floats(n, 4), "m": integers(m)} for n, m in ((3, 4), (8, 8), (9, 2), (1, 16))],
    )
    network(
        "pads of an edge, computed",
        """padded (float[1,2,4,5] x, int64[2] p) => (float[1,2,h,w] y) {
          zero = Constant<value_ints=[0,0]>()
          pads = Concat<axis=0>(zero, p, zero, p)
          y = Pad<mode="edge">(x, pads)
        }""",
        [{"x": floats(1, 2, 4, 5), "p": integers(a, b)} for a, b in ((1, 0), (2, 3), (0, 0))],
    )
    network(
        "pads of one dimension",
        """padded (float[8] x, int64[2] p) => (float[h] y) { y = Pad<mode="constant">(x, p) }""",
        [{"x": floats(8), "p": integers(*p)} for p in ((1, 2), (0, 0), (16, 3))],
        beyond={"x": floats(8), "p": integers(0, -4)},
    )
    network(
        "a slice that ends at an input",
        """cut (float[12,3] x, int64[1] e) => (float[k,3] y) {
          s = Constant<value_ints=[0]>()
          y = Slice(x, s, e)
        }""",
        [{"x": floats(12, 3), "e": integers(e)} for e in (0, 4, 12, 99, -5)],
        (),
    )
    network(
        "a slice between inputs, with steps",
        """cut (float[12,3] x, int64[2] s, int64[2] e) => (float[k,l] y) {
          axes = Constant<value_ints=[0,1]>()
          steps = Constant<value_ints=[2,1]>()
          y = Slice(x, s, e, axes, steps)
        }""",
        [
            {"x": floats(12, 3), "s": integers(*s), "e": integers(*e)}
            for s, e in (((0, 0), (12, 3)), ((1, 1), (-1, 3)), ((-4, 0), (99, -1)))
        ],
        (),
    )
    network(
        "a slice that steps backwards from an input",
        """cut (float[12] x, int64[1] s) => (float[k] y) {
          e = Constant<value_ints=[-100]>()
          axes = Constant<value_ints=[0]>()
          steps = Constant<value_ints=[-1]>()
          y = Slice(x, s, e, axes, steps)
        }""",
        [{"x": floats(12), "s": integers(s)} for s in (11, 4, 0, -3)],
        (),
    )
    network(
        "a slice of steps that are an input",
        """cut (float[12] x, int64[1] d) => (float[k] y) {
          s = Constant<value_ints=[0]>()
          e = Constant<value_ints=[12]>()
          axes = Constant<value_ints=[0]>()
          y = Slice(x, s, e, axes, d)
        }""",
        [{"x": floats(12), "d": integers(d)} for d in (1, 2, 5, 12)],
        (),
    )
    network(
        "a split whose sizes are an input",
        """parts (float[12,2] x, int64[2] s) => (float[a,2] y, float[b,2] z) {
          y, z = Split<axis=0>(x, s)
        }""",
        [{"x": floats(12, 2), "s": integers(a, 12 - a)} for a in (5, 1, 11)],
        (),
        beyond={"x": floats(12, 2), "s": integers(3, 3)},
    )


extents_of_movement()
