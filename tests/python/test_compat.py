# SPDX-License-Identifier: Apache-2.0
"""ingot.compat: programs as onnxruntime's documentation has them, written anew."""

import enum
import pickle
import threading
import unittest

import numpy as np
import small_models
from small_models import rows

import ingot
import ingot.compat as rt

BATCH = str(small_models.DATA / "batch.onnx")
LINEAR = str(small_models.DATA / "linear.onnx")


class ExampleTest(unittest.TestCase):
    def test_load_a_model_look_at_it_and_run_it(self):
        session = rt.InferenceSession(LINEAR, providers=rt.get_available_providers())
        first = session.get_inputs()[0]
        self.assertEqual((first.name, first.shape, first.type), ("x", [1, 4], "tensor(float)"))
        self.assertEqual(session.get_outputs()[0].name, "y")
        given, expected = small_models.linear_case()
        (answer,) = session.run([session.get_outputs()[0].name], {first.name: given})
        np.testing.assert_allclose(answer, expected, atol=1e-5)
        (answer,) = session.run(None, {first.name: given})
        np.testing.assert_allclose(answer, expected, atol=1e-5)

    def test_an_open_dimension_may_change_from_run_to_run(self):
        session = rt.InferenceSession(BATCH)
        self.assertEqual(session.get_inputs()[0].shape, ["N", 4])
        golden = np.load(small_models.DATA / "batch.npz")
        for _ in range(2):
            for count in range(1, 8):
                self.assertEqual(session.run(None, {"x": rows(count)})[0].shape, (count, 3))
        (answer,) = session.run(["y"], {"x": golden["in:x"]})
        np.testing.assert_allclose(answer, golden["out:y"], atol=1e-5)

    def test_what_the_last_run_was_given_is_asked_again(self):
        session = rt.InferenceSession(BATCH)
        two, last = rows(2), rows(5)
        (expected,) = session.run(None, {"x": two})
        for _ in range(2):
            np.testing.assert_array_equal(session.run(None, {"x": two})[0], expected)
            with self.assertRaisesRegex(ValueError, "unexpected input data type for 'x'"):
                session.run(None, {"x": two.astype(np.float64)})
            self.assertEqual(session.run(None, {"x": last})[0].shape, (5, 3))
            columns = np.asfortranarray(two)
            np.testing.assert_array_equal(session.run(None, {"x": columns})[0], expected)
            other_order = two.astype(two.dtype.newbyteorder())
            np.testing.assert_array_equal(session.run(None, {"x": other_order})[0], expected)
            session.set_providers(["CPUExecutionProvider"])

    def test_options_threads_and_file_from_bytes(self):
        options = rt.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = rt.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.execution_mode = rt.ExecutionMode.ORT_SEQUENTIAL
        with open(LINEAR, "rb") as file:
            session = rt.InferenceSession(file.read(), options, ["CPUExecutionProvider"])
        self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])
        meta = session.get_modelmeta()
        self.assertEqual((meta.producer_name, meta.graph_description), ("make_data", ""))
        given, expected = small_models.linear_case()
        np.testing.assert_allclose(session.run(None, {"x": given})[0], expected, atol=1e-5)
        converted = rt.InferenceSession(str(small_models.path_of("linear")))
        np.testing.assert_allclose(converted.run(None, {"x": given})[0], expected, atol=1e-5)

    def test_an_open_dimension_may_be_fixed(self):
        options = rt.SessionOptions()
        options.add_free_dimension_override_by_name("N", 2)
        session = rt.InferenceSession(BATCH, options)
        self.assertEqual(session.get_inputs()[0].shape, [2, 4])
        self.assertEqual(session.get_outputs()[0].shape, [2, 3])
        (expected,) = rt.InferenceSession(BATCH).run(None, {"x": rows(2)})
        np.testing.assert_array_equal(session.run(None, {"x": rows(2)})[0], expected)
        with self.assertRaisesRegex(ValueError, "'N' is 3 in the inputs.* says 2"):
            session.run(None, {"x": rows(3)})
        options.add_free_dimension_override_by_name("Q", 2)
        with self.assertRaisesRegex(ValueError, "no dynamic dimension 'Q'; there are: N"):
            rt.InferenceSession(BATCH, options)

    def test_values_and_binding(self):
        session = rt.InferenceSession(BATCH)
        x = rt.OrtValue.ortvalue_from_numpy(rows(5))
        self.assertEqual((x.device_name(), x.shape()), ("cpu", [5, 4]))
        self.assertEqual((x.data_type(), x.is_tensor()), ("tensor(float)", True))
        self.assertEqual(x.data_ptr(), small_models.address(x.numpy()))
        (expected,) = session.run(None, {"x": x})
        binding = session.io_binding()
        binding.bind_cpu_input("x", x.numpy())
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected)
        y = rt.OrtValue.ortvalue_from_shape_and_type([5, 3], np.float32, "cpu", 0)
        binding = session.io_binding()
        binding.bind_input(
            name="x",
            device_type=x.device_name(),
            device_id=0,
            element_type=np.float32,
            shape=x.shape(),
            buffer_ptr=x.data_ptr(),
        )
        binding.bind_ortvalue_output("y", y)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(y.numpy(), expected)
        self.assertEqual(binding.get_outputs()[0].data_ptr(), y.data_ptr())
        x.update_inplace(rows(5, seed=9))
        session.run_with_iobinding(binding)
        self.assertFalse(np.array_equal(y.numpy(), expected))
        binding.clear_binding_inputs()
        with self.assertRaises(ValueError):
            session.run_with_iobinding(binding)
        (value,) = session.run_with_ort_values(None, {"x": x})
        np.testing.assert_array_equal(value.numpy(), y.numpy())

    def test_what_programs_set_and_ask_besides(self):
        options = rt.SessionOptions()
        options.enable_profiling = False
        options.optimized_model_filepath = ""
        options.use_per_session_threads = True
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.assertEqual(options.get_session_config_entry("session.intra_op.allow_spinning"), "0")
        with self.assertRaisesRegex(RuntimeError, "configuration with key: a"):
            options.get_session_config_entry("a")
        run_options = rt.RunOptions()
        run_options.only_execute_path_to_fetches = True
        run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        rt.set_default_logger_severity(3)
        session = rt.InferenceSession(
            LINEAR, options, disabled_optimizers=["ConstantFolding"], enable_fallback=0
        )
        given, expected = small_models.linear_case()
        (answer,) = session.run(None, {"x": given}, run_options)
        np.testing.assert_allclose(answer, expected, atol=1e-5)
        (swapped,) = session.run(None, {"x": given.astype(">f4")})
        np.testing.assert_array_equal(swapped, answer)
        self.assertEqual(session.get_provider_options(), {"CPUExecutionProvider": {}})
        session.set_providers(["CPUExecutionProvider"])
        self.assertEqual(session.end_profiling(), "")
        self.assertIn("CPUExecutionProvider", rt.get_all_providers())
        self.assertEqual(rt.OrtDevice.make("cpu", 0).device_type(), 0)
        self.assertRegex(rt.__version__, r"^\d+\.\d+")
        value = rt.OrtValue.ortvalue_from_numpy(given)
        self.assertEqual((value.element_type(), value.tensor_size_in_bytes()), (1, 16))
        for number, name in ((1, "float32"), (7, "int64"), (9, "bool"), (10, "float16")):
            made = rt.OrtValue.ortvalue_from_shape_and_type([2], number)
            self.assertEqual((made.numpy().dtype, made.element_type()), (np.dtype(name), number))

    def test_several_threads_run_one_session(self):
        session = rt.InferenceSession(BATCH)
        expected = {n: session.run(None, {"x": rows(n)})[0] for n in (1, 2, 3)}
        wrong = []

        def work(count):
            for _ in range(50):
                (answer,) = session.run(None, {"x": rows(count)})
                if not np.array_equal(answer, expected[count]):
                    wrong.append(count)

        threads = [threading.Thread(target=work, args=(n,)) for n in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_onnxruntime_reads_by_copying_is_read(self):
        session = rt.InferenceSession(BATCH)
        (expected,) = session.run(None, {"x": rows(4)})
        wide = np.asfortranarray(rows(4))
        np.testing.assert_array_equal(session.run(None, {"x": wide})[0], expected)


class RefusedTest(unittest.TestCase):
    def test_wrong_feeds(self):
        session = rt.InferenceSession(LINEAR)
        given, _ = small_models.linear_case()
        for names, feed, words in (
            (None, {}, "missing"),
            (None, {"x": given, "z": given}, "no input 'z'"),
            (["z"], {"x": given}, "no output 'z'"),
            (None, {"x": given.astype("f8")}, r"tensor\(double\).*expected: \(tensor\(float\)"),
            (None, {"x": np.zeros((1, 5), np.float32)}, "wrong shape"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                session.run(names, feed)

    def test_arguments_of_another_kind(self):
        session = rt.InferenceSession(LINEAR)
        given, _ = small_models.linear_case()
        binding = session.io_binding()
        binding.bind_cpu_input("x", given)
        for kind, words, call in (
            (TypeError, r"output_names: expected a list, \['y'\]", lambda: session.run("y", {})),
            (TypeError, "input_feed: expected a dict", lambda: session.run(None, [given])),
            (TypeError, "run_options: expected", lambda: session.run(None, {"x": given}, {})),
            (
                TypeError,
                "providers: expected a list",
                lambda: rt.InferenceSession(LINEAR, providers="CPUExecutionProvider"),
            ),
            (TypeError, "path_or_bytes: expected a path", lambda: rt.InferenceSession(3)),
            (TypeError, "sess_options: expected", lambda: rt.InferenceSession(LINEAR, ["x"])),
            (TypeError, "cannot be pickled: pickle the path", lambda: pickle.dumps(session)),
            (RuntimeError, "no output is bound", lambda: session.run_with_iobinding(binding)),
            (
                ValueError,
                "buffer_ptr: expected an address, found 0",
                lambda: binding.bind_input("x", "cpu", 0, np.float32, (1, 4), 0),
            ),
            (
                TypeError,
                "element_type and shape",
                lambda: binding.bind_output("y", buffer_ptr=given.ctypes.data),
            ),
        ):
            with self.assertRaisesRegex(kind, words) as raised:
                call()
            self.assertNotIn("\n", str(raised.exception))

    def test_the_list_that_programs_have_runs_on_what_is_here(self):
        usual = [
            ("TensorrtExecutionProvider", {"trt_fp16_enable": True}),
            ("CUDAExecutionProvider", {"device_id": 7, "gpu_mem_limit": 1 << 30}),
            "CPUExecutionProvider",
        ]
        if "CUDAExecutionProvider" in rt.get_available_providers():
            self.skipTest("there is a GPU: the session would run on it")
        with self.assertLogs("ingot", "WARNING") as logs:
            session = rt.InferenceSession(LINEAR, providers=usual)
        (line,) = logs.output
        self.assertIn("here: TensorrtExecutionProvider, CUDAExecutionProvider; the session", line)
        self.assertEqual(session.get_provider_options(), {"CPUExecutionProvider": {}})
        given, expected = small_models.linear_case()
        np.testing.assert_allclose(session.run(None, {"x": given})[0], expected, rtol=1e-5)

    def test_wishes_that_cannot_be_met_are_not_ignored(self):
        with self.assertRaisesRegex(ValueError, "TensorrtExecutionProvider"):
            rt.InferenceSession(LINEAR, providers=["TensorrtExecutionProvider"])
        for wrong, kind, words in (
            (["CPUExecutionProvider", "CPU"], ValueError, "'CPU' is unknown"),
            ([("CPUExecutionProvider",)], TypeError, "pairs of a name and a dict"),
            ([("CPUExecutionProvider", None)], TypeError, "pairs of a name and a dict"),
            ([("CPUExecutionProvider", {"device_id": 0})], NotImplementedError, "device_id"),
        ):
            with self.assertRaisesRegex(kind, words):
                rt.InferenceSession(LINEAR, providers=wrong)
        with self.assertRaisesRegex(ValueError, "each of 1 providers, found"):
            rt.InferenceSession(LINEAR, None, ["CPUExecutionProvider"], [{}, {}])
        options = rt.SessionOptions()
        with self.assertRaisesRegex(NotImplementedError, "enable_profiling.*found True"):
            options.enable_profiling = True
        with self.assertRaisesRegex(NotImplementedError, "optimized_model_filepath.*convert"):
            options.optimized_model_filepath = "optimized.onnx"
        with self.assertRaisesRegex(AttributeError, "no_such_option: ingot.compat does not have"):
            options.no_such_option = True
        for key, value in (("session.set_denormal_as_zero", "1"), ("session.no_such", "1")):
            with self.assertRaisesRegex(NotImplementedError, key):
                options.add_session_config_entry(key, value)
        with self.assertRaisesRegex(NotImplementedError, "gpu_graph_id"):
            rt.RunOptions().add_run_config_entry("gpu_graph_id", "1")
        with self.assertRaisesRegex(TypeError, "unknown_wish"):
            rt.InferenceSession(LINEAR, unknown_wish=True)
        with self.assertRaisesRegex(NotImplementedError, "cuda:0"):
            rt.OrtDevice.make("cuda", 0)
        with self.assertRaises(NotImplementedError):
            rt.OrtValue.ortvalue_from_numpy(rows(1), "cuda", 0)
        with self.assertRaises(ingot.ConversionError):
            rt.InferenceSession(str(small_models.DATA / "unsupported.onnx"))
        run_options = rt.RunOptions()
        run_options.terminate = True
        with self.assertRaises(ingot.Cancelled):
            rt.InferenceSession(LINEAR).run(None, {"x": rows(1)}, run_options)

    def test_onnxruntime_itself_agrees(self):
        try:
            import onnxruntime
        except ImportError:
            self.skipTest("onnxruntime is not there: nothing was compared with it")
        own, other = rt.InferenceSession(BATCH), onnxruntime.InferenceSession(BATCH)
        for kind in ("get_inputs", "get_outputs"):
            for a, b in zip(getattr(own, kind)(), getattr(other, kind)(), strict=True):
                self.assertEqual((a.name, list(a.shape), a.type), (b.name, b.shape, b.type))
        for count in (1, 6):
            feed = {"x": rows(count)}
            for a, b in zip(own.run(None, feed), other.run(None, feed), strict=True):
                np.testing.assert_allclose(a, b, atol=1e-5)
        meta, other_meta = own.get_modelmeta(), other.get_modelmeta()
        for field in ("producer_name", "graph_description", "domain", "description"):
            self.assertEqual(getattr(meta, field), getattr(other_meta, field), field)
        for kind in ("float32", "float64", "float16", "int8", "uint8", "int64", "uint16", "bool"):
            array = np.zeros((2, 3), kind)
            values = [x.OrtValue.ortvalue_from_numpy(array) for x in (rt, onnxruntime)]
            for ask in ("element_type", "data_type", "tensor_size_in_bytes", "shape"):
                mine, theirs = (getattr(value, ask)() for value in values)
                self.assertEqual(mine, theirs, f"{ask} of {kind}")
        for kind in ("SessionOptions", "RunOptions"):
            mine, theirs = getattr(rt, kind)(), getattr(onnxruntime, kind)()
            for name in getattr(rt, kind).__slots__:
                if not name.startswith("_"):
                    a, b = getattr(mine, name), getattr(theirs, name)
                    if isinstance(a, enum.IntEnum):
                        a, b = int(a), int(b)
                    self.assertEqual(a, b, name)
        for name in rt.__all__:
            if name not in ("NodeArg", "ExecutionMode", "ExecutionOrder", "ModelMetadata"):
                self.assertTrue(hasattr(onnxruntime, name), name)
        for kind in ("SessionOptions", "RunOptions"):
            there = dir(getattr(onnxruntime, kind)())
            for name in getattr(rt, kind).__slots__:
                self.assertTrue(name.startswith("_") or name in there, name)
