# SPDX-License-Identifier: Apache-2.0
"""An ONNX file as a torch module, for comparisons of speed: what onnx2torch leaves out of today's
operator sets, in plain calls of torch.

  network, source = build(onnx_model, example_inputs)

The graph is walked once with example inputs. Whatever depends on constants and shapes alone is
computed then; for the rest a line of Python is written and run, so that every shape is known where
the next node needs it. The lines become the forward() of a module that torch.compile and CUDA
graphs take: no Python control flow, no data-dependent shape. Unsupported says which node is in the
way.
"""

import math

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: F401 - of the written lines
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator


class Unsupported(Exception):
    """A node that has no plain call here."""


UNARY = {
    "Relu": "F.relu({})",
    "Sigmoid": "torch.sigmoid({})",
    "Tanh": "torch.tanh({})",
    "Sqrt": "torch.sqrt({})",
    "Neg": "torch.neg({})",
    "Erf": "torch.erf({})",
    "Exp": "torch.exp({})",
    "Log": "torch.log({})",
    "Cos": "torch.cos({})",
    "Sin": "torch.sin({})",
    "Reciprocal": "torch.reciprocal({})",
    "Abs": "torch.abs({})",
    "Floor": "torch.floor({})",
    "Not": "torch.logical_not({})",
    "HardSwish": "F.hardswish({})",
    "Softplus": "F.softplus({})",
    "Identity": "{}",
    "Dropout": "{}",
}
BINARY = {
    "Add": "{} + {}",
    "Sub": "{} - {}",
    "Mul": "{} * {}",
    "Pow": "torch.pow({}, {})",
    "Equal": "{} == {}",
    "Less": "{} < {}",
    "Greater": "{} > {}",
    "LessOrEqual": "{} <= {}",
    "GreaterOrEqual": "{} >= {}",
    "And": "{} & {}",
    "Or": "{} | {}",
    "MatMul": "torch.matmul({}, {})",
}
REDUCE = {
    "ReduceMean": "{}.mean({}, keepdim={})",
    "ReduceSum": "{}.sum({}, keepdim={})",
    "ReduceMax": "{}.amax({}, keepdim={})",
    "ReduceMin": "{}.amin({}, keepdim={})",
    "ReduceL2": "torch.linalg.vector_norm({}, dim={}, keepdim={})",
    "ReduceSumSquare": "({0} * {0}).sum({1}, keepdim={2})",
}


class Writer:
    def __init__(self, model, inputs):
        self.opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
        self.known = {
            i.name: numpy_helper.to_array(i) for i in model.graph.initializer
        }  # numpy: constants
        self.values = {}  # torch: what the examples give
        self.names, self.lines, self.buffers, self.modules = {}, [], {}, {}
        self.globals = {"torch": torch, "F": F, "math": math}
        for i, (name, array) in enumerate(inputs.items()):
            if np.ndim(array) == 0:  # a setting, as a sample rate: part of the network
                self.known[name] = np.array(array)
                continue
            self.values[name], self.names[name] = torch.from_numpy(np.array(array)), f"x{i}"
        with torch.no_grad():
            self.walk(model.graph)
        self.outputs = [o.name for o in model.graph.output]

    # ---- names

    def tensor(self, name):
        """The expression of a value, a constant becoming a buffer."""
        if name in self.names:
            return self.names[name]
        array = self.known[name]
        buffer = f"c{len(self.buffers)}"
        self.buffers[buffer] = torch.from_numpy(np.array(array, order="C"))
        self.names[name], self.values[name] = f"self.{buffer}", self.buffers[buffer]
        return self.names[name]

    def shape(self, name):
        return list(self.known[name].shape) if name in self.known else list(self.values[name].shape)

    def constant(self, node, index, otherwise=None):
        if index >= len(node.input) or not node.input[index]:
            return otherwise
        if node.input[index] not in self.known:
            raise Unsupported(f"{node.op_type}: input {index} is computed")
        return self.known[node.input[index]]

    def emit(self, node, expression, output=0):
        target = f"v{len(self.lines)}"
        scope = {
            "self": self,
            **{n: self.values[k] for k, n in self.names.items() if not n.startswith("self.")},
            **self.globals,
        }
        try:
            value = eval(expression, scope, {})  # noqa: S307 - written here
        except Exception as fault:
            raise Unsupported(
                f"{node.op_type} {node.name}: {' '.join(str(fault).split())[:120]}"
            ) from None
        self.lines.append(f"{target} = {expression}")
        self.names[node.output[output]], self.values[node.output[output]] = target, value

    def __getattr__(self, name):  # buffers and modules, while lines run here
        for kept in (self.__dict__.get("buffers", {}), self.__dict__.get("modules", {})):
            if name in kept:
                return kept[name]
        raise AttributeError(name)

    # ---- nodes

    def walk(self, graph):
        self.known.update({i.name: numpy_helper.to_array(i) for i in graph.initializer})
        for node in graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            present = [i for i in node.input if i]
            if node.op_type == "Shape":
                shape = np.array(self.shape(node.input[0]), np.int64)
                self.known[node.output[0]] = shape[
                    attributes.get("start", 0) : attributes.get("end", len(shape))
                ]
            elif node.op_type == "If":
                condition = self.constant(node, 0)
                branch = attributes["then_branch" if condition.item() else "else_branch"]
                self.walk(branch)
                for outer, inner in zip(node.output, branch.output):
                    kept = self.known if inner.name in self.known else self.values
                    kept[outer] = kept[inner.name]
                    if inner.name in self.names:
                        self.names[outer] = self.names[inner.name]
            elif node.op_type in ("Loop", "Scan"):
                raise Unsupported(node.op_type)
            elif all(i in self.known for i in present):
                self.fold(node)
            else:
                self.write(node, attributes)

    def fold(self, node):
        graph = helper.make_graph(
            [node],
            "one",
            [helper.make_empty_tensor_value_info(i) for i in dict.fromkeys(node.input) if i],
            [helper.make_empty_tensor_value_info(o) for o in node.output if o],
        )
        one = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        results = ReferenceEvaluator(one).run(None, {i: self.known[i] for i in node.input if i})
        self.known.update(dict(zip([o for o in node.output if o], map(np.asarray, results))))

    def write(self, node, a):
        op, put = node.op_type, lambda expression, output=0: self.emit(node, expression, output)
        args = [self.tensor(i) if i else None for i in node.input]
        x = args[0]
        if op in UNARY:
            put(UNARY[op].format(x))
        elif op in BINARY:
            put(BINARY[op].format(*args))
        elif op == "Div":
            whole = not self.values[node.input[0]].is_floating_point()
            put(
                f"torch.div({args[0]}, {args[1]}, rounding_mode={'trunc' if whole else None!r})"
                if whole
                else f"{args[0]} / {args[1]}"
            )
        elif op in ("Max", "Min"):
            expression = x
            for other in args[1:]:
                expression = f"torch.{op.lower()}imum({expression}, {other})"
            put(expression)
        elif op in REDUCE:
            self.reduce(node, a)
        elif hasattr(Writer, f"on_{op}"):
            getattr(self, f"on_{op}")(node, a, args)
        else:
            raise Unsupported(op)

    def reduce(self, node, a):
        axes = self.constant(node, 1, a.get("axes"))
        axes = (
            list(range(len(self.shape(node.input[0])))) if axes is None else [int(i) for i in axes]
        )
        self.emit(
            node,
            REDUCE[node.op_type].format(
                self.tensor(node.input[0]), axes, bool(a.get("keepdims", 1))
            ),
        )

    def on_Where(self, node, a, args):
        self.emit(node, f"torch.where({args[0]}, {args[1]}, {args[2]})")

    def on_Clip(self, node, a, args):
        low, high = self.constant(node, 1, a.get("min")), self.constant(node, 2, a.get("max"))
        bound = lambda b: None if b is None else float(b)
        self.emit(node, f"torch.clamp({args[0]}, {bound(low)}, {bound(high)})")

    def on_HardSigmoid(self, node, a, args):
        self.emit(
            node, f"torch.clamp({args[0]} * {a.get('alpha', 0.2)} + {a.get('beta', 0.5)}, 0, 1)"
        )

    def on_LeakyRelu(self, node, a, args):
        self.emit(node, f"F.leaky_relu({args[0]}, {a.get('alpha', 0.01)})")

    def on_Gelu(self, node, a, args):
        self.emit(
            node, f"F.gelu({args[0]}, approximate={a.get('approximate', b'none').decode()!r})"
        )

    def on_Cast(self, node, a, args):
        kind = helper.tensor_dtype_to_np_dtype(a["to"])
        # Of a network in f16 its floats stay what they are.
        floats = np.issubdtype(kind, np.floating)
        if floats and self.values[node.input[0]].is_floating_point():
            return self.emit(node, args[0])
        self.emit(
            node, f"{args[0]}.to({'self.kind' if floats else 'torch.' + np.dtype(kind).name})"
        )

    kind = torch.float32

    def on_Gemm(self, node, a, args):
        left = f"{args[0]}.t()" if a.get("transA") else args[0]
        right = args[1] if a.get("transB") else f"{args[1]}.t()"
        if (
            a.get("alpha", 1.0) == 1
            and a.get("beta", 1.0) == 1
            and (len(args) < 3 or len(self.shape(node.input[2])) == 1)
        ):
            return self.emit(
                node, f"F.linear({left}, {right}, {args[2] if len(args) > 2 else None})"
            )
        product = f"{a.get('alpha', 1.0)} * torch.matmul({left}, {args[1] + '.t()' if a.get('transB') else args[1]})"
        self.emit(node, product + (f" + {a.get('beta', 1.0)} * {args[2]}" if len(args) > 2 else ""))

    def pads(self, node, a, kernel, strides, dilations):
        """(what to pad before, None or pairs; symmetric padding)"""
        rank, spatial = len(kernel), self.shape(node.input[0])[2:]
        pads = list(a.get("pads", [0] * 2 * rank))
        auto = a.get("auto_pad", b"NOTSET").decode()
        if auto.startswith("SAME"):
            pads = [0] * 2 * rank
            for i in range(rank):
                total = max(
                    0,
                    (math.ceil(spatial[i] / strides[i]) - 1) * strides[i]
                    + (kernel[i] - 1) * dilations[i]
                    + 1
                    - spatial[i],
                )
                pads[i], pads[rank + i] = (
                    (total // 2, total - total // 2)
                    if auto == "SAME_UPPER"
                    else (total - total // 2, total // 2)
                )
        if pads[:rank] == pads[rank:]:
            return None, pads[:rank]
        return [p for i in reversed(range(rank)) for p in (pads[i], pads[rank + i])], [0] * rank

    def window(self, node, a, kernel):
        rank = len(kernel)
        strides, dilations = (
            list(a.get("strides", [1] * rank)),
            list(a.get("dilations", [1] * rank)),
        )
        return strides, dilations, *self.pads(node, a, kernel, strides, dilations)

    def on_Conv(self, node, a, args):
        kernel = self.shape(node.input[1])[2:]
        strides, dilations, before, pads = self.window(node, a, kernel)
        x = f"F.pad({args[0]}, {before})" if before else args[0]
        self.emit(
            node,
            f"F.conv{len(kernel)}d({x}, {args[1]}, {args[2] if len(args) > 2 else None}, {strides}, {pads}, {dilations}, {a.get('group', 1)})",
        )

    def on_ConvTranspose(self, node, a, args):
        kernel = self.shape(node.input[1])[2:]
        strides, dilations, before, pads = self.window(node, a, kernel)
        if before or "output_shape" in a:
            raise Unsupported("ConvTranspose with uneven pads")
        self.emit(
            node,
            f"F.conv_transpose{len(kernel)}d({args[0]}, {args[1]}, {args[2] if len(args) > 2 else None}, {strides}, {pads}, "
            f"{list(a.get('output_padding', [0] * len(kernel)))}, {a.get('group', 1)}, {dilations})",
        )

    def on_MaxPool(self, node, a, args):
        kernel = list(a["kernel_shape"])
        strides, dilations, before, pads = self.window(node, a, kernel)
        x = f"F.pad({args[0]}, {before}, value=-math.inf)" if before else args[0]
        self.emit(
            node,
            f"F.max_pool{len(kernel)}d({x}, {kernel}, {strides}, {pads}, {dilations}, {bool(a.get('ceil_mode', 0))})",
        )

    def on_AveragePool(self, node, a, args):
        kernel = list(a["kernel_shape"])
        strides, _, before, pads = self.window(node, a, kernel)
        if before:
            raise Unsupported("AveragePool with uneven pads")
        self.emit(
            node,
            f"F.avg_pool{len(kernel)}d({args[0]}, {kernel}, {strides}, {pads}, {bool(a.get('ceil_mode', 0))}, {bool(a.get('count_include_pad', 0))})",
        )

    def on_GlobalAveragePool(self, node, a, args):
        self.emit(
            node, f"{args[0]}.mean({list(range(2, len(self.shape(node.input[0]))))}, keepdim=True)"
        )

    def on_GlobalMaxPool(self, node, a, args):
        self.emit(
            node, f"{args[0]}.amax({list(range(2, len(self.shape(node.input[0]))))}, keepdim=True)"
        )

    def on_BatchNormalization(self, node, a, args):
        self.emit(
            node,
            f"F.batch_norm({args[0]}, {args[3]}, {args[4]}, {args[1]}, {args[2]}, False, 0.0, {a.get('epsilon', 1e-5)})",
        )

    def on_LayerNormalization(self, node, a, args):
        shape = self.shape(node.input[0])
        self.emit(
            node,
            f"F.layer_norm({args[0]}, {shape[a.get('axis', -1) % len(shape) :]}, {args[1]}, {args[2] if len(args) > 2 else None}, {a.get('epsilon', 1e-5)})",
        )

    def on_Softmax(self, node, a, args):
        rank = len(self.shape(node.input[0]))
        axis = a.get("axis", -1 if self.opset >= 13 else 1) % rank
        if self.opset < 13 and axis != rank - 1:
            return self.emit(
                node,
                f"F.softmax({args[0]}.flatten({axis}), -1).reshape({self.shape(node.input[0])})",
            )
        self.emit(node, f"F.softmax({args[0]}, {axis})")

    def on_Reshape(self, node, a, args):
        own = self.shape(node.input[0])
        shape = [
            own[i] if n == 0 and not a.get("allowzero") else int(n)
            for i, n in enumerate(self.constant(node, 1))
        ]
        self.emit(node, f"{args[0]}.reshape({shape})")

    def on_Flatten(self, node, a, args):
        shape = self.shape(node.input[0])
        axis = a.get("axis", 1) % (len(shape) + 1)
        self.emit(node, f"{args[0]}.reshape({[math.prod(shape[:axis]), math.prod(shape[axis:])]})")

    def on_Squeeze(self, node, a, args):
        shape = self.shape(node.input[0])
        axes = self.constant(node, 1, a.get("axes"))
        axes = (
            [i for i, n in enumerate(shape) if n == 1]
            if axes is None
            else [int(i) % len(shape) for i in axes]
        )
        self.emit(node, f"{args[0]}.reshape({[n for i, n in enumerate(shape) if i not in axes]})")

    def on_Unsqueeze(self, node, a, args):
        axes = [int(i) for i in self.constant(node, 1, a.get("axes"))]
        shape, rank = self.shape(node.input[0]), len(self.shape(node.input[0])) + len(axes)
        for axis in sorted(i % rank for i in axes):
            shape.insert(axis, 1)
        self.emit(node, f"{args[0]}.reshape({shape})")

    def on_Transpose(self, node, a, args):
        self.emit(
            node,
            f"{args[0]}.permute({list(a.get('perm', reversed(range(len(self.shape(node.input[0]))))))})",
        )

    def on_Concat(self, node, a, args):
        self.emit(node, f"torch.cat([{', '.join(args)}], {a['axis']})")

    def on_Expand(self, node, a, args):
        self.emit(
            node,
            f"{args[0]}.expand(torch.broadcast_shapes({tuple(self.shape(node.input[0]))}, {tuple(int(n) for n in self.constant(node, 1))}))",
        )

    def on_Slice(self, node, a, args):
        starts, ends = (
            self.constant(node, 1, a.get("starts")),
            self.constant(node, 2, a.get("ends")),
        )
        axes, steps = self.constant(node, 3, a.get("axes")), self.constant(node, 4)
        shape = self.shape(node.input[0])
        at, flips = ["::"] * len(shape), []
        for i, (start, end) in enumerate(zip(starts, ends)):
            axis, step = (
                int(axes[i]) % len(shape) if axes is not None else i,
                int(steps[i]) if steps is not None else 1,
            )
            chosen = range(shape[axis])[slice(int(start), int(end), step)]
            if step < 0:  # backwards: the same elements forwards, then turned
                flips.append(axis)
                chosen = chosen[::-1]
            at[axis] = f"{chosen.start}:{chosen.stop}:{chosen.step}"
        self.emit(node, f"{args[0]}[{', '.join(at)}]" + (f".flip({flips})" if flips else ""))

    def on_Gather(self, node, a, args):
        axis = a.get("axis", 0) % max(1, len(self.shape(node.input[0])))
        if node.input[1] in self.known and self.known[node.input[1]].ndim == 0:
            return self.emit(node, f"{args[0]}.select({axis}, {int(self.known[node.input[1]])})")
        shape, at = self.shape(node.input[0]), self.shape(node.input[1])
        self.emit(
            node,
            f"{args[0]}.index_select({axis}, {args[1]}.reshape(-1)).reshape({shape[:axis] + at + shape[axis + 1 :]})",
        )

    def on_Split(self, node, a, args):
        shape = self.shape(node.input[0])
        axis = a.get("axis", 0) % len(shape)
        sizes = self.constant(node, 1, a.get("split"))
        if sizes is None:
            each = math.ceil(shape[axis] / len(node.output))
            sizes = [min(each, shape[axis] - each * i) for i in range(len(node.output))]
        start = 0
        for i, size in enumerate(map(int, sizes)):
            self.emit(node, f"{args[0]}.narrow({axis}, {start}, {size})", i)
            start += size

    def on_Pad(self, node, a, args):
        pads, mode = self.constant(node, 1, a.get("pads")), a.get("mode", b"constant").decode()
        value = self.constant(node, 2, a.get("value", 0.0))
        shape = self.shape(node.input[0])
        axes = self.constant(node, 3)
        axes = list(range(len(shape))) if axes is None else [int(i) % len(shape) for i in axes]
        pairs = {axis: (int(pads[i]), int(pads[len(axes) + i])) for i, axis in enumerate(axes)}
        last = [p for axis in reversed(range(len(shape))) for p in pairs.get(axis, (0, 0))]
        if mode == "constant":
            return self.emit(node, f"F.pad({args[0]}, {last}, value={float(value)})")
        while len(last) > 2 and last[-2:] == [0, 0]:
            last = last[:-2]
        if len(last) // 2 > len(shape) - 1:
            raise Unsupported(f"Pad {mode} of every dimension")
        extra = len(shape) - len(last) // 2 - 2
        x = (
            args[0]
            if extra == 0
            else f"{args[0]}.reshape({[1] * max(0, -extra) + shape})"
            if extra < 0
            else f"{args[0]}.flatten(0, {extra})"
        )
        self.emit(
            node,
            f"F.pad({x}, {last}, mode={ {'reflect': 'reflect', 'edge': 'replicate'}[mode]!r})"
            + (
                f".reshape({[n + sum(pairs.get(i, (0, 0))) for i, n in enumerate(shape)]})"
                if extra
                else ""
            ),
        )

    def on_Resize(self, node, a, args):
        shape = self.shape(node.input[0])
        sizes = self.constant(node, 3)
        if sizes is None or not len(sizes):
            scales = self.constant(node, 2 if self.opset >= 11 else 1)
            sizes = [int(math.floor(n * float(s))) for n, s in zip(shape, scales)]
        mode, where = (
            a.get("mode", b"nearest").decode(),
            a.get("coordinate_transformation_mode", b"half_pixel").decode(),
        )
        size = [int(n) for n in sizes][2:]
        if list(map(int, sizes[:2])) != shape[:2]:
            raise Unsupported("Resize of channels")
        if mode == "nearest":
            # Whole factors: every rule of rounding copies each element so many times.
            if any(n % m for n, m in zip(size, shape[2:])):
                raise Unsupported("Resize nearest by a broken factor")
            return self.emit(node, f"F.interpolate({args[0]}, {size}, mode='nearest')")
        if (
            mode != "linear"
            or where not in ("half_pixel", "pytorch_half_pixel", "align_corners")
            or len(size) != 2
        ):
            raise Unsupported(f"Resize {mode}, {where}")
        self.emit(
            node,
            f"F.interpolate({args[0]}, {size}, mode='bilinear', align_corners={where == 'align_corners'})",
        )

    def on_DepthToSpace(self, node, a, args):
        if a.get("mode", b"DCR") != b"CRD":
            raise Unsupported("DepthToSpace DCR")
        self.emit(node, f"F.pixel_shuffle({args[0]}, {a['blocksize']})")

    def on_ArgMax(self, node, a, args):
        self.emit(
            node,
            f"torch.argmax({args[0]}, {a.get('axis', 0)}, keepdim={bool(a.get('keepdims', 1))})",
        )

    def recurrent(self, node, a, args, kind, gates, order):
        """Weights of ONNX, gate by gate, as those of torch's own layer, which has the fast
        kernels."""
        two = a.get("direction", b"forward") == b"bidirectional"
        usual = [b"Sigmoid", b"Tanh", b"Tanh"] if gates == 4 else [b"Sigmoid", b"Tanh"]
        strange = list(a.get("activations", usual * (1 + two))) != usual * (1 + two)
        if (
            a.get("direction", b"forward") == b"reverse"
            or strange
            or a.get("layout")
            or a.get("clip")
            or (len(args) > 4 and args[4])
        ):
            raise Unsupported(f"{node.op_type}: reverse, activations, clip, layout or lengths")
        w, r = self.constant(node, 1), self.constant(node, 2)
        hidden = a["hidden_size"]
        b = self.constant(node, 3, np.zeros((w.shape[0], 2 * gates * hidden), np.float32))
        layer = kind(w.shape[2], hidden, bidirectional=two)
        turn = lambda m: torch.from_numpy(
            np.concatenate([m[i * hidden : (i + 1) * hidden] for i in order])
        )
        with torch.no_grad():
            for d in range(w.shape[0]):
                end = "_l0_reverse" if d else "_l0"
                for name, m in (
                    ("weight_ih", w[d]),
                    ("weight_hh", r[d]),
                    ("bias_ih", b[d][: gates * hidden]),
                    ("bias_hh", b[d][gates * hidden :]),
                ):
                    getattr(layer, name + end).copy_(turn(m))
        name = f"m{len(self.modules)}"
        self.modules[name] = layer
        states = [s for s in (args[5:7] if gates == 4 else args[5:6]) if s]
        state = (
            ""
            if not states
            else f", ({states[0]}.contiguous(), {states[1]}.contiguous())"
            if gates == 4
            else f", {states[0]}.contiguous()"
        )
        target = f"r{len(self.lines)}"
        scope = {
            "self": self,
            **{n: self.values[k] for k, n in self.names.items() if not n.startswith("self.")},
            **self.globals,
        }
        expression = f"self.{name}({args[0]}{state})"
        self.globals[target] = eval(expression, scope, {})  # noqa: S307
        self.lines.append(f"{target} = {expression}")
        steps, batch = self.shape(node.input[0])[:2]
        parts = [f"{target}[0].reshape({[steps, batch, w.shape[0], hidden]}).permute([0, 2, 1, 3])"]
        parts += [f"{target}[1][0]", f"{target}[1][1]"] if gates == 4 else [f"{target}[1]"]
        for i, part in enumerate(parts):
            if i < len(node.output) and node.output[i]:
                self.emit(node, part, i)

    def on_LSTM(self, node, a, args):
        if len(args) > 7 and args[7]:
            raise Unsupported("LSTM with peepholes")
        self.recurrent(node, a, args, torch.nn.LSTM, 4, (0, 2, 3, 1))  # i o f c to i f g o

    def on_GRU(self, node, a, args):
        if not a.get("linear_before_reset"):
            raise Unsupported("GRU that resets before its product")
        self.recurrent(node, a, args, torch.nn.GRU, 3, (1, 0, 2))  # z r h to r z n

    # ---- the module

    def module(self, inputs):
        returned = ", ".join(self.tensor(o) for o in self.outputs)
        text = f"def forward(self, {', '.join(f'x{i}' for i in range(len(inputs)))}):\n"
        text += "".join(f"    {line}\n" for line in self.lines) + f"    return ({returned},)\n"
        scope = {"torch": torch, "F": F, "math": math}
        exec(compile(text, "<network>", "exec"), scope)  # noqa: S102 - written above
        network = type(
            "Network", (torch.nn.Module,), {"forward": scope["forward"], "kind": torch.float32}
        )()
        for name, buffer in self.buffers.items():
            network.register_buffer(name, buffer)
        for name, layer in self.modules.items():
            network.add_module(name, layer)
        return network.eval(), text


def build(model, inputs):
    """(module, its text). `inputs`: {name: numpy array} in the order of the graph; forward() takes
    all of them, and those without dimensions are fixed at their value here. Unsupported names what
    is in the way."""
    return Writer(model, inputs).module(inputs)
