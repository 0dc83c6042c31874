"""Columns of pictures: paths of files, described by colors and gradients or by a function of the user."""

from typing import Any

import numpy as np

from modicum.pipeline.columns.cells import as_strings
from modicum.pipeline.columns.column import Column, Counts, Settings
from modicum.pipeline.images import DESCRIPTORS, image_features, known_features, readable
from modicum.rules.invariants import TEXT, Whole


class Image(Column):
    """Features of the picture at each path."""

    kind, plural = "image", "pictures"
    _invariants = {"features": TEXT, "n_numbers": Whole(1, 2**20)}

    def __init__(self, name: str, features: str, n_numbers: int):
        super().__init__(name, has_flag=False)
        self.features = features
        self.n_numbers = n_numbers

    @classmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Image":
        paths = [path for path in as_strings(cells).to_pylist() if path is not None]
        first = next((path for path in paths if readable([path])[0]), paths[0] if paths else None)
        if first is None:
            raise ValueError("there are no paths of pictures")
        found = image_features([first], known_features(settings.features))
        return cls(name, settings.features, found.shape[1])

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name} #{i}" for i in range(self.n_numbers)]

    def parse(self, cells: Any) -> list[str]:
        paths = as_strings(cells).to_pylist()
        if None in paths:
            raise ValueError("the path of a picture is missing")
        return paths

    def missing(self, values: list[str]) -> np.ndarray:
        return ~readable(values)

    def encode(self, values: list[str], out: np.ndarray) -> None:
        found = image_features(values, known_features(self.features)) if values else np.empty((0, self.n_numbers))
        if found.shape[1] != self.n_numbers:
            raise ValueError(f"{self.features} gave {found.shape[1]} numbers per picture; earlier {self.n_numbers}")
        out[:] = found

    def unlike(self, values: list[str]) -> int:
        return 0

    def count(self, values: list[str]) -> Counts:
        return Counts(0, 0, 0)  # nothing is watched

    def describe(self) -> str:
        what = "colors and gradients" if self.features == DESCRIPTORS else self.features
        return f"{what}, {self.n_numbers} numbers"
