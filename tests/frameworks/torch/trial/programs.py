# SPDX-License-Identifier: Apache-2.0
"""The programs of the trial: what the lists in operators/ say, and the networks of networks.py.

A list is a text file. A line `[family] x=randn(2, 3) y=ints(0, 5, 4)` begins a family and says what
its inputs are made of; each line below it is one program, in the words of PyTorch:

  torch.sum(x, dim=1, keepdim=True)              what forward() returns
  nn.Conv2d(3, 4, 3)(x)                          a module, made in __init__
  y = x.clone(); y[0] += 1; return y             statements

The name of a program is `family: line`. Needs no torch: a worker builds what is asked for.
"""

import ast
import dataclasses
import functools
import hashlib
import importlib.metadata
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = ("pt2", "trace", "script")
PARTS = ("operators", "torchvision", "timm", "transformers", "blocks")


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    formats: tuple
    inputs: tuple = ()  # of an operator: pairs (parameter, expression)
    source: str = ""  # of an operator: a Python module with the class Program

    @property
    def part(self):
        return "operators" if self.source else self.name.split(": ")[0]

    @property
    def folder(self):
        short = re.sub(r"[^A-Za-z0-9]+", "_", self.name)[:60].strip("_")
        return f"{short}-{hashlib.sha256(self.name.encode()).hexdigest()[:8]}"

    @property
    def stamp(self):
        """Changes with what the program is: its text, what builds it, and the libraries."""
        import networks

        made = self.source or networks.entry(self.name)
        text = "\n".join([self.name, made, str(self.inputs), *versions()])
        return hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(None)
def versions():
    found = []
    for name in ("torch", "torchvision", "timm", "transformers"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return tuple(found)


class Hoist(ast.NodeTransformer):
    """nn.Name(...)(x) becomes self.m0(x), and nn.Name(...) is made in __init__."""

    def __init__(self):
        self.made = []

    def visit_Call(self, node):
        self.generic_visit(node)
        f = node.func
        if (
            isinstance(f, ast.Attribute)
            and isinstance(f.value, ast.Name)
            and f.value.id == "nn"
            and f.attr[0].isupper()
        ):
            self.made.append(ast.unparse(node))
            return ast.parse(f"self.m{len(self.made) - 1}", mode="eval").body
        return node


HEAD = """import math
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
"""


def operator(family, inputs, line):
    body = line if re.search(r"\breturn ", line) else f"return {line}"
    hoist = Hoist()
    tree = ast.fix_missing_locations(
        hoist.visit(ast.parse("def f():\n " + body.replace("; ", "\n ")))
    )
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    mine = tuple((k, v) for k, v in inputs if k in used)
    lines = [HEAD.rstrip("\n")]
    lines += [f"        self.m{i} = {text}" for i, text in enumerate(hoist.made)]
    lines += ["", f"    def forward(self, {', '.join(f'{k}: Tensor' for k, _ in mine)}):"]
    lines += ["        " + text for s in tree.body[0].body for text in ast.unparse(s).split("\n")]
    return Program(f"{family}: {line}", FORMATS, mine, "\n".join(lines) + "\n")


def parse_inputs(text):
    """x=randn(2, 3) y=... as pairs, by the grammar of a call's keywords."""
    call = ast.parse("f(" + re.sub(r"\)\s+(\w+=)", r"), \1", text) + ")", mode="eval").body
    return tuple((k.arg, ast.unparse(k.value)) for k in call.keywords)


def read_list(path):
    family, inputs, found = None, (), []
    for number, raw in enumerate(path.read_text().splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            head = re.match(r"\[([^\]]+)\]\s*(.*)", line)
            family, inputs = head.group(1), parse_inputs(head.group(2))
            continue
        try:
            found.append(operator(family, inputs, line))
        except SyntaxError as error:
            raise SystemExit(f"{path}:{number}: {error}")
    return found


def all_programs():
    import networks

    found = [Program(name, ("pt2", "trace")) for name in networks.names()]
    for path in sorted((HERE / "operators").glob("*.txt")):
        found += read_list(path)
    seen = set()
    for p in found:
        if p.name in seen:
            raise SystemExit(f"trial: program '{p.name}' is listed twice")
        seen.add(p.name)
    return found
