"""OrtValue and IOBinding for tensors of the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._model import empty
from ._options import tensor_type

if TYPE_CHECKING:
    from ._session import InferenceSession


def check_device(device_type: str, device_id: int = 0) -> None:
    """Tensors are the CPU's."""
    if device_type.lower() != "cpu" or device_id != 0:
        raise NotImplementedError(
            f"device {device_type}:{device_id}: ingot.compat has tensors of the CPU alone; "
            "ingot.Session.bind_input() reads a GPU's where the session is on it"
        )


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
        return OrtValue(empty(tuple(shape), np.dtype(element_type).name))

    def numpy(self) -> np.ndarray:
        return self._array

    def data_ptr(self) -> int:
        return self._array.ctypes.data

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return tensor_type(self._array.dtype.name)

    def element_type(self) -> np.dtype:
        return self._array.dtype

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_tensor_sequence(self) -> bool:
        return False

    def is_sparse_tensor(self) -> bool:
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

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
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
        self._session._check_name(name, is_input=False)
        self._outputs[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Nothing to wait for on the CPU."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for on the CPU."""

    def get_outputs(self) -> list[OrtValue]:
        return [OrtValue(self._results[name]) for name in self._outputs if name in self._results]

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        return [value.numpy() for value in self.get_outputs()]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results.clear()


def _array_at(address: int, element_type: Any, shape: Any) -> np.ndarray:
    dtype = np.dtype(element_type)

    class Memory:
        __array_interface__ = {
            "data": (address, False),
            "shape": tuple(shape),
            "typestr": dtype.str,
            "version": 3,
        }

    return np.asarray(Memory())
