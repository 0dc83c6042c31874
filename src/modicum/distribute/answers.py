"""Answers of a learner for a dask collection: lazy, block by block, the learner sent once to each worker."""

from functools import lru_cache
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.contract.learner import Learner
from modicum.exceptions import DataError


def predict(learner: Learner, rows: Any) -> Any:
    """What a learner predicts for a dask array, data frame or bag, as a lazy collection of the same partitions."""
    return _answer(learner, rows, "predict")


def transform(learner: Learner, rows: Any) -> Any:
    """What a learner makes of a dask array, data frame or bag, as a lazy collection of the same partitions."""
    return _answer(learner, rows, "transform")


def _answer(learner: Learner, rows: Any, method: str) -> Any:
    learner._check_fitted()
    if not hasattr(learner, method):
        raise ValueError(f"distribute.{method}: a {type(learner).__name__} has no {method}.")
    dask = require("dask", "answers for dask collections")
    params = learner.get_params(deep=False)
    functions = {name: value for name, value in params.items() if callable(value)}
    state = dask.delayed(learner.to_bytes(), pure=True)
    if hasattr(rows, "chunks"):
        return _of_array(learner, rows, method, state, functions)
    if hasattr(rows, "_meta_nonempty"):
        meta = _as_frame(rows._meta_nonempty, getattr(learner, method)(rows._meta_nonempty)).iloc[:0]
        return rows.map_partitions(_frame_task, state, functions, method, meta=meta)
    if hasattr(rows, "map_partitions"):
        return rows.map_partitions(_list_task, state, functions, method)
    raise DataError(f"distribute.{method}: a dask array, data frame or bag is needed; got {type(rows).__name__}.")


def _of_array(learner: Learner, rows: Any, method: str, state: Any, functions: Any) -> Any:
    if rows.ndim != 2:
        raise DataError(f"distribute.{method}: rows must be an array of two dimensions; got {rows.ndim}.")
    rows = rows.rechunk({1: -1})
    told = getattr(learner, method)(np.zeros((1, rows.shape[1]), rows.dtype))
    shape = {"drop_axis": 1} if told.ndim == 1 else {"chunks": (rows.chunks[0], (told.shape[1],))}
    return rows.map_blocks(
        _array_task, state=state, functions=functions, method=method, dtype=told.dtype, meta=told[:0], **shape
    )


@lru_cache(maxsize=4)
def _restored(state: bytes) -> Learner:
    return Learner.from_bytes(state)


def _learner(state: bytes, functions: dict[str, Any]) -> Learner:
    """The learner, restored once in each process unless it has functions, which can't be told apart."""
    return Learner.from_bytes(state, **functions) if functions else _restored(state)


def _array_task(block: Any, state: bytes, functions: dict[str, Any], method: str) -> Any:
    return getattr(_learner(state, functions), method)(block)


def _frame_task(frame: Any, state: bytes, functions: dict[str, Any], method: str) -> Any:
    if not len(frame):
        return None
    return _as_frame(frame, getattr(_learner(state, functions), method)(frame))


def _list_task(rows: Any, state: bytes, functions: dict[str, Any], method: str) -> list[Any]:
    found = list(rows)
    return list(getattr(_learner(state, functions), method)(found)) if found else []


def _as_frame(frame: Any, answer: Any) -> Any:
    """An answer with the index of the rows."""
    import pandas as pd

    if answer.ndim == 1:
        return pd.Series(answer, index=frame.index, name="prediction")
    return pd.DataFrame(np.asarray(answer), index=frame.index)
