# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments: one line that says what, expected and found; nothing is cut in silence."""

import datetime
import os
import pathlib
import tempfile
import unittest

import numpy as np
import small_models

import ingot

LINEAR = small_models.DATA / "linear.onnx"


class Gives:
    """An array by DLPack whose capsule is what it was made with."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule


class ArgumentTest(unittest.TestCase):
    def refused(self, kind, words, call):
        with self.assertRaisesRegex(kind, words) as raised:
            call()
        self.assertNotIn("\n", str(raised.exception))
        return raised.exception

    def test_options_of_a_session(self):
        model = small_models.batch()
        for kind, words, options in (
            (TypeError, "threads: expected a whole number, found str", {"threads": "2"}),
            (TypeError, "threads: expected a whole number, found float", {"threads": 1.5}),
            (ValueError, "threads: .*2147483647, found 2147483648", {"threads": 2**31}),
            (ValueError, "threads: expected 0 to .*found -1", {"threads": -1}),
            (TypeError, "device: expected a str, found int", {"device": 1}),
            (ValueError, "device: a NUL", {"device": "cpu\0x"}),
            (ValueError, "arena: expected 0 to .*, found -1", {"arena": -1}),
            (ValueError, "arena: expected 0 to .*, found 1180591620717411303424", {"arena": 2**70}),
            (TypeError, "pool: expected an ingot.Pool, found int", {"pool": 3}),
            (TypeError, "bindings: expected a dict.*found int", {"bindings": 5}),
            (TypeError, "bindings: 'N': expected a whole number", {"bindings": {"N": "3"}}),
            (ValueError, "bindings: name: a NUL", {"bindings": {"N\0x": 3}}),
            (ValueError, "bindings: 'N': expected .*, found 9223", {"bindings": {"N": 2**63}}),
        ):
            for make in (model.session, model.pipeline, model.requirements):
                self.refused(kind, words, lambda: make(**{"bindings": {"N": 1}, **options}))
        model.session(threads=np.int64(1), bindings={"N": np.int32(2)}, arena=np.int64(1 << 20))

    def test_a_dimension_is_named_with_the_largest_value_that_it_may_have(self):
        model = small_models.batch()
        for number in (2**31, 2**40):
            for make in (model.session, model.pipeline, model.requirements):
                words = "'N': bindings: at most"
                error = self.refused(ingot.CallerError, words, lambda: make(bindings={"N": number}))
                self.assertEqual((error.code, error.name, error.have), (6, "N", number))
                model.requirements("cpu", 1, bindings={"N": error.need})
                with self.assertRaises(ingot.CallerError):
                    model.requirements("cpu", 1, bindings={"N": error.need + 1})
        for names in (
            {"bindings": {"M": 1}},
            {"bindings": {"N": 1}, "rebindable": True, "upper_bounds": {"M": 1}},
        ):
            words = "no dimension named 'M'; there are: 'N'"
            self.refused(ingot.CallerError, words, lambda: model.session(**names))
        bounds = {"bindings": {"N": 1}, "upper_bounds": {"N": 2}}
        words = "upper_bounds: only with rebindable=True"
        self.refused(ingot.CallerError, words, lambda: model.session(**bounds))
        error = self.refused(ingot.CallerError, r"session\(bindings={'N': 1}\)", model.session)
        self.assertNotIn("options", str(error) + error.field)

    def test_pipelines_pools_and_models(self):
        model = small_models.linear()
        for kind, words, call in (
            (ValueError, "depth: expected 1 to 16, found 0", lambda: model.pipeline(0)),
            (ValueError, "depth: expected 1 to .*found -1", lambda: model.pipeline(-1)),
            (TypeError, "depth: expected a whole number, found str", lambda: model.pipeline("x")),
            (ValueError, "depth: .*found 1099511627776", lambda: model.pipeline(2**40)),
            (TypeError, "threads: expected a whole number, found str", lambda: ingot.Pool("x")),
            (ValueError, "threads: expected .*found 1099511627776", lambda: ingot.Pool(2**40)),
            (TypeError, "source: expected a path.*found NoneType", lambda: ingot.Model(None)),
            (TypeError, "inputs: expected a dict", lambda: model.bindings_of(3)),
            (TypeError, "isa: expected a str, found int", lambda: ingot.Model(model.path, isa=1)),
            (ValueError, "isa: a NUL", lambda: ingot.Model(model.path, isa="avx2\0")),
            (ValueError, "source: a NUL", lambda: ingot.Model(model.path + "\0")),
            (ValueError, "key: a NUL", lambda: model.metadata("name\0")),
            (TypeError, "key: expected a str, found NoneType", lambda: model.metadata(None)),
            (TypeError, "model: expected an ingot.Model, found str", lambda: ingot.Session("a")),
            (TypeError, "made already", lambda: model.__init__(model.path)),
        ):
            self.refused(kind, words, call)

    def test_calls_of_a_session(self):
        model = small_models.stream()
        session, pipeline, pool = model.session(), model.pipeline(), ingot.Pool(1)
        x = np.zeros((1, 2), np.float32)
        for kind, words, call in (
            (TypeError, "state: expected the bytes", lambda: session.restore_state(None)),
            (TypeError, "state: expected its name", lambda: session.state(None)),
            (ValueError, "state: a NUL", lambda: session.state("s\0")),
            (TypeError, "value: expected a str, found int", lambda: session.value(1)),
            (ValueError, "value: a NUL", lambda: session.value("x\0")),
            (TypeError, "port: expected its name", lambda: session.input(None)),
            (ValueError, "port: not to be had in UTF-8", lambda: session.output("\ud800")),
            (TypeError, "no argument 'output'", lambda: session.run(x, output=x)),
            (TypeError, "rebind: 'N': expected a whole number", lambda: session.rebind(N="2")),
            (TypeError, "rebind: expected a dict", lambda: session.rebind(5)),
            (TypeError, "made already", lambda: session.__init__(model)),
            (TypeError, "made already", lambda: pipeline.__init__(model)),
            (TypeError, "made already", lambda: pool.__init__(1)),
            (ValueError, "port: a NUL", lambda: (pipeline.acquire(), pipeline.input("x\0"))),
            (TypeError, "'x': expected an array", lambda: pipeline.write("x", None)),
        ):
            self.refused(kind, words, call)

    def test_arrays_say_which_input_and_what_was_expected_and_found(self):
        session = small_models.linear().session()
        given, expected = small_models.linear_case()
        for dtype in ("complex128", "object", ">f4", np.longdouble, "U1"):
            wrong = given.astype(dtype)
            found = wrong.dtype.name if wrong.dtype.isnative else ">f4"
            for call in (session.run, lambda a: session.bind_input("x", a)):
                words = f"'x'.*expected float32, found {found}"
                self.assertEqual(self.refused(ValueError, words, lambda: call(wrong)).code, 4)
        capsule = given.__dlpack__()
        session.run(Gives(capsule))
        used = "'x': __dlpack__.. gave the capsule 'used_dltensor.*taken before"
        self.refused(ValueError, used, lambda: session.run(Gives(capsule)))
        self.refused(TypeError, "'x': __dlpack__.. gave str", lambda: session.run(Gives("tensor")))
        other = datetime.datetime_CAPI
        words = "'x': __dlpack__.. gave the capsule 'datetime"
        self.refused(TypeError, words, lambda: session.run(Gives(other)))
        np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)

    def test_memory_that_there_is_not_is_a_memory_error_with_its_bytes(self):
        words = str(2**46 * 4)
        self.refused(MemoryError, words, lambda: ingot.empty(2**46, "float32"))
        self.refused(TypeError, "shape: expected", lambda: ingot.empty("x"))
        self.refused(TypeError, "shape: expected", lambda: ingot.empty(1.5))
        self.refused(ValueError, "shape: expected 0 to", lambda: ingot.empty((2, -1)))
        self.assertEqual(ingot.empty(np.array([2, 3])).shape, (2, 3))

    def test_a_session_called_from_its_own_input(self):
        given, expected = small_models.linear_case()
        session = small_models.linear().session()
        refusals = []

        class Own:
            def __dlpack__(self, **_):
                for call in (session.close, session.execute, lambda: session.run(given)):
                    with unittest.TestCase().assertRaises(ingot.CallerError) as raised:
                        call()
                    refusals.append(str(raised.exception))
                return given.__dlpack__()

        np.testing.assert_allclose(session.run(Own())["y"], expected, atol=1e-5)
        self.assertEqual(len(refusals), 3)
        for text in refusals:
            self.assertIn("from inside a call of its own", text)

    def test_one_arena_for_two_sessions(self):
        given, expected = small_models.linear_case()
        model = small_models.linear()
        need = model.requirements("cpu", 1, arena="caller").arena_bytes
        arena = ingot.empty(2 * need + 64, "uint8")
        half = -(-need // 64) * 64
        first = model.session("cpu", 1, arena=arena[:half])
        second = model.session("cpu", 1, arena=arena[half:])  # beside it
        for shared in (arena, arena[64:half]):
            for make in (
                lambda: model.session("cpu", 1, arena=shared),
                lambda: model.pipeline(arena=shared),
            ):
                words = "arena: another session works in this memory"
                self.assertEqual(self.refused(ingot.CallerError, words, make).code, 8)
        model.requirements("cpu", 1, arena=arena)  # asks, and works in nothing
        for session in (first, second):
            np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)
            session.close()
        with model.session("cpu", 1, arena=arena) as session:
            view = session.output("y")
            np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)
        words = "drop the arrays"  # tables of the session that `view` keeps lie in the arena
        self.refused(ingot.CallerError, words, lambda: model.session("cpu", 1, arena=arena))
        del view
        model.session("cpu", 1, arena=arena).close()


class ConvertArgumentTest(unittest.TestCase):
    def test_what_is_not_of_its_kind(self):
        for kind, words, options in (
            (TypeError, r"options: expected a list of words, \['--nope'\]", {"options": "--nope"}),
            (TypeError, "options: expected a path, found int", {"options": [3]}),
            (TypeError, "dims: expected a dict of names, found str", {"dims": "N=1"}),
            (TypeError, "metadata: expected a dict", {"metadata": 3}),
            (TypeError, "input_shapes: 'x': expected extents", {"input_shapes": {"x": "1x4"}}),
            (ValueError, "dtype: a NUL", {"dtype": "fp16\0"}),
            (ValueError, "convert: a NUL", {"metadata": {"a": "b\0c"}}),
            (ValueError, "output: a NUL", {"output": "a\0b"}),
            (TypeError, "weights: expected a path, found int", {"weights": 3}),
            (TypeError, "dtype: expected a str, found int", {"dtype": 3}),
            (TypeError, "rtol: expected a number, found str", {"rtol": "much"}),
            (TypeError, "keep_fp32: expected a str, found int", {"keep_fp32": [3]}),
        ):
            with self.assertRaisesRegex(kind, words) as raised:
                ingot.convert(LINEAR, **options)
            self.assertNotIn("\n", str(raised.exception))
        with self.assertRaisesRegex(ValueError, "source: a NUL"):
            ingot.convert("a\0b")

    def test_names_of_files_need_not_be_utf8(self):
        given, expected = small_models.linear_case()
        with tempfile.TemporaryDirectory() as folder:
            name = os.fsdecode(b"q\xff.ingot")
            path = os.path.join(folder, name)
            try:
                model = ingot.convert(LINEAR, path)
            except OSError as error:
                self.skipTest(f"no such name here: {error}")
            for source in (path, pathlib.Path(path)):
                with ingot.Model(source).session() as session:
                    np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)
            self.assertEqual(model.path, path)
            os.remove(path)
            with self.assertRaises(ingot.ResourceError) as raised:
                ingot.Model(path)
            self.assertIn(r"q\xff.ingot", str(raised.exception))
