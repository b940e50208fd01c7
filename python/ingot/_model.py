"""Models: what a file says, and sessions made of it."""

from __future__ import annotations

import dataclasses
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _ingot

_TRUST = {"none": 0, "hashes": 1}
_MAP = {"share": 0, "copy": 1}
# Of a file's header: its own SHA-256, which covers those of all parts.
_IDENTITY = slice(32, 64)


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
    return {
        "device": device,
        "threads": threads,
        "flags": sum(flag for flag, is_chosen in chosen.items() if is_chosen),
        "bindings": None if bindings is None else dict(bindings),
        "upper_bounds": None if upper_bounds is None else dict(upper_bounds),
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


def completed(options: dict[str, Any]) -> dict[str, Any]:
    """Options with the defaults of what was not given; another name is a TypeError."""
    unknown = sorted(set(options) - set(DEFAULTS))
    if unknown:
        raise TypeError(f"no option {unknown[0]!r} of a session; there are: {', '.join(DEFAULTS)}")
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
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Any,
        *,
        trust: str = "none",
        map: str = "share",
        isa: str | None = None,
    ) -> None:
        for name, value, known in (("trust", trust, _TRUST), ("map", map, _MAP)):
            if value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, found {value!r}")
        self._options = {"trust": trust, "map": map, "isa": isa}
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._source: Any
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            if path.startswith("registry:"):
                path = _path_of_version(path)
            else:
                path = os.path.abspath(path)
            self._model = _ingot.Model.open_file(path, _TRUST[trust], _MAP[map], isa)
            self._source = path
        else:
            self._source = source
            self._model = _ingot.Model.open_bytes(source, _TRUST[trust], isa)
        self.inputs: tuple[Port, ...] = tuple(Port(*p) for p in self._model.inputs())
        self.outputs: tuple[Port, ...] = tuple(Port(*p) for p in self._model.outputs())
        self.symbols: tuple[Symbol, ...] = tuple(Symbol(*s) for s in self._model.symbols())
        self.states: tuple[State, ...] = tuple(
            State(Port(*port), output, initial) for port, output, initial in self._model.states()
        )

    def __repr__(self) -> str:
        what = self._source if isinstance(self._source, str) else "bytes"
        return f"<ingot.Model {what}: {_ports(self.inputs)} -> {_ports(self.outputs)}>"

    # Across processes a model goes as its path, and the file must be the same there; a model of
    # bytes, or of a converted source that was given no path, goes as its bytes.
    def __reduce__(self):
        if isinstance(self._source, str) and self._temporary is None:
            return _reopen, (self._source, _identity(self._source), self._options)
        return _reopen, (self.to_bytes(), None, self._options)

    def to_bytes(self) -> bytes:
        """The whole file."""
        if isinstance(self._source, str):
            with open(self._source, "rb") as file:
                return file.read()
        return bytes(self._source)

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

    def verify_hashes(self) -> None:
        """Compares every part with its SHA-256. Reads the whole file."""
        self._model.verify_hashes()

    def bindings_of(self, inputs: Mapping[str, Any]) -> dict[str, int]:
        """Values of the symbols that the shapes of these arrays imply."""
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
        self, device: str | None = None, threads: int = 0, **options: Any
    ) -> Requirements:
        """What session() with equal arguments will take, to the byte. Allocates nothing.

        arena="caller" stands for an array that is yet to be made.
        """
        given = session_options(device, threads, **completed(options))
        return Requirements(**self._model.requirements(given))

    def session(self, device: str | None = None, threads: int = 0, **options: Any):
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
        **options: Any,
    ):
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


def _identity(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_IDENTITY.stop)[_IDENTITY]


def _reopen(source: Any, identity: bytes | None, options: dict[str, Any]) -> Model:
    if identity is not None and _identity(source) != identity:
        raise ValueError(f"{source}: not the file that the model was pickled from; pickle it again")
    return Model(source, **options)


def empty(shape: int | Sequence[int], dtype: Any = "float32") -> np.ndarray:
    """An array at a multiple of 64 bytes, which a session reads and writes without a copy."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if math.prod(extents) < 0:
        raise ValueError("shape: an extent is negative")
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    return _ingot.empty(extents, name)


def devices() -> dict[str, str]:
    """Every device by name: "" where it is there, else why it is not."""
    return {name: "" if exists else why for name, exists, why in _ingot.devices()}
