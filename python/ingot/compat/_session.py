# SPDX-License-Identifier: Apache-2.0
"""InferenceSession over an .ingot file, or over a model that it converts when it is made."""

from __future__ import annotations

import collections
import logging
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _arguments
from .._convert import convert
from .._errors import Cancelled
from .._model import Model, Pool, Port, devices
from .._session import Session
from ._binding import IOBinding, OrtValue
from ._options import ModelMetadata, NodeArg, RunOptions, SessionOptions, tensor_type

_PROVIDERS = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}
_SPEED_OPTIONS: dict[str, set[str]] = {
    "CPUExecutionProvider": {"use_arena"},
    "CUDAExecutionProvider": {
        "arena_extend_strategy",
        "cudnn_conv1d_pad_to_nc1d",
        "cudnn_conv_algo_search",
        "cudnn_conv_use_max_workspace",
        "do_copy_in_default_stream",
    },
}
_MAGIC = b"\x89INGOT\r\n"
# Sessions that are kept for shapes that were seen: a dynamic dimension may change from run to run.
_MAX_SHAPES = 4


def get_available_providers() -> list[str]:
    """Providers whose device is here, the CPU last."""
    there = {name.partition(":")[0] for name, why in devices().items() if not why}
    return [name for name, device in reversed(_PROVIDERS.items()) if device in there]


def get_all_providers() -> list[str]:
    """Providers that Ingot knows, the CPU last."""
    return [*reversed(_PROVIDERS)]


def set_default_logger_severity(severity: int) -> None:
    """Accepted, and without effect: the logger "ingot" of logging has what a conversion notes."""
    _arguments.whole_number("severity", severity, 0, 4)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted, and without effect."""
    _arguments.whole_number("verbosity", verbosity, *_arguments.INT32)


def get_device() -> str:
    """"GPU" where there is one that a session may take, else "CPU"."""
    return "GPU" if "CUDAExecutionProvider" in get_available_providers() else "CPU"


class InferenceSession:
    """onnxruntime.InferenceSession for inference.

    path_or_bytes   an .ingot file, a tag of a registry, or an ONNX model, which is converted first
    providers       names, or pairs of a name and options; the first that is here is taken, with a
                    warning of those before it, and what the device cannot run is the CPU's. Of
                    its options device_id chooses a GPU, and those of speed alone are accepted
    disabled_optimizers, enable_fallback   accepted: they change no result

    Several threads may call run(); they take turns. A child of a fork has a turn of its own and
    makes its sessions anew, since a thread of the parent may be in the middle of a run.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        *,
        disabled_optimizers: Any = None,
        enable_fallback: int = 1,
    ) -> None:
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise _arguments.wrong_type(
                "sess_options", "an ingot.compat.SessionOptions", sess_options
            )
        self._options = sess_options or SessionOptions()
        self._provider, self._device = _chosen_provider(providers, provider_options)
        is_ingot = _is_ingot(path_or_bytes)
        self._model = Model(path_or_bytes) if is_ingot else convert(path_or_bytes)
        self._inputs = {p.name: p for p in self._model.inputs}
        self._outputs = {p.name: p for p in self._model.outputs}
        self._fixed = dict(self._options._dimensions)
        there = [symbol.name for symbol in self._model.symbols]
        for name in self._fixed:
            if name not in there:
                raise ValueError(f"no dynamic dimension {name!r}; there are: {', '.join(there)}")
        self._pool: Pool | None = Pool(self._options.intra_op_num_threads)
        self._sessions: collections.OrderedDict[tuple[Any, ...], Session] = (
            collections.OrderedDict()
        )
        # Of the last run: types that were taken, names and shapes, and the session for them. A
        # small model computes for less time than finding these anew takes.
        self._taken: dict[str, np.dtype[Any]] = {}
        self._last: tuple[Any, Session] | None = None
        # onnxruntime lets several threads run one session; an Ingot session has one arena.
        self._turn = threading.Lock()
        _there.add(self)

    def _begin_in_child(self) -> None:
        _of_parent.append((self._pool, self._sessions))
        self._pool, self._sessions = None, collections.OrderedDict()
        self._last = None
        self._turn = threading.Lock()

    def __repr__(self) -> str:
        names = ", ".join(self._inputs), ", ".join(self._outputs)
        return f"<ingot.compat.InferenceSession {names[0]} -> {names[1]}, {self._provider}>"

    def __reduce__(self):
        raise TypeError(
            "an InferenceSession cannot be pickled: pickle the path or the bytes of its model"
        )

    def get_inputs(self) -> list[NodeArg]:
        """Name, type and shape of every input."""
        return [self._node_arg(p) for p in self._model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        """Name, type and shape of every output."""
        return [self._node_arg(p) for p in self._model.outputs]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None: weights are part of the file."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        """What the file says about its source."""
        def text(key: str) -> str:
            return self._model.metadata(key) or ""

        version = text("version")
        return ModelMetadata(
            producer_name=text("source_producer"),
            graph_name=text("name"),
            domain="",
            description="",
            graph_description="",
            version=int(version) if version.isdigit() else 0,
            custom_metadata_map={},
        )

    def get_providers(self) -> list[str]:
        """The provider that was taken, and the CPU behind it."""
        own = [self._provider]
        return own if own == ["CPUExecutionProvider"] else [*own, "CPUExecutionProvider"]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The number of a GPU where it was given: no other option has an effect."""
        number = self._device.partition(":")[2]
        own = {"device_id": number} if number else {}
        return {name: own if name == self._provider else {} for name in self.get_providers()}

    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """The sessions are made anew where it is another one."""
        chosen = _chosen_provider(providers, provider_options)
        with self._turn:
            if chosen == (self._provider, self._device):
                return
            self._provider, self._device = chosen
            self._last = None
            while self._sessions:
                self._sessions.popitem()[1].close()

    def enable_fallback(self) -> None:
        """Accepted, and without effect."""

    def disable_fallback(self) -> None:
        """Accepted, and without effect: a run never goes on with another provider."""

    def end_profiling(self) -> str:
        """No file: SessionOptions.enable_profiling is False."""
        return ""

    def get_session_options(self) -> SessionOptions:
        """The options that it was made with."""
        return self._options

    def io_binding(self) -> IOBinding:
        """An IOBinding of this session."""
        return IOBinding(self)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[np.ndarray]:
        """Arrays of the outputs named, or of all."""
        if isinstance(output_names, str):
            raise TypeError(f"output_names: expected a list, [{output_names!r}], found a str")
        names = list(output_names) if output_names else list(self._outputs)
        for name in names:
            self._check_name(name, is_input=False)
        results = self._compute(input_feed, {}, run_options)
        return [results[name] for name in names]

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """run() on OrtValues, which gives OrtValues."""
        feed = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(array) for array in self.run(output_names, feed, run_options)]

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """A run on what the binding names."""
        if not iobinding._outputs:
            raise RuntimeError("run_with_iobinding: no output is bound; bind_output() binds one")
        given = {name: array for name, array in iobinding._outputs.items() if array is not None}
        iobinding._results = self._compute(iobinding._inputs, given, run_options)

    def run_async(self, *_: Any) -> None:
        """Refused: ingot.Session.run_async() is awaited."""
        raise NotImplementedError("run_async: await ingot.Session.run_async() instead")

    def _check_name(self, name: str, is_input: bool) -> None:
        there = self._inputs if is_input else self._outputs
        if name not in there:
            kind = "input" if is_input else "output"
            raise ValueError(f"no {kind} {name!r}; there are: {', '.join(there)}")

    def _compute(
        self,
        feed: Mapping[str, Any],
        outputs: Mapping[str, np.ndarray],
        run_options: RunOptions | None,
    ) -> dict[str, np.ndarray]:
        if not isinstance(feed, Mapping):
            raise _arguments.wrong_type("input_feed", "a dict of names and arrays", feed)
        if run_options is not None and not isinstance(run_options, RunOptions):
            raise _arguments.wrong_type("run_options", "an ingot.compat.RunOptions", run_options)
        missing = [name for name in self._inputs if name not in feed]
        if missing:
            raise ValueError(f"required inputs ({missing}) are missing from the feed ({[*feed]})")
        arrays: dict[str, np.ndarray] = {}
        for name, value in feed.items():
            self._check_name(name, is_input=True)
            array = value.numpy() if isinstance(value, OrtValue) else np.asarray(value)
            if array.dtype is not self._taken.get(name):
                array = self._checked_type(name, array)
            if not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            arrays[name] = array
        with self._turn:
            session = self._session_for(arrays)
            if run_options is None:
                return session.run(arrays, outputs=dict(outputs))
            if run_options.terminate:
                raise Cancelled("run_options.terminate is set")
            run_options._cancel = session.cancel
            try:
                return session.run(arrays, outputs=dict(outputs))
            finally:
                run_options._cancel = None

    def _checked_type(self, name: str, array: np.ndarray) -> np.ndarray:
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        expected = self._inputs[name].dtype
        if array.dtype != expected:
            raise ValueError(
                f"unexpected input data type for {name!r}: actual: "
                f"({tensor_type(array.dtype.name)}), expected: ({tensor_type(expected)})"
            )
        self._taken[name] = array.dtype
        return array

    def _session_for(self, arrays: Mapping[str, np.ndarray]) -> Session:
        """The session that is bound to these shapes; the least recently used makes room."""
        shapes = [(name, array.shape) for name, array in arrays.items()]
        if self._last is not None and self._last[0] == shapes:
            return self._last[1]
        bindings = self._model.bindings_of(arrays)
        for name, value in self._fixed.items():
            if bindings.setdefault(name, value) != value:
                raise ValueError(
                    f"dynamic dimension {name!r} is {bindings[name]} in the inputs; "
                    f"add_free_dimension_override_by_name() says {value}"
                )
        key = tuple(sorted(bindings.items()))
        session = self._sessions.pop(key, None)
        if session is None:
            if self._pool is None:
                self._pool = Pool(self._options.intra_op_num_threads)
            if len(self._sessions) >= _MAX_SHAPES:
                self._sessions.popitem(last=False)[1].close()
            session = self._model.session(
                self._device, bindings=bindings, pool=self._pool
            )
        self._sessions[key] = session
        self._last = (shapes, session)
        return session

    def _node_arg(self, port: Port) -> NodeArg:
        shape = [self._fixed.get(extent, extent) for extent in port.shape]
        return NodeArg(port.name, shape, tensor_type(port.dtype))


_there: weakref.WeakSet[InferenceSession] = weakref.WeakSet()
# A thread that the child does not have may be in the middle of their use: they are kept and left.
_of_parent: list[Any] = []


def _begin_all_in_child() -> None:
    for session in list(_there):
        session._begin_in_child()


os.register_at_fork(after_in_child=_begin_all_in_child)


def _is_ingot(source: Any) -> bool:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source[: len(_MAGIC)]) == _MAGIC
    if not isinstance(source, (str, os.PathLike)):
        raise _arguments.wrong_type("path_or_bytes", "a path or bytes", source)
    path = _arguments.path("path_or_bytes", source)
    if path.startswith("registry:"):
        return True  # it has no others
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _chosen_provider(
    providers: Sequence[Any] | None, provider_options: Sequence[Mapping[str, Any]] | None
) -> tuple[str, str]:
    """The first provider that is here, and its device with the number that options give."""
    if isinstance(providers, str):
        raise TypeError(f"providers: expected a list, [{providers!r}], found a str")
    asked = [
        provider if isinstance(provider, tuple) else (provider, {})
        for provider in providers or ["CPUExecutionProvider"]
    ]
    for provider in asked:
        if len(provider) != 2 or not isinstance(provider[1], Mapping):
            raise TypeError(
                f"providers: expected names, or pairs of a name and a dict, found {provider!r}"
            )
        if not isinstance(provider[0], str) or not provider[0].endswith("ExecutionProvider"):
            raise ValueError(
                f"provider {provider[0]!r} is unknown; there are: {', '.join(_PROVIDERS)}"
            )
    more = list(provider_options or [{}] * len(asked))
    if len(more) != len(asked) or not all(isinstance(options, Mapping) for options in more):
        raise ValueError(
            f"provider_options: expected a dict for each of {len(asked)} providers, found {more!r}"
        )
    there = get_available_providers()
    passed_over = []
    for (name, own), options in zip(asked, more, strict=True):
        if name in there:
            if passed_over:
                logging.getLogger("ingot").warning(
                    "not available here: %s; the session runs on %s", ", ".join(passed_over), name
                )
            return name, _device_of(name, {**own, **options})
        passed_over.append(name)
    raise ValueError(f"none of the providers {passed_over} is here; here are: {there}")


def _device_of(provider: str, options: Mapping[str, Any]) -> str:
    device, numbered = _PROVIDERS[provider], provider == "CUDAExecutionProvider"
    known = _SPEED_OPTIONS[provider] | ({"device_id"} if numbered else set())
    if unknown := sorted({str(key) for key in options} - known):
        raise NotImplementedError(f"provider {provider}: options {unknown} are not here")
    number = options.get("device_id")
    if number is None:
        return device
    if not str(number).isdecimal():
        raise ValueError(f"device_id: expected a whole number, found {number!r}")
    return f"{device}:{int(number)}"
