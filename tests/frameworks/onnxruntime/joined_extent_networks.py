# SPDX-License-Identifier: Apache-2.0
"""Networks of value_extents.py whose parts are joined: selections, detectors, loops, branches."""

import numpy as np
from value_extent_networks import RNG, floats, integers, network


def joined_parts():
    network(
        "a concat of what two conditions select",
        """joined (float[N] x) => (float[k] y) {
          zero = Constant<value_float=0.0>()
          one = Constant<value_float=1.0>()
          low = Less(x, zero)
          high = Greater(x, one)
          a = Compress<axis=0>(x, low)
          b = Compress<axis=0>(x, high)
          y = Concat<axis=0>(a, b)
        }""",
        [{"x": floats(n)} for n in (1, 7, 30)],
        (),
    )
    network(
        "a concat of rows that conditions select, and a product behind it",
        """joined (float[N,4] x, bool[N] p, bool[N] q, float[4,3] w) => (float[k,3] y, int64[1] n) {
          a = Compress<axis=0>(x, p)
          b = Compress<axis=0>(x, q)
          r = Relu(b)
          c = Concat<axis=0>(a, r, a)
          y = MatMul(c, w)
          n = Shape<start=0,end=1>(c)
        }""",
        [
            {
                "x": floats(n, 4),
                "p": RNG.random(n) < 0.5,
                "q": RNG.random(n) < 0.3,
                "w": floats(4, 3),
            }
            for n in (1, 9, 20)
        ],
        (),
    )
    network(
        "a concat across columns of one selection",
        """joined (float[N,4] x, bool[N] p) => (float[k,8] y) {
          a = Compress<axis=0>(x, p)
          b = Sigmoid(a)
          y = Concat<axis=1>(a, b)
        }""",
        [{"x": floats(n, 4), "p": RNG.random(n) < 0.5} for n in (1, 9, 20)],
        (),
    )
    network(
        "a concat of ranges whose lengths are inputs",
        """joined (int64 n, int64 m) => (int64[k] y) {
          zero = Constant<value_int=0>()
          one = Constant<value_int=1>()
          a = Range(zero, n, one)
          b = Range(zero, m, one)
          y = Concat<axis=0>(a, b)
        }""",
        [
            {"n": np.array(n, np.int64), "m": np.array(m, np.int64)}
            for n, m in ((3, 4), (0, 0), (16, 16), (0, 2))
        ],
        beyond={"n": np.array(17, np.int64), "m": np.array(1, np.int64)},
    )
    network(
        "selections of two conditions joined and ranked",
        """ranked (float[N] x, bool[N] p, bool[N] q, int64[1] k) => (float[a] v, int64[b] i) {
          a = Compress<axis=0>(x, p)
          b = Compress<axis=0>(x, q)
          c = Concat<axis=0>(a, b)
          n = Shape(c)
          m = Min(n, k)
          v, i = TopK(c, m)
        }""",
        [
            {"x": floats(n), "p": RNG.random(n) < 0.5, "q": RNG.random(n) < 0.5, "k": integers(k)}
            for n, k in ((5, 2), (20, 3), (9, 30))
        ],
        (),
    )
    network(
        "selections stacked behind a sum over them",
        """sums (float[N,3] x, bool[N] p) => (float[1,3] y, float[k,3] z) {
          a = Compress<axis=0>(x, p)
          axes = Constant<value_ints=[0]>()
          y = ReduceSum<keepdims=1>(a, axes)
          z = Concat<axis=0>(y, a, y)
        }""",
        [{"x": floats(n, 3), "p": RNG.random(n) < 0.5} for n in (5, 20)],
        (),
    )
    detector = """detected (float[1,B,4] boxes, float[1,2,B] scores) => (float[k,6] y) {
          most = Constant<value_ints=[8]>()
          overlap = Constant<value_floats=[0.4]>()
          least = Constant<value_floats=[0.3]>()
          chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
          one = Constant<value_int=1>()
          two = Constant<value_int=2>()
          class = Gather<axis=1>(chosen, one)
          place = Gather<axis=1>(chosen, two)
          flat = Constant<value_ints=[0]>()
          b2 = Squeeze(boxes, flat)
          box = Gather<axis=0>(b2, place)
          columns = Constant<value_ints=[1]>()
          c1 = Unsqueeze(class, columns)
          p1 = Unsqueeze(place, columns)
          zeros = Mul(c1, p1)
          nought = Sub(zeros, zeros)
          where = Concat<axis=1>(nought, c1, p1)
          score = GatherND(scores, where)
          s1 = Unsqueeze(score, columns)
          cf = Cast<to=1>(c1)
          %s
        }"""

    def boxes(n):
        corners = RNG.random((1, n, 4)).astype(np.float32)
        corners[..., 2:] = corners[..., :2] + 0.2
        return {"boxes": corners, "scores": RNG.random((1, 2, n)).astype(np.float32)}

    network(
        "a detector: boxes, scores and classes joined behind NMS",
        detector % "y = Concat<axis=1>(box, s1, cf)",
        [boxes(n) for n in (1, 12, 40)],
        (),
    )
    network(
        "a detector whose best are kept, at most as many as there are",
        detector
        % """all = Concat<axis=1>(box, s1, cf)
          n = Shape<start=0,end=1>(score)
          five = Constant<value_ints=[5]>()
          k = Min(n, five)
          best, at = TopK<axis=0>(score, k)
          y = Gather<axis=0>(all, at)""",
        [boxes(n) for n in (1, 12, 40)],
        (),
    )
    network(
        "a detector for each class, joined",
        """detected (float[1,B,4] boxes, float[1,2,B] scores) => (int64[k,3] y) {
          most = Constant<value_ints=[4]>()
          overlap = Constant<value_floats=[0.4]>()
          least = Constant<value_floats=[0.3]>()
          first, second = Split<axis=1, num_outputs=2>(scores)
          a = NonMaxSuppression(boxes, first, most, overlap, least)
          b = NonMaxSuppression(boxes, second, most, overlap, least)
          y = Concat<axis=0>(a, b)
        }""",
        [boxes(n) for n in (1, 12, 40)],
        (),
    )


def loops():
    network(
        "a loop without a trip count that stacks rows and ends early",
        """looped (float[3] x, float limit) => (float[3] last, float[k,3] rows) {
          one = Constant<value_float=1.0>()
          go = Constant<value=bool {1}>()
          last, rows = Loop(, go, x) <body = step (int64 i, bool c, float[3] a)
              => (bool d, float[3] b, float[3] row) {
            b = Add(a, one)
            row = Mul(b, b)
            largest = ReduceMax<keepdims=0>(b)
            d = Less(largest, limit)
          }>
        }""",
        [
            {"x": np.float32([0, 0.5, -1]), "limit": np.array(n, np.float32)}
            for n in (0, 3.2, 9, 15.4)
        ],
        beyond={"x": np.float32([0, 0.5, -1]), "limit": np.array(40, np.float32)},
    )
    network(
        "a loop whose trip count is an input, and its rows joined with what was there",
        """looped (float[3] x, int64 n, float[M,3] old) => (float[3] last, float[k,3] all) {
          one = Constant<value_float=1.0>()
          go = Constant<value=bool {1}>()
          last, rows = Loop(n, go, x) <body = step (int64 i, bool c, float[3] a)
              => (bool d, float[3] b, float[3] row) {
            b = Add(a, one)
            row = Mul(b, b)
            d = Identity(c)
          }>
          all = Concat<axis=0>(old, rows)
        }""",
        [
            {"x": floats(3), "n": np.array(n, np.int64), "old": floats(m, 3)}
            for n, m in ((0, 2), (3, 1), (16, 5))
        ],
        beyond={"x": floats(3), "n": np.array(17, np.int64), "old": floats(2, 3)},
    )
    network(
        "a loop over the rows of a dynamic dimension that ends early",
        """looped (float[N,3] x, float limit) => (float[3] sum, float[k,3] rows) {
          zero = Constant<value_floats=[0.0, 0.0, 0.0]>()
          shape = Shape<start=0,end=1>(x)
          none = Constant<value_ints=[0]>()
          n = Squeeze(shape, none)
          go = Constant<value=bool {1}>()
          sum, rows = Loop(n, go, zero) <body = step (int64 i, bool c, float[3] a)
              => (bool d, float[3] b, float[3] row) {
            r = Gather(x, i)
            s = Abs(r)
            b = Add(a, s)
            row = Identity(b)
            largest = ReduceMax<keepdims=0>(b)
            d = Less(largest, limit)
          }>
        }""",
        [
            {"x": floats(n, 3), "limit": np.array(m, np.float32)}
            for n, m in ((1, 9), (8, 2), (20, 4))
        ],
        (),
    )
    network(
        "a loop that carries rows and joins one more in each iteration",
        """looped (float[1,3] x, int64 n) => (float[k,3] rows) {
          one = Constant<value_float=1.0>()
          go = Constant<value=bool {1}>()
          start = Constant<value_ints=[-1]>()
          end = Constant<value_ints=[100]>()
          rows = Loop(n, go, x) <body = step (int64 i, bool c, float[m,3] a)
              => (bool d, float[p,3] b) {
            last = Slice(a, start, end)
            more = Add(last, one)
            b = Concat<axis=0>(a, more)
            d = Identity(c)
          }>
        }""",
        [{"x": floats(1, 3), "n": np.array(n, np.int64)} for n in (0, 1, 5, 15)],
        beyond={"x": floats(1, 3), "n": np.array(16, np.int64)},
    )
    network(
        "a loop that carries tokens until one ends them",
        """looped (int64[1] x, int64 stop) => (int64[k] rows) {
          three = Constant<value_ints=[3]>()
          ten = Constant<value_ints=[11]>()
          go = Constant<value=bool {1}>()
          start = Constant<value_ints=[-1]>()
          end = Constant<value_ints=[100]>()
          rows = Loop(, go, x) <body = step (int64 i, bool c, int64[m] a)
              => (bool d, int64[p] b) {
            last = Slice(a, start, end)
            by = Mul(last, three)
            more = Mod(by, ten)
            b = Concat<axis=0>(a, more)
            none = Constant<value_ints=[0]>()
            token = Squeeze(more, none)
            same = Equal(token, stop)
            d = Not(same)
          }>
        }""",
        [{"x": integers(2), "stop": np.array(n, np.int64)} for n in (6, 7, 2)],
        beyond={"x": integers(2), "stop": np.array(99, np.int64)},
    )


def branches():
    network(
        "branches that give other channels",
        """chosen (float[1,2,4,4] x, bool c) => (float[1,k,4,4] y) {
          y = If(c) <then_branch = two () => (float[1,a,4,4] p) {
            p = Relu(x)
          }, else_branch = four () => (float[1,b,4,4] q) {
            n = Neg(x)
            q = Concat<axis=1>(x, n)
          }>
        }""",
        [{"x": floats(1, 2, 4, 4), "c": np.array(c)} for c in (True, False)],
        (),
    )
    network(
        "branches that give other channels, and a sum over them",
        """chosen (float[N,2,H,4] x, bool c) => (float[N,1,H,4] y, int64[1] k) {
          z = If(c) <then_branch = two () => (float[N,a,H,4] p) {
            p = Relu(x)
          }, else_branch = four () => (float[N,b,H,4] q) {
            n = Neg(x)
            q = Concat<axis=1>(x, n)
          }>
          axes = Constant<value_ints=[1]>()
          y = ReduceSum<keepdims=1>(z, axes)
          k = Shape<start=1,end=2>(z)
        }""",
        [
            {"x": floats(n, 2, h, 4), "c": np.array(c)}
            for n, h in ((1, 4), (3, 7))
            for c in (True, False)
        ],
        (),
    )
    network(
        "a branch that keeps what a condition selects, another that keeps all",
        """chosen (float[N,3] x, bool[N] p, bool c) => (float[k,3] y) {
          y = If(c) <then_branch = some () => (float[a,3] s) {
            s = Compress<axis=0>(x, p)
          }, else_branch = all () => (float[N,3] q) {
            q = Neg(x)
          }>
        }""",
        [
            {"x": floats(n, 3), "p": RNG.random(n) < 0.5, "c": np.array(c)}
            for n in (1, 9)
            for c in (True, False)
        ],
        (),
    )
    network(
        "a condition of as many elements as are selected, which is one",
        """chosen (float[N,3] x, bool[N] p, float[N] s) => (float[N,3] y) {
          zero = Constant<value_float=0.0>()
          one = Compress<axis=0>(s, p)
          c = Greater(one, zero)
          y = If(c) <then_branch = kept () => (float[N,3] a) {
            a = Abs(x)
          }, else_branch = turned () => (float[N,3] b) {
            b = Neg(x)
          }>
        }""",
        [
            {"x": floats(n, 3), "p": np.arange(n) == 2, "s": np.float32([1, 1, v] + [1] * (n - 3))}
            for n, v in ((3, 1), (7, -1))
        ],
        (),
    )
    network(
        "a detector whose boxes are joined in a branch",
        """chosen (float[1,B,4] boxes, float[1,2,B] scores) => (float[k,4] y) {
          most = Constant<value_ints=[8]>()
          overlap = Constant<value_floats=[0.4]>()
          least = Constant<value_floats=[0.3]>()
          found = NonMaxSuppression(boxes, scores, most, overlap, least)
          two = Constant<value_int=2>()
          place = Gather<axis=1>(found, two)
          n = Size(place)
          zero = Constant<value_int=0>()
          some = Greater(n, zero)
          flat = Constant<value_ints=[0]>()
          b2 = Squeeze(boxes, flat)
          y = If(some) <then_branch = many () => (float[a,4] p) {
            p = Gather<axis=0>(b2, place)
          }, else_branch = none () => (float[b,4] q) {
            q = Constant<value=float[1,4] {0, 0, 1, 1}>()
          }>
        }""",
        [
            {
                "boxes": np.sort(RNG.random((1, n, 4)).astype(np.float32)),
                "scores": (RNG.random((1, 2, n)) * s).astype(np.float32),
            }
            for n, s in ((1, 1), (12, 1), (12, 0.1))
        ],
        (),
    )


def sequences():
    """Tensors that a loop appends to a sequence, joined, read and counted behind it."""
    body = """(int64 i, bool c, seq(float[2,3]) before, float[2,3] a)
              => (bool d, seq(float[2,3]) after, float[2,3] b) {
            b = Add(a, one)
            row = Mul(b, b)
            after = SequenceInsert(before, row)
            d = Identity(c)
          }"""
    for trips, what in (("three", "so often"), ("n", "as often as an input says")):
        network(
            f"a loop that appends to a sequence {what}",
            f"""looped (float[2,3] x, int64 n)
              => (float[k,2,3] y, float[2,l,3] z, float[2,3] second, int64 count) {{
          one = Constant<value_float=1.0>()
          three = Constant<value_int=3>()
          at = Constant<value_int=1>()
          go = Constant<value=bool {{1}}>()
          none = SequenceEmpty()
          all, last = Loop({trips}, go, none, x) <body = step {body}>
          y = ConcatFromSequence<axis=0, new_axis=1>(all)
          z = ConcatFromSequence<axis=1>(all)
          second = SequenceAt(all, at)
          length = SequenceLength(all)
          count = Add(length, n)
        }}""",
            [{"x": floats(2, 3), "n": np.array(n, np.int64)} for n in (2, 5, 16)],
            () if trips == "three" else ("--max-elements=16",),
        )


joined_parts()
loops()
branches()
sequences()
