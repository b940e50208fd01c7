# SPDX-License-Identifier: Apache-2.0
"""OrtValue and IOBinding for tensors of the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _arguments, _ingot
from .._model import empty
from ._options import ONNX_TYPES, tensor_type

if TYPE_CHECKING:
    from ._session import InferenceSession


def check_device(device_type: str, device_id: int = 0) -> None:
    """Tensors are the CPU's."""
    if not isinstance(device_type, str):
        raise _arguments.wrong_type("device_type", "a str", device_type)
    if device_type.lower() != "cpu" or device_id != 0:
        raise NotImplementedError(
            f"device {device_type}:{device_id}: ingot.compat has tensors of the CPU alone; "
            "ingot.Session.bind_input() reads a GPU's where the session is on it"
        )


def dtype_of(element_type: Any) -> np.dtype:
    """Of a type of NumPy's, or of ONNX's number."""
    if not isinstance(element_type, int):
        return np.dtype(element_type)
    for name, number in ONNX_TYPES.items():
        if number == element_type:
            return _ingot.empty((0,), name).dtype  # bfloat16 is not NumPy's
    there = sorted(ONNX_TYPES.values())
    raise ValueError(f"element_type: expected one of {there}, found {element_type}")


class OrtDevice:
    """A device by its name; tensors here are the CPU's."""

    def __init__(self, name: str, device_id: int) -> None:
        check_device(name, device_id)

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """A device by its name in onnxruntime: "cpu" is there."""
        return OrtDevice(ort_device_name, device_id)

    def device_type(self) -> int:
        """Its number in onnxruntime."""
        return 0

    def device_id(self) -> int:
        """Which of several."""
        return 0

    def device_mem_type(self) -> int:
        """0: its usual memory."""
        return 0

    def device_vendor_id(self) -> int:
        """0: none is meant."""
        return 0


class OrtValue:
    """A tensor: NumPy's array, whose memory it shares."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: np.ndarray, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """The array itself; nothing is copied."""
        check_device(device_type, device_id)
        return OrtValue(numpy_obj)

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Any, element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Aligned memory that is not initialized."""
        check_device(device_type, device_id)
        return OrtValue(empty(tuple(shape), dtype_of(element_type).name))

    def __repr__(self) -> str:
        return f"<ingot.compat.OrtValue {self.data_type()} {self.shape()}>"

    def numpy(self) -> np.ndarray:
        """The array itself, not a copy."""
        return self._array

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._array.ctypes.data

    def shape(self) -> list[int]:
        """Extents."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """As onnxruntime has it: "tensor(float)"."""
        return tensor_type(self._array.dtype.name)

    def element_type(self) -> int:
        """The number of onnx.TensorProto.DataType."""
        name = self._array.dtype.name
        if name not in ONNX_TYPES:
            raise ValueError(f"element_type: no model has elements of type {name}")
        return ONNX_TYPES[name]

    def tensor_size_in_bytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    def device_name(self) -> str:
        """"cpu"."""
        return "cpu"

    def has_value(self) -> bool:
        """Always: a value is an array."""
        return True

    def is_tensor(self) -> bool:
        """Always."""
        return True

    def is_tensor_sequence(self) -> bool:
        """Never."""
        return False

    def is_sparse_tensor(self) -> bool:
        """Never."""
        return False

    def update_inplace(self, np_arr: np.ndarray) -> None:
        """Copies into the same memory."""
        if np_arr.shape != self._array.shape or np_arr.dtype != self._array.dtype:
            raise ValueError(
                f"update_inplace: expected {self._array.dtype} {self._array.shape}, "
                f"found {np_arr.dtype} {np_arr.shape}"
            )
        np.copyto(self._array, np_arr)


class IOBinding:
    """Which arrays run_with_iobinding() reads and writes."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, np.ndarray] = {}
        self._outputs: dict[str, np.ndarray | None] = {}
        self._results: dict[str, np.ndarray] = {}

    def __repr__(self) -> str:
        names = ", ".join(self._inputs), ", ".join(self._outputs)
        return f"<ingot.compat.IOBinding of inputs {names[0]} and outputs {names[1]}>"

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """Runs read this array."""
        self._session._check_name(name, is_input=True)
        self._inputs[name] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Any,
        buffer_ptr: int,
    ) -> None:
        """Memory by its address, which must stay until the binding is cleared."""
        check_device(device_type, device_id)
        self._session._check_name(name, is_input=True)
        self._inputs[name] = _array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Runs read this value."""
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Without an address each run makes an array of its own."""
        check_device(device_type, device_id)
        self._session._check_name(name, is_input=False)
        self._outputs[name] = (
            None if buffer_ptr is None else _array_at(buffer_ptr, element_type, shape)
        )

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Runs write into this value."""
        self._session._check_name(name, is_input=False)
        self._outputs[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Nothing to wait for on the CPU."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for on the CPU."""

    def get_outputs(self) -> list[OrtValue]:
        """What the last run left, in the order in which outputs were bound."""
        return [OrtValue(self._results[name]) for name in self._outputs if name in self._results]

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        """The same as arrays of their own."""
        return [value.numpy() for value in self.get_outputs()]

    def clear_binding_inputs(self) -> None:
        """No input is bound any more."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """No output is bound any more."""
        self._outputs.clear()
        self._results.clear()


def _array_at(address: int, element_type: Any, shape: Any) -> np.ndarray:
    address = _arguments.whole_number("buffer_ptr", address, 0, 2**64 - 1)
    if not address:
        raise ValueError("buffer_ptr: expected an address, found 0")
    if element_type is None or shape is None:
        raise TypeError("buffer_ptr: element_type and shape say what lies there")
    dtype = dtype_of(element_type)

    class Memory:
        __array_interface__ = {
            "data": (address, False),
            "shape": tuple(shape),
            "typestr": dtype.str,
            "version": 3,
        }

    return np.asarray(Memory())
