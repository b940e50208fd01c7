# SPDX-License-Identifier: Apache-2.0
"""The type stub has the names and parameters of the extension, and the package says it is typed."""

import ast
import importlib.resources
import inspect
import subprocess
import sys
import tempfile
import unittest

import small_models

import ingot
import ingot.compat
from ingot import _ingot


def stub_tree():
    return ast.parse(importlib.resources.files("ingot").joinpath("_ingot.pyi").read_text())


def parameters(function):
    a = function.args
    listed = [x.arg for x in [*a.posonlyargs, *a.args]]
    listed += [a.vararg.arg] if a.vararg else []
    return [name for name in [*listed, *(x.arg for x in a.kwonlyargs)] if name != "self"]


def documented_parameters(function):
    """Of nanobind's first line: "run(self, *inputs, outputs: object | None = None) -> dict"."""
    line = function.__doc__.strip().splitlines()[0]
    inside = line[line.index("(") + 1 : line.rindex(") ->")]
    names, depth, word = [], 0, ""
    for letter in inside + ",":
        depth += letter in "[("
        depth -= letter in "])"
        if letter == "," and not depth:
            names.append(word.split(":")[0].split("=")[0].strip().lstrip("*"))
            word = ""
        else:
            word += letter
    return [n for n in names if n and n not in ("self", "/")]


class StubTest(unittest.TestCase):
    def test_every_name_is_there_with_its_parameters(self):
        tree = stub_tree()
        compared = 0
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found = getattr(_ingot, node.name)
                self.assertEqual(documented_parameters(found), parameters(node), node.name)
                compared += 1
            if isinstance(node, ast.AnnAssign):
                self.assertIsInstance(getattr(_ingot, node.target.id), int)
            if not isinstance(node, ast.ClassDef):
                continue
            kind = getattr(_ingot, node.name)
            stubbed = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
            there = {n for n in vars(kind) if not n.startswith("__") or n == "__init__"}
            self.assertEqual(set(stubbed) | {"__init__"}, there | {"__init__"}, node.name)
            for name, function in stubbed.items():
                found = inspect.getattr_static(kind, name)
                if isinstance(found, property) or not getattr(found, "__doc__", None):
                    continue
                if "->" not in found.__doc__:
                    continue
                self.assertEqual(
                    documented_parameters(found), parameters(function), f"{node.name}.{name}"
                )
                stated = ast.get_docstring(function)
                if node.name in ("Session", "Pipeline", "Tokenizer") and name[0] != "_":
                    self.assertTrue(stated, f"{node.name}.{name}")
                    self.assertIn(stated, found.__doc__, f"{node.name}.{name}")  # help() has it
                compared += 1
        self.assertGreater(compared, 30)
        names = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        public = {n for n in vars(_ingot) if not n.startswith("_") and n.islower() or n.istitle()}
        self.assertEqual(public - names, set())

    def test_the_package_says_that_it_is_typed(self):
        self.assertTrue(importlib.resources.files("ingot").joinpath("py.typed").is_file())
        for name in ingot.__all__:
            self.assertTrue(getattr(ingot, name).__doc__, f"{name} has no docstring")

    def test_sessions_have_types_and_say_what_they_are(self):
        for method, made in (("session", "Session"), ("pipeline", "Pipeline")):
            found = inspect.signature(getattr(ingot.Model, method))
            self.assertEqual(found.return_annotation, made)
            self.assertEqual(found.parameters["options"].annotation, "Unpack[SessionOptions]")
        model = small_models.linear()
        with model.session() as session:
            self.assertRegex(repr(session), "^<ingot.Session on cpu of <ingot.Model .*linear")
        self.assertEqual(repr(session), "<ingot.Session, closed>")
        self.assertEqual(repr(ingot.Pool(2)), "<ingot.Pool of 2 threads>")

    def test_every_public_name_says_what_it_does(self):
        silent = []
        for module in (ingot, ingot.compat):
            for name in module.__all__:
                made = getattr(module, name)
                if not (inspect.isclass(made) or inspect.isroutine(made)):
                    continue
                members = vars(made).items() if inspect.isclass(made) else ()
                own = [
                    (f"{name}.{each}", what.fget if isinstance(what, property) else what)
                    for each, what in members
                    if not each.startswith("_")
                    and isinstance(what, (property, staticmethod, type(stub_tree)))
                ]
                for at, what in [(name, made), *own]:
                    if not inspect.getdoc(what):
                        silent.append(f"{module.__name__}.{at}")
        self.assertEqual(silent, [])

    def test_objects_of_compat_say_what_they_are(self):
        session = ingot.compat.InferenceSession(str(small_models.path_of("linear")))
        self.assertEqual(
            repr(session), "<ingot.compat.InferenceSession x -> y, CPUExecutionProvider>"
        )
        binding = session.io_binding()
        binding.bind_cpu_input("x", small_models.linear_case()[0])
        self.assertEqual(repr(binding), "<ingot.compat.IOBinding of inputs x and outputs >")
        value = ingot.compat.OrtValue.ortvalue_from_numpy(small_models.linear_case()[0])
        self.assertEqual(repr(value), "<ingot.compat.OrtValue tensor(float) [1, 4]>")

    def test_a_type_checker_reads_a_program(self):
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("mypy is not there: the stubs were not read by a type checker")
        program = (
            "import ingot, numpy as np\n"
            "m = ingot.Model('a.ingot', trust='hashes')\n"
            "need: int = m.requirements('cpu', 1).arena_bytes\n"
            "y: np.ndarray = ingot.Session(m).run(np.zeros(3), timeout=1.0)['y']\n"
            "reveal_type(m.inputs[0].shape)\n"
            "chat = ingot.LanguageModel(m, threads=2, prefault=True)\n"
            "message = {'role': 'user', 'content': 'Hi'}\n"
            "said: str = chat([message], max_new_tokens=9, top_p=0.9, stop=['.']).text\n"
            "pieces: list[str] = list(chat.generate(np.zeros(3, int).tolist(), seed=1))\n"
            "async def f() -> list[str]: return [p async for p in chat.generate('a')]\n"
            "ids: list[int] = chat.tokenizer.encode('a')\n"
        )
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            done = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", file.name],
                capture_output=True,
                text=True,
            )
        self.assertEqual(done.returncode, 0, done.stdout)
