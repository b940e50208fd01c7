# SPDX-License-Identifier: Apache-2.0
"""Language models: text to ids, messages to a prompt, and an answer piece by piece."""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Union

import numpy as np

from . import _arguments, _grammar, _ingot
from ._errors import caller_error
from ._model import MemoryOptions, Model, completed, session_options

if TYPE_CHECKING:
    from typing_extensions import Self, TypeAlias, Unpack

Prompt: TypeAlias = "Union[str, Sequence[Mapping[str, Any]], Sequence[int]]"

_UINT63 = (0, 2**63 - 1)
_MAX_TOKENS = 2**32 - 1
_MAX_BIAS = 1e9
_DRAW = ("temperature", "top_k", "top_p", "min_p", "typical", "top_n_sigma")
_ENDS = (None, "end", "stop", "tokens", "context", "grammar")
_SETTINGS = {name: (low, high, whole) for name, _, _, low, high, whole in _ingot.settings()}


class AnswerOptions(TypedDict, total=False):
    """Keywords of an answer; ingot.LanguageModel.generate says what each means."""

    max_new_tokens: int | None
    stop: str | Sequence[str]
    seed: int | None
    bias: Mapping[int, float]
    ignore_end: bool
    show_control: bool
    grammar: str | None
    json_schema: Mapping[str, Any] | str | None
    lookup: int | None
    timeout: float | None
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    typical: float
    top_n_sigma: float
    repeat_penalty: float
    presence_penalty: float
    frequency_penalty: float
    repeat_last: int
    dry_multiplier: float
    dry_base: float
    dry_allowed_length: int
    dry_last: int


def _setting(name: str, value: Any) -> float:
    low, high, is_whole = _SETTINGS[name]
    if is_whole:
        return _arguments.whole_number(name, value, int(low), int(high))
    return _arguments.number(name, value, low, high)


def _bias(given: Any) -> dict[int, float]:
    if not isinstance(given, Mapping):
        raise _arguments.wrong_type("bias", "a dict of token ids, {198: -1.5}", given)
    return {
        _arguments.whole_number("bias: token id", id, 0, _arguments.INT32[1]): -math.inf
        if add == -math.inf
        else _arguments.number(f"bias: {id}", add, -_MAX_BIAS, _MAX_BIAS)
        for id, add in given.items()
    }


def _begin_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """What _ingot.Generator.begin() takes beside the ids."""
    settings = {name: _setting(name, value) for name, value in options.items() if name in _SETTINGS}
    _arguments.refuse_unknown(options, AnswerOptions.__annotations__, "an answer")
    seed, most = options.get("seed"), options.get("max_new_tokens")
    lookup = options.get("lookup")
    if "temperature" not in settings and (seed is not None or any(n in settings for n in _DRAW)):
        settings["temperature"] = 1.0
    if seed is not None:
        seed = _arguments.whole_number("seed", seed, *_UINT63)
    elif settings.get("temperature"):
        seed = secrets.randbits(63)
    stop = options.get("stop", ())
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, Sequence):
        raise _arguments.wrong_type("stop", "a str or a list of them", stop)
    flags = _ingot.IGNORE_END if options.get("ignore_end") else 0
    flags |= _ingot.SHOW_CONTROL if options.get("show_control") else 0
    return {
        "settings": settings,
        "seed": seed or 0,
        "bias": _bias(options.get("bias", {})),
        "stop": [_arguments.text("stop", text) for text in stops],
        "tokens": 0
        if most is None
        else _arguments.whole_number("max_new_tokens", most, 1, _MAX_TOKENS),
        "flags": flags,
        "grammar": _grammar.compiled(options.get("grammar"), options.get("json_schema")),
        "lookup": -1
        if lookup is None
        else _arguments.whole_number("lookup", lookup, 0, _arguments.INT32[1]),
        "timeout": options.get("timeout"),
    }


class Tokenizer(_ingot.Tokenizer):
    """The tokenizer and the chat template of a language model's file. Any thread may use it.

        tokenizer = ingot.Tokenizer("smollm2.ingot")
        ids = tokenizer.encode("Why is the sky blue?")
        text = tokenizer.decode(ids)

    source   a path, or an ingot.Model
    """

    def __init__(self, source: str | os.PathLike[str] | Model) -> None:
        _arguments.refuse_second_init(self)
        self.model = source if isinstance(source, Model) else Model(source)
        super().__init__(self.model._model)
        self._is_made = True

    def __repr__(self) -> str:
        return f"<ingot.Tokenizer of {self.token_count} tokens of {self.model!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.model,)

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> str:
        """The text of a prompt, by the file's template. Other keywords are variables of it.

            tokenizer.apply_chat_template([{"role": "user", "content": "Hello"}],
                                          enable_thinking=False)

        It is encoded with add_special_tokens=False and parse_special=True: control tokens in a
        message are taken for what they say, so take them out of text that others wrote.
        """
        given: dict[str, Any] = {
            "messages": messages,
            "add_generation_prompt": add_generation_prompt,
            **variables,
        }
        if tools is not None:
            given["tools"] = tools
        return self._render(given, time.localtime()[:6])


class Answer(Iterator[str], AsyncIterator[str]):
    """An answer in the making: pieces of text, one after another, by `for` or `async for`.

    Whole characters, and nothing of a stop text. A piece is computed when it is asked for; an
    answer that is left early costs nothing more. Another answer of the same model ends this one.

    text            what it says so far, as str(answer)
    tokens          ids of it
    stopped_by      None: it goes on; "end": a control token; "stop": stop_text; "tokens": the limit
                    of max_new_tokens; "context": the caches are full; "grammar": it allows no more
    stop_text       the one that ended it, or None
    seed            of the draw; None where the most probable tokens are taken
    prompt_tokens   ids of the prompt
    reused          how many of those lay in the caches already
    proposed        tokens that look-up or a draft proposed so far
    accepted        those of them that it says: each saved a run
    """

    def __init__(
        self, model: LanguageModel, ids: Sequence[int], options: Mapping[str, Any]
    ) -> None:
        given = _begin_arguments(options)
        self._model = model
        self._stops: list[str] = given["stop"]
        self._pieces: list[str] = []
        self.prompt_tokens: list[int] = list(ids)
        self.tokens: list[int] = []
        self.stopped_by: str | None = None
        self.stop_text: str | None = None
        self.seed: int | None = given["seed"] if given["settings"].get("temperature") else None
        self.reused: int = model._generator.begin(ids, **given)
        self.proposed = self.accepted = 0

    @property
    def text(self) -> str:
        """What it says so far."""
        return "".join(self._pieces)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<ingot.Answer {self.text!r}, stopped by {self.stopped_by}>"

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __next__(self) -> str:
        while self.stopped_by is None:
            if piece := self._step():
                return piece
        raise StopIteration

    async def __anext__(self) -> str:
        """On a thread of the event loop's. If the task is cancelled the answer is too, and the end
        of its run is waited for."""
        loop = asyncio.get_running_loop()
        while self.stopped_by is None:
            step = loop.run_in_executor(None, self._step)
            try:
                piece = await asyncio.shield(step)
            except asyncio.CancelledError:
                self.cancel()
                await asyncio.wait([step])
                if not step.cancelled():
                    step.exception()  # looked at: nobody else will
                raise
            if piece:
                return piece
        raise StopAsyncIteration

    def read(self) -> str:
        """Computes what is left; the whole text."""
        for _ in self:
            pass
        return self.text

    def cancel(self) -> None:
        """Any thread: the call in progress and later ones of this answer raise ingot.Cancelled."""
        if self._model._answer is self:
            self._model._generator.cancel()

    def _step(self) -> str:
        if self._model._answer is not self:
            raise caller_error(
                "not possible now: the answer was ended by a later one, or by restore()"
            )
        id, end, piece, stop = self._model._generator.next()
        self.proposed, self.accepted = self._model._generator.drafted
        if _ENDS[end] != "end":
            self.tokens.append(id)
        self._pieces.append(piece)
        self.stop_text = self._stops[stop] if stop >= 0 else None
        self.stopped_by = _ENDS[end]
        return piece


class LanguageModel:
    """A language model that answers: one sequence, its caches, and memory to compute it.

        model = ingot.LanguageModel("smollm2.ingot")
        for piece in model.generate("The capital of France is", max_new_tokens=32):
            print(piece, end="", flush=True)
        print(model([{"role": "user", "content": "Why is the sky blue?"}], max_new_tokens=64))

    source    a path, or an ingot.Model, whose weights several of these share
    device, threads, options   as ingot.Session has them: arena, pool, upper_bounds, strict,
              huge_pages, lock_memory, prefault
    draft     a LanguageModel of a smaller file with the same tokens: it proposes those that a run
              checks (`ingot convert --lookup`), instead of look-up. It is used for this alone

    One thread at a time, except cancel(). The caches keep prompt and answer: of the next prompt
    what they have from its beginning is not computed again.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Model,
        device: str | None = None,
        threads: int = 0,
        draft: LanguageModel | None = None,
        **options: Unpack[MemoryOptions],
    ) -> None:
        _arguments.refuse_second_init(self)
        if draft is not None and not isinstance(draft, LanguageModel):
            raise _arguments.wrong_type("draft", "an ingot.LanguageModel", draft)
        self.model = source if isinstance(source, Model) else Model(source)
        missing = {"tokens", "position"} - {port.name for port in self.model.inputs}
        if missing:
            raise caller_error(
                f"the file is no language model: no input {min(missing)!r}; convert one from a "
                "GGUF file or a Hugging Face folder",
                1,
                "invalid_argument",
            )
        _arguments.refuse_unknown(options, MemoryOptions.__annotations__, "a language model")
        self.tokenizer = Tokenizer(self.model)
        given = completed({**options, "rebindable": True, "bindings": {"T": 1}})
        chosen = session_options(device, threads, **given)
        self._generator = _ingot.Generator(self.tokenizer, chosen, draft and draft._generator)
        self._answer: Answer | None = None
        self._is_made = True

    def __repr__(self) -> str:
        return f"<ingot.LanguageModel of {self.model!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a language model cannot be pickled: pickle its model, and save()")

    def close(self) -> None:
        """Gives the memory back. Twice is fine."""
        self._generator.close()

    @property
    def context(self) -> int:
        """Tokens that the caches hold."""
        return self._generator.context

    def generate(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[Any] | None = None,
        template_options: Mapping[str, Any] | None = None,
        **options: Unpack[AnswerOptions],
    ) -> Answer:
        """Begins an answer, and computes nothing yet: iterate over it, or read() it.

            for piece in model.generate("Once upon a time", temperature=0.8, top_p=0.95, seed=1):
                print(piece, end="")
            async for piece in model.generate(messages, max_new_tokens=64, stop=["User:"]):
                ...

        prompt           a text that goes on; messages, as [{"role": "user", "content": "Hi"}],
                         by the file's chat template; or token ids
        tools, template_options   of the template: {"enable_thinking": False}
        max_new_tokens   None: until another end
        stop             the answer ends in front of such a text
        seed             the same seed, the same answer, on every machine; None: another each time
        bias             {id: number}, added to the logit; -math.inf: never this token
        ignore_end       a control token does not end the answer
        show_control     control tokens are text, too
        grammar          the answer is a text of it, in llama.cpp's GBNF
        json_schema      the answer is JSON of this schema: a dict, or its JSON (docs/llm.md)
        lookup           tokens that a run checks at most, where the last ones stood before: the
                         same answer, in fewer runs. None: as many as `ingot convert --lookup` says
        timeout          seconds from now, for all of it: then ingot.DeadlineExceeded
        temperature, top_k, top_p, min_p, typical, top_n_sigma, repeat_penalty, presence_penalty,
        frequency_penalty, repeat_last, dry_...   as docs/llm.md has them. Without the first six and
                         a seed, the most probable token is taken; with one of them, temperature is
                         1 unless it is given
        """
        ids = self._ids_of(prompt, tools, template_options)
        if self._answer and {"grammar", "json_schema"} & options.keys():
            self._answer = None  # it may have had the constraint
        answer = Answer(self, ids, options)
        self._answer = answer
        return answer

    def __call__(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[Any] | None = None,
        template_options: Mapping[str, Any] | None = None,
        **options: Unpack[AnswerOptions],
    ) -> Answer:
        """generate(), computed to its end: model(messages, max_new_tokens=64).text"""
        answer = self.generate(prompt, tools=tools, template_options=template_options, **options)
        answer.read()
        return answer

    def save(self) -> bytes:
        """The tokens in the caches and the caches."""
        return self._generator.save()

    def restore(self, saved: Any) -> None:
        """What a model of the same file saved: its tokens are not computed again. An answer in the
        making is over."""
        self._generator.restore(saved)
        self._answer = None

    def _ids_of(
        self,
        prompt: Prompt,
        tools: Sequence[Any] | None,
        template_options: Mapping[str, Any] | None,
    ) -> Sequence[int]:
        is_messages = False
        if not isinstance(prompt, str):
            if not isinstance(prompt, (Sequence, np.ndarray)) or isinstance(prompt, bytes):
                expected = "a str, a list of messages, or token ids"
                raise _arguments.wrong_type("prompt", expected, prompt)
            is_messages = len(prompt) > 0 and isinstance(prompt[0], Mapping)
        if not is_messages and (tools is not None or template_options is not None):
            raise TypeError("tools, template_options: of messages, and the prompt has none")
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt)
        if not is_messages:
            return prompt  # type: ignore[return-value]
        text = self.tokenizer.apply_chat_template(
            prompt,  # type: ignore[arg-type]
            tools=tools,
            **(template_options or {}),
        )
        return self.tokenizer.encode(text, add_special_tokens=False, parse_special=True)
