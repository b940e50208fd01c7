# SPDX-License-Identifier: Apache-2.0
"""ingot.convert: sources, options, errors; objects of other frameworks where those are there."""

import logging
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np
import small_models

import ingot
from ingot._command import PROGRAM
from ingot._convert_options import OPTIONS


class ConvertTest(unittest.TestCase):
    def test_a_path_to_a_path(self):
        given, expected = small_models.linear_case()
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "net.ingot"
            model = ingot.convert(small_models.DATA / "linear.onnx", output)
            self.assertEqual(model.path, str(output))
            self.assertEqual([p.name for p in output.parent.iterdir()], ["net.ingot"])
            np.testing.assert_allclose(model.session().run(given)["y"], expected, atol=1e-5)

    def test_bytes_and_a_temporary_file_that_goes_with_the_model(self):
        given, expected = small_models.linear_case()
        model = ingot.convert((small_models.DATA / "linear.onnx").read_bytes())
        np.testing.assert_allclose(model.session().run(given)["y"], expected, atol=1e-5)
        path = model.path
        self.assertTrue(os.path.exists(path))
        del model
        self.assertFalse(os.path.exists(os.path.dirname(path)))

    def test_options_are_those_of_the_command_line(self):
        source = small_models.DATA / "batch.onnx"
        self.assertEqual(ingot.convert(source, dims={"N": 3}).inputs[0].shape, (3, 4))
        self.assertEqual(ingot.convert(source, dims={"N": (1, 9)}).symbols[0], ("N", 1, 9))
        self.assertEqual(ingot.convert(source, input_shapes={"x": (2, 4)}).inputs[0].shape, (2, 4))
        made = ingot.convert(
            source,
            metadata={"name": "small", "site": "here"},
            dtype="fp16",
            golden=small_models.DATA / "batch.npz",
            options=["--winograd", "off"],
            keep_fp32=["b"],
            rtol=0.01,
            no_check=True,
            limit=None,
        )
        self.assertEqual((made.metadata("name"), made.metadata("site")), ("small", "here"))
        self.assertGreater(made.summary["golden_bytes"], 0)

    def test_every_option_is_a_keyword(self):
        said = subprocess.run([PROGRAM, "completion", "bash"], capture_output=True, text=True)
        options = next(line for line in said.stdout.splitlines() if " convert) options=" in line)
        known = {option for option, kind in OPTIONS.values()}
        others = {"--help", "--plugin", "--memory-limit", "--quiet", "--output", "--dry-run"}
        self.assertEqual(known | others, set(re.findall(r"--[\w-]+", options)))
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'dimms'"):
            ingot.convert(small_models.DATA / "batch.onnx", dimms={"N": 3})

    def test_notes_go_to_the_log(self):
        with self.assertLogs("ingot", logging.INFO) as logged:
            ingot.convert(small_models.DATA / "linear.onnx")
        self.assertTrue(logged.output)

    def test_what_is_refused_has_the_exit_code_and_all_that_stands_in_the_way(self):
        for source, options, exit_code, words in (
            (small_models.DATA / "unsupported.onnx", {}, 4, "unsupported|not"),
            (small_models.DATA / "truncated.onnx", {}, 2, "truncated.onnx"),
            (small_models.DATA / "no_such.onnx", {}, 7, "no_such.onnx"),
            (small_models.DATA / "linear.onnx", {"dims": {"M": 3}}, 5, "M"),
            (small_models.DATA / "linear.onnx", {"options": ["--colour"]}, 1, "--colour"),
            (b"no model", {}, 2, "source"),
        ):
            with self.assertRaisesRegex(ingot.ConversionError, words) as raised:
                ingot.convert(source, **options)
            self.assertEqual(raised.exception.exit_code, exit_code, raised.exception)
            self.assertIsInstance(raised.exception, ingot.Error)
        for wrong in (3, object(), None):
            with self.assertRaisesRegex(TypeError, "expected a path"):
                ingot.convert(wrong)
        with self.assertRaisesRegex(TypeError, "torch.nn.Module"):
            ingot.convert(small_models.DATA / "linear.onnx", inputs=(1,))

    def test_a_refused_conversion_writes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ingot.ConversionError):
                ingot.convert(small_models.DATA / "unsupported.onnx", f"{folder}/net.ingot")
            self.assertEqual(os.listdir(folder), [])


class FrameworkTest(unittest.TestCase):
    def test_an_onnx_message(self):
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is not there: no ModelProto was converted")
        given, expected = small_models.linear_case()
        model = onnx.load(small_models.DATA / "linear.onnx")
        np.testing.assert_allclose(
            ingot.convert(model).session().run(given)["y"], expected, atol=1e-5
        )

    def test_modules_and_programs_of_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not there: no module was exported")
        torch.manual_seed(1)
        module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 3))
        module.eval()
        x = torch.randn(2, 4)
        expected = module(x).detach().numpy()
        dynamic = ({0: torch.export.Dim("rows", min=1, max=16)},)
        models = [
            ingot.convert(module, inputs=(x,)),
            ingot.convert(torch.export.export(module, (x,))),
            ingot.convert(torch.jit.trace(module, x), options=["--input-shape", "input=2x4"]),
        ]
        for model in models:
            answer = model.session().run(x.numpy())
            np.testing.assert_allclose(next(iter(answer.values())), expected, atol=1e-5)
        open_rows = ingot.convert(module, inputs=(x,), dynamic_shapes=dynamic)
        self.assertEqual(len(open_rows.symbols), 1)
        bound = open_rows.bindings_of({open_rows.inputs[0].name: x.numpy()})
        answer = open_rows.session(bindings=bound).run(x.numpy())
        np.testing.assert_allclose(next(iter(answer.values())), expected, atol=1e-5)
        with self.assertRaisesRegex(TypeError, "example inputs"):
            ingot.convert(module)

    def test_a_model_of_keras(self):
        os.environ.setdefault("KERAS_BACKEND", "torch")
        try:
            import keras
        except ImportError:
            self.skipTest("keras is not there: no model of it was converted")
        keras.utils.set_random_seed(1)
        net = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3)]
        )
        x = np.random.default_rng(1).standard_normal((1, 4), dtype=np.float32)
        model = ingot.convert(net)
        with model.session(bindings={s.name: 1 for s in model.symbols}) as session:
            answer = next(iter(session.run(x).values()))
        np.testing.assert_allclose(answer, keras.ops.convert_to_numpy(net(x)), atol=1e-5)
