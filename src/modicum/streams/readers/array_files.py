"""Arrays in .npy files, read in blocks, and in .npz files, which are zip files of .npy files.

The size that a header declares is compared with that of the file before numpy allocates memory.
"""

import math
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import MOST_COLUMNS, naming
from modicum.streams.readers.remote import Remote

MOST_BYTES = 1 << 30  # of arrays that are loaded whole; a small compressed .npz file can declare any size
_SPARSE_FILE = {"format", "shape", "data"}  # arrays in every file that scipy.sparse.save_npz writes
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Header(NamedTuple):
    """Shape and dtype as declared in the first bytes of a .npy file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool  # Fortran order


class NpyFile:
    """A .npy file from which only the requested rows are read."""

    def __init__(self, path: Path):
        self._path = path
        with naming(str(path)), open(path, "rb") as file:
            self.shape, self.dtype, _ = read_header(file, path.stat().st_size)

    def __getitem__(self, index: Any) -> np.ndarray:
        # Mapped again for each block: pages of a permanent map would accumulate in the memory of the process.
        return np.array(np.load(self._path, mmap_mode="r")[index])


class RemoteNpy:
    """A .npy file behind a URL, of which only the requested rows are read."""

    def __init__(self, path: Remote):
        self._path = path
        with naming(str(path)), path.open() as file:
            self.shape, self.dtype, by_columns = read_header(file, path.size or 0)
            self._first = file.tell()
        if by_columns:
            raise DataError(f"{path}: it is stored column by column (Fortran order). Download it first.")

    def __getitem__(self, index: Any) -> np.ndarray:
        rows = np.arange(self.shape[0])[index]
        with self._path.open() as file:
            runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
            found = [self._run(file, run) for run in runs if len(run)]
        return np.concatenate(found) if found else np.empty((0, *self.shape[1:]), self.dtype)

    def _run(self, file: IO[bytes], rows: np.ndarray) -> np.ndarray:
        """Consecutive rows."""
        row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        file.seek(self._first + int(rows[0]) * row_bytes)
        data = file.read(len(rows) * row_bytes)
        return np.frombuffer(data, self.dtype).reshape(len(rows), *self.shape[1:])


def npy_file(path: Path | Remote) -> NpyFile | RemoteNpy:
    return RemoteNpy(path) if isinstance(path, Remote) else NpyFile(path)


def read_header(file: IO[bytes], size: int) -> Header:
    """The header of a .npy file of `size` bytes; a ValueError unless its array fills the rest of the file."""
    try:
        shape, by_columns, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
    except Exception as error:  # of many kinds: the header is a Python expression
        raise ValueError(f"can't be read as a .npy file of numbers: {error}") from error
    if dtype.hasobject or dtype.fields is not None:
        raise ValueError(f"can't be read as a .npy file of numbers: it holds {dtype}.")
    declared, present = math.prod(shape) * dtype.itemsize, size - file.tell()
    if any(type(n) is not int or n < 0 for n in shape) or declared != present:
        raise ValueError(f"shape {shape} of {dtype} takes {declared:,} bytes; the file has {present:,}.")
    return Header(shape, dtype, by_columns)


def npz_rows(path: Path | Remote, array: str | None = None) -> Any:
    """One array or sparse matrix of a .npz file, loaded whole: the one named, or the only one with rows."""
    with naming(str(path)):
        headers = _headers(path)
        if array is None and headers.keys() >= _SPARSE_FILE:
            return _sparse_rows(path, headers)
        tables = [name for name in headers if array is None and len(headers[name].shape) == 2]
        if array not in headers and len(tables) != 1:
            wrong = f"no array {array!r}" if array else f"{len(tables)} of its arrays are 2-D"
            raise DataError(f"{path}: {wrong}. Name one as {path}:NAME; it has: {', '.join(headers) or 'none'}.")
        name = array or tables[0]
        _check_size([headers[name]])
        with path.open("rb") as raw, np.load(raw) as file:
            return file[name]


def _headers(path: Path | Remote) -> dict[str, Header]:
    """Headers of all arrays in a .npz file; other members are ignored."""
    found = {}
    with path.open("rb") as raw, ZipFile(raw) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:  # also checks that both copies of its name agree
                if member.filename.endswith(".npy"):
                    found[member.filename.removesuffix(".npy")] = read_header(file, member.file_size)
    return found


def _sparse_rows(path: Path | Remote, headers: dict[str, Header]) -> Any:
    """A matrix saved by scipy; its indices are checked, because scipy's loops do not check them."""
    from scipy.sparse import load_npz

    _check_size(headers.values())
    with path.open("rb") as raw, np.load(raw) as file:
        n_rows, n_columns = file["shape"].tolist()
    if not (0 <= n_rows <= MOST_BYTES // 8 and 0 <= n_columns <= MOST_COLUMNS):
        raise ValueError(f"a sparse matrix may have at most {MOST_BYTES // 8:,} rows and {MOST_COLUMNS:,} columns.")
    with path.open("rb") as raw:
        rows = load_npz(raw)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"columns must be numbers; got {rows.dtype}.")
    if rows.format == "dia" and np.abs(rows.offsets).max(initial=0) >= max(rows.shape):
        raise ValueError("a diagonal lies outside the sparse matrix.")
    if hasattr(rows, "indptr"):
        if (np.diff(rows.indptr) < 0).any():
            raise ValueError("row pointers of the sparse matrix decrease.")
        rows.check_format(full_check=True)
    return rows.tocsr()


def _check_size(headers: Any) -> None:
    size = sum(math.prod(header.shape) * header.dtype.itemsize for header in headers)
    if size > MOST_BYTES:
        raise ValueError(f"{size:,} bytes, but arrays in .npz files may have at most 1 GiB. Save larger ones as .npy.")
