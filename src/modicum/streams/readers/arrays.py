"""Arrays and sparse matrices, in memory or in .npy and .npz files."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import (
    NO_TARGET,
    Block,
    Reader,
    as_array,
    join,
    naming,
    offsets_of,
    pick,
    refuse_gaps,
    split_rows,
)
from modicum.streams.readers.columns import Wanted, choose, split
from modicum.streams.readers.objects import Objects


class Arrays(Reader):
    """Rows of one array, or of several arrays of the same width stacked vertically.

    An array is anything with `shape`, `dtype` and slices of rows: numpy, CSR, torch, HDF5, a `NpyFile`.
    """

    def __init__(self, arrays: Sequence[Any], name: str, wanted: Wanted, files: Sequence[str] | None = None):
        self.name = name
        self.background = files is not None
        self._arrays, self._files = arrays, files
        names = files or [name] * len(arrays)
        for array, own in zip(arrays, names, strict=True):
            _check_shape(array, own, arrays[0])
        self._offsets = offsets_of(array.shape[0] for array in arrays)
        self.n_rows = self._offsets[-1]
        self._choice = choose(wanted, name, arrays[0].shape[1], None, range(arrays[0].shape[1]))
        if not self._choice.features:
            raise DataError(f"{name}: no column is left for X.")
        self.width = len(self._choice.features)
        self._unlabelled = wanted.unlabelled
        self.row_bytes = _row_bytes(arrays[0], split(as_array(arrays[0][:0]), self._choice, name)[0])

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        for i, (array, first) in enumerate(zip(self._arrays, self._offsets, strict=False)):
            for row in range(max(start - first, 0), array.shape[0], size):
                if self._files is None:
                    yield split(as_array(array[row : row + size]), self._choice, self.name)
                    continue
                with naming(self._files[i]):
                    block = split(as_array(array[row : row + size]), self._choice, self._files[i])
                self._refuse_gaps(block, self._files[i], row)
                yield block

    def take(self, rows: np.ndarray) -> Any:
        found = [as_array(pick(self._arrays[i], here)) for i, here in split_rows(rows, self._offsets)]
        return join(found) if found else as_array(self._arrays[0][:0])

    def _refuse_gaps(self, block: Block, file: str, row: int) -> None:
        X, y, weight = block
        refuse_gaps(X, file, row, self._choice.features)
        if weight is not None:
            refuse_gaps(weight[:, None], file, row, [self._choice.weight])
        if y is not None and not self._unlabelled:
            refuse_gaps(y[:, None], file, row, [self._choice.target], NO_TARGET)


def array_reader(source: Any, wanted: Wanted) -> Reader:
    """The reader of an array in memory; sparse matrices of other formats are converted to CSR once."""
    if hasattr(source, "tocsr"):
        return Arrays([source.tocsr()], "a sparse matrix", wanted)
    if isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind in "OUS":
        return Objects(source.tolist(), wanted)
    return Arrays([source], "an array", wanted)


def _check_shape(array: Any, name: str, first: Any) -> None:
    if len(array.shape) != 2:
        raise DataError(
            f"{name}: rows must be a 2-D array; got shape {tuple(array.shape)}. "
            "Use reshape(-1, 1) if each number is a row, reshape(len(X), -1) if each row has more dimensions."
        )
    if array.shape[1] == 0 or array.shape[1] != first.shape[1]:
        raise DataError(f"{name}: {array.shape[1]} columns; expected {first.shape[1] or 'at least one'}.")


def _row_bytes(array: Any, X: Any) -> float:
    """Bytes of a row of `array`; `X` is an empty block of the chosen columns."""
    if hasattr(array, "nnz"):
        return array.nnz * 12 / max(array.shape[0], 1)  # a value and its column number
    return X.shape[1] * X.itemsize
