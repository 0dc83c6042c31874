"""Columns of text: hashed words, weighted by how rare they are."""

from typing import Any

import numpy as np

from modicum.pipeline.columns.cells import as_strings
from modicum.pipeline.columns.column import Column, Counts, Settings
from modicum.pipeline.text import HashedText
from modicum.rules.invariants import Is, Whole
from modicum.rules.params import NULL

HASHES = 8_192  # columns of the hash that are summed to few dense ones


class Text(Column):
    """TF-IDF of words and pairs of words, hashed. A row has unit length, so that distances compare directions."""

    kind, plural = "text", "texts"
    _invariants = {"hashed": Is(HashedText), "dense_width": [NULL, Whole(1, 2**20)]}

    def __init__(self, name: str, hashed: HashedText, dense_width: int | None):
        super().__init__(name, has_flag=False)  # no text has no words: its numbers are 0
        self.hashed = hashed
        self.dense_width = dense_width  # None: sparse

    @classmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Text":
        hashed = HashedText() if settings.text_width is None else HashedText(HASHES)
        hashed.learn(as_strings(cells).to_pylist())
        return cls(name, hashed, settings.text_width)

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self.dense_width is None

    @property
    def width(self) -> int:
        return self.hashed.width if self.dense_width is None else self.dense_width

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name} #{i}" for i in range(self.width)]

    def parse(self, cells: Any) -> list[str | None]:
        return as_strings(cells).to_pylist()

    def missing(self, values: list[str | None]) -> np.ndarray:
        return np.array([value is None for value in values], bool)

    def encode(self, values: list[str | None], out: np.ndarray) -> None:
        out[:] = self.hashed.encode_dense(values, out.shape[1])

    def encode_sparse(self, values: list[str | None]) -> Any:
        """The same as a CSR matrix."""
        return self.hashed.encode(values)

    def unlike(self, values: list[str | None]) -> int:
        return 0

    def count(self, values: list[str | None]) -> Counts:
        return Counts(0, 0, 0)  # nothing is watched

    def describe(self) -> str:
        return f"words and pairs of words, hashed into {self.width:,} columns"
