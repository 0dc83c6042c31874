"""Exemplar clustering of a stream by StreamGreedy (gomes2010, sections 3, 4 and 6, Appendix II)."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from modicum.contract.history import History
from modicum.contract.learner import Learner, Traits
from modicum.exceptions import DataError
from modicum.kernels import Dissimilarity, as_dissimilarity
from modicum.kernels.dissimilarity import METRIC, NAMED
from modicum.numeric.hoeffding import hoeffding_error, hoeffding_size
from modicum.numeric.moments import RunningMean
from modicum.numeric.parallel import run_tiles
from modicum.rows import BottomK, are_objects, average_bytes, is_sparse, n_rows, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import Array, Is, Real, Scope, Violation, Whole
from modicum.rules.params import BUDGET, CALLABLE, NULL, RANDOM_STATE, ROWS, TRUTH, Int, Number, OneOf
from modicum.select.guarantees import SwapGuarantee, check_uniform
from modicum.select.objectives.exemplar import ExemplarObjective
from modicum.select.racing import Race
from modicum.select.swaps import grow, improve
from modicum.streams import Chunk, Stream, stream

ROWS_PER_EXEMPLAR, FEWEST_ROWS = 32, 3000  # validation rows that a size in bytes buys at most: more change little
ONE_SWAP_BLOCK = 64  # candidates per swap when one is taken per block: a pass has to give enough swaps
PREDICT_TILE = 4096  # rows per tile when all rows are compared with all exemplars
MOST_LOOKS = 5  # times `refine` offers the kept rows; after two or three nothing changes
FAR = 2.0  # the phantom's distance, against the largest seen between some rows of the first chunk
PHANTOM_DRIFT = 1e-4  # squared way the mean may go, against the variance, before the phantom follows


COUNTS = (
    "n_candidates_",
    "n_swaps_",
    "n_evaluations_",
    "n_evaluations_saved_",
    "_n_chunks",
    "_n_races",
    "_waiting",
)


class _Given:
    """The rule that the dissimilarity in use is that of the parameters."""

    def check(self, value: Any, scope: Scope) -> None:
        given = as_dissimilarity(scope["dissimilarity"], objects=scope["_objects"])
        if type(value) is not type(given) or getattr(value, "name", None) != getattr(given, "name", None):
            raise Violation(f"that of the parameters, {scope['dissimilarity']!r}")


class ExemplarClustering(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, Learner):
    """The rows of a stream that stand best for all of it.

    Chooses exemplars A among the rows so that rows are close to their nearest exemplar, measured by any
    dissimilarity d and against a phantom exemplar x0 that is always there:

        maximise F(A) = L({x0}) - L(A + {x0}),    L(S) = mean over rows x of  min over c in S of d(c, x)

    Every row is offered once as a candidate. F is evaluated on a validation sample, a reservoir of the stream that
    stays uniform as the stream goes on; a candidate joins while there are too few exemplars, and later takes the
    place of the exemplar whose replacement raises F most, if it raises F by `min_gain`.

    Guarantee: about half the best possible F once no swap pays any more, as far as the sample tells; see `guarantee`.
    Cost: O(W d) time per row and O(W (d + k)) memory for W validation rows; within a call, scratch of 16 MiB and two
    copies of the validation rows.

    Parameters
    ----------
    n_exemplars : int, default=100
        How many rows to choose.
    budget : int or str, default="64 MiB"
        Validation rows to hold, or a size for all that is held. A size buys at most 32 rows per exemplar (or 3,000 if
        that is more): further ones would cost time in proportion and change little.
    dissimilarity : str, callable or Dissimilarity, default="sqeuclidean"
        "sqeuclidean", "euclidean", "cosine", any metric name of scikit-learn; a function of two chunks, of two rows,
        or, when the rows are Python objects, of two objects. The first argument is the exemplar.
    phantom : str, row or float, default="far"
        The phantom exemplar: "far" (farther from every row than any exemplar, so that F orders sets as the mean
        dissimilarity to the nearest exemplar does), the "mean" of the stream, the "origin", "random" (a random vector
        of the data's spread), a row, or a number, its dissimilarity to every row. Objects: "far" or a number.
    swaps : {"eager", "one"}, default="eager"
        Per block of candidates take every swap that pays, best first, or one as in the paper.
    min_gain : float, default=1e-5
        The paper's eta: what a swap must gain, as a part of the present loss.
    patience : int or None, default=None
        The paper's rho: `fit` goes on passing over the data until so many candidates in a row brought no swap. None:
        one pass.
    confidence : float or None, default=None
        Decide swaps on a part of the validation sample as soon as Hoeffding's bound allows it with this
        probability over the whole stream. None: always use the whole sample.
    initial : rows or None, default=None
        Exemplars to start from; they may be replaced.
    locked : rows or None, default=None
        Exemplars that must stay; they count towards `n_exemplars`.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    exemplars_ : ndarray of shape (k, d), sparse matrix or list
    exemplar_indices_ : ndarray of shape (k,)
        Row ids of the exemplars: positions in the stream unless `row_ids` was given; -1 for `initial` and `locked`.
    utility_, loss_ : float
        F on the validation sample, and the mean dissimilarity of its rows to their nearest exemplar (other than
        themselves, once the sample does not hold all rows). The exemplars were chosen on this very sample, so other
        rows lie a little farther off; `score` tells for any rows.
    cluster_sizes_ : ndarray of shape (k,)
        Rows of the stream that each exemplar stands for, estimated from the validation sample.
    history_ : dict of arrays
        Candidates offered, utility, loss (phantom included), swaps and evaluations so far, over the stream.
    n_swaps_, n_evaluations_, n_evaluations_saved_ : int
        Swaps taken; dissimilarities of candidates to validation rows computed, and those that racing saved.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import ExemplarClustering
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + rng.choice([-9, 0, 9], size=(3000, 1))
    >>> model = ExemplarClustering(3, random_state=0).fit(X)
    >>> np.sort(np.round(model.exemplars_[:, 0] / 9).astype(int))
    array([-1,  0,  1])
    >>> np.array_equal(X[model.exemplar_indices_], model.exemplars_)
    True

    References
    ----------
    gomes2010, Algorithm 1, eq. 3.6, Corollary 1, Theorem 4, Appendix II. schubert2021 (all swaps of a candidate from
    one scan). Departures: several swaps per block by default; a phantom that is far by default; `min_gain` is relative;
    the validation sample follows the stream instead of being drawn beforehand; its rows do not judge themselves; at
    the end of a stream they are offered once more (`refine`).
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {
        "n_exemplars": [Int(1)],
        "budget": [BUDGET],
        "dissimilarity": [METRIC, CALLABLE],
        "phantom": [OneOf("far", "mean", "origin", "random"), Number(0.0, open_ends=True), ROWS],
        "swaps": [OneOf("eager", "one")],
        "min_gain": [Number(0.0)],
        "patience": [NULL, Int(1)],
        "confidence": [NULL, Number(0.0, 1.0, open_ends=True)],
        "initial": [NULL, ROWS],
        "locked": [NULL, ROWS],
        "random_state": [RANDOM_STATE],
    }

    _invariants = {
        "_objects": TRUTH,
        "_sample": Is(BottomK, n="n_validation"),
        "_mean": [NULL, Is(RunningMean, width="n_features")],
        "_F": Is(
            ExemplarObjective,
            n_validation="n_validation",
            n_slots_in_all=lambda its: its["n_exemplars"] + 1,
            also={"dissimilarity": _Given()},
        ),
        "_ids": Array("int64", "n_exemplars"),
        "_history": Is(History, width=5),
        "_rounding": Real(0.0),
    } | dict.fromkeys(COUNTS, Whole())

    _mean: RunningMean | None
    _waiting: int
    _rounding: float

    def __init__(
        self,
        n_exemplars: int = 100,
        *,
        budget: int | str = "64 MiB",
        dissimilarity: Any = "sqeuclidean",
        phantom: Any = "far",
        swaps: str = "eager",
        min_gain: float = 1e-5,
        patience: int | None = None,
        confidence: float | None = None,
        initial: Any = None,
        locked: Any = None,
        random_state: Any = None,
    ):
        self.n_exemplars = n_exemplars
        self.budget = budget
        self.dissimilarity = dissimilarity
        self.phantom = phantom
        self.swaps = swaps
        self.min_gain = min_gain
        self.patience = patience
        self.confidence = confidence
        self.initial = initial
        self.locked = locked
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ExemplarClustering":
        """Forget, then learn from X; with `patience`, pass over X again and again until swaps cease to pay."""
        super().fit(X, y, sample_weight)
        while self.patience is not None and self._waiting < self.patience:
            swaps = self.n_swaps_
            for chunk in X if isinstance(X, Stream) else stream(X):
                self._guard().run(self._offer_again, chunk)
                if self._waiting >= self.patience:
                    break
            if self.n_swaps_ == swaps:
                break  # a whole pass changed nothing, and so would the next
        return self

    def _offer_again(self, chunk: Chunk) -> None:
        self._offer(self._check_rows(chunk.X, reset=False), chunk.row_ids, self._own(chunk.row_ids))

    def refine(self) -> "ExemplarClustering":
        """Offer the kept validation rows as candidates again, until none pays. `fit` does so at the end of a stream."""
        self._check_fitted()
        for _ in range(MOST_LOOKS):
            swaps = self.n_swaps_
            self._offer(self._F.rows.values, self._sample.row_ids, np.arange(len(self._sample)))
            if self.n_swaps_ == swaps:
                break
        return self

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        first = not hasattr(self, "_sample")
        if first:
            self._start(X, weight)
        elif self._mean is not None:
            self._mean.add(X, weight)
            self._follow(self._mean)
        was_everything = self._sample.is_everything
        slots, chosen = self._sample.offer(n_rows(X), weight, row_ids, self._rng)
        self._F.put_rows(slots, take(X, chosen), self._sample.shares())
        if first:
            self._place_given_exemplars()
        elif was_everything:
            self._F.leave_out_own(self._own(self.exemplar_indices_))
        if self._is_far():
            self._stay_far()
        own = np.full(n_rows(X), -1)
        own[chosen] = slots
        self._offer(X, row_ids, own)
        self._n_chunks += 1
        self._hold_budget(len(self._sample), self.n_exemplars, self._shrink)

    def _offer(self, X: Any, row_ids: np.ndarray, own: np.ndarray) -> None:
        """Rows stand as candidates, block by block.

        `own` are their places in the validation sample, -1 for none: there they must not judge themselves, unless the
        sample is everything and all rows judge.
        """
        size = self._F.block_size() if self.swaps == "eager" else ONE_SWAP_BLOCK
        prepared = self._F.prepare()
        if self._sample.is_everything:
            own = np.full_like(own, -1)
        self._rounding = self._F.dissimilarity.rounding(prepared.rows)
        for start in range(0, n_rows(X), size):
            part = slice(start, start + size)
            changes = self._consider(take(X, part), prepared, own[part])
            for candidate, slot in changes:
                self._ids[slot - 1] = row_ids[part][candidate]
            count = n_rows(row_ids[part])
            self._waiting = 0 if changes else self._waiting + count
            self.n_candidates_ += count
            self._record()

    def _consider(self, candidates: Any, prepared: Any, own: np.ndarray) -> list[tuple[int, int]]:
        """Let candidates join or swap; returns (candidate, slot) pairs."""
        F, most = self._F, None if self.swaps == "eager" else 1
        everything = n_rows(candidates) * len(F.rows)
        missing = self.n_exemplars - F.n_chosen
        if self.confidence is not None and not missing:
            race = Race(F, candidates, self._race_delta(), self._rng, own)
            changes = race.run(most, self._eta())
            self.n_evaluations_ += race.n_evaluations
            self.n_evaluations_saved_ += everything - race.n_evaluations
        else:
            block = F.look(candidates, prepared, own)
            self.n_evaluations_ += everything
            changes = self._grow(block, min(missing, most or missing))
            if F.n_chosen == self.n_exemplars and (not changes or most is None):
                changes += improve(block, most, self._eta())
        self.n_swaps_ += len(changes)
        return changes

    def _grow(self, block: Any, most: int) -> list[tuple[int, int]]:
        """Fill free places; in rounds, since what counts as noise falls with the loss."""
        joined: list[tuple[int, int]] = []
        while len(joined) < most and (more := grow(block, most - len(joined), self._noise())):
            joined += more
        if not self._F.n_chosen:  # nothing gains anything, but somebody must stand for these rows
            joined.append((0, block.add(0)))
        return joined

    def _own(self, row_ids: np.ndarray) -> np.ndarray:
        """Places in the validation sample of rows with these ids."""
        return np.full(len(row_ids), -1) if self._sample.is_everything else self._sample.slots_of(row_ids)

    def _record(self) -> None:
        utility, loss = self._F.value, self._F.loss
        self._history.record(self.n_candidates_, utility, loss, self.n_swaps_, self.n_evaluations_)

    def _eta(self) -> float:
        """What a swap must gain. Less than a few roundings is noise, and swaps would go in circles."""
        return max(self.min_gain * self._F.loss, 4 * self._noise())

    def _noise(self) -> float:
        """What rounding can make of a gain: dissimilarities come from differences of numbers of their typical size."""
        kept = float(np.finfo(self._F.near.dtype).eps) * self._F.loss
        return max(kept, self._rounding * self._F.typical()) if self._F.n_chosen else kept

    def _race_delta(self) -> float:
        """Failure probabilities of all races, however many, add up to 1 - confidence."""
        assert self.confidence is not None
        self._n_races += 1
        return (1 - self.confidence) * 6 / (np.pi * self._n_races) ** 2

    def _end_of_stream(self) -> None:
        met_all = self._n_chunks == 1  # every candidate has met the present validation sample
        if not met_all or self._F.n_chosen < self.n_exemplars:
            self.refine()

    # ---- starting --------------------------------------------------------------------------------

    def _start(self, X: Any, weight: np.ndarray | None) -> None:
        self._objects = isinstance(X, list)
        dissimilarity = as_dissimilarity(self.dissimilarity, objects=self._objects)
        self._sample = BottomK(self._n_validation(average_bytes(X), getattr(X, "dtype", np.dtype(float)).itemsize))
        self._mean = None
        phantom = self._first_phantom(X, weight, dissimilarity)
        self._F = ExemplarObjective(dissimilarity, phantom, X, self.n_exemplars, self._sample.size)
        self._ids = np.full(self.n_exemplars, -1)
        self._history = History("candidates", "utility", "loss", "swaps", "evaluations")
        self.n_candidates_ = self.n_swaps_ = self.n_evaluations_ = self.n_evaluations_saved_ = 0
        self._waiting = self._n_races = self._n_chunks = 0

    def _first_phantom(self, X: Any, weight: np.ndarray | None, dissimilarity: Dissimilarity) -> Any:
        """The phantom as a row like those of X, or as a number."""
        if isinstance(self.phantom, int | float | np.number):
            return float(self.phantom)
        if not isinstance(self.phantom, str):
            as_is = self._objects or is_sparse(self.phantom)
            return self._given_rows(self.phantom if as_is else np.atleast_2d(self.phantom), "phantom")[:1]
        if self.phantom == "far":
            some, more = (self._rng.permutation(n_rows(X))[:count] for count in (32, 512))
            largest = float(dissimilarity(take(X, some), take(X, more)).max())
            if not np.isfinite(largest):
                raise DataError(f"{type(self).__name__}: dissimilarities overflow. Scale the rows down first.")
            return FAR * largest or 1.0
        if self._objects:
            raise ValueError(
                f'{type(self).__name__}: objects have no "{self.phantom}": take phantom="far" or a number.'
            )
        moments = RunningMean(X.shape[1])
        moments.add(X, weight)
        if self.phantom == "mean":
            self._mean = moments
            return self._like_rows(moments.mean, X)
        if self.phantom == "origin":
            return self._like_rows(np.zeros(X.shape[1]), X)
        spread = np.sqrt(moments.variance / X.shape[1])
        return self._like_rows(moments.mean + spread * self._rng.standard_normal(X.shape[1]), X)

    @staticmethod
    def _like_rows(row: np.ndarray, X: Any) -> Any:
        row = row.astype(X.dtype)[None]
        if is_sparse(X):
            from scipy import sparse

            return sparse.csr_matrix(row)
        return row

    def _follow(self, moments: RunningMean) -> None:
        """Let the phantom follow the mean of the stream, in steps large enough to matter."""
        phantom = self._F.phantom.toarray() if is_sparse(self._F.phantom) else self._F.phantom
        if ((moments.mean - phantom[0]) ** 2).sum() > PHANTOM_DRIFT * moments.variance:
            self._F.move_phantom(self._like_rows(moments.mean, self._F.rows.values))

    def _is_far(self) -> bool:
        return isinstance(self.phantom, str) and self.phantom == "far"

    def _stay_far(self) -> None:
        """A row as close to the phantom as to any exemplar means that it is not far any more."""
        largest = self._nearest_to_sample()[1].max(initial=0.0)
        if largest >= self._F.phantom:
            self._F.move_phantom(2 * float(largest))

    def _given_rows(self, rows: Any, name: str) -> Any:
        try:
            return self._check_rows(rows, reset=False)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {name} does not fit the data. {error}") from None

    def _place_given_exemplars(self) -> None:
        """`locked` and `initial` rows are exemplars from the start."""
        for name, rows in (("locked", self.locked), ("initial", self.initial)):
            if rows is None:
                continue
            rows = self._given_rows(rows, name)
            free = self.n_exemplars - self._F.n_chosen
            if n_rows(rows) > free:
                raise ValueError(
                    f"{type(self).__name__}: {n_rows(rows)} {name} rows, but only {free} of {self.n_exemplars} places "
                    "are free. Raise n_exemplars or give fewer."
                )
            D = self._F.dissimilarity(rows, self._F.rows.values)
            for i in range(n_rows(rows)):
                self._F.fill(self._F.n_slots, take(rows, slice(i, i + 1)), D[i], fixed=name == "locked")

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float32) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        itemsize = np.dtype(dtype).itemsize
        row = n_features * itemsize
        rows = self._n_validation(row, itemsize)
        return Plan.of(
            rows,
            validation_rows=rows * row,
            their_dissimilarities_to_exemplars=rows * (self.n_exemplars + 1) * itemsize,
            their_keys_weights_and_nearest=rows * _book_bytes(itemsize),
            exemplars_phantom_and_history=self._fixed_bytes(row),
        )

    def _n_validation(self, row_bytes: int, itemsize: int) -> int:
        budget = as_budget(self.budget)
        each = row_bytes + (self.n_exemplars + 1) * itemsize + _book_bytes(itemsize)
        what = f"{type(self).__name__} with {self.n_exemplars} exemplars of {format_bytes(row_bytes)} a row"
        fit = budget.rows_within(each, fixed_bytes=self._fixed_bytes(row_bytes), at_least=self.n_exemplars, what=what)
        return fit if budget.nbytes is None else min(fit, max(FEWEST_ROWS, ROWS_PER_EXEMPLAR * self.n_exemplars))

    def _fixed_bytes(self, row_bytes: int) -> int:
        exemplars = self.n_exemplars * (row_bytes + 8 + 9)  # row, id, removal loss and flag
        return exemplars + 5 * row_bytes + 512 * 5 * 8 + 512  # phantom and mean; history; scalars

    def _shrink(self, size: int) -> None:
        self._F.keep_rows(self._sample.shrink_to(size), self._sample.shares())

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def exemplars_(self) -> Any:
        self._check_fitted()
        return self._F.chosen.values

    @property
    def exemplar_indices_(self) -> np.ndarray:
        self._check_fitted()
        return self._ids[: self._F.n_chosen]

    @property
    def utility_(self) -> float:
        self._check_fitted()
        return self._F.value

    @property
    def loss_(self) -> float:
        self._check_fitted()
        shares, nearest = self._nearest_to_sample()
        return float(np.average(nearest, weights=shares)) if len(nearest) else 0.0

    def _nearest_to_sample(self) -> tuple[np.ndarray, np.ndarray]:
        """(shares, dissimilarities to the nearest exemplar) of validation rows that have one beside themselves."""
        nearest = self._F.to_slots.values[:, 1 : self._F.n_slots].min(axis=1, initial=np.inf).astype(np.float64)
        apart = np.isfinite(nearest)
        return self._F.shares[apart], nearest[apart]

    @property
    def cluster_sizes_(self) -> np.ndarray:
        self._check_fitted()
        shares = np.bincount(self.validation_labels_, self._F.shares, minlength=self._F.n_chosen)
        return shares * self._sample.total_weight

    @property
    def validation_rows_(self) -> Any:
        """The validation sample."""
        self._check_fitted()
        return self._F.rows.values

    @property
    def validation_labels_(self) -> np.ndarray:
        """The exemplar that stands for each validation row."""
        self._check_fitted()
        return self._F.to_slots.values[:, 1 : self._F.n_slots].argmin(axis=1)

    @property
    def history_(self) -> dict[str, np.ndarray]:
        self._check_fitted()
        return self._history.columns_as_arrays()

    @property
    def is_exact_(self) -> bool:
        """Whether the validation sample still holds every row seen."""
        self._check_fitted()
        return self._sample.is_everything

    @property
    def labels_(self) -> np.ndarray:
        """Labels of the rows given to `fit`, computed now, if those rows are still there."""
        return self.predict(self._find_source())

    def predict(self, X: Any) -> np.ndarray:
        """The exemplar (0 .. k - 1) that stands for each row."""
        return self._nearest(X)[0]

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then predict the same rows."""
        return self.fit(X, y, sample_weight).predict(X)

    def transform(self, X: Any) -> np.ndarray:
        """Dissimilarities of every exemplar to every row, rows x exemplars."""
        X = self._check_input(X)
        out = np.empty((n_rows(X), self._F.n_chosen), self._F.near.dtype)

        def fill(part: slice) -> None:
            out[part] = self._F.dissimilarity(self._F.chosen.values, take(X, part)).T

        run_tiles(fill, len(out), PREDICT_TILE)
        return out

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The utility F of the exemplars on these rows."""
        _, distance = self._nearest(X)
        phantom = np.broadcast_to(self._F.phantom_to(self._check_input(X)), len(distance)).astype(np.float64)
        return float(np.average(np.maximum(phantom - distance, 0), weights=sample_weight))

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """Who represents whom: cluster, row id of its exemplar and dissimilarity, for each row."""
        label, distance = self._nearest(X)
        return {"cluster": label, "exemplar": self.exemplar_indices_[label], "dissimilarity": distance}

    def _nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        X = self._check_input(X)
        label, distance = np.empty(n_rows(X), np.int64), np.empty(n_rows(X), self._F.near.dtype)

        def fill(part: slice) -> None:
            D = self._F.dissimilarity(self._F.chosen.values, take(X, part))
            label[part] = D.argmin(axis=0)
            distance[part] = D.min(axis=0)

        run_tiles(fill, len(label), PREDICT_TILE)
        return label, distance

    # ---- how good it is --------------------------------------------------------------------------

    def error_bound(self, delta: float = 0.05) -> float:
        """With probability 1 - delta the utility of a fixed set on the whole stream is within this of `utility_`.

        Corollary 1 of gomes2010, for rows of equal weight. Unless the phantom is a number, it takes no row to be
        farther from it than the farthest validation row.
        """
        self._check_fitted()
        return self._hoeffding(np.log(2 / delta))

    @classmethod
    def budget_for(cls, *, error: float, value_range: float = 1.0, delta: float = 0.05, n_rows: float = np.inf) -> int:
        """Validation rows for an `error_bound` of at most `error`, dissimilarities being within `value_range`."""
        return hoeffding_size(error, value_range, np.log(2 / delta), population=n_rows)

    def guarantee(self, confidence: float = 0.95) -> SwapGuarantee:
        """Theorem 4 of gomes2010 with today's numbers.

        That no swap pays is checked for the rows of the validation sample: `eta` is what they or `min_gain` allow.
        For rows that are not kept it is a condition.
        """
        self._check_fitted()
        F, k, kept_all = self._F, self._F.n_chosen, self._sample.is_everything
        eta, epsilon = max(self._eta(), self._best_swap()), self._sampling_error(confidence)
        quiet = f"no row that is not kept gains more than {eta:.3g} in the place of an exemplar"
        near = () if kept_all or self._phantom_is_a_number() else (self._no_outlier(),)
        locked = () if self.locked is None else ("only sets with the locked exemplars are compared",)
        return SwapGuarantee(
            value=self.utility_,
            n_chosen=k,
            ceiling=min(F.phantom_loss + epsilon, self._largest_utility()),
            epsilon=epsilon,
            confidence=confidence,
            assumptions=near,
            conditions=(*near, *locked, *(() if kept_all else (quiet,))),
            least_loss=F.least_loss(),
            eta=eta,
        )

    def _best_swap(self) -> float:
        """The most that a validation row gains in the place of an exemplar."""
        F, size, prepared = self._F, self._F.block_size(), self._F.prepare()
        own = np.arange(len(F.rows)) if not self._sample.is_everything else np.full(len(F.rows), -1)
        parts = [slice(start, start + size) for start in range(0, len(F.rows), size)]
        return max(float(F.look(take(F.rows.values, at), prepared, own[at]).swap_gains()[0].max()) for at in parts)

    def _sampling_error(self, confidence: float) -> float:
        """Within this the validation sample tells the utilities of all sets of up to k rows at once."""
        if self._sample.is_everything:
            return 0.0
        check_uniform(self._sample, self.n_seen_, type(self).__name__)
        k = self._F.n_chosen
        log_sets = k * np.log1p(self.n_seen_ + k)  # there are fewer than (n + k + 1)^k, with given exemplars among them
        judge_themselves = k * self._largest_utility() / self.n_seen_  # as they do on the stream, not in the sample
        return self._hoeffding(np.log(2 / (1 - confidence)) + log_sets) + judge_themselves

    def _hoeffding(self, log_term: float) -> float:
        n = len(self._sample)
        return hoeffding_error(n, self._largest_utility(), log_term, population=max(self.n_seen_, n))

    def _largest_utility(self) -> float:
        """Utilities of a row range up to its dissimilarity to the phantom: the largest in the validation sample."""
        return float(self._F.to_slots.values[:, 0].max())

    def _phantom_is_a_number(self) -> bool:
        return isinstance(self._F.phantom, float)

    def _no_outlier(self) -> str:
        return f"no row is farther than {self._largest_utility():.4g} from the phantom"

    # ---- contract --------------------------------------------------------------------------------

    def _takes_objects(self, X: Any) -> bool:
        return callable(self.dissimilarity) and are_objects(X)

    def _may_fail_midway(self) -> bool:
        return not (isinstance(self.dissimilarity, str) and self.dissimilarity in NAMED)

    def _merge(self, other: "ExemplarClustering") -> None:
        """The union of both validation samples; the other's exemplars, then its sample, stand as candidates."""
        if other._sample.size < self._sample.size:
            self._shrink(other._sample.size)
        slots, chosen = self._sample.merge(other._sample)
        self._F.put_rows(slots, take(other._F.rows.values, chosen), self._sample.shares())
        if self._mean is not None and other._mean is not None:
            self._mean.merge(other._mean)
            self._follow(self._mean)
        if self._is_far():
            self._stay_far()
        for name in ("n_candidates_", "n_swaps_", "n_evaluations_", "n_evaluations_saved_", "_n_chunks"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        moved = np.full(len(other._sample) + 1, -1)  # where the other's validation rows are now; the last for none
        moved[chosen] = slots
        own = moved[other._sample.slots_of(other.exemplar_indices_)]
        self._offer(other._F.chosen.values, other.exemplar_indices_, own)
        self.refine()
        self._hold_budget(len(self._sample), self.n_exemplars, self._shrink)

    def _n_retained(self) -> int:
        return len(self._sample) + self._F.n_chosen

    def _restored(self) -> None:
        if self._is_fitted():  # a file can't hold a function: take the one among the parameters
            self._F.dissimilarity = as_dissimilarity(self.dissimilarity, objects=self._objects)

    @property
    def _n_features_out(self) -> int:
        return self._F.n_chosen


def _book_bytes(itemsize: int) -> int:
    """Bytes per validation row beside the row itself: key, weight, id and share; two nearest and their slots."""
    return 4 * 8 + 2 * itemsize + 2 * 4
