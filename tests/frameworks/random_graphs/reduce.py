# SPDX-License-Identifier: Apache-2.0
"""The least part of a model that still goes wrong: outputs left out, nodes replaced by inputs."""

import copy

import onnx
from runtimes import Peer, Refused


def names_read(graph):
    """By its nodes, bodies included."""
    read = set()
    for node in graph.node:
        read.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                read |= names_read(attribute.g) | {o.name for o in attribute.g.output}
    return read


def read_by(node):
    graph = onnx.GraphProto()
    graph.node.append(node)
    return names_read(graph)


def pruned(model, feeds):
    """Without what no output needs."""
    graph = model.graph
    wanted = {o.name for o in graph.output}
    kept = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= read_by(node)
    kept = [copy.deepcopy(n) for n in reversed(kept)]
    inputs = [copy.deepcopy(i) for i in graph.input if i.name in wanted]
    constants = [copy.deepcopy(t) for t in graph.initializer if t.name in wanted]
    for field, rest in ((graph.node, kept), (graph.input, inputs), (graph.initializer, constants)):
        del field[:]
        field.extend(rest)
    names = {i.name for i in inputs}
    return model, [{n: a for n, a in fed.items() if n in names} for fed in feeds]


def all_values(model, feeds):
    """What onnxruntime has for each value of the outermost graph, for each feed."""
    whole = copy.deepcopy(model)
    del whole.graph.output[:]
    for node in whole.graph.node:
        whole.graph.output.extend(onnx.ValueInfoProto(name=o) for o in node.output if o)
    try:
        peer = Peer(whole)
        return [peer.run(fed) for fed in feeds]
    except Refused:
        return None


def with_input(model, feeds, value, arrays):
    """The node of `value` gives way to inputs that hold its numbers."""
    other = copy.deepcopy(model)
    graph = other.graph
    node = next(n for n in graph.node if value in n.output)
    graph.node.remove(node)
    feeds = [dict(fed) for fed in feeds]
    for name in [o for o in node.output if o]:
        shapes = [getattr(run[name], "shape", None) for run in arrays]
        if None in shapes:
            return None  # a sequence
        if len({len(s) for s in shapes}) > 1:
            return None
        dims = [s[0] if len(set(s)) == 1 else f"{name}_{i}" for i, s in enumerate(zip(*shapes))]
        kind = onnx.helper.np_dtype_to_tensor_dtype(arrays[0][name].dtype)
        graph.input.append(onnx.helper.make_tensor_value_info(name, kind, dims))
        for fed, run in zip(feeds, arrays):
            fed[name] = run[name]
    produced = {o for n in graph.node for o in n.output}
    outputs = [o for o in graph.output if o.name in produced]
    del graph.output[:]
    graph.output.extend(outputs)
    return pruned(other, feeds) if outputs else None


def one_output(model, feeds, stays):
    for output in list(model.graph.output):
        if len(model.graph.output) == 1:
            break
        other = copy.deepcopy(model)
        del other.graph.output[:]
        other.graph.output.append(output)
        other, fewer = pruned(other, feeds)
        if stays(other, fewer):
            return other, fewer
    return model, feeds


def reduced(model, feeds, stays):
    """@param stays: whether (model, feeds) goes wrong in the same way. Returns such a pair."""
    for fed in feeds:
        if len(feeds) > 1 and stays(model, [fed]):
            feeds = [fed]
            break
    model, feeds = one_output(model, feeds, stays)
    arrays = all_values(model, feeds)
    for value in [n.output[0] for n in model.graph.node] if arrays else []:
        if not any(value in n.output for n in model.graph.node):
            continue
        tried = with_input(model, feeds, value, arrays)
        if tried and stays(*tried):
            model, feeds = tried
    return model, feeds
