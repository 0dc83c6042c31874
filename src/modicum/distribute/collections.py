"""Dask arrays, data frames and bags as partitions of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.distribute.shards import APART
from modicum.exceptions import DataError


@dataclass(frozen=True)
class Partition:
    """Rows that are not there yet: delayed rows, and maybe targets and weights; and the number of the first."""

    delayed: tuple[Any, ...]
    first_row: int


def is_collection(source: Any) -> bool:
    """Whether a source is a dask collection."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "to_delayed")


def partitions_of(source: Any, target: Any, weight: Any) -> list[Partition]:
    """The partitions of a collection; `target` and `weight` may be collections with the same partitions."""
    rows = _delayed(source)
    columns = [rows, *(_delayed(values) for values in (target, weight) if is_collection(values))]
    if any(len(column) != len(rows) for column in columns):
        told = ", ".join(f"{len(column):,}" for column in columns)
        raise DataError(f"distribute: rows, targets and weights must have the same partitions; got {told}.")
    if weight is not None and is_collection(weight) and not is_collection(target):
        columns.insert(1, [None] * len(rows))
    return [Partition(*facts) for facts in zip(zip(*columns, strict=True), _firsts(source), strict=True)]


def _delayed(source: Any) -> list[Any]:
    """Delayed partitions; arrays are cut by rows alone."""
    if hasattr(source, "chunks"):
        if source.ndim > 1 and len(source.chunks[1]) > 1:
            source = source.rechunk({1: -1})
        return np.ravel(source.to_delayed()).tolist()
    return list(source.to_delayed())


def _firsts(source: Any) -> list[int]:
    """Numbers of the first rows of the partitions, far apart if nobody knows how many rows these have."""
    sizes = source.chunks[0] if hasattr(source, "chunks") else ()
    if sizes and not np.isnan(sizes).any():
        return [0, *np.cumsum(sizes)[:-1].tolist()]
    return [number << APART for number in range(len(_delayed(source)))]
