"""Which columns matter to a kernel that has a width for each of them (rasmussen2006, section 5.1)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from modicum.plot.classifiers import column_names
from modicum.plot.formatting import clipped, count, measure
from modicum.plot.page import Column, Section, Table
from modicum.rows import is_sparse

MOST_COLUMNS = 30
NOTE = (
    "Spread of a column over the kernel's width for it: how much predictions can vary within the usual range of the "
    "column. Columns near 0 are hardly used."
)


def relevant_columns(learner: Any, rows: Any) -> list[Section]:
    """The columns by relevance, as bars; nothing for kernels without a width for each column."""
    relevance = column_relevance(learner.kernel_, rows)
    if relevance is None:
        return []
    order = np.argsort(-relevance, kind="stable")[:MOST_COLUMNS]
    names, most = column_names(learner), max(float(relevance.max()), np.finfo(float).tiny)
    table = Table(
        [
            Column("column", [clipped(names[i]) for i in order]),
            Column(
                "relevance",
                [_written(relevance[i], most) for i in order],
                numeric=True,
                bars=[float(relevance[i]) / most for i in order],
            ),
        ]
    )
    n = len(relevance)
    left_out = "" if len(order) == n else f" The first {len(order)} of {count(n)} columns are shown."
    return [Section("Which columns matter", [table], f"{NOTE}{left_out}")]


def column_relevance(kernel: Any, rows: Any) -> np.ndarray | None:
    """The standard deviation of each column over its width, the smallest if a kernel has several; None without widths.

    >>> from modicum.kernels import RBF
    >>> column_relevance(2.0 * RBF([1.0, 8.0]), np.array([[0.0, 0.0], [2.0, 4.0]])).tolist()
    [1.0, 0.25]
    """
    widths = list(_widths(kernel))
    if not widths or isinstance(rows, list):
        return None
    X = rows.toarray() if is_sparse(rows) else np.asarray(rows)
    return X.std(axis=0, dtype=np.float64) / np.min(widths, axis=0)


def _widths(kernel: Any) -> Iterator[np.ndarray]:
    """The widths of all parts of a kernel that have one for each column."""
    if np.ndim(getattr(kernel, "width", 0.0)):
        yield kernel.width
    for name in ("kernel", "left", "right"):
        if hasattr(kernel, name):
            yield from _widths(getattr(kernel, name))


def _written(relevance: float, most: float) -> str:
    return "0" if relevance < 1e-3 * most else measure(relevance)
