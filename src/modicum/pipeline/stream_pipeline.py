"""A pipeline: preparations and a learner, together a learner."""

import copy
import hashlib
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from modicum.contract.learner import Learner, Traits
from modicum.contract.picks import kept_ids
from modicum.contract.validation import check_all_or_none
from modicum.exceptions import BudgetError, DataError, DataWarning, StateError
from modicum.pipeline.answers import Answers, final_has, whole_rows
from modicum.pipeline.pixels import Pixels
from modicum.pipeline.preparation import WAITING_BYTES, Preparation
from modicum.pipeline.records import KEY_BITS, Records
from modicum.pipeline.table_encoder import TableEncoder
from modicum.pipeline.word_counts import WordCounts
from modicum.rows import BufferedRows, n_rows, take, take_all
from modicum.rules.budget import as_budget
from modicum.rules.invariants import ABSENT, Each, Is, Scope, Violation, Whole
from modicum.rules.params import NULL, RANDOM_STATE, TRUTH, Where
from modicum.state.files import to_bytes
from modicum.streams import Stream

STEPS = Where(
    lambda value: (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(step, list | tuple) and len(step) == 2 and isinstance(step[0], str) for step in value)
        and all(isinstance(step, Preparation) for _, step in value[:-1])
        and isinstance(value[-1][1], Learner)
        and not isinstance(value[-1][1], Preparation)
    ),
    "a list of (name, step): preparations such as TableEncoder, and a learner at the end",
)
NAMING = 1_000  # first rows that name a stream: fewer than most chunks have, so that chunks do not matter
MOST_NAMES = 1_000  # of columns that the learner is told
BESIDES = 24  # bytes that a learner holds at least with each row: its id, its weight and its place
SPARE = 0.9  # of a budget in bytes, for what the learner and the records hold; the rest is for growing texts


class _Sound:
    """The rule for learners in a pipeline: their own invariants hold."""

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, Learner):
            raise Violation(f"a learner; got {type(value).__name__}")
        value._check_state()


class StreamPipeline(Answers):
    """Preparations and a learner as one learner: it learns, answers, saves, merges and resumes as one.

    The first rows are held until the preparations are decided; then every chunk is prepared and learned. The learner
    sees numbers, but what was picked comes back as it was: `picks` has the original rows with all their columns. For
    that, the original of every row that the learner keeps is kept too, and counts against a budget in bytes.

    Learned values of the last step, such as `loss_` or `classes_`, are values of the pipeline.

    Cost: that of the steps; and O(kept rows) per chunk to keep their originals.

    Pipelines can be merged if their preparations agree: begin every shard with a `branch` of one pipeline, or give all
    the same fitted `TableEncoder`.

    Parameters
    ----------
    steps : list of (str, learner)
        Preparations, and a learner at the end. A preparation that is fitted already stays as it is.
    keep_records : bool, default=True
        Whether to keep the original rows of picks.
    random_state : int, Generator or None, default=None
        Seeds the learner, if it has none of its own.

    Attributes
    ----------
    learner_, encoder_ : the fitted last step, and the fitted TableEncoder or None
    preparation_ : the fitted first step, or None
    summary_ : str
        What was learned from and what was ignored.

    Examples
    --------
    >>> import modicum
    >>> from modicum.pipeline import TableEncoder, make_pipeline
    >>> rows = [{"price": float(i % 7), "color": "red" if i % 3 else "blue", "code": f"x{i}"} for i in range(200)]
    >>> pipeline = make_pipeline(TableEncoder(), modicum.ExemplarClustering(2, random_state=0)).fit(rows)
    >>> pipeline.picks().rows.column_names
    ['price', 'color', 'code']

    References
    ----------
    montiel2021 (pipelines that learn from streams). Departure: preparations are fixed once the first rows have decided
    them, and the original rows of picks are kept.
    """

    _unsaved = (*Learner._unsaved, "_told", "_sample", "_shard")
    _constraints = {"steps": [STEPS], "keep_records": [TRUTH], "random_state": [RANDOM_STATE]}
    _invariants = {
        "_waiting": [NULL, Is(BufferedRows)],
        "_fitted": [NULL, Each(_Sound(), low=1)],
        "_records": [NULL, Is(Records)],
        "_reserved": Where(lambda value: isinstance(value, dict), "a dict"),
        "_stream_number": Whole(0, 2 ** (63 - KEY_BITS)),
        "_n_keys": Whole(0, 2**KEY_BITS),
        "_n_dropped": Whole(),
        "_late": [ABSENT, Whole()],
    }
    _late = 0  # the lag that an evaluation has
    _shard: int  # a number that names the stream of one of several shards, whose first rows may be the same
    _waiting: BufferedRows | None

    def __init__(self, steps: Sequence[tuple[str, Learner]], *, keep_records: bool = True, random_state: Any = None):
        self.steps = steps
        self.keep_records = keep_records
        self.random_state = random_state

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        last = self.steps[-1][1].traits
        return Traits(merge=last.merge, weights=last.weights, tables=True)

    # ---- learning --------------------------------------------------------------------------------

    def _expect_columns(self, rows: Stream) -> None:
        self._sample = None
        if not self._is_fitted() and rows.table_columns is not None and (n_first := self._n_first()):
            self._sample = rows.spread(n_first)
        targets = "names documents" if final_has("predict_items")(self) else "the target"
        self._told = {
            name: reason for name, reason in ((rows.target, targets), (rows.weight, "weights")) if name is not None
        }

    def _expect_lag(self, rows: int) -> None:
        self._late = rows
        if vars(self).get("_fitted") is not None:
            self._fitted[-1]._expect_lag(rows)

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        rows = super()._check_rows(X, reset=reset)
        if reset:
            self._waiting = self._fitted = self._records = None
            self._reserved = self.__dict__.get("_told", {})
            self._stream_number = self._n_keys = self._n_dropped = 0
        elif self._fitted is not None:
            self._fitted[0]._check_rows(rows, reset=False)
        return rows

    def _check_target(self, y: Any, count: int) -> np.ndarray | None:
        """Targets as the learner takes them: rows that wait must not keep it from beginning later."""
        fitted, waiting = vars(self).get("_fitted"), vars(self).get("_waiting")
        y = (self.steps[-1][1] if fitted is None else fitted[-1])._check_target(y, count)
        if waiting is not None:
            check_all_or_none(type(self).__name__, y, waiting.targets)
            if y is not None and (y.dtype.kind in "biuf") != (waiting.targets.dtype.kind in "biuf"):
                raise DataError(f"{type(self).__name__}: targets are numbers in some rows and words in others.")
        return y

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if self._fitted is None:
            n_first = self._n_first() or len(row_ids)
            if self._waiting is None:
                self._waiting = BufferedRows(X, y, n_first)
            first, rest = np.split(np.arange(len(row_ids)), [n_first - len(self._waiting)])
            self._waiting.append(*take_all(first, X, y, weight, row_ids))
            if len(self._waiting) >= n_first or self._waiting.rows.nbytes > self._waiting_bytes():
                self._begin()
            if not len(rest):
                return
            X, y, weight, row_ids = take_all(rest, X, y, weight, row_ids)
        n_dropped = self._n_dropped
        try:
            self._learn_rows(self._fitted, *self._without_gaps(self._fitted[0], X, y, weight, row_ids))
        except BaseException:
            self._n_dropped = n_dropped
            raise

    def _may_fail_midway(self) -> bool:
        return self._fitted is None  # some rows of a chunk may be learned, and the others refused

    def _n_first(self) -> int:
        """Rows that are held before the preparations are decided: none if rows from all over the source decide."""
        if vars(self).get("_sample") is not None:
            return 0
        return max((step.n_first for _, step in self.steps[:-1] if not step._is_fitted()), default=0)

    def _waiting_bytes(self) -> int:
        limit = as_budget(getattr(self.steps[-1][1], "budget", None)).nbytes
        return WAITING_BYTES if limit is None else min(WAITING_BYTES, limit // 2)

    def _begin(self) -> None:
        """Decide the preparations by the rows that wait, and learn them."""
        assert self._waiting is not None
        waiting, n_keys, n_dropped = self._waiting, self._n_keys, self._n_dropped
        X, y, weight, ids = _contents(waiting)
        self._stream_number = self.__dict__.pop("_shard", None) or _digest(X)
        try:
            fitted: list[Any] = []
            Z, sample = X, self.__dict__.pop("_sample", None)
            for _, step in self.steps[:-1]:
                own = copy.deepcopy(step) if step._is_fitted() else clone(step)
                if own._is_fitted():
                    own._stay()
                else:
                    own._reserve(self._reserved)
                    own.partial_fit(Z if sample is None else sample)._end_of_stream()
                if not fitted:
                    X, y, weight, ids = self._without_gaps(own, X, y, weight, ids)
                    Z = X
                sample = None if sample is None or len(self.steps) == 2 else own.transform(sample)
                fitted.append(own)
                Z = fitted[-1].transform(Z)
            fitted.append(self._new_learner(fitted, X, Z))
            self._waiting = None
            self._learn_rows(fitted, X, y, weight, ids, Z)
        except BaseException:
            self._waiting, self._n_keys, self._n_dropped, self._records = waiting, n_keys, n_dropped, None
            raise
        self._fitted = fitted

    def _new_learner(self, preparations: list[Any], X: Any, Z: Any) -> Learner:
        """The learner, with a seed, and with what of its budget the preparations and the records leave."""
        learner = clone(self.steps[-1][1])
        learner._is_prepared = len(preparations) > 0
        learner._expect_lag(self._late)
        watch_order_of(learner, preparations)
        params = learner.get_params(deep=False)
        if "random_state" in params and params["random_state"] is None and self.random_state is not None:
            learner.set_params(random_state=int(self._rng.integers(2**31)))
        limit = as_budget(params.get("budget")).nbytes
        if limit is None:
            return learner
        taken = sum(step._most_bytes() for step in preparations)
        if taken > limit // 2:
            raise as_budget(params["budget"]).too_small(2 * taken, f"{type(self).__name__}: the preparation")
        room = limit - taken
        each = self._record_bytes(X) / (_row_bytes(Z) + BESIDES)
        return learner.set_params(budget=f"{int(SPARE * room / (1 + each))} B")

    def _record_bytes(self, X: Any) -> float:
        """Bytes of a record, about."""
        keeps = self.keep_records and _has_picks(self.steps[-1][1])
        return X.nbytes / max(1, n_rows(X)) if keeps else 0.0

    def _learn_rows(
        self, fitted: list[Any], X: Any, y: Any, weight: np.ndarray | None, ids: np.ndarray, Z: Any = None
    ) -> None:
        """Prepare and learn rows; nothing changes if the learner refuses them."""
        keys = (self._stream_number << KEY_BITS) + np.arange(self._n_keys, self._n_keys + len(ids))
        is_first = Z is not None
        encoder = fitted[0]
        if len(ids):
            counts = None
            if Z is None:
                Z, counts = self._prepare_and_count(fitted, X)
            learner = fitted[-1]
            self._teach(learner, Z, y, weight, keys if _has_picks(learner) else ids)
            if counts is not None:
                encoder._watch_counts(counts)
            if is_first or isinstance(encoder, WordCounts):  # which goes on finding words
                _name_columns(fitted)
            self._keep_records(learner, X, keys, ids)
        self._n_keys += len(ids)

    def _without_gaps(self, encoder: Any, X: Any, *columns: Any) -> tuple[Any, ...]:
        """Rows, targets, weights and ids without rows that have missing values, if these are to be left out."""
        kept = whole_rows(encoder, X, *columns)
        self._n_dropped += n_rows(X) - n_rows(kept[0])
        return kept

    def _teach(self, learner: Learner, Z: Any, y: Any, weight: np.ndarray | None, keys: np.ndarray) -> None:
        """Let the learner learn; an error about its share of the budget names the whole budget."""
        try:
            learner.partial_fit(Z, y, weight, row_ids=keys)
        except BudgetError as error:
            whole = as_budget(self.steps[-1][1].budget)
            raise BudgetError(
                f"{type(self).__name__}: the budget of {whole} is shared by the preparation, the original rows and the "
                f"learner. {error} Raise the budget, or shorten long texts first."
            ) from None

    def _prepare_and_count(self, fitted: list[Any], X: Any) -> tuple[Any, Any]:
        """Prepared rows, and what the first preparation watches of them, to be added once they have been learned."""
        encoder, *rest = fitted
        if not rest:
            return X, None
        Z, counts = encoder._encode_and_count(encoder._check_rows(X, reset=False))
        return self._prepare(rest, Z), counts

    def _keep_records(self, learner: Learner, X: Any, keys: np.ndarray, ids: np.ndarray) -> None:
        """Keep the originals of the rows that the learner keeps."""
        if not self.keep_records or not _has_picks(learner):
            return
        if self._records is None:
            self._records = Records(X)
        if self._records.update(X, keys, ids, kept_ids(learner)):
            self._hold_records()

    def _hold_records(self) -> None:
        """Shorten texts of records if a budget in bytes is exceeded."""
        limit = as_budget(getattr(self.steps[-1][1], "budget", None)).nbytes
        if limit is None or self._records is None or self._fitted is None or (held := self.nbytes_) <= limit:
            return
        if self._records.shorten(self._records.rows.nbytes - (held - limit)):
            warnings.warn(
                f"{type(self).__name__}: texts in the original rows of picks were shortened to hold the budget.",
                DataWarning,
                stacklevel=2,
            )

    def _learn_or_undo(self, X: Any, y: Any, weight: np.ndarray | None, ids: np.ndarray) -> None:
        try:
            super()._learn_or_undo(X, y, weight, ids)
        except ValueError:
            fitted = vars(self).get("_fitted")
            if fitted is None or "_torn" not in vars(fitted[-1]):  # a refused chunk has changed nothing
                self.__dict__.pop("_torn", None)
            raise

    def _end_of_stream(self) -> None:
        if self._waiting is not None:
            self._begin()
        if self._fitted is not None and self._n_dropped and not self._fitted[-1]._is_fitted():
            raise DataError(
                f"{type(self).__name__}: all {self._n_dropped:,} rows have missing values, so none is left to learn "
                "from. Fill them in with missing impute, or leave such columns out."
            )
        if self._fitted is not None and self._fitted[-1]._is_fitted():
            self._fitted[-1]._look_at_order()
            self._fitted[-1]._guard().run(self._fitted[-1]._end_of_stream)

    @classmethod
    def of(cls, *fitted: Learner) -> "StreamPipeline":
        """The pipeline of preparations and a learner that have been fitted one after the other."""
        made = make_pipeline(*map(clone, fitted), keep_records=False)
        first, learner = fitted[0], copy.deepcopy(fitted[-1])
        for name in ("_kind", "_dtype", "n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(made, name, getattr(first, name))
        made.n_seen_, made._position, made._rng = learner.n_seen_, learner._position, learner._rng
        made._fitted = [*(copy.deepcopy(step) for step in fitted[:-1]), learner]
        made._waiting = made._records = None
        made._reserved, made._stream_number, made._n_keys, made._n_dropped = {}, 0, 0, 0
        return made

    def decided_by(self, rows: Stream) -> Self:
        """A pipeline whose preparations are decided by rows from all over a stream, and that has learned nothing yet.

        Where the number of rows is not known in advance, or they can be read only once, the first rows decide.
        """
        probe = clone(self)
        probe._expect_columns(rows)
        for chunk in rows if rows.n_rows is None else rows.part(0, min(rows.n_rows, NAMING)):
            probe.partial_fit(chunk.X, chunk.y, chunk.sample_weight, chunk.row_ids)
            if probe._is_fitted() and probe._fitted is not None:
                break
        return probe.branch()

    def branch(self) -> Self:
        """A pipeline with the same preparation that has learned nothing yet: for another shard, to be merged later."""
        ready = self._ready()
        prepared = [(name, copy.deepcopy(step)) for (name, _), step in zip(self.steps, ready._fitted, strict=True)]
        return type(self)(
            [*prepared[:-1], (self.steps[-1][0], clone(self.steps[-1][1]))],
            keep_records=self.keep_records,
            random_state=self.random_state,
        )

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: Self) -> None:
        if other._fitted is None:
            assert other._waiting is not None
            if self._waiting is not None and _digest(self._waiting.rows.values) == _digest(other._waiting.rows.values):
                raise self._same_rows()
            self._learn(*_contents(other._waiting))
        elif self._fitted is None:
            assert self._waiting is not None
            rows, dropped = _contents(self._waiting), self._n_dropped
            self._adopt(other)
            self._n_dropped += dropped
            self._learn(*rows)
        else:
            self._merge_begun(other)

    def _same_rows(self) -> StateError:
        return StateError(f"{type(self).__name__}.merge: both sides began with the same rows, which would count twice.")

    def _merge_begun(self, other: Self) -> None:
        for ours, theirs in zip(self._fitted[:-1], other._fitted[:-1], strict=True):
            if not ours.has_same_form_as(theirs):
                raise StateError(
                    f"{type(self).__name__}.merge: the preparations differ ({_difference(ours, theirs)}), so what was "
                    "learned does not compare. Begin every shard with a `branch` of one pipeline, or on the command "
                    "line with --prepare-like STATE."
                )
        if self._records is not None and self._stream_number == other._stream_number:
            raise self._same_rows()
        for ours, theirs in zip(self._fitted[:-1], other._fitted[:-1], strict=True):
            ours.merge(theirs)
        _name_columns(self._fitted)
        self._fitted[-1].merge(_with_form_of(self._fitted[-1], other._fitted[-1]))
        if self._records is not None and other._records is not None:
            self._records.merge(other._records, kept_ids(self._fitted[-1]))
            self._hold_records()
        self._n_dropped += other._n_dropped

    def _check_state(self) -> None:
        super()._check_state()
        if self._is_fitted() and self._fitted is not None:
            given = [type(step) for _, step in self.steps]
            if [type(step) for step in self._fitted] != given:
                raise Violation(f"of {', '.join(kind.__name__ for kind in given)}, as its steps are")

    def _restored(self) -> None:
        for step in vars(self).get("_fitted") or ():
            step._restored()

    def _n_retained(self) -> int:
        return len(self._waiting) if self._waiting is not None else self._fitted[-1].n_retained_

    def _params_to_match(self) -> dict[str, Any]:
        return {"learner": type(self.steps[-1][1]).__name__} | {
            name: value
            for name, value in self.get_params(deep=True).items()
            if name not in ("steps", *(step for step, _ in self.steps)) and not name.endswith("random_state")
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, with `deep` those of the steps too: `encoder__missing`."""
        params = super().get_params(deep=False)
        if deep and STEPS.accepts(self.steps):
            for name, step in self.steps:
                params[name] = step
                params |= {f"{name}__{key}": value for key, value in step.get_params(deep=True).items()}
        return params

    def __sklearn_tags__(self) -> Any:
        tags = self.steps[-1][1].__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def make_pipeline(*steps: Learner, keep_records: bool = True, random_state: Any = None) -> StreamPipeline:
    """A pipeline whose steps are named after their classes, in lower case.

    >>> import modicum
    >>> [name for name, _ in make_pipeline(TableEncoder(), modicum.OnlineKMeans(3)).steps]
    ['tableencoder', 'onlinekmeans']
    """
    names = [type(step).__name__.lower() for step in steps]
    numbered = [name if names.count(name) == 1 else f"{name}-{i}" for i, name in enumerate(names, 1)]
    return StreamPipeline(list(zip(numbered, steps, strict=True)), keep_records=keep_records, random_state=random_state)


def final_learner(learner: Learner) -> Learner:
    """The last step of a pipeline, fitted if the pipeline is; another learner itself."""
    if not isinstance(learner, StreamPipeline):
        return learner
    return learner.learner_ if learner._is_fitted() else learner.steps[-1][1]


def _has_picks(learner: Learner) -> bool:
    """Whether a learner picks rows, whose originals are kept."""
    return type(learner).picks is not Learner.picks


def _row_bytes(Z: Any) -> int:
    """Bytes of a row of numbers, whether or not they are zero; of documents, of an item."""
    first = Z[0] if isinstance(Z, list) else Z
    return first.shape[1] * first.dtype.itemsize


def _contents(waiting: BufferedRows) -> tuple[Any, ...]:
    """Rows that wait, with targets, weights unless all are 1, and ids."""
    X, y, weight, ids = waiting.contents
    return X, y, None if (weight == 1).all() else weight, ids


def _name_columns(fitted: Sequence[Any]) -> None:
    """Tell a learner behind one preparation the names of its columns, if they are few or words."""
    first = fitted[0]
    if len(fitted) == 2 and (
        isinstance(first, WordCounts | Pixels)
        or (isinstance(first, TableEncoder) and first.n_features_out_ <= MOST_NAMES)
    ):
        fitted[-1]._column_names = list(first.get_feature_names_out())


def watch_order_of(learner: Learner, preparations: Sequence[Any]) -> None:
    """Let a learner watch the order of its rows; columns made of times may rise."""
    if len(preparations) == 1 and isinstance(encoder := preparations[0], TableEncoder):
        times = {name for column in encoder._columns if column.kind == "time" for name in column.names}
        learner._watch_order(list(encoder.get_feature_names_out()), times)
    else:
        learner._watch_order()


def _with_form_of(ours: Learner, theirs: Learner) -> Learner:
    """The other side's learner, with this side's share of the budget, as records differ in size, and its names."""
    budgets = [getattr(side, "budget", None) for side in (ours, theirs)]
    if budgets[0] == budgets[1] and ours.column_names_ == theirs.column_names_:
        return theirs
    same = copy.deepcopy(theirs)
    same.__dict__.update({name: vars(ours)[name] for name in ("budget", "_column_names") if name in vars(ours)})
    return same


def _digest(X: Any) -> int:
    """A number that names a stream by its first rows."""
    X = take(X, np.arange(min(n_rows(X), NAMING)))
    content = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else BufferedRows(X, None, 1)
    if not isinstance(content, np.ndarray):
        content.append(X, None, None, np.arange(n_rows(X)))
    digest = hashlib.blake2b(to_bytes({"rows": content}), digest_size=8).digest()
    return max(1, int.from_bytes(digest, "little") >> (KEY_BITS + 1))


def _difference(ours: Preparation, theirs: Preparation) -> str:
    """The first difference of two preparations."""
    if isinstance(ours, TableEncoder) and isinstance(theirs, TableEncoder):
        there = {name: (kind, done) for name, kind, done in theirs.decisions_}
        for name, kind, done in ours.decisions_:
            if there.get(name) != (kind, done):
                return f"{name}: {done} here, {there[name][1] if name in there else 'not there'} there"
    return "they were decided by other rows"
