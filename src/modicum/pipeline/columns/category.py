"""Columns of categories: one column of numbers for each common value, and one for all others."""

import zlib
from typing import Any

import numpy as np

from modicum.pipeline.columns.cells import as_strings
from modicum.pipeline.columns.column import ENOUGH, Column, Settings
from modicum.rules.invariants import TEXT, Each, Whole

NEW = 0.10  # share of later values that are new, above which the categories have changed


class Category(Column):
    """One-hot columns, with a place for new values; hashed into that many columns if there are too many values."""

    kind, plural = "category", "categories"
    _invariants = {"values": Each(TEXT), "n_hashed": Whole(0, 2**20)}

    def __init__(self, name: str, values: list[str], n_hashed: int, has_flag: bool):
        super().__init__(name, has_flag)
        self.values = values  # those with a column of their own
        self.n_hashed = n_hashed  # columns, if values are hashed; otherwise 0

    @classmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Category":
        import pyarrow.compute as pc

        cells = as_strings(cells)
        counts = sorted((-c["counts"], c["values"]) for c in pc.value_counts(cells).to_pylist() if c["values"])
        if len(counts) > settings.max_categories:
            return cls(name, [], settings.max_categories, cells.null_count > 0)
        return cls(name, [value for _, value in counts], 0, cells.null_count > 0)

    @property
    def own_names(self) -> list[str]:
        if self.n_hashed:
            return [f"{self.name} #{i}" for i in range(self.n_hashed)]
        return [*(f"{self.name}={value}" for value in self.values), f"{self.name} other"]

    def parse(self, cells: Any) -> np.ndarray:
        """The column of each cell; -1 if it is missing."""
        encoded = as_strings(cells).dictionary_encode()
        places = np.array([self._place(value) for value in encoded.dictionary.to_pylist()] or [0], np.int64)
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        if encoded.null_count:
            return np.where(np.isnan(codes), -1, places[np.nan_to_num(codes).astype(np.int64)])
        return places[codes]

    def _place(self, value: str) -> int:
        if self.n_hashed:
            return zlib.crc32(value.encode()) % self.n_hashed
        known = self.__dict__.get("_places")
        if known is None:
            known = self._places = {value: i for i, value in enumerate(self.values)}
        return known.get(value, len(known))

    def missing(self, values: np.ndarray) -> np.ndarray:
        return values < 0

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        out[:] = 0.0
        there = np.flatnonzero(values >= 0)
        out[there, values[there]] = 1.0

    def decode(self, numbers: np.ndarray) -> np.ndarray | None:
        values = np.array([*self.values, "other"], object)
        return None if self.n_hashed else values[numbers.argmax(axis=1)]

    def unlike(self, values: np.ndarray) -> int:
        return 0 if self.n_hashed else int(np.count_nonzero(values == len(self.values)))

    @property
    def change(self) -> str | None:
        if self.n_watched >= ENOUGH and self.n_unlike > NEW * self.n_watched:
            return f"{self.n_unlike / self.n_watched:.0%} of later values are new"
        return super().change

    def describe(self) -> str:
        if self.n_hashed:
            return f"values hashed into {self.n_hashed} columns"
        return f"{len(self.values)} values, one column each, and one for all others"

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_places"}
