"""What a pipeline answers: the questions of its learner, asked of rows as they come."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from modicum.contract.picks import Picks
from modicum.pipeline.pixels import Pixels
from modicum.pipeline.preparation import Preparation
from modicum.pipeline.records import Records
from modicum.pipeline.table_encoder import TableEncoder
from modicum.pipeline.tables import TakesTables, as_written, filled
from modicum.rows import take_all
from modicum.streams import Chunk, Stream, stream

UNKNOWN = -2  # a key that no row has: -1 is a row that the learner was given without an id


def final_has(name: str) -> Callable[[Any], bool]:
    return lambda pipeline: hasattr(pipeline.steps[-1][1], name)


class Answers(TakesTables):
    """A pipeline's answers: rows are prepared, the learner is asked, and picks come back as the rows they were."""

    _fitted: Any  # the fitted steps, a list; None while rows wait
    _records: Records | None
    _n_dropped: int

    @abstractmethod
    def _begin(self) -> None:
        """Decide the preparations by the rows that wait, and learn them."""

    def _ready(self) -> Self:
        """This pipeline if it has begun, otherwise a copy that begins with the rows so far."""
        self._check_fitted()
        return self if self._fitted is not None else self._derive("begun", self._begun_copy)

    def _begun_copy(self) -> Self:
        same = copy.deepcopy(self)
        same._begin()
        return same

    @property
    def learner_(self) -> Any:
        return self._ready()._fitted[-1]

    @property
    def preparation_(self) -> Preparation | None:
        first, *others = self._ready()._fitted
        return first if others else None

    @property
    def encoder_(self) -> TableEncoder | None:
        return self.preparation_ if isinstance(self.preparation_, TableEncoder) else None

    @property
    def summary_(self) -> str:
        said = getattr(self.preparation_, "summary_", "learned from all columns")
        rows = "row" if self._n_dropped == 1 else "rows"
        return f"{said}; {self._n_dropped:,} {rows} with missing values left out" if self._n_dropped else said

    def __getattr__(self, name: str) -> Any:
        """Learned values of the last step."""
        if name.startswith("_") or not name.endswith("_") or not self._is_fitted():
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.learner_, name)

    def _ask(self, name: str, X: Any, *args: Any, **kwargs: Any) -> Any:
        """An answer of the learner for rows."""

        def ask() -> Any:
            rows, ready = self._check_input(X), self._ready()
            return getattr(ready._fitted[-1], name)(ready._prepare(ready._fitted, rows), *args, **kwargs)

        return self._guard().run(ask)

    @available_if(final_has("predict"))
    def predict(self, X: Any, **how: Any) -> Any:
        """What the learner predicts for rows."""
        return self._ask("predict", X, **how)

    @available_if(final_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the learner for rows."""
        return self._ask("predict_proba", X)

    @available_if(final_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Decision values of the learner for rows."""
        return self._ask("decision_function", X)

    @available_if(final_has("transform"))
    def transform(self, X: Any) -> Any:
        """What the last step makes of rows."""
        return self._ask("transform", X)

    @available_if(final_has("score_samples"))
    def score_samples(self, X: Any) -> Any:
        """Scores of the learner for rows."""
        return self._ask("score_samples", X)

    @available_if(final_has("score"))
    def score(self, X: Any, y: Any = None) -> Any:
        """The learner's score on rows."""
        return self._ask("score", X, *(() if y is None else (y,)))

    @available_if(final_has("perplexity"))
    def perplexity(self, X: Any, **how: Any) -> float:
        """The perplexity of a topic model on documents."""
        return self._ask("perplexity", X, **how)

    @available_if(final_has("index"))
    def index(self, X: Any, **how: Any) -> Any:
        """Documents that a topic model may retrieve."""
        return self._ask("index", X, **how)

    @available_if(final_has("retrieve"))
    def retrieve(self, X: Any, k: int = 5, **how: Any) -> Any:
        """Documents that a topic model finds similar to those of X."""
        return self._ask("retrieve", X, k, **how)

    @available_if(final_has("guarantee"))
    def guarantee(self, **how: Any) -> Any:
        """The guarantee of the learner, about prepared rows."""
        return self.learner_.guarantee(**how)

    @available_if(final_has("certify"))
    def certify(self, source: Any, *, confidence: float = 0.95) -> Any:
        """What the learner certifies about the rows of a source, once they are prepared."""
        ready = self._ready()
        chunks = source if isinstance(source, Stream) else stream(source, raw=self.traits.tables)
        return ready.learner_._certify(map(ready._as_learned, chunks), confidence)

    def _as_learned(self, chunk: Chunk) -> Chunk:
        """A chunk as the learner was given it: prepared, and with the keys of the rows that it keeps."""
        X, weight, ids = chunk.X, chunk.sample_weight, chunk.row_ids
        X, weight, ids = whole_rows(self._fitted[0], self._check_input(X), weight, ids)
        if self._records is not None:
            ids = self._records.keys_of(ids, absent=UNKNOWN)
        return Chunk(self._prepare(self._fitted, X), None, weight, ids)

    def table(self, X: Any, y: Any = None) -> dict[str, np.ndarray]:
        """What is predicted for each row, as columns by name; rows are named by the user's ids.

        For a topic model of numbers, y names the document of each row; predictions are then of documents.
        """
        answer = self._ask("table", X, *(() if y is None else (y,)))
        records = self._ready()._records
        if records is not None:
            others = [name for name in answer if name not in ("row", "prediction")]
            keyed = {name for name in others if np.asarray(answer[name]).dtype.kind == "i"}
            answer |= {name: records.ids_of(answer[name]) for name in keyed}
        return answer

    def picks(self) -> Picks | None:
        """The original rows of what the learner picked, with all their columns."""
        found = self.learner_.picks()
        return None if found is None else self.originals(found)

    def originals(self, found: Picks) -> Picks:
        """Rows that the learner keeps, such as RIM's `typical` ones, as they were before they were prepared."""
        ready = self._ready()
        if ready._records is None:
            return found
        rows, ids = ready._records.find(found.ids)
        if (found.ids < 0).any() and ready.encoder_ is not None:
            rows = filled(rows, ready.encoder_.inverse_transform(found.rows), found.ids < 0)
        return Picks(found.kind, as_written(rows), ids, found.weights, found.targets)

    def _prepare(self, fitted: list[Any], X: Any) -> Any:
        for step in fitted[:-1]:
            X = step.transform(X)
        return X


def whole_rows(encoder: Any, X: Any, *columns: Any) -> tuple[Any, ...]:
    """Rows and columns beside them without rows that have missing values, if these are to be left out."""
    leaves_out = isinstance(encoder, TableEncoder | Pixels) and encoder.missing == "drop"
    if not leaves_out or (whole := encoder.complete(X)).all():
        return X, *columns
    return take_all(np.flatnonzero(whole), X, *columns)
