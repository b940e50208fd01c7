# SPDX-License-Identifier: Apache-2.0
"""Options and descriptions, named as onnxruntime names them."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from .. import _arguments

_TYPE_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "bool": "bool",
}


# Numbers of onnx.TensorProto.DataType.
ONNX_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
}
# Entries of a session's configuration that change no result here, and those that would: these with
# the only value that is accepted.
_ENTRIES = (
    "session.disable_prepacking",
    "session.dynamic_block_base",
    "session.force_spinning_stop",
    "session.inter_op.allow_spinning",
    "session.intra_op.allow_spinning",
    "session.intra_op_thread_affinities",
    "session.load_model_format",
    "session.save_model_format",
    "session.use_device_allocator_for_initializers",
    "session.use_env_allocators",
    "session.use_ort_model_bytes_directly",
    "session.use_ort_model_bytes_for_initializers",
)
_ENTRIES_OF_ONE_VALUE = {
    "session.disable_quant_qdq": "0",
    "session.enable_quant_qdq_cleanup": "0",
    "session.set_denormal_as_zero": "0",
    "session.strict_shape_type_inference": "0",
}
_RUN_ENTRIES = (
    "disable_synchronize_execution_providers",
    "memory.enable_memory_arena_shrinkage",
)


def tensor_type(dtype: str) -> str:
    """ "tensor(float)" of "float32"."""
    return f"tensor({_TYPE_NAMES.get(dtype, dtype)})"


class NodeArg(NamedTuple):
    """An input or output: dynamic extents are names, as onnxruntime gives them."""

    name: str
    shape: list[int | str]
    type: str


class ModelMetadata(NamedTuple):
    """What is known of the source."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
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


class ExecutionOrder(enum.IntEnum):
    """Accepted, and without effect: the order is that of the file."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Known:
    """Refuses attributes that it does not have, so that a wish is never lost."""

    __slots__ = ()
    # What would change a result or write a file: the value that it has, and what does that here.
    _FIXED: dict[str, tuple[Any, str]] = {}

    def __setattr__(self, name: str, value: object) -> None:
        if name in self._FIXED and value != self._FIXED[name][0]:
            only, instead = self._FIXED[name]
            raise NotImplementedError(
                f"{type(self).__name__}.{name}: ingot.compat has {only!r} alone, found {value!r}; "
                f"{instead}"
            )
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
    execution, logging, and threads between operators, of which there are none. What would change
    a result or write a file is accepted with its default alone.
    """

    _FIXED = {
        "enable_profiling": (False, "`ingot why` says what takes the time"),
        "optimized_model_filepath": ("", "ingot.convert(source, output) writes the file"),
        "use_per_session_threads": (True, "ingot.Pool has threads that sessions share"),
    }

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
        "enable_profiling",
        "execution_order",
        "optimized_model_filepath",
        "profile_file_prefix",
        "use_per_session_threads",
        "_dimensions",
        "_entries",
    )

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.use_deterministic_compute = False
        self.enable_profiling = False
        self.execution_order = ExecutionOrder.DEFAULT
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "onnxruntime_profile_"
        self.use_per_session_threads = True
        self._entries: dict[str, str] = {}
        self._dimensions: dict[str, int] = {}

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        """A number for a dynamic dimension."""
        _arguments.text("dim_name", dim_name)
        self._dimensions[dim_name] = _arguments.whole_number(
            "dim_value", dim_value, *_arguments.INT64
        )

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Accepted where it changes no result; NotImplementedError for what would, and for keys
        that are not known here."""
        _add_entry(self._entries, key, value, _ENTRIES, _ENTRIES_OF_ONE_VALUE)

    def get_session_config_entry(self, key: str) -> str:
        """RuntimeError where it was not added."""
        return _entry(self._entries, key, "SessionOptions")


def _add_entry(
    entries: dict[str, str],
    key: str,
    value: str,
    known: tuple[str, ...],
    of_one_value: dict[str, str],
) -> None:
    _arguments.text("key", key)
    _arguments.text("value", value)
    if key not in known and of_one_value.get(key) != value:
        only = f"has {of_one_value[key]!r} alone" if key in of_one_value else "does not have it"
        raise NotImplementedError(f"entry {key!r} = {value!r}: ingot.compat {only}")
    entries[key] = value


def _entry(entries: dict[str, str], key: str, owner: str) -> str:
    if key not in entries:
        raise RuntimeError(f"{owner} does not have configuration with key: {key}")
    return entries[key]


class RunOptions(_Known):
    """terminate = True, set while a run lasts, ends it. only_execute_path_to_fetches is accepted:
    a run computes every output."""

    __slots__ = (
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "only_execute_path_to_fetches",
        "_terminate",
        "_cancel",
        "_entries",
    )

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self._terminate = False
        self._cancel = None
        self._entries: dict[str, str] = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Accepted where it changes no result; NotImplementedError for any other key."""
        _add_entry(self._entries, key, value, _RUN_ENTRIES, {})

    def get_run_config_entry(self, key: str) -> str:
        """RuntimeError where it was not added."""
        return _entry(self._entries, key, "RunOptions")

    @property
    def terminate(self) -> bool:
        """True ends the run that has these options, and later ones."""
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        object.__setattr__(self, "_terminate", bool(value))
        if value and self._cancel is not None:
            self._cancel()
