# SPDX-License-Identifier: Apache-2.0
"""Sessions and pipelines: what the extension has, and what needs an event loop or an iterator."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arguments, _ingot
from ._errors import CallerError, Error, caller_error
from ._model import (
    Model,
    Requirements,
    SessionOptions,
    completed,
    named_dimension,
    session_options,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

_MAX_DEPTH = 16  # of a pipeline, as pipeline.h has it


def _check_model(model: Any) -> None:
    if not isinstance(model, Model):
        raise _arguments.wrong_type("model", "an ingot.Model", model)


class Session(_ingot.Session):
    """One arena and the right to run in it. One thread at a time; make one for each thread.

    device         None or "auto", "cpu", "cuda", "cuda:1"
    threads        of the team; 0: one for each processor, or 1 where a run is too short to share
    bindings       values of dynamic dimensions, {"W": 320}
    arena          None: own memory; a number: own memory, at most so many bytes; an array of bytes
                   at a multiple of 64: the caller's memory, which the session holds
    pool           an ingot.Pool that several sessions share
    rebindable     rebind() may change the bindings within upper_bounds, or the file's bounds
    bind_ports     every port is bound or given; the arena has no place for them
    keep_values    value() shows any intermediate after a run; larger arena
    strict         refused where the device cannot run every instruction
    huge_pages, lock_memory, prefault   of an own arena
    asynchronous   a thread of its own, for run_async()
    """

    def __init__(
        self,
        model: Model,
        device: str | None = None,
        threads: int = 0,
        **options: Unpack[SessionOptions],
    ) -> None:
        _arguments.refuse_second_init(self)
        _check_model(model)
        given = completed(options)
        chosen = session_options(device, threads, **given)
        self._ended_fd = -1
        if given["asynchronous"]:
            self._ended_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            super().__init__(model._model, chosen, self._ended_fd)
        except BaseException as error:
            self._close_fd()
            if isinstance(error, CallerError):
                raise named_dimension(error, model, chosen) from None
            raise
        self.model = model
        self._is_made = True

    def __repr__(self) -> str:
        if getattr(self, "model", None) is None or self.closed:
            return "<ingot.Session, closed>"
        return f"<ingot.Session on {self.placement()['device']} of {self.model!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        # A run that was started writes to the descriptor: it must have ended before that is closed.
        if getattr(self, "model", None) is not None:
            self.close()
        self._close_fd()

    def close(self) -> None:
        """Ends threads and gives the memory back, once no array over it is left. Twice is fine."""
        super().close()
        self._close_fd()

    def _close_fd(self) -> None:
        fd, self._ended_fd = getattr(self, "_ended_fd", -1), -1
        if fd >= 0:
            os.close(fd)

    def __reduce__(self):
        raise TypeError(
            "a session cannot be pickled: pickle its model, and save_state() where it has state"
        )

    def requirements(self) -> Requirements:
        """What Model.requirements() said for it."""
        return Requirements(**self._requirements())

    def rebind(self, bindings: Mapping[str, int] | None = None, /, **more: int) -> None:
        """Other extents in the same arena: rebind(W=320). No allocation of Ingot's.

        Ports that were bound are back in the arena; arrays of input() and output() from before
        lie over memory that now means something else: ask again.
        """
        given = {} if bindings is None else _arguments.dimensions("rebind", bindings)
        self._rebind({**given, **_arguments.dimensions("rebind", more)})

    async def run_async(
        self,
        *inputs: Any,
        outputs: Mapping[str, Any] | None = None,
        copy: bool | None = None,
        timeout: float | None = None,
    ) -> dict[str, np.ndarray]:
        """run(), awaited: the event loop goes on while a thread of the session computes.

        Needs asynchronous=True. If the task is cancelled the run is too, and its end is waited
        for, so that no array is let go while it is read.
        """
        loop = asyncio.get_running_loop()
        self._begin(*inputs, outputs=outputs, copy=copy, timeout=timeout)
        ended = asyncio.Event()
        fd = self._ended_fd

        def on_ended() -> None:
            os.eventfd_read(fd)
            loop.remove_reader(fd)
            ended.set()

        loop.add_reader(fd, on_ended)
        try:
            await ended.wait()
        except asyncio.CancelledError:
            self.cancel()
            while not ended.is_set():
                try:
                    await ended.wait()
                except asyncio.CancelledError:
                    continue
            with contextlib.suppress(Error):  # Cancelled, or what ended it before
                self._end(was_cancelled=True)
            raise
        return self._end()


class Pipeline(_ingot.Pipeline):
    """Items that flow through a session of their own: one is computed while the next is filled.

    Each of `depth` slots (1 to 16) has memory for every input and output. One thread fills and
    reads, or two with two_threads=True. Options are a Session's, without rebindable and bind_ports.
    """

    def __init__(
        self,
        model: Model,
        depth: int = 2,
        device: str | None = None,
        threads: int = 0,
        *,
        two_threads: bool = False,
        **options: Unpack[SessionOptions],
    ) -> None:
        _arguments.refuse_second_init(self)
        _check_model(model)
        depth = _arguments.whole_number("depth", depth, 1, _MAX_DEPTH)
        given = session_options(device, threads, **completed(options))
        try:
            super().__init__(model._model, given, depth, bool(two_threads))
        except CallerError as error:
            raise named_dimension(error, model, given) from None
        self.model = model
        self._is_made = True
        self._depth = depth
        self._maps = 0  # that were begun
        self._of_map = 0  # items in flight that the last of them pushed, at most

    def __repr__(self) -> str:
        if getattr(self, "model", None) is None:
            return "<ingot.Pipeline, closed>"
        return f"<ingot.Pipeline of {self._depth} slots of {self.model!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self):
        raise TypeError("a pipeline cannot be pickled: pickle its model")

    def put(self, inputs: Mapping[str, Any]) -> None:
        """Copies the arrays into a free slot and queues its run."""
        missing = [p.name for p in self.model.inputs if p.name not in inputs]
        if missing:
            raise ValueError(f"{missing[0]!r}: an input that was not given")
        self.acquire()
        for name, array in inputs.items():
            self.write(name, array)
        self.push()

    def get(self, timeout: float | None = None) -> dict[str, np.ndarray] | None:
        """The oldest item's outputs as arrays of their own; None behind the last."""
        if self.pop(timeout) is None:
            return None
        try:
            return {p.name: self.output(p.name).copy() for p in self.model.outputs}
        finally:
            self.release()

    def map(self, items: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, np.ndarray]]:
        """Outputs for each item, in order, while the items behind it are computed.

        One map() after another, as many as there is work for. However one ends (an exception of
        `items`, an item that is refused, a loop that is left), the items that it still has in
        flight are computed and dropped; where the network has state, they have advanced it. A
        map() that begins ends the one before it. Items of put() or push() must be taken first:
        CallerError (code 8), as where the loop's body uses the slots itself.
        """
        self._refuse_closed()
        if self._in_flight() > self._of_map:
            raise caller_error(
                "not possible now: map: items of put() or push() are in flight; get() them first"
            )
        self._drop()
        if self._in_flight():
            self.acquire()  # says why, where the pipeline was cancelled or is another process's
            raise caller_error("not possible now: map: another thread takes items")
        self._maps += 1
        return self._map(iter(items), self._maps)

    def _map(self, source: Iterator[Mapping[str, Any]], number: int) -> Iterator[Any]:
        more = True
        try:
            while True:
                while more and self.free:
                    try:
                        item = next(source)
                    except StopIteration:
                        more = False
                        break
                    self._check_turn(number)
                    self._of_map += 1  # before it is pushed: an interrupt may come behind that
                    self.put(item)
                self._of_map = in_flight = self._in_flight()
                if not in_flight:
                    return
                outputs = self.get()
                assert outputs is not None
                self._of_map = in_flight - 1
                yield outputs
                self._check_turn(number)
        finally:
            if self._maps == number:
                self._drop()

    def _refuse_closed(self) -> None:
        if self.closed:
            self.acquire()

    def _check_turn(self, number: int) -> None:
        self._refuse_closed()
        if self._maps != number:
            raise caller_error("not possible now: map: a later map() of this pipeline ended it")
        if self._in_flight() != self._of_map:
            raise caller_error(
                "not possible now: map: its slots were used from outside; one or the other"
            )

    def _in_flight(self) -> int:
        """Slots that are pushed and not released; all of them once it is closed."""
        return self._depth - self.free

    def _drop(self) -> None:
        """Takes what a map() left. What cannot be taken now (it is closed, cancelled, or of another
        process) stays, and the next call says why."""
        while 0 < self._in_flight() <= self._of_map:
            before = self._in_flight()
            with contextlib.suppress(Error):
                self.pop()
            with contextlib.suppress(Error):
                self.release()  # nothing to do where the item's run failed
            if self._in_flight() == before:
                return
        self._of_map = min(self._of_map, self._in_flight())
