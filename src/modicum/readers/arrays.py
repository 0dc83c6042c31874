"""Arrays and sparse matrices, in memory or in .npy and .npz files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.readers.base import Block, Reader, as_array, by_part, join, offsets_of, pick, refuse_nan
from modicum.readers.columns import Wanted, choose, split
from modicum.readers.objects import Objects

_SPARSE_FILE = {"format", "shape", "data"}  # arrays in every file that scipy.sparse.save_npz writes


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
                block = split(as_array(part[row : row + size]), self._choice, self.name)
                if self._files:
                    self._refuse_nan(block, self._files[i], row)
                yield block

    def take(self, rows: np.ndarray) -> Any:
        parts = by_part(rows, self._offsets)
        found = [as_array(pick(self._parts[i], here)) for i, here in parts]
        return join(found) if found else as_array(self._parts[0][:0])

    def _refuse_nan(self, block: Block, file: str, row: int) -> None:
        X, y, weight = block
        columns = [(y, self._choice.target), (weight, self._choice.weight)]
        if isinstance(X, np.ndarray):
            refuse_nan(X, file, row, self._choice.features)
        for values, column in columns:
            if values is not None:
                refuse_nan(values[:, None], file, row, [column])


class NpyFile:
    """A .npy file of which only the rows asked for are read."""

    def __init__(self, path: Path):
        self._path = path
        rows = self._map()
        self.shape, self.dtype = rows.shape, rows.dtype

    def __getitem__(self, index: Any) -> np.ndarray:
        # A map of its own for each block: pages of a lasting one would add up in the process's memory.
        return np.array(self._map()[index])

    def _map(self) -> np.ndarray:
        try:
            return np.load(self._path, mmap_mode="r")
        except (ValueError, EOFError) as error:  # pickled objects, a cut or foreign file
            raise DataError(f"{self._path}: can't be read as a .npy file of numbers: {error}") from None


def npz_rows(path: Path, array: str | None = None) -> Any:
    """One array or sparse matrix of a .npz file, loaded whole: the one named, or the only one with rows."""
    with np.load(path) as file:
        if array in file.files:
            return file[array]
        if array is None and set(file.files) >= _SPARSE_FILE:
            from scipy.sparse import load_npz

            return load_npz(path).tocsr()
        tables = [] if array else [rows for rows in map(file.get, file.files) if rows.ndim == 2]
        if len(tables) == 1:
            return tables[0]
        wrong = f"no array {array!r}" if array else f"{len(tables)} of its arrays are 2-D"
        raise DataError(f"{path}: {wrong}. Name one as {path}:NAME; it has: {', '.join(file.files)}.")


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
