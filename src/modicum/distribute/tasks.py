"""What runs on workers. Learners come and go as bytes of the save format, and functions that they use beside them."""

import ctypes
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from modicum.contract.learner import Learner
from modicum.distribute.shards import Files, Piece
from modicum.exceptions import DataError
from modicum.pipeline import StreamPipeline, final_learner
from modicum.rows import BufferedRows, n_rows, take
from modicum.streams import stream
from modicum.streams.readers.base import BadRows

OFTEN = 0.5  # seconds between two reports of a shard
KEEP_FREED, USE_HEAP = (-1, 8 * 2**20), (-3, 4 * 2**20)  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of glibc: a chunk or two


@dataclass(frozen=True)
class Start:
    """A learner that has learned nothing yet, as every shard begins with it."""

    state: bytes
    functions: Mapping[str, Any]  # parameters that files can't hold

    @classmethod
    def of(cls, learner: Learner) -> "Start":
        params = learner.get_params(deep=False)
        made = cls(learner.to_bytes(), {name: value for name, value in params.items() if callable(value)})
        made.learner()  # what can't travel is refused now
        return made

    def learner(self, state: bytes | None = None) -> Learner:
        """The learner, or one like it in another state."""
        return Learner.from_bytes(self.state if state is None else state, **self.functions)

    def shard(self, number: int, seed: int) -> Learner:
        """The learner of a shard."""
        learner = self.learner()
        params = learner.get_params(deep=isinstance(learner, StreamPipeline))
        given = [name for name, value in params.items() if name.endswith("__random_state") and value is not None]
        names = [*(["random_state"] if "random_state" in params else []), *sorted(given)]
        seeds = np.random.SeedSequence(seed).generate_state(len(names)).tolist()
        learner.set_params(**dict(zip(names, seeds, strict=True)))
        if isinstance(learner, StreamPipeline):
            learner._shard = number + 1
        return learner


def decide(start: Start, files: Files) -> bytes:
    """The pipeline with preparations that rows from all over the source have decided."""
    pipeline: Any = start.learner()
    return pipeline.decided_by(files.open()).to_bytes()


def first_rows(pieces: Sequence[tuple[Files, Piece]], count: int) -> Any:
    """The first rows of pieces, as they are learned."""
    chunks = [next(iter(piece.of(files.open()))) for files, piece in pieces]
    heads = [take(chunk.X, slice(0, count)) for chunk in chunks]
    kept = BufferedRows(heads[0], None, count * len(heads))
    for head in heads:
        kept.append(head, None, None, np.arange(n_rows(head)))
    return kept.contents[0]


def learn_files(
    start: Start, shard: tuple[int, int], files: Sequence[tuple[Files, Sequence[Piece]]], topic: str
) -> bytes:
    """The state of a shard, known by number and seed, after all its pieces."""
    use_memory_again()
    learner = start.shard(*shard)
    told, bad = _Teller(topic, shard[0]), BadRows()
    for source, pieces in files:
        opened = source.open()
        for piece in pieces:
            rows = piece.of(opened)
            learner._learn_chunks(rows, told)
            bad.add_all(rows.bad_rows)
    _finish(learner)
    told(learner, bad)
    return learner.to_bytes()


def learn_partition(
    start: Start,
    state: bytes | None,
    shard: tuple[int, int],
    first_row: int,
    reading: Mapping[str, Any],
    topic: str,
    is_last: bool,
    X: Any,
    y: Any = None,
    weight: Any = None,
) -> bytes:
    """The state of a shard, known by number and seed, after one more partition of a dask collection."""
    use_memory_again()
    learner = start.shard(*shard) if state is None else start.learner(state)
    X = X if hasattr(X, "shape") or isinstance(X, list) else list(X)  # partitions of bags may be iterators
    if len(X) if isinstance(X, list) else X.shape[0]:
        keys = {"target": y, "weight": weight}
        given = {name: np.asarray(values) for name, values in keys.items() if values is not None}
        learner._learn_chunks(stream(X, first_row=first_row, **{**reading, **given}))
    if is_last:
        _finish(learner)
    _Teller(topic, shard[0])(learner, BadRows())
    return learner.to_bytes()


def _finish(learner: Learner) -> None:
    if learner._is_fitted():  # all rows of a shard may have weight zero
        learner._finish()


def use_memory_again() -> None:
    """Let temporaries take memory that was freed before, as glibc does by itself.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_, by which every temporary takes new pages: nearly half of the time
    of a fast learner. What glibc keeps is less than a chunk and its temporaries.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt is not None:
        mallopt(*KEEP_FREED)
        mallopt(*USE_HEAP)


def merge(start: Start, *states: bytes) -> bytes:
    """One state of several."""
    learners = [start.learner(state) for state in states]
    _check_classes(learners)
    first, *others = learners
    for other in others:
        first.merge(other)
    return first.to_bytes()


def _check_classes(learners: Sequence[Learner]) -> None:
    """Refuse shards of one class, if others have more: there was nothing to tell it from, and nothing was learned."""
    seen = [final_learner(learner).classes_.tolist() for learner in learners if is_classifier(learner)]
    alone = [classes for classes in seen if len(classes) == 1]
    if alone and any(classes != alone[0] for classes in seen):
        raise DataError(
            f"distribute: a shard has only seen rows of the class {alone[0][0]!r}, and has learned nothing from them. "
            "Let each shard see rows of all classes: choose fewer shards, give a folder, not a list, or mix the rows."
        )


class _Teller:
    """Tells the client how many rows a shard has learned."""

    def __init__(self, topic: str, number: int):
        self._topic, self._number, self._told = topic, number, 0.0

    def __call__(self, learner: Learner, bad: BadRows | None = None) -> None:
        """Tell it now and then, and in the end with the rows that were left out."""
        if bad is None and time.monotonic() - self._told < OFTEN:
            return
        self._told = time.monotonic()
        more = {} if bad is None else {"bad_rows": (bad.count, bad.first)}
        try:
            from distributed import get_worker

            get_worker().log_event(self._topic, {"shard": self._number, "rows": getattr(learner, "n_seen_", 0), **more})
        except ValueError:  # called outside of a cluster
            return
