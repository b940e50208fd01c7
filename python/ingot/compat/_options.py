"""Options and descriptions, named as onnxruntime names them."""

from __future__ import annotations

import enum
from typing import NamedTuple

_TYPE_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "bool": "bool",
}


def tensor_type(dtype: str) -> str:
    """ "tensor(float)" of "float32"."""
    return f"tensor({_TYPE_NAMES.get(dtype, dtype)})"


class NodeArg(NamedTuple):
    """An input or output: open extents are names, as onnxruntime gives them."""

    name: str
    shape: list[int | str]
    type: str


class ModelMetadata(NamedTuple):
    """What is known of the source."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    version: int
    custom_metadata_map: dict[str, str]


class GraphOptimizationLevel(enum.IntEnum):
    """Accepted, and without effect: an .ingot file is optimized when it is converted."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted, and without effect: instructions run one behind the other on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class _Known:
    """Refuses attributes that it does not have, so that a wish is never lost."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        except AttributeError:
            there = ", ".join(s for s in self.__slots__ if not s.startswith("_"))
            raise AttributeError(
                f"{type(self).__name__}.{name}: ingot.compat does not have it; it has {there}"
            ) from None


class SessionOptions(_Known):
    """intra_op_num_threads is the size of the session's team; 0: one for each processor.

    What else is here changes no result and is accepted: levels of optimization, modes of
    execution, logging, and threads between operators, of which there are none.
    """

    __slots__ = (
        "intra_op_num_threads",
        "inter_op_num_threads",
        "graph_optimization_level",
        "execution_mode",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "use_deterministic_compute",
        "_dimensions",
    )

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.use_deterministic_compute = False
        self._dimensions: dict[str, int] = {}

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        """A number for an open dimension."""
        self._dimensions[dim_name] = dim_value


class RunOptions(_Known):
    """terminate = True, set while a run lasts, ends it."""

    __slots__ = ("log_severity_level", "log_verbosity_level", "logid", "_terminate", "_cancel")

    def __init__(self) -> None:
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self._terminate = False
        self._cancel = None

    @property
    def terminate(self) -> bool:
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        object.__setattr__(self, "_terminate", bool(value))
        if value and self._cancel is not None:
            self._cancel()
