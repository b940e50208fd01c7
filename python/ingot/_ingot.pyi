# SPDX-License-Identifier: Apache-2.0
"""The extension over the C interface. Public names of ingot/ stand on it; use those."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ALIGNMENT: int
ASYNC: int
BIND_PORTS: int
HUGE_PAGES: int
IGNORE_END: int
KEEP_VALUES: int
LOCK_MEMORY: int
PREFAULT: int
REBINDABLE: int
SHOW_CONTROL: int
STRICT: int

_PortTuple = tuple[str, str, tuple[int | str, ...], str]

def clock_ns() -> int: ...
def devices() -> list[tuple[str, bool, str]]: ...
def empty(shape: tuple[int, ...], dtype: str) -> np.ndarray: ...
def settings() -> list[tuple[str, str, float, float, float, bool]]: ...
def version() -> str: ...

class Memory:
    def __init__(self, nbytes: int) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

class Pool:
    """Threads that several sessions share; any thread may use it."""

    def __init__(self, threads: int = 0) -> None:
        """threads: of the team, the calling thread counts as one; 0: one for each processor."""
    @property
    def threads(self) -> int: ...

class Model:
    @staticmethod
    def open_file(path: bytes, trust: int, map: int, isa: str | None) -> Model: ...
    @staticmethod
    def open_bytes(data: Any, trust: int, isa: str | None) -> Model: ...
    def inputs(self) -> list[_PortTuple]: ...
    def outputs(self) -> list[_PortTuple]: ...
    def states(self) -> list[tuple[_PortTuple, str, bool]]: ...
    def symbols(self) -> list[tuple[str, int, int]]: ...
    def summary(self) -> dict[str, Any]: ...
    def metadata(self, key: str) -> str | None: ...
    def quantization(self, port: str) -> tuple[float, int] | None: ...
    def copied_bytes(self) -> int: ...
    def verify_hashes(self) -> None: ...
    def requirements(self, options: dict[str, Any]) -> dict[str, int]: ...

class Session:
    def __init__(self, model: Model, options: dict[str, Any], ended_fd: int = -1) -> None: ...
    def run(
        self,
        *inputs: Any,
        outputs: Mapping[str, Any] | None = None,
        copy: bool | None = None,
        timeout: float | None = None,
    ) -> dict[str, np.ndarray]:
        """Computes every output: run({"x": array}), run(array), or run() where inputs are bound.

        Arrays of at least 32 KiB at a multiple of 64 bytes are read where they lie; smaller ones,
        which are copied faster than bound, and others are copied (copied_bytes). copy=False copies
        nothing and refuses what is not aligned. Outputs are new arrays, the arrays in `outputs`, or
        those of bind_output(). timeout: seconds.
        """
    def execute(self, timeout: float | None = None) -> None:
        """Runs on what lies in the ports: input() was filled, output() is read. Copies nothing."""
    def _begin(
        self,
        *inputs: Any,
        outputs: Mapping[str, Any] | None = None,
        copy: bool | None = None,
        timeout: float | None = None,
    ) -> None: ...
    def _end(self, was_cancelled: bool = False) -> dict[str, np.ndarray]: ...
    def cancel(self) -> None:
        """From any thread: ends the run in progress, or else the next one."""
    def close(self) -> None:
        """Gives back the arena and the threads now; a closed session refuses every call."""
    @property
    def closed(self) -> bool: ...
    @property
    def copied_bytes(self) -> int:
        """Of inputs and outputs, by the last run()."""
    def input(self, which: str | int) -> np.ndarray:
        """An input where the run reads it. Write it before every execute()."""
    def output(self, which: str | int) -> np.ndarray:
        """An output where execute() left it: valid until the next run."""
    def bind_input(self, which: str | int, array: Any) -> None:
        """From now on every run reads this array, on a device too; None: the arena's again."""
    def bind_output(self, which: str | int, array: Any) -> None:
        """From now on every run writes into this array, on a device too; None: the arena's again."""
    def _rebind(self, bindings: dict[str, int]) -> None: ...
    def state(self, which: str | int) -> np.ndarray:
        """A state variable where it lies; may be written between runs."""
    def value(self, name: str) -> np.ndarray:
        """Any value after a run; intermediates with keep_values=True."""
    def save_state(self) -> bytes:
        """All state variables; another session, device or day goes on with the same bits."""
    def restore_state(self, state: Any) -> None:
        """Goes on from what save_state() gave, of this or another session."""
    def reset_state(self) -> None:
        """Gives every state variable its initial value."""
    def check_state(self) -> None:
        """Raises where an element is not a number."""
    def park(self) -> None:
        """Gives the pages of activations back to the system until the next run."""
    def _requirements(self) -> dict[str, int]: ...
    def placement(self) -> dict[str, Any]:
        """device, reason, isa, threads, threads_reason, instructions."""
    def counters(self) -> dict[str, int]:
        """runs, wakes, waits, alone."""
    def memory(self) -> list[tuple[str, int, bool]]:
        """Who holds what: owner, bytes, whether in the arena."""

class Pipeline:
    def __init__(
        self, model: Model, options: dict[str, Any], depth: int, two_threads: bool
    ) -> None: ...
    @property
    def free(self) -> int:
        """Slots that acquire() gives without waiting."""
    def acquire(self) -> None:
        """Waits for a free slot, whose inputs are then to be filled."""
    def input(self, which: str | int) -> np.ndarray:
        """Of the acquired slot, to be filled; not to be touched after push()."""
    def write(self, which: str | int, array: Any) -> None:
        """Copies an array into an input of the acquired slot."""
    def push(self) -> None:
        """Hands the acquired slot over to be computed."""
    def finish(self) -> None:
        """No more items follow: pop() gives None behind the last."""
    def pop(self, timeout: float | None = None) -> int | None:
        """Waits for the oldest item: its number, or None behind the last."""
    def output(self, which: str | int) -> np.ndarray:
        """Of the popped item, until release()."""
    def release(self) -> None:
        """Gives the popped slot back; its outputs are no longer valid."""
    def cancel(self) -> None:
        """From any thread: ends it. Calls that wait, and all later ones, raise Cancelled."""
    def close(self) -> None:
        """Gives back the arenas and the threads now."""
    @property
    def closed(self) -> bool: ...

class Tokenizer:
    def __init__(self, model: Model) -> None: ...
    @property
    def token_count(self) -> int:
        """Of the tokenizer; a model may have logits for more."""
    def encode(
        self, text: str, add_special_tokens: bool = True, parse_special: bool = False
    ) -> list[int]:
        """Ids of a text. add_special_tokens: those that the model asks for around one, too.
        parse_special: control tokens in it are taken for what they say."""
    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids; what never became a whole character is U+FFFD."""
    def token(self, id: int) -> tuple[bytes, bool]:
        """Bytes of one token, which may be a part of a character; whether it ends an answer."""
    def _render(self, variables: dict[str, Any], now: tuple[int, ...]) -> str: ...
    @property
    def has_chat_template(self) -> bool:
        """Whether the file has one."""
    @property
    def chat_template_refused(self) -> str:
        """Why apply_chat_template() cannot render it, or ""."""

class Generator:
    def __init__(
        self, tokenizer: Tokenizer, options: dict[str, Any], draft: Generator | None
    ) -> None: ...
    def begin(
        self,
        ids: Sequence[int],
        settings: dict[str, float],
        seed: int,
        bias: dict[int, float],
        stop: list[str],
        tokens: int,
        flags: int,
        grammar: bytes,
        lookup: int,
        timeout: float | None,
    ) -> int: ...
    def next(self) -> tuple[int, int, str, int]: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def save(self) -> bytes: ...
    def restore(self, saved: Any) -> None: ...
    @property
    def context(self) -> int: ...
    @property
    def drafted(self) -> tuple[int, int]:
        """Tokens proposed for the answer, and those accepted."""
    @property
    def vocabulary(self) -> int: ...
