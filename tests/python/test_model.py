# SPDX-License-Identifier: Apache-2.0
"""Models: opening, what a file says, requirements, errors with their numbers, pickling."""

import mmap
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import tempfile
import threading
import unittest
import unittest.mock

import numpy as np
import small_models

import ingot
import ingot.compat
from ingot._command import PROGRAM


def run_pickled(model, array, answers):
    with model.session() as session:
        answers.put(session.run(array)["y"])


class ModelTest(unittest.TestCase):
    def test_ports_have_names_types_and_shapes(self):
        model = small_models.batch()
        self.assertEqual(model.inputs, (("x", "float32", ("N", 4), model.inputs[0].layout),))
        self.assertEqual(model.outputs[0][:3], ("y", "float32", ("N", 3)))
        self.assertEqual([s.name for s in model.symbols], ["N"])
        self.assertEqual(small_models.stream().states[0].port.name, "s")
        self.assertEqual(small_models.stream().states[0].output_name, "sn")

    def test_bytes_give_the_answers_of_the_path(self):
        given, expected = small_models.linear_case()
        data = small_models.path_of("linear").read_bytes()
        with open(small_models.path_of("linear"), "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for source in (data, bytearray(data), memoryview(data), mapped):
            with ingot.Model(source).session() as session:
                np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)
        self.assertEqual(ingot.Model(mapped).copied_bytes, 0)  # at a page

    def test_a_tag_of_the_registry_is_a_path(self):
        given, expected = small_models.linear_case()
        with tempfile.TemporaryDirectory() as folder:

            def registry(*words):
                command = [PROGRAM, "registry", *words, "--root", folder]
                subprocess.run(command, check=True, capture_output=True)

            registry("add", str(small_models.path_of("linear")), "net", "--tag", "prod")
            with unittest.mock.patch.dict(os.environ, INGOT_REGISTRY=folder):
                model = ingot.Model("registry:net@prod")
                with model.session() as session, ingot.Model("registry:net@1").session() as same:
                    np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)
                    answer = session.run(given)["y"].tobytes()
                    self.assertEqual(same.run(given)["y"].tobytes(), answer)
                session = ingot.compat.InferenceSession("registry:net@prod")
                self.assertEqual(session.run(None, {"x": given})[0].tobytes(), answer)
                path = os.path.join(os.path.realpath(folder), "net", "1", "model.ingot")
                self.assertEqual(model.path, path)
                registry("add", str(small_models.path_of("batch")), "net", "--tag", "prod")
                self.assertEqual(pickle.loads(pickle.dumps(model)).path, path)  # the tag has moved
                self.assertEqual(ingot.Model("registry:net@prod").path, path.replace("/1/", "/2/"))
                wrong_names = ("net@none", "net@3", "../net@prod", "")
                for wrong in ("registry:" + name for name in wrong_names):
                    with self.assertRaises(ingot.ResourceError) as raised:
                        ingot.Model(wrong)
                    self.assertIn(wrong, str(raised.exception))

    def test_bytes_stay_while_a_session_reads_them(self):
        given, expected = small_models.linear_case()
        aligned = ingot.empty(small_models.path_of("linear").stat().st_size, "uint8")
        aligned[:] = np.fromfile(small_models.path_of("linear"), np.uint8)
        model = ingot.Model(aligned)
        self.assertEqual(model.copied_bytes, 0)
        session = model.session()
        del aligned, model
        np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)

    def test_requirements_are_exact(self):
        model = small_models.linear()
        need = model.requirements("cpu", 1)
        parts = need.weights_mapped + need.weights_copied + need.activations + need.state
        self.assertEqual(need.arena_bytes, parts + need.scratch + need.tables + need.rounding)
        caller = model.requirements("cpu", 1, arena="caller")
        arena = ingot.empty(caller.arena_bytes, "uint8")
        with model.session("cpu", 1, arena=arena) as session:
            self.assertEqual(session.requirements(), caller)
        with self.assertRaises(ingot.ResourceError) as raised:
            model.session("cpu", 1, arena=arena[:-1])
        self.assertEqual(raised.exception.code, 40)
        self.assertEqual(raised.exception.code_name, "arena_too_small")
        self.assertEqual(raised.exception.need, caller.arena_bytes)
        self.assertEqual(raised.exception.have, caller.arena_bytes - 1)
        with self.assertRaises(ingot.CallerError):
            model.session("cpu", 1, arena="caller")
        for wrong in ("mine", b"read-only", 1.5):
            with self.assertRaises((TypeError, ingot.CallerError)):
                model.session("cpu", 1, arena=wrong)
        with self.assertRaises(ingot.ResourceError) as raised:
            model.session("cpu", 1, arena=need.arena_bytes - 1)
        self.assertEqual(raised.exception.need, need.arena_bytes)

    def test_a_session_holds_the_arena_that_it_was_given(self):
        given, expected = small_models.linear_case()
        model = small_models.linear()
        arena = ingot.empty(1 << 20, "uint8")
        before, after = small_models.address(arena), small_models.address(arena) + arena.nbytes
        session = model.session("cpu", 1, arena=arena)
        del arena
        np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)
        self.assertTrue(before <= small_models.address(session.input("x")) < after)

    def test_bad_files_are_named_with_their_codes(self):
        data = small_models.path_of("linear").read_bytes()
        for source, code in (
            (b"\x7fELF" + bytes(200), 20),
            (data[: len(data) // 2], 21),
            (data[:24] + b"\xff" + data[25:], 22),
            (pathlib.Path("/no/such/file.ingot"), 42),
        ):
            with self.assertRaises(ingot.Error) as raised:
                ingot.Model(source)
            self.assertIn(raised.exception.code, (code, 23), raised.exception)
            kind = ingot.ResourceError if code == 42 else ingot.FileError
            self.assertIsInstance(raised.exception, kind)
            self.assertNotIn("\n", str(raised.exception))
        with self.assertRaises(TypeError):
            ingot.Model(np.zeros(4, np.float32))
        with self.assertRaises(ValueError):
            ingot.Model(data, trust="everything")
        with self.assertRaises(ingot.Error) as raised:
            ingot.Model(data, isa="mmx")
        self.assertEqual(raised.exception.name, "mmx")

    def test_damaged_weights_are_found_by_hashes(self):
        data = bytearray(small_models.path_of("linear").read_bytes())
        ingot.Model(bytes(data), trust="hashes").verify_hashes()
        at = len(data) - 1
        while data[at] == 0:
            at -= 1
        data[at] ^= 1
        with self.assertRaises(ingot.FileError) as raised:
            ingot.Model(bytes(data)).verify_hashes()
        self.assertEqual(raised.exception.code, 23)

    def test_metadata_and_summary(self):
        model = small_models.linear()
        self.assertEqual(model.metadata("source_file"), "linear.onnx")
        self.assertIsNone(model.metadata("colour"))
        self.assertEqual(model.summary["file_bytes"], small_models.path_of("linear").stat().st_size)

    def test_quantization_of_ports(self):
        model = small_models.linear()
        self.assertIsNone(model.quantization("x"))  # floats
        with self.assertRaises(ingot.CallerError):
            model.quantization("no such port")
        quantized = small_models.quantized_ports()
        self.assertEqual(quantized.quantization("x"), ingot.Quantization(0.5, -3))
        self.assertEqual(quantized.quantization("y").zero_point, 7)
        self.assertEqual(quantized.quantization("y").scale, 0.25)

    def test_a_model_is_for_any_thread(self):
        given, expected = small_models.linear_case()
        model = small_models.linear()
        answers = []

        def work():
            with model.session(threads=1) as session:
                for _ in range(50):
                    answers.append(session.run(given)["y"])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 200)
        self.assertEqual(len({a.tobytes() for a in answers}), 1)
        np.testing.assert_allclose(answers[0], expected, atol=1e-5)

    def test_sessions_share_a_pool_and_keep_it(self):
        given, expected = small_models.linear_case()
        pool = ingot.Pool(2)
        self.assertEqual(pool.threads, 2)
        sessions = [small_models.linear().session(pool=pool) for _ in range(2)]
        del pool
        for session in sessions:
            np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)

    def test_devices_say_why_one_is_not_there(self):
        self.assertEqual(ingot.devices()["cpu"], "")
        self.assertFalse([name for name in ingot.devices() if name[:4] in ("fake", "null")])
        with self.assertRaises(ingot.DeviceError) as raised:
            small_models.linear().session("cuda:77")
        self.assertEqual(raised.exception.code, 60)

    def test_an_unknown_option_names_those_that_there_are(self):
        with self.assertRaisesRegex(TypeError, "rebindabel.*there are: bindings"):
            small_models.linear().session(rebindabel=True)


class PickleTest(unittest.TestCase):
    def test_a_model_goes_as_its_path(self):
        model = small_models.linear()
        pickled = pickle.dumps(model)
        self.assertLess(len(pickled), 1000)
        self.assertEqual(pickle.loads(pickled).inputs, model.inputs)

    def test_another_file_in_its_place_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.ingot"
            path.write_bytes(small_models.path_of("linear").read_bytes())
            pickled = pickle.dumps(ingot.Model(path))
            path.write_bytes(small_models.path_of("batch").read_bytes())
            with self.assertRaisesRegex(ValueError, "not the file"):
                pickle.loads(pickled)

    def test_a_file_that_was_replaced_while_open_is_not_taken_for_the_model(self):
        data = small_models.path_of("linear").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.ingot"
            path.write_bytes(data)
            model = ingot.Model(path)
            self.assertEqual(model.to_bytes(), data)
            other = pathlib.Path(folder) / "other.ingot"
            other.write_bytes(small_models.path_of("batch").read_bytes())
            other.rename(path)
            for call in (lambda: pickle.dumps(model), model.to_bytes):
                with self.assertRaisesRegex(ingot.CallerError, "not the file.*open it again"):
                    call()
            model.session().close()  # the model is what it was
            path.write_bytes(data)  # as is the file, by its contents
            self.assertEqual(pickle.loads(pickle.dumps(model)).inputs, model.inputs)
            path.unlink()
            with self.assertRaisesRegex(ingot.CallerError, "cannot be read now"):
                pickle.dumps(model)

    def test_a_pipe_is_refused_and_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.ingot"
            path.write_bytes(small_models.path_of("linear").read_bytes())
            model = ingot.Model(path)
            pickled = pickle.dumps(model)
            path.unlink()
            os.mkfifo(path)
            for call in (
                lambda: ingot.Model(path),
                lambda: pickle.loads(pickled),
                lambda: pickle.dumps(model),
            ):
                with self.assertRaises(ingot.Error):
                    call()

    def test_a_converted_model_needs_its_temporary_file_no_more(self):
        model = ingot.convert(small_models.DATA / "linear.onnx")
        data = model.to_bytes()
        os.remove(model.path)
        self.assertEqual(model.to_bytes(), data)
        self.assertEqual(pickle.loads(pickle.dumps(model)).inputs, model.inputs)

    def test_models_of_bytes_and_of_conversions_go_as_bytes(self):
        converted = ingot.convert(small_models.DATA / "linear.onnx")
        for model in (ingot.Model(small_models.path_of("linear").read_bytes()), converted):
            loaded = pickle.loads(pickle.dumps(model))
            self.assertIsNone(loaded.path)
            self.assertEqual(loaded.to_bytes(), model.to_bytes())

    def test_sessions_and_pipelines_say_what_to_pickle(self):
        model = small_models.linear()
        with model.session() as session, self.assertRaisesRegex(TypeError, "pickle its model"):
            pickle.dumps(session)
        with model.pipeline() as pipeline, self.assertRaisesRegex(TypeError, "pickle its model"):
            pickle.dumps(pipeline)

    def test_errors_keep_their_numbers(self):
        try:
            ingot.Model(b"no model")
        except ingot.FileError as error:
            loaded = pickle.loads(pickle.dumps(error))
            self.assertIs(type(loaded), ingot.FileError)
            self.assertEqual((loaded.code, loaded.args), (error.code, error.args))
        else:
            self.fail("eight bytes are no model")

    def test_a_spawned_process_runs_the_pickled_model(self):
        given, expected = small_models.linear_case()
        context = multiprocessing.get_context("spawn")
        answers = context.Queue()
        process = context.Process(target=run_pickled, args=(small_models.linear(), given, answers))
        process.start()
        np.testing.assert_allclose(answers.get(timeout=120), expected, atol=1e-5)
        process.join()
        self.assertEqual(process.exitcode, 0)
