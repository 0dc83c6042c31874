"""The contract: a learner is a bounded state and a few methods."""

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from modicum.contract.guard import Guard, once_fitted, one_at_a_time
from modicum.contract.intake import Intake
from modicum.contract.merging import check_merged, check_partner, check_same_rows, is_same_value
from modicum.contract.order import InOrder
from modicum.contract.picks import Picks
from modicum.contract.saving import Saving
from modicum.contract.validation import check_columns, warn_of_scales
from modicum.exceptions import BudgetError, DataError, StateError
from modicum.numeric.parallel import single_threaded_blas
from modicum.rows import n_rows, take
from modicum.rules.budget import as_budget, format_bytes, sufficient_bytes
from modicum.rules.invariants import ABSENT, TEXT, Array, Each, Equal, Is, Violation, Whole
from modicum.rules.params import NULL, Constraint, check_params
from modicum.state.packing import LEARNERS, held_bytes
from modicum.state.part import register
from modicum.state.rng import as_generator
from modicum.streams import Stream, stream

# Methods that release the lock between chunks, or take two locks.
_UNGUARDED = ("fit", "learn", "fit_predict", "fit_transform", "merge")
NUMBERS = ("dense", "sparse")  # kinds of rows that are numbers
ONE_CHUNK_BYTES = 256 * 2**20  # arrays up to this size are learned as one chunk: they are in memory anyway


@dataclass(frozen=True)
class Traits:
    """Properties in which learners differ; the checks depend on them."""

    chunk_exact: bool = False  # any split of the stream into chunks gives the same state, bit for bit
    merge: Literal["exact", "approximate", "none"] = "none"
    weights: bool = False  # sample_weight is supported
    sparse: bool = False  # sparse matrices are supported, without densifying
    objects: bool = False  # lists of any Python objects are supported
    tables: bool = False  # tables with columns of any type are supported
    forgets: bool = False  # half_life is supported

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of rows that can be learned."""
        more = {"sparse": self.sparse, "objects": self.objects, "table": self.tables}
        return ("dense", *(kind for kind, can in more.items() if can))


class Learner(Saving, Intake, InOrder, BaseEstimator):
    """Base of all learners.

    A subclass declares `traits`, `_constraints` on its parameters and `_invariants` of its state, and writes `_learn`
    (one checked chunk), `_n_retained` and, if it can be merged, `_merge`. Everything else of the contract is here.
    Learned public values end in `_`, and properties of that form need a fitted learner; other state is in attributes
    that start with `_`. All of it is saved, so state consists of what `modicum.state` can pack.

    Threads: public methods and properties of one learner run one at a time, so that an answer comes from the state
    before or after a chunk. `fit` and `learn` release the lock between chunks.
    """

    traits: ClassVar[Traits] = Traits()
    _adds_up_columns: ClassVar[bool] = False  # so that a column of large numbers outweighs all others
    _takes_unlabelled: ClassVar[bool] = False  # rows with a target and rows without one
    _counts_words: bool | property = False  # whether rows are counts, so that texts are prepared as counts of words
    _constraints: ClassVar[Mapping[str, list[Constraint]]] = {}
    _invariants: ClassVar[Mapping[str, Any]] = {
        "n_features_in_": Whole("n_features", "n_features"),
        "_kind": Equal("kind", lambda its: its.owner.traits.kinds),
        "_dtype": Equal("dtype", lambda its: ("float32", "float64") if its["kind"] in NUMBERS else ("object",)),
        "n_seen_": Whole(1),
        "_position": Whole("n_seen_"),
        "_rng": Is(np.random.Generator),
        "feature_names_in_": [ABSENT, Array(("O",), "n_features")],
        "_column_names": [ABSENT, NULL, Each(TEXT)],
    }
    _rng: np.random.Generator
    _dtype: str
    _reset: set[str]  # parameters that have been set since rows were learned
    _torn: str  # the error with which a chunk failed midway
    _derived: dict[str, Any]  # cached results, by key
    _kind: str
    _position: int  # rows given, those of weight 0 included
    n_seen_: int

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            register(cls, LEARNERS)
        cls._guard_members()

    @classmethod
    def _guard_members(cls) -> None:
        """Let public methods and properties run one at a time, those of mixins included; learned values once fitted."""
        for name, (base, member) in _public_members(cls).items():
            if base is cls or not (issubclass(base, Learner) or base.__module__.startswith(("sklearn.", "builtins"))):
                if isinstance(member, FunctionType):
                    setattr(cls, name, one_at_a_time(member))
                elif isinstance(member, property) and member.fget is not None:
                    getter = once_fitted(member.fget) if name.endswith("_") else member.fget
                    setattr(cls, name, property(one_at_a_time(getter), member.fset, doc=member.__doc__))

    def _guard(self) -> Guard:
        """The lock held while the state is read or changed; created on first use."""
        return self.__dict__.get("_lock") or self.__dict__.setdefault("_lock", Guard())

    # ---- learning --------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, row_ids: Any = None) -> Self:
        """Learn one chunk.

        Parameters
        ----------
        X : array, sparse matrix, dataframe or list of objects, one row each
        y : targets, for learners that use them
        sample_weight : non-negative weights; a weight of 2 counts as the row given twice
        row_ids : ints that name the rows; by default their position in the stream
        """
        if self._is_fitted():
            self._check_whole()
            self._check_reset()
            self._take_chunk(X, y, sample_weight, row_ids)
            return self
        self._check_params()
        before = set(vars(self))
        try:
            self._take_chunk(X, y, sample_weight, row_ids)
        finally:
            if not self._is_fitted():  # refused, empty or of zero weight: drop what the checks have set
                for name in vars(self).keys() - before:
                    del self.__dict__[name]
        return self

    def _take_chunk(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        """Check a chunk, and learn the rows that have weight."""
        if not hasattr(X, "shape") and hasattr(X, "__array__"):
            X = np.asarray(X)
        if not hasattr(X, "__len__") and not hasattr(X, "shape"):
            raise DataError(
                f"{type(self).__name__}: rows must be an array, a sparse matrix, a data frame or a list; got a "
                f"{type(X).__name__}. Give an iterable of chunks to `fit` or `learn`."
            )
        if n_rows(X) == 0:
            return
        X = self._check_rows(X, reset=not self._is_fitted())
        weight = self._check_weight(sample_weight, n_rows(X))
        y = self._check_target(y, n_rows(X))
        given = ids = self._check_ids(row_ids, n_rows(X))
        if weight is not None and not weight.all():  # a row of weight 0 counts as absent
            present = np.flatnonzero(weight)
            X, weight, ids = take(X, present), weight[present], ids[present]
            y = None if y is None else y[present]
        if n_rows(X):
            self._check_chunk(X, y)
            if self._adds_up_columns and not self._is_fitted() and "_is_prepared" not in vars(self):
                warn_of_scales(type(self).__name__, X, getattr(self, "feature_names_in_", None))
            self._watch_order()
            self._learn_or_undo(X, y, weight, ids)
        if self._is_fitted():
            self._position += len(given)
            self._look_at_order(X, y)

    def _learn_or_undo(self, X: Any, y: Any, weight: np.ndarray | None, ids: np.ndarray) -> None:
        """Learn a chunk; on failure restore the state before it, or mark the state as torn."""
        first = not self._is_fitted()
        before = self._copy_of_state() if not first and self._may_fail_midway() else None
        if first:
            self.n_seen_ = self._position = 0
            self._rng = as_generator(getattr(self, "random_state", 0))  # without the parameter: deterministic
        try:
            with single_threaded_blas() if self._uses_blas() else nullcontext():
                self._learn_checked(X, y, weight, ids)
        except BaseException as error:
            if first:
                self._forget()
            elif before is not None:
                self._put_back(before)
            else:
                self._torn = type(error).__name__
            if isinstance(error, ArithmeticError | np.linalg.LinAlgError):
                raise DataError(f"{type(self).__name__}: numbers overflowed ({error}).") from error
            raise

    def _learn_checked(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, ids: np.ndarray) -> None:
        """Learn and count the rows of a chunk; `Forgetting` does so in pieces."""
        self._learn(X, y, weight, ids)
        self._derived = {}
        self.n_seen_ += n_rows(X)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        """Hook: raise `DataError` for a chunk that passed all other checks but can't be learned; change nothing."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget, then learn from X: an array, sparse matrix, dataframe, list of objects or a `modicum.stream`."""
        self._guard().run(self._forget)
        try:
            self._expect(y, sample_weight)
            if fits_one_chunk(X):
                self.partial_fit(X, y, sample_weight)
                self._finish()
            else:
                raw = self.traits.tables and not isinstance(X, Stream)
                self.learn(stream(X, target=y, weight=sample_weight, raw=raw))
        except BaseException:
            if not self._is_fitted():
                self._forget()
            raise
        return self

    def _expect(self, y: Any, sample_weight: Any) -> None:
        """Hook: look at the targets given to `fit` before any row is learned; they may be None or a column's name."""

    def _expect_lag(self, rows: int) -> None:
        """Hook: an evaluation predicts each row about this many rows before it is learned."""

    def learn(self, source: Any, on_chunk: Callable[[Self], object] | None = None) -> Self:
        """Learn all of a stream or source on top of the present state; `on_chunk(self)` is called after each chunk."""
        self._learn_chunks(source if isinstance(source, Stream) else stream(source, raw=self.traits.tables), on_chunk)
        self._finish()
        return self

    def _learn_chunks(self, chunks: Stream, on_chunk: Callable[[Self], object] | None = None) -> None:
        """Learn a stream that others may follow."""
        if self._is_fitted() and not self.traits.tables:  # columns of tables are found by name
            check_columns(f"{type(self).__name__}.learn", self.column_names_, chunks.columns)
        self._expect_columns(chunks)
        self._watch_order(chunks.columns)
        for chunk in chunks:
            self.partial_fit(chunk.X, chunk.y, chunk.sample_weight, chunk.row_ids)
            if self._is_fitted() and chunks.columns is not None:
                self._column_names = chunks.columns
            if on_chunk is not None:
                on_chunk(self)

    def _expect_columns(self, rows: Stream) -> None:
        """Hook: look at a stream before its rows are learned."""

    def merge(self, other: Self) -> Self:
        """Absorb what `other` learned from other rows; `other` does not change."""
        check_partner(self, other)
        first, second = sorted((self, other), key=id)  # a fixed order: merging each other must not deadlock
        first._guard().run(second._guard().run, self._merge_or_undo, other)
        return self

    def _params_to_match(self) -> dict[str, Any]:
        """Parameters in which two learners must agree to be merged."""
        return {name: value for name, value in self.get_params(deep=False).items() if name != "random_state"}

    def _merge_or_undo(self, other: Self) -> None:
        """Merge; on failure restore the state before it."""
        for side in (self, other):
            side._check_whole()
            side._check_reset()
        if not other._is_fitted():
            return
        if not self._is_fitted():
            self.__dict__.update(other._copy_of_state())
            self._restored()
            return
        check_same_rows(self, other)
        before = self._copy_of_state()
        try:
            with single_threaded_blas():
                self._merge_checked(other)
            self._derived = {}
            self.n_seen_ += other.n_seen_
            self._position += other._position
            check_merged(self, before["_dtype"], other._dtype)
        except BaseException as error:
            self._put_back(before)
            if isinstance(error, ArithmeticError | np.linalg.LinAlgError):
                raise StateError(f"{type(self).__name__}.merge: numbers overflowed ({error}).") from error
            raise

    def _adopt(self, other: Self) -> None:
        """Replace this state by that of `other`, within `_merge`; rows kept here are then learned on top of it."""
        counts = {"n_seen_": self.n_seen_, "_position": self._position}  # `merge` adds up both sides
        self._put_back(other._copy_of_state() | counts)
        self._restored()

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        """Learn one checked, non-empty chunk. `n_seen_` still counts the rows before it."""
        raise NotImplementedError(f"{type(self).__name__} must define _learn")

    def _merge(self, other: Self) -> None:
        """Absorb the state of a fitted learner with equal parameters; `merge` adds up the counts of rows."""
        raise StateError(f"{type(self).__name__} can't be merged.")

    def _merge_checked(self, other: Self) -> None:
        """Merge with a valid partner; `Forgetting` brings both sides to the same time first."""
        self._merge(other)

    def _finish(self) -> None:
        if not self._is_fitted():
            raise DataError(
                f"{type(self).__name__}: there are no rows, or all have weight zero; at least 1 is required."
            )
        self._look_at_order()
        with single_threaded_blas() if self._uses_blas() else nullcontext():
            self._guard().run(self._end_of_stream)

    def _end_of_stream(self) -> None:
        """Hook: called by `fit` and `learn` once all rows have been learned."""

    def _forget(self) -> None:
        for name in [*self._fields(), *self._unsaved]:
            self.__dict__.pop(name, None)

    # ---- answers ---------------------------------------------------------------------------------

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """What is predicted for each row, as columns by name."""
        if not hasattr(self, "predict"):
            raise ValueError(f"{type(self).__name__} makes no predictions.")
        return {"prediction": self.predict(X)}

    def picks(self) -> Picks | None:
        """The rows that were chosen from the stream; None if the learner chooses no rows."""
        return None

    @property
    def column_names_(self) -> list[str] | None:
        """Names of the columns learned from, where they are known."""
        names = getattr(self, "feature_names_in_", None)
        return getattr(self, "_column_names", None) if names is None else list(names)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; values derived from the old ones are dropped."""
        before = self.get_params(deep=False)
        try:
            super().set_params(**params)
            if self._is_fitted():
                self._check_params()  # unfitted learners check them at the first chunk
        except BaseException:
            super().set_params(**before)
            raise
        if self._is_fitted():
            self._derived = {}
            changed = {name for name, old in before.items() if not is_same_value(old, getattr(self, name))}
            self._reset = getattr(self, "_reset", set()) | changed
        return self

    def _derive(self, key: str, make: Callable[[], Any]) -> Any:
        """The result of `make()`, cached under `key` until the state changes: a solved model, for instance. Not saved.

        A learner uses each key for one thing only.
        """
        self._check_fitted()
        known = self.__dict__.setdefault("_derived", {})
        if key not in known:
            known[key] = make()
        return known[key]

    # ---- memory ----------------------------------------------------------------------------------

    @property
    def n_retained_(self) -> int:
        """Rows kept now."""
        return self._n_retained()

    def _n_retained(self) -> int:
        """Rows kept now, for `n_retained_`."""
        raise NotImplementedError(f"{type(self).__name__} must define _n_retained")

    @property
    def nbytes_(self) -> int:
        """Bytes held now, all state together."""
        return held_bytes(self._fields())

    # ---- checks ----------------------------------------------------------------------------------

    def _check_params(self) -> None:
        check_params(self, self.get_params(deep=False), self._constraints)

    def _is_fitted(self) -> bool:
        return "n_seen_" in vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _check_fitted(self) -> None:
        if not self._is_fitted():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call fit or partial_fit with rows first."
            )
        self._check_whole()

    def _may_fail_midway(self) -> bool:
        """Whether learning checked rows can still fail; if so, the state is copied before each chunk."""
        return False

    def _rows_differ_in_size(self) -> bool:
        """Whether later rows may be too large for a budget in bytes: sparse rows and objects."""
        return self._kind != "dense" and as_budget(self.budget).nbytes is not None

    def _check_whole(self) -> None:
        """Raise `StateError` if a chunk failed midway and there was no copy of the state to restore."""
        if "_torn" in vars(self):
            raise StateError(
                f"{type(self).__name__}: a chunk failed while it was being learned ({self._torn}), and the state is "
                "half changed. Load the last saved state, or call fit to start over."
            )

    def _check_reset(self) -> None:
        """Raise ValueError if parameters that were set after learning do not match the state."""
        if "_reset" in vars(self):
            if "budget" in self._reset:
                name = type(self).__name__
                raise ValueError(f"{name}: the budget was set after rows had been learned. Call fit to start over.")
            try:
                self._check_state()
            except Violation as violation:
                raise ValueError(
                    f"{type(self).__name__}: parameters were set that do not match the state learned before "
                    f"({violation}). Call fit to start over."
                ) from None
            del self._reset

    def _uses_blas(self) -> bool:
        """Whether learning uses BLAS, which is then limited to one thread; the switch costs more than a single row."""
        return True

    def _hold_budget(self, kept: int, at_least: int, shrink: Callable[[int], None]) -> None:
        """Call `shrink(n)` with ever fewer rows until a budget in bytes holds: sparse rows and objects vary in size."""
        limit = as_budget(self.budget).nbytes
        while limit is not None and (held := self.nbytes_) > limit:
            kept = int(kept * min(0.95, limit / held))
            if kept < at_least:
                raise BudgetError(
                    f"{type(self).__name__}: rows have grown too large for a budget of {format_bytes(limit)}; "
                    f"at least {sufficient_bytes(held)} would be needed."
                )
            shrink(kept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.traits.sparse
        tags.input_tags.positive_only = bool(self._counts_words)
        tags.non_deterministic = False
        return tags


def _public_members(cls: type) -> dict[str, tuple[type, Any]]:
    """Public members of a class by name, each with the class it comes from."""
    found = {name: (base, member) for base in reversed(cls.__mro__) for name, member in vars(base).items()}
    return {name: pair for name, pair in found.items() if not name.startswith("_") and name not in _UNGUARDED}


def fits_one_chunk(X: Any) -> bool:
    """Whether rows are in memory already and few enough to check and copy at once."""
    if isinstance(X, Stream | str | os.PathLike) or not (hasattr(X, "__len__") or hasattr(X, "__array__")):
        return False
    return getattr(X, "nbytes", 0) <= ONE_CHUNK_BYTES and not isinstance(X, np.memmap)


Learner._guard_members()
