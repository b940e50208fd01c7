# SPDX-License-Identifier: Apache-2.0
"""Models: what a file says, and sessions made of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from . import _arguments, _ingot
from ._errors import CallerError
from ._files import (
    HeldFile,
    TemporaryFolder,
    check_same_file,
    identity_of,
    open_model,
    other_file,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._session import Pipeline, Session

_TRUST = {"none": 0, "hashes": 1}
_MAP = {"share": 0, "copy": 1}
_DIMENSION_OUT_OF_BOUNDS = 6


class Port(NamedTuple):
    """An input, an output or a state variable.

    dtype    as NumPy has it: "float32", "int64", "bool"; "bfloat16" is ml_dtypes'
    shape    numbers; the name of a symbol, or an expression over symbols, where it is open
    layout   as the user sees it: "NCHW", "NHWC", ... or ""
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str


class Quantization(NamedTuple):
    """What the integers of a port stand for: an integer q is scale * (q - zero_point)."""

    scale: float
    zero_point: int


class Symbol(NamedTuple):
    """A dimension that is bound when a session is made. high is 0 where nothing bounds it."""

    name: str
    low: int
    high: int


class State(NamedTuple):
    """A variable that a session keeps from run to run."""

    port: Port
    output_name: str
    has_initial_value: bool


@dataclasses.dataclass(frozen=True)
class Requirements:
    """Bytes that a session will take, exactly; ingot_requirements of ingot.h has each field."""

    arena_bytes: int
    arena_alignment: int
    weights_mapped: int
    weights_copied: int
    activations: int
    state: int
    scratch: int
    tables: int
    rounding: int
    weights_in_place: int
    outside_bytes: int
    activations_lower_bound: int
    peak_instruction: int
    threads: int
    device_bytes: int
    weights_widened: int
    weights_shared: int
    steps: int


class MemoryOptions(TypedDict, total=False):
    """Keywords of a session and of a language model; ingot.Session says what each means."""

    arena: Any
    pool: Pool | None
    upper_bounds: Mapping[str, int] | None
    strict: bool
    huge_pages: bool
    lock_memory: bool
    prefault: bool


class SessionOptions(MemoryOptions, total=False):
    """Keywords of a session; ingot.Session says what each means."""

    bindings: Mapping[str, int] | None
    rebindable: bool
    bind_ports: bool
    keep_values: bool
    asynchronous: bool


def session_options(
    device: str | None,
    threads: int,
    *,
    bindings: Mapping[str, int] | None,
    arena: Any,
    pool: _ingot.Pool | None,
    rebindable: bool,
    upper_bounds: Mapping[str, int] | None,
    bind_ports: bool,
    keep_values: bool,
    strict: bool,
    huge_pages: bool,
    lock_memory: bool,
    prefault: bool,
    asynchronous: bool,
) -> dict[str, Any]:
    """What _ingot.Session and _ingot.Model.requirements() take."""
    chosen = {
        _ingot.REBINDABLE: rebindable,
        _ingot.BIND_PORTS: bind_ports,
        _ingot.KEEP_VALUES: keep_values,
        _ingot.STRICT: strict,
        _ingot.HUGE_PAGES: huge_pages,
        _ingot.LOCK_MEMORY: lock_memory,
        _ingot.PREFAULT: prefault,
        _ingot.ASYNC: asynchronous,
    }
    if isinstance(arena, (int, np.integer)):
        arena = _arguments.whole_number("arena", arena, 0, _arguments.INT64[1])
    if pool is not None and not isinstance(pool, _ingot.Pool):
        raise _arguments.wrong_type("pool", "an ingot.Pool", pool)
    return {
        "device": None if device is None else _arguments.text("device", device),
        "threads": _arguments.whole_number("threads", threads, 0, _arguments.INT32[1]),
        "flags": sum(flag for flag, is_chosen in chosen.items() if is_chosen),
        "bindings": None if bindings is None else _arguments.dimensions("bindings", bindings),
        "upper_bounds": None
        if upper_bounds is None
        else _arguments.dimensions("upper_bounds", upper_bounds),
        "arena": arena,
        "pool": pool,
    }


DEFAULTS: dict[str, Any] = {
    "bindings": None,
    "arena": None,
    "pool": None,
    "rebindable": False,
    "upper_bounds": None,
    "bind_ports": False,
    "keep_values": False,
    "strict": False,
    "huge_pages": False,
    "lock_memory": False,
    "prefault": False,
    "asynchronous": False,
}


def completed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the defaults of what was not given; another name is a TypeError."""
    _arguments.refuse_unknown(options, DEFAULTS, "a session")
    return {**DEFAULTS, **options}


class Model:
    """An open .ingot file: mapped, validated, immutable. Any thread may use it.

    source   a path, registry:NAME@TAG (INGOT_REGISTRY says where), or the bytes of a file (bytes,
             memoryview, mmap). Bytes at a multiple of 64 are used where they lie, others are
             copied once (copied_bytes)
    trust    "none": everything is validated but the weights' bytes, which cannot harm;
             "hashes": those too, which reads the whole file
    map      "share": weights are mapped and shared with other processes; "copy": read into the
             arena, for a file that others may write while it is in use
    isa      the CPU's kernels, "avx2"; None: the best that this processor has

    A file that is open may be replaced by another (written beside it and renamed): the model stays
    what it was. If it is written into, results change; if it is made shorter, the process ends
    with SIGBUS, as for any mapping.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Any,
        *,
        trust: str = "none",
        map: str = "share",
        isa: str | None = None,
    ) -> None:
        _arguments.refuse_second_init(self)
        if isa is not None:
            _arguments.text("isa", isa)
        for name, value, known in (("trust", trust, _TRUST), ("map", map, _MAP)):
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, found {value!r}")
        self._options = {"trust": trust, "map": map, "isa": isa}
        # Of a file that convert() made: its folder, and the file, which stays readable.
        self._temporary: TemporaryFolder | None = None
        self._held: HeldFile | None = None
        self._source: Any
        self._identity: bytes | None
        if isinstance(source, (str, os.PathLike)):
            path = _arguments.path("source", source)
            if path.startswith("registry:"):
                path = _path_of_version(path)
            else:
                path = os.path.abspath(path)
            self._model, self._identity = open_model(path, _TRUST[trust], _MAP[map], isa)
            self._source = path
        else:
            if not _is_memory(source):
                raise _arguments.wrong_type(
                    "source", "a path, or the bytes of an .ingot file", source
                )
            self._source = source
            self._model = _ingot.Model.open_bytes(source, _TRUST[trust], isa)
            self._identity = None
        self._is_made = True
        self.inputs: tuple[Port, ...] = tuple(Port(*p) for p in self._model.inputs())
        self.outputs: tuple[Port, ...] = tuple(Port(*p) for p in self._model.outputs())
        self.symbols: tuple[Symbol, ...] = tuple(Symbol(*s) for s in self._model.symbols())
        self.states: tuple[State, ...] = tuple(
            State(Port(*port), output, initial) for port, output, initial in self._model.states()
        )

    def __repr__(self) -> str:
        what = self._source if isinstance(self._source, str) else "bytes"
        return f"<ingot.Model {what}: {_ports(self.inputs)} -> {_ports(self.outputs)}>"

    # Across processes a model goes as its path, and the file must be the one that was opened, here
    # and there; a model of bytes, or of a converted source that was given no path, goes as its
    # bytes.
    def __reduce__(self):
        if isinstance(self._source, str) and self._held is None:
            check_same_file(self._source, self._identity)
            return _reopen, (self._source, self._identity, self._options)
        return _reopen, (self.to_bytes(), None, self._options)

    def to_bytes(self) -> bytes:
        """The whole file. CallerError where its path has another one by now."""
        if self._held is not None:
            return self._held.read()
        if isinstance(self._source, str):
            with open(self._source, "rb") as file:
                data = file.read()
            check_same_file(self._source, self._identity, identity_of(data))
            return data
        return bytes(self._source)

    def _own(self, folder: TemporaryFolder) -> None:
        """The file goes with the model, and can be read as long as there is the model."""
        self._held = HeldFile(self._source)
        self._temporary = folder

    @property
    def path(self) -> str | None:
        """Of the file, absolute; None for a model of bytes."""
        return self._source if isinstance(self._source, str) else None

    @property
    def copied_bytes(self) -> int:
        """Of a model of bytes: how many were copied because they were not aligned."""
        return self._model.copied_bytes()

    @property
    def summary(self) -> dict[str, Any]:
        """Sizes of the file's parts and counts, as ingot_model_summary."""
        return self._model.summary()

    def metadata(self, key: str) -> str | None:
        """Text of the metadata: "name", "version", "licence", "source_file", or an own key."""
        return self._model.metadata(key)

    def quantization(self, port: str) -> Quantization | None:
        """Scale and zero point of an input or output of integers, by its name; None where the
        source says none."""
        found = self._model.quantization(port)
        return Quantization(*found) if found else None

    def verify_hashes(self) -> None:
        """Compares every part with its SHA-256. Reads the whole file."""
        self._model.verify_hashes()

    def bindings_of(self, inputs: Mapping[str, Any]) -> dict[str, int]:
        """Values of the symbols that the shapes of these arrays imply."""
        if not isinstance(inputs, Mapping):
            raise _arguments.wrong_type("inputs", "a dict of names and arrays", inputs)
        found: dict[str, int] = {}
        names = {s.name for s in self.symbols}
        for port in self.inputs:
            if port.name not in inputs:
                continue
            shape = np.shape(inputs[port.name])
            if len(shape) != len(port.shape):
                raise ValueError(
                    f"{port.name!r}: expected {len(port.shape)} dimensions, found {len(shape)}"
                )
            for expected, extent in zip(port.shape, shape):
                if expected not in names:
                    continue
                if found.setdefault(str(expected), extent) != extent:
                    raise ValueError(
                        f"{port.name!r}: dimension {expected!r} is {extent} here and "
                        f"{found[str(expected)]} in another place"
                    )
        return found

    def requirements(
        self, device: str | None = None, threads: int = 0, **options: Unpack[SessionOptions]
    ) -> Requirements:
        """What session() with equal arguments will take, to the byte. Allocates nothing.

        arena="caller" stands for an array that is yet to be made.
        """
        given = session_options(device, threads, **completed(options))
        try:
            return Requirements(**self._model.requirements(given))
        except CallerError as error:
            raise named_dimension(error, self, given) from None

    def session(
        self, device: str | None = None, threads: int = 0, **options: Unpack[SessionOptions]
    ) -> Session:
        """Makes an ingot.Session; see there for the options."""
        from ._session import Session

        return Session(self, device, threads, **options)

    def pipeline(
        self,
        depth: int = 2,
        device: str | None = None,
        threads: int = 0,
        *,
        two_threads: bool = False,
        **options: Unpack[SessionOptions],
    ) -> Pipeline:
        """Makes an ingot.Pipeline with `depth` slots."""
        from ._session import Pipeline

        return Pipeline(self, depth, device, threads, two_threads=two_threads, **options)


def _path_of_version(reference: str) -> str:
    """The file that "registry:NAME@TAG" means now: a tag may move while the model is open. What
    means none stays as it is, and is refused by name when it is opened."""
    root = os.environ.get("INGOT_REGISTRY")
    name, _, version = reference.removeprefix("registry:").partition("@")
    if not root or not name or "/" in name + version or "." in (name[0], version[:1]):
        return reference
    folder = version if version[:1].isdigit() else os.path.join("tags", version)
    path = os.path.join(root, name, folder, "model.ingot")
    return os.path.realpath(path) if os.path.isfile(path) else reference


def _ports(ports: Sequence[Port]) -> str:
    return ", ".join(f"{p.name} {p.dtype}[{', '.join(map(str, p.shape))}]" for p in ports)


def named_dimension(error: CallerError, model: Model, options: dict[str, Any]) -> CallerError:
    """If a dimension makes a value of the network too large, the extension names that value: the
    refusal that names the dimension and the largest number that the others leave it."""
    if error.code != _DIMENSION_OUT_OF_BOUNDS or error.name in {s.name for s in model.symbols}:
        return error

    def fits(argument: str, name: str, number: int) -> bool:
        dimensions = {**options[argument], name: number}
        try:
            model._model.requirements({**options, argument: dimensions, "arena": None})
        except CallerError as refused:
            return refused.code != _DIMENSION_OUT_OF_BOUNDS
        return True

    for argument in ("bindings", "upper_bounds"):
        given = options[argument] or {}
        for name, number in sorted(given.items(), key=lambda item: -item[1]):
            low = 1
            if number <= low or not fits(argument, name, low):
                continue
            high = number
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if fits(argument, name, middle) else (low, middle)
            named = CallerError(
                f"a symbolic dimension is out of its bounds {name!r}: {argument}: at most {low}, "
                f"found {number}; {error.name!r} would be too large"
            )
            named.code, named.code_name, named.field = error.code, error.code_name, argument
            named.need, named.have, named.name = low, number, name
            return named
    return error


def _is_memory(source: Any) -> bool:
    try:
        memoryview(source).release()
    except TypeError:
        return hasattr(source, "__dlpack__")
    return True


def _reopen(source: Any, identity: bytes | None, options: dict[str, Any]) -> Model:
    model = Model(source, **options)
    if identity is not None and model._identity != identity:
        raise other_file(source, "was pickled from; pickle it again")
    return model


class Pool(_ingot.Pool):
    """Threads that several sessions share; any thread may use it, one run at a time.

    threads   of the team, the calling thread counts as one; 0: one for each processor
    """

    def __init__(self, threads: int = 0) -> None:
        _arguments.refuse_second_init(self)
        super().__init__(_arguments.whole_number("threads", threads, 0, _arguments.INT32[1]))
        self._is_made = True

    def __repr__(self) -> str:
        return f"<ingot.Pool of {self.threads} threads>"


def empty(shape: int | Sequence[int], dtype: Any = "float32") -> np.ndarray:
    """An array at a multiple of 64 bytes, which a session reads and writes without a copy. Its
    elements are not initialized. MemoryError where there is not so much."""
    given = (shape,) if isinstance(shape, (int, np.integer)) else shape
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _arguments.wrong_type("shape", "a whole number or a sequence of them", shape)
    extents = tuple(_arguments.whole_number("shape", e, 0, _arguments.INT64[1]) for e in given)
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    return _ingot.empty(extents, name)


def devices() -> dict[str, str]:
    """Every device by name: "" where it is there, else why it is not."""
    tests = ("fake", "null")
    return {
        name: "" if exists else why
        for name, exists, why in _ingot.devices()
        if name.partition(":")[0] not in tests
    }
