# SPDX-License-Identifier: Apache-2.0
"""Embedding models: texts to vectors, whose products say how near their meanings are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arguments
from ._errors import CallerError, caller_error
from ._language import Tokenizer
from ._model import MemoryOptions, Model
from ._session import Session

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


def _invalid(text: str) -> CallerError:
    return caller_error(text, 1, "invalid_argument")


class Embedder:
    """An embedding model: a vector of floats for each text.

        embedder = ingot.Embedder("minilm.ingot")
        lines = embedder.embed(["a cat on a mat", "the stock market"])
        nearest = (lines @ embedder.embed("a kitten")).argmax()

    source    a path, or an ingot.Model, whose weights several of these share
    device, threads, options   as ingot.LanguageModel has them

    One thread at a time.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Model,
        device: str | None = None,
        threads: int = 0,
        **options: Unpack[MemoryOptions],
    ) -> None:
        _arguments.refuse_second_init(self)
        self.model = source if isinstance(source, Model) else Model(source)
        inputs = {port.name for port in self.model.inputs}
        vector = next((port for port in self.model.outputs if port.name == "embedding"), None)
        if inputs != {"tokens"} or vector is None:
            raise _invalid(
                "the file is no embedding model: it has no "
                + ("output 'embedding'" if vector is None else "input 'tokens' alone")
                + "; convert one from a folder of sentence-transformers or its GGUF file"
            )
        _arguments.refuse_unknown(options, MemoryOptions.__annotations__, "an embedder")
        self.tokenizer = Tokenizer(self.model)
        self.width: int = int(vector.shape[-1])
        bounds = [symbol.high for symbol in self.model.symbols if symbol.name == "T"]
        self.context: int = bounds[0] if bounds else 1
        self._session = Session(
            self.model, device, threads, rebindable=True, bindings={"T": 1}, **options
        )
        self._behind = self._ids_behind()
        self._is_made = True

    def __repr__(self) -> str:
        return f"<ingot.Embedder of {self.width} numbers of {self.model!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("an embedder cannot be pickled: pickle its model")

    def close(self) -> None:
        """Gives the memory back. Twice is fine."""
        self._session.close()

    def embed(
        self,
        texts: str | Sequence[str],
        *,
        prompt: str | None = None,
        prefix: str = "",
        truncate: bool = False,
    ) -> np.ndarray:
        """float32 [texts, width]; of one str [width].

        prompt     the name of a prompt of the model, put before each text: "query"
        prefix     a text that is put before each
        truncate   a text of more tokens than the context is cut, instead of refused
        """
        listed = [texts] if isinstance(texts, str) else texts
        if not isinstance(listed, Sequence):
            raise _arguments.wrong_type("texts", "a str or a list of them", texts)
        if not listed:
            raise _invalid("texts: an empty list, expected a text at least")
        before = prefix if prompt is None else self._prompt(prompt) + prefix
        vectors = np.empty((len(listed), self.width), np.float32)
        for i, text in enumerate(listed):
            if not _arguments.text("texts", text):
                raise _invalid(f"texts: text {i} is empty; leave it out")
            vectors[i] = self._vector(self._ids(i, before + text, truncate))
        return vectors[0] if isinstance(texts, str) else vectors

    def _vector(self, ids: list[int]) -> np.ndarray:
        self._session.rebind(T=len(ids))
        vectors = self._session.run({"tokens": np.array([ids], np.int32)})["embedding"]
        return np.asarray(vectors[0])

    def _prompt(self, name: str) -> str:
        text = self.model.metadata(f"ingot.prompt.{name}")
        if text is None:
            raise _invalid(f"prompt: the model has no prompt {name!r}; give the text: prefix=")
        return text

    def _ids(self, i: int, text: str, truncate: bool) -> list[int]:
        ids = self.tokenizer.encode(text)
        if not ids:
            raise _invalid(f"texts: text {i} has no token")
        if len(ids) <= self.context:
            return ids
        if not truncate:
            raise _invalid(
                f"texts: text {i} has {len(ids)} tokens, the context has room for {self.context}; "
                "truncate=True cuts it"
            )
        return ids[: self.context - len(self._behind)] + self._behind

    def _ids_behind(self) -> list[int]:
        """What the model wants behind a text."""
        ends, bare = self.tokenizer.encode(""), self.tokenizer.encode("a", False)
        whole = self.tokenizer.encode("a")
        for k in range(len(ends) + 1):
            if whole == ends[:k] + bare + ends[k:]:
                return ends[k:]
        return []
