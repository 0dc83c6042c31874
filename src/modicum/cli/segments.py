"""Segmentations of pictures as files: `modicum predict STATE PICTURES --segments DIR`."""

from pathlib import Path
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.exceptions import DataError
from modicum.pipeline import Pixels
from modicum.pipeline.pixels import as_bytes


class Painter:
    """Writes pictures next to the topics of their pixels; the largest topics have the most distinct colours."""

    def __init__(self, learner: Any, folder: Path):
        from modicum.plot.segments import topic_colours

        pixels = getattr(learner, "preparation_", None)
        if not isinstance(pixels, Pixels):
            raise DataError("--segments is for topic models of pictures; the state is not of one.")
        self._pixels, self._model, self._folder, self.count = pixels, learner.learner_, folder, 0
        weights = self._model.weights_
        self._colours = np.empty((len(weights), 3), np.uint8)
        self._colours[np.argsort(-weights, kind="stable")] = topic_colours(len(weights))
        self._taken: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def paint(self, rows: Any) -> None:
        """Write the segmentations of pictures, named like their files."""
        image = require("PIL.Image", "writing pictures")
        paths = self._pixels.paths(rows)
        if any(Path(path).resolve().parent == self._folder.resolve() for path in paths):
            raise DataError(f"--segments {self._folder}: the pictures there could be lost. Name another folder.")
        topics = self._model.predict_items(self._pixels.transform(rows))
        for path, labels in zip(paths, topics, strict=True):
            picture = as_bytes(path, self._pixels.size)
            both = np.hstack([picture, self._colours[labels].reshape(picture.shape)])
            image.fromarray(both).save(self._folder / self._name(path))
            self.count += 1

    def _name(self, path: str) -> str:
        """A name that no other picture of another folder has."""
        name, number = Path(path).stem, 1
        while f"{name}.png" in self._taken:
            number += 1
            name = f"{Path(path).stem}-{number}"
        self._taken.add(f"{name}.png")
        return f"{name}.png"
