"""Lists of objects or rows, and iterables of chunks."""

from collections.abc import Iterable, Iterator, Sequence
from numbers import Number
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.arrays import Arrays
from modicum.streams.readers.base import Block, Reader, as_array, count, join, pick_from
from modicum.streams.readers.columns import Choice, Wanted, as_weights, choose, split
from modicum.streams.readers.objects import Objects


def sequence_reader(source: Sequence[Any], wanted: Wanted) -> Reader:
    """The reader of a list of chunks, of rows of numbers, or of any objects; the first item decides."""
    if source and (_is_rows(source[0]) or _is_pair(source[0])):
        return Chunks(source, wanted)
    if source and isinstance(source[0], Number):
        raise DataError("a list of numbers is not a list of rows. Give [[x] for x in ...] if each number is a row.")
    table = _as_table(source)
    if table is not None:
        return Arrays([table], f"a {type(source).__name__}", wanted)
    return Objects(list(source), wanted)


class Chunks(Reader):
    """An iterable of chunks: X alone, (X, y) or (X, y, weight), where X is an array, CSR, tensor or list.

    The iterable runs in the caller's thread, one chunk at a time: it may hold a database cursor or wait for a live
    source.
    """

    def __init__(self, source: Iterable[Any], wanted: Wanted):
        self.name = f"a {type(source).__name__}"
        self.rereadable = not hasattr(source, "__next__")  # an iterator can be read only once
        self._source, self._wanted = source, wanted

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        first, choice = None, None
        for number, item in enumerate(self._source, 1):
            block = _unpack(item, f"{self.name}, chunk {number:,}")
            if first is None:
                first, choice = block, self._choose(block)
            _check_like(block, first, f"{self.name}, chunk {number:,}")
            X, y, weight = block
            if choice is not None:
                X, own_y, own_weight = split(X, choice, self.name)
                y, weight = (y if own_y is None else own_y), (weight if own_weight is None else own_weight)
            yield _own(X), _own(y), _own(weight)

    def take(self, rows: np.ndarray) -> Any:
        found, _ = pick_from((_unpack(item, self.name)[0] for item in self._source), rows)
        return join(found) if found else []

    def _choose(self, block: Block) -> Choice | None:
        X, y, weight = block
        if isinstance(X, list):
            self._wanted.refuse(self.name, "objects have no columns.")
            return None
        for option, value in (("target", y), ("weight", weight)):
            if value is not None and getattr(self._wanted, option) is not None:
                raise DataError(f"{self.name}: the chunks already have a {option}; leave out {option}=.")
        return choose(self._wanted, self.name, X.shape[1], None, range(X.shape[1]))


def _own(values: Any) -> Any:
    """A copy: a generator may reuse its buffers before these rows fill a chunk."""
    return None if values is None else values.copy()


def _is_rows(item: Any) -> bool:
    return getattr(item, "ndim", 0) == 2 or hasattr(item, "tocsr")


def _is_pair(item: Any) -> bool:
    """Whether an item is (X, y) or (X, y, weight); a torch DataLoader yields lists of tensors."""
    if not isinstance(item, list | tuple) or len(item) not in (2, 3):
        return False
    return _is_rows(item[0]) or (isinstance(item, tuple) and isinstance(item[0], list))


def _unpack(item: Any, where: str) -> Block:
    X, y, weight = (*item, None)[:3] if _is_pair(item) else (item, None, None)
    if isinstance(X, list):
        table = _as_table(X)
        X = X if table is None else table
    elif hasattr(X, "tocsr"):
        X = X.tocsr()
    elif _is_rows(X):
        X = as_array(X)
    else:
        got = f"{X.ndim}-D {type(X).__name__}" if hasattr(X, "ndim") else type(X).__name__
        raise DataError(
            f"{where}: expected a 2-D array, a list, or a pair (X, y); got {got}. "
            "Give a single row as X[None, :]; give the labels of an array as target=."
        )
    y = None if y is None else np.asarray(as_array(y))
    return X, y, None if weight is None else as_weights(as_array(weight), where)


def _check_like(block: Block, first: Block, where: str) -> None:
    """Raise a DataError unless a chunk has the kind and width of the first one, and y and weight like it."""
    X, first_X = block[0], first[0]
    if isinstance(X, list) != isinstance(first_X, list):
        raise DataError(f"{where}: {type(X).__name__}, but the first chunk was {type(first_X).__name__}.")
    if not isinstance(X, list) and X.shape[1] != first_X.shape[1]:
        raise DataError(f"{where}: {X.shape[1]} columns, but the first chunk had {first_X.shape[1]}.")
    for what, values, before in zip(("y", "weight"), block[1:], first[1:], strict=True):
        if (values is None) != (before is None):
            raise DataError(f"{where}: {what} must be in every chunk or in none.")
        if values is not None and np.shape(values) != (count(X),):
            raise DataError(f"{where}: {what} has shape {np.shape(values)}, but X has {count(X)} rows.")


def _as_table(rows: Sequence[Any]) -> np.ndarray | None:
    """Equal-length rows of numbers as one array; None for anything else."""
    if not rows or not isinstance(rows[0], list | tuple | np.ndarray):
        return None
    try:
        table = np.array(rows)
    except (TypeError, ValueError):  # lengths differ
        return None
    return table if table.ndim == 2 and table.dtype.kind in "biuf" else None
