# SPDX-License-Identifier: Apache-2.0
"""DLPack: memory of other libraries, which NumPy's own capsules stand for here."""

import ctypes
import unittest

import numpy as np
import small_models
from small_models import address, rows

import ingot

LARGE = 4096
CUDA, VULKAN = 2, 7


class Foreign:
    """An array that offers DLPack alone, as torch's do; on another device where that is stated."""

    def __init__(self, array, device=None):
        self.array, self.device = array, device

    def __dlpack__(self, **_):
        capsule = self.array.__dlpack__()
        if self.device is not None:
            # DLManagedTensor begins with the tensor: data, then device type and number.
            get = ctypes.pythonapi.PyCapsule_GetPointer
            get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            at = get(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
            ctypes.c_int32.from_address(at).value = self.device
        return capsule


class DlpackTest(unittest.TestCase):
    def test_it_is_read_and_written_where_it_lies(self):
        x, y = rows(LARGE), ingot.empty((LARGE, 3))
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            expected = session.run(x)["y"]
            np.testing.assert_array_equal(session.run(Foreign(x))["y"], expected)
            self.assertEqual(session.copied_bytes, 0)
            session.bind_input("x", Foreign(x))
            session.bind_output("y", Foreign(y))
            session.execute()
            np.testing.assert_array_equal(y, expected)

    def test_results_are_offered_without_a_copy(self):
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            answer = session.run(rows(LARGE))["y"]
            self.assertEqual(address(np.from_dlpack(answer)), address(answer))
            view = session.output("y")
            self.assertEqual(address(np.from_dlpack(view)), address(view))

    def test_wrong_types_shapes_and_orders(self):
        with small_models.batch().session(bindings={"N": 4}) as session:
            for wrong, code in (
                (rows(4).astype("f8"), 4),
                (rows(5), 3),
                (rows(4).astype("c8"), 4),
                (np.asfortranarray(rows(4)), 3),
            ):
                with self.assertRaises(ingot.CallerError) as raised:
                    session.run(Foreign(wrong))
                self.assertEqual(raised.exception.code, code)

    def test_memory_of_a_device_is_refused_by_a_session_on_the_cpu(self):
        x = rows(LARGE)
        with small_models.batch().session("cpu", bindings={"N": LARGE}) as session:
            with self.assertRaises(ingot.CallerError) as raised:
                session.run(Foreign(x, CUDA))
            self.assertEqual((raised.exception.code, raised.exception.name), (1, "x"))
            with self.assertRaises(ingot.CallerError) as raised:
                session.bind_input("x", Foreign(x, CUDA))
            self.assertEqual(raised.exception.code, 8)
            with self.assertRaises(ingot.DeviceError):
                session.bind_input("x", Foreign(x, VULKAN))
            session.run(x)

    def test_torch_tensors_both_ways(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not there: its tensors were not tried")
        x = torch.from_numpy(rows(LARGE).copy())
        given = torch.empty((LARGE, 4))
        given[:] = x
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            answer = session.run(given, copy=False)["y"]
            np.testing.assert_array_equal(answer, session.run(rows(LARGE))["y"])
            shared = torch.from_dlpack(answer)
            self.assertEqual(shared.data_ptr(), address(answer))
            y = torch.empty((LARGE, 3))
            session.run(given, outputs={"y": y})
            np.testing.assert_array_equal(y.numpy(), answer)
            with self.assertRaises((RuntimeError, BufferError)):
                session.run(given.requires_grad_())
