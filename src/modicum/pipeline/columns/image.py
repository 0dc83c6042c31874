"""Columns of pictures: paths of files, described by colors and gradients or by a function of the user."""

from typing import Any

import numpy as np

from modicum.pipeline.columns.cells import as_strings
from modicum.pipeline.columns.column import Column, Counts, Settings
from modicum.pipeline.images import DESCRIPTORS, image_features, known_features
from modicum.rules.invariants import TEXT, Whole


class Image(Column):
    """Features of the picture at each path."""

    kind, plural = "image", "pictures"
    _invariants = {"features": TEXT, "n_features": Whole(1, 2**20)}

    def __init__(self, name: str, features: str, n_features: int):
        super().__init__(name, has_flag=False)
        self.features = features
        self.n_features = n_features

    @classmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Image":
        first = next((path for path in as_strings(cells).to_pylist() if path is not None), None)
        if first is None:
            raise ValueError("there are no paths of pictures")
        found = image_features([first], known_features(settings.features))
        return cls(name, settings.features, found.shape[1])

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name} #{i}" for i in range(self.n_features)]

    def parse(self, cells: Any) -> list[str]:
        paths = as_strings(cells).to_pylist()
        if None in paths:
            raise ValueError("the path of a picture is missing")
        return paths

    def missing(self, values: list[str]) -> np.ndarray:
        return np.zeros(len(values), bool)

    def encode(self, values: list[str], out: np.ndarray) -> None:
        found = image_features(values, known_features(self.features)) if values else np.empty((0, self.n_features))
        if found.shape[1] != self.n_features:
            raise ValueError(f"{self.features} gave {found.shape[1]} numbers per picture; earlier {self.n_features}")
        out[:] = found

    def unlike(self, values: list[str]) -> int:
        return 0

    def count(self, values: list[str]) -> Counts:
        return Counts(0, 0, 0)  # nothing is watched

    def describe(self) -> str:
        what = "colors and gradients" if self.features == DESCRIPTORS else self.features
        return f"{what}, {self.n_features} numbers"
