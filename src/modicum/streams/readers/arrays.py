"""Arrays and sparse matrices, in memory or in .npy and .npz files."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import Block, Reader, as_array, by_part, join, naming, offsets_of, pick, refuse_gaps
from modicum.streams.readers.columns import Wanted, choose, split
from modicum.streams.readers.objects import Objects


class Arrays(Reader):
    """Rows of one array, or of several of the same width one below the other.

    A part is anything with `shape`, `dtype` and slices of rows: numpy, CSR, torch, HDF5, a file below.
    """

    def __init__(self, parts: Sequence[Any], name: str, wanted: Wanted, files: Sequence[str] | None = None):
        self.name = name
        self.background = files is not None
        self._parts, self._files = parts, files
        names = files or [name] * len(parts)
        for part, own in zip(parts, names, strict=True):
            _check_shape(part, own, parts[0])
        self._offsets = offsets_of(part.shape[0] for part in parts)
        self.n_rows = self._offsets[-1]
        self._choice = choose(wanted, name, parts[0].shape[1], None, range(parts[0].shape[1]))
        if not self._choice.features:
            raise DataError(f"{name}: no column is left for X.")
        self.width = len(self._choice.features)
        self.row_bytes = _row_bytes(parts[0], split(as_array(parts[0][:0]), self._choice, name)[0])

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        for i, (part, first) in enumerate(zip(self._parts, self._offsets, strict=False)):
            for row in range(max(start - first, 0), part.shape[0], size):
                if self._files is None:
                    yield split(as_array(part[row : row + size]), self._choice, self.name)
                    continue
                with naming(self._files[i]):
                    block = split(as_array(part[row : row + size]), self._choice, self._files[i])
                self._refuse_gaps(block, self._files[i], row)
                yield block

    def take(self, rows: np.ndarray) -> Any:
        parts = by_part(rows, self._offsets)
        found = [as_array(pick(self._parts[i], here)) for i, here in parts]
        return join(found) if found else as_array(self._parts[0][:0])

    def _refuse_gaps(self, block: Block, file: str, row: int) -> None:
        X, y, weight = block
        refuse_gaps(X, file, row, self._choice.features)
        for values, column in ((y, self._choice.target), (weight, self._choice.weight)):
            if values is not None:
                refuse_gaps(values[:, None], file, row, [column])


def array_reader(source: Any, wanted: Wanted) -> Reader:
    """Rows of an array in memory; sparse matrices of other formats become CSR once."""
    if hasattr(source, "tocsr"):
        return Arrays([source.tocsr()], "a sparse matrix", wanted)
    if isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind in "OUS":
        return Objects(source.tolist(), wanted)
    return Arrays([source], "an array", wanted)


def _check_shape(part: Any, name: str, first: Any) -> None:
    if len(part.shape) != 2:
        raise DataError(
            f"{name}: rows must come as a 2-D array; got shape {tuple(part.shape)}. "
            "Use reshape(-1, 1) if each number is a row, reshape(len(X), -1) if each row has more dimensions."
        )
    if part.shape[1] == 0 or part.shape[1] != first.shape[1]:
        raise DataError(f"{name}: {part.shape[1]} columns; expected {first.shape[1] or 'at least one'}.")


def _row_bytes(part: Any, X: Any) -> float:
    """Bytes of a row of `part`, of which `X` are the chosen columns."""
    if hasattr(part, "nnz"):
        return part.nnz * 12 / max(part.shape[0], 1)  # a value and its column number
    return X.shape[1] * X.itemsize
