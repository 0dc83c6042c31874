"""One-pass support vector machines (rai2009): the maximum margin, by a ball around a stream or by an ellipsoid."""

import copy
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from modicum.contract.learner import Learner, Traits
from modicum.exceptions import BudgetError, DataError, StateError
from modicum.kernels import KERNEL, Kernel, Linear, Normalized, as_kernel, may_fail, takes_objects
from modicum.kernels.stationary import Stationary
from modicum.numeric.parallel import run_tiles
from modicum.rows import Waiting, average_bytes, n_rows, take
from modicum.rules.budget import as_budget, format_bytes
from modicum.rules.invariants import ABSENT, Array, Is, Whole
from modicum.rules.params import BUDGET, NULL, POSITIVE, RANDOM_STATE, TRUTH, Int, OneOf, Where
from modicum.state.packing import missing_functions
from modicum.svm.ball import Ball
from modicum.svm.balls import Balls
from modicum.svm.ellipsoid import Diagonal, Full, SparseDiagonal
from modicum.svm.guarantee import BallGuarantee
from modicum.svm.inputs import Inputs, Raw
from modicum.svm.intercept import WithIntercept
from modicum.svm.kernel_ball import KernelBall
from modicum.svm.labels import Labels, clean_labels
from modicum.svm.machine import Machine, Starter
from modicum.svm.one_vs_rest import OneVsRest
from modicum.svm.record import Record, likeliest_sharpness, log_probabilities
from modicum.svm.tournament import Entrant, Tournament
from modicum.svm.tray import Tray
from modicum.svm.weights import Weights, class_weights

ELLIPSOID_COSTS = (1.0, 10.0, 100.0)  # what C="auto" tries, for rows of unit length
BALL_COSTS = (0.1, 1.0, 10.0)
WIDEST_FULL = 64  # columns up to which a whole covariance matrix costs little
TILE_NUMBERS = 2**19  # of prepared rows at a time
OTHER_TILE = 4096  # rows at a time, if they are sparse or objects
PREDICT_TILE = 2048
MOST_APART = 0.2  # logarithms of the widths of kernels to merge
RARE = 0.1  # a class with a smaller part than this of an even share of the rows is worth a warning


def _is_grid(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and len(value) > 0 and all(map(POSITIVE.accepts, value))


def _are_weights(value: Any) -> bool:
    return isinstance(value, dict) and all(map(POSITIVE.accepts, value.values()))


class StreamSVC(ClassifierMixin, Learner):
    """A maximum-margin classifier from a single pass, in memory that does not grow.

    Two kinds of machines look for weights w of the least |w|^2 + C sum_n xi_n^2, where xi_n is what row n is short of
    the margin, y_n w.x_n >= 1 - xi_n:

    - an ellipsoid, the default: mean and covariance of w are updated by every row that is short of the margin. It is
      accurate and fast, and has no guarantee.
    - a ball (`ellipsoid=None`): with a coordinate of its own for each row's slack, the smallest ball around all rows
      y_n x_n has the solution as its center. A ball that follows the stream approximates it, is a certificate for the
      margin, and works with any kernel.

    Rows are prepared inside the pass: centered, columns scaled, each row of unit length, as balls require. What works
    best for a stream is decided inside the pass as well: all candidates for C and for these steps learn the same
    rows, every row is classified before it is learned, and half of the candidates leave each time the number of rows
    has doubled, from 1,024 rows on. More than two classes are learned one against the rest. A class that comes late
    begins as if it had been announced: a machine that has seen all rows on its negative side stands by for it. (`fit`
    has seen all labels it was given and does without; a class that comes after it begins from nothing.)

    Guarantee: for balls, the radius is at most 3/2 of the smallest (see `guarantee`). The linear model is the same to
    the bit however the stream is cut into chunks.
    Cost: O(d) or O(non-zeros) time per row, class and candidate, O(d^2) with a full ellipsoid; one vector per class
    and candidate (a full ellipsoid: d + 1; balls: and `lookahead` rows), the first `start` rows for balls, and 1,000
    decision values per class. With a kernel: O(m d) time per row and class, and m core vectors.

    Parameters
    ----------
    C : float, "auto" or list of floats, default="auto"
        The price of slack. "auto" chooses among 1, 10, 100 (balls: 0.1, 1, 10); a list is chosen from.
    ellipsoid : "auto", "diagonal", "full" or None, default="auto"
        Shape of the covariance. "auto" is full up to 63 columns. None, or a kernel or `n_balls`, makes it a ball.
    lookahead : int, default=10
        For a ball: rows outside that wait until they are enclosed together, the paper's L. 1 is its Algorithm 1.
    n_balls : int, default=1
        More than one: so many balls, without lookahead, whose common ball is the answer (section 4.3 of the paper).
    start : int, default=512
        Balls begin as the smallest one around this many rows (a power of two, or the next one below), which also give
        the mean to center by and the width of a kernel. 1 is the paper's algorithm.
    kernel : str, Kernel or callable, default="linear"
        With any other than "linear", the machine is a ball in the kernel's space.
    budget : int, str or None, default=None
        With a kernel, core vectors to keep in all, or a size such as "4 MiB" for all that is held; those go that
        matter least. None: as many as the geometry asks for. Linear machines have a fixed size, which must fit.
    fit_intercept : bool, default=True
        Whether the decision has a constant term.
    center : "auto", True or False, default="auto"
        Whether to subtract the mean of the rows so far. "auto": ellipsoids do, balls try both. Not for sparse rows.
    scale : "auto", True or False, default="auto"
        Whether to divide columns by their deviation so far. "auto": ellipsoids try both, balls do not. It includes
        centering, and is not for sparse rows.
    normalize : "auto", True or False, default="auto"
        Whether to scale rows to unit length. "auto": balls do, as they are not the margin without; ellipsoids do, and
        try what scaled columns give without.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class. "balanced": all classes count alike, by their numbers of rows so far. To a ball it is
        all the same how often a row comes: with one, weights count for the intercept and for what is chosen.
    random_state : int, Generator or None, default=None
        For the sample of decision values that probabilities come from.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.
    coef_ : ndarray of shape (1 or n_classes, d)
        Weights of prepared rows; not with a kernel.
    intercept_ : ndarray of shape (1 or n_classes,)
    radius_ : ndarray
        Of each machine's ball; empty for ellipsoids.
    n_core_ : int
        Rows that changed a machine, added up over machines.
    kernel_ : Kernel
        The kernel in use, its parameters filled in; not for linear machines.
    accuracy_ : float
        Part of all rows that were classified rightly before they were learned.
    confusion_ : ndarray of shape (n_classes, n_classes)
        The same as counts, by true class and by class chosen.
    history_ : dict of arrays
        The same over the stream: rows seen, and the accuracy since the point before.
    candidates_ : list of dicts
        Settings that are still in the tournament with their mistakes, the one in use first.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import StreamSVC
    >>> X = np.random.default_rng(0).normal(size=(5000, 10))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0.5, "yes", "no")
    >>> model = StreamSVC(random_state=0).fit(X, y)
    >>> model.predict(X[:3]).tolist() == y[:3].tolist(), bool(model.score(X, y) > 0.97)
    (True, True)

    References
    ----------
    rai2009, Algorithms 1 and 2, sections 4.2, 4.3, 6.2. crammer2009 for ellipsoids, guo2017 for probabilities.
    Departures: the slack of a row is 1 / C where the paper prints 1; balls begin with the exact ball of the first rows
    (`start`); the intercept, the tournament, late classes and `merge` are ours.
    """

    _constraints = {
        "C": [POSITIVE, OneOf("auto"), Where(_is_grid, "a list of such numbers to choose from")],
        "ellipsoid": [NULL, OneOf("auto", "diagonal", "full")],
        "lookahead": [Int(1)],
        "n_balls": [Int(1)],
        "start": [Int(1)],
        "kernel": [KERNEL],
        "budget": [NULL, BUDGET],
        "fit_intercept": [TRUTH],
        "center": [OneOf("auto"), TRUTH],
        "scale": [OneOf("auto"), TRUTH],
        "normalize": [OneOf("auto"), TRUTH],
        "class_weight": [NULL, OneOf("balanced"), Where(_are_weights, "a dict of positive weights")],
        "random_state": [RANDOM_STATE],
    }
    _invariants = {
        "_labels": Is(Labels, n="n_classes"),
        "_weights": Is(Weights),
        "_record": Is(Record, n_classes="n_classes"),
        "_tile": Whole(1),
        "_tournament": Is(
            Tournament,
            n_classes="n_classes",
            constant=lambda its: its.owner._constant(),
            width=lambda its: its["n_features"] + (its.owner._constant() > 0.0),
        ),
        "_n_first": Whole(),
        "_first": [NULL, Is(Waiting, also={"targets": Array("int64", None, low=0, below="n_classes")})],
        "_expected": [ABSENT, NULL, Array(None, None)],
        "_is_strict": [ABSENT, TRUTH],
        "_eliminate": [ABSENT, TRUTH],
    }
    _unsaved = (*Learner._unsaved, "_tray")
    _eliminate = True  # whether candidates leave the tournament
    _expected: np.ndarray | None = None  # classes
    _is_strict = False  # whether no others are allowed
    _tray: Tray | None = None
    _labels: Labels
    _tournament: Tournament
    _weights: Weights
    _record: Record
    _first: Waiting | None

    def __init__(
        self,
        C: float | str | Iterable[float] = "auto",
        *,
        ellipsoid: str | None = "auto",
        lookahead: int = 10,
        n_balls: int = 1,
        start: int = 512,
        kernel: Any = "linear",
        budget: int | str | None = None,
        fit_intercept: bool = True,
        center: bool | str = "auto",
        scale: bool | str = "auto",
        normalize: bool | str = "auto",
        class_weight: str | dict[Any, float] | None = None,
        random_state: Any = None,
    ):
        self.C = C
        self.ellipsoid = ellipsoid
        self.lookahead = lookahead
        self.n_balls = n_balls
        self.start = start
        self.kernel = kernel
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.center = center
        self.scale = scale
        self.normalize = normalize
        self.class_weight = class_weight
        self.random_state = random_state

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Kernel values of many rows at once may differ in their last bits from those of few."""
        return Traits(chunk_exact=self._is_linear(), merge="approximate", weights=True, sparse=True, objects=True)

    # ---- learning --------------------------------------------------------------------------------

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, row_ids: Any = None, *, classes: Any = None
    ) -> Self:
        """Learn one chunk.

        Parameters
        ----------
        X : array, sparse matrix or dataframe (with a kernel of your own, a list of objects), one row each
        y : labels: numbers, truth values or strings
        sample_weight : non-negative weights of rows, relative to the mean of all weights so far
        row_ids : ints that name the rows; not used here
        classes : all labels that will come, with the first chunk. There is no need to know them: a class that comes
            late is learned as if it had been announced. To announce them saves the machine that stands by for it.
        """
        tray = None if "_torn" in vars(self) or "_reset" in vars(self) else self._tray
        if sample_weight is row_ids is None and tray is not None and tray.takes(X, y, self._labels):
            self.n_seen_ += 1
            self._position += 1
            if tray.is_full:
                self._learn_tray()
            return self
        self._learn_tray()
        if self._is_fitted():
            return super().partial_fit(X, y, sample_weight, row_ids)
        if classes is not None:
            self._expect(classes)
            self._is_strict = self._expected is not None
        try:
            return super().partial_fit(X, y, sample_weight, row_ids)
        finally:
            if not self._is_fitted():
                self._forget()

    def _expect(self, y: Any, sample_weight: Any = None) -> None:
        """Labels given to `fit` tell the classes to come."""
        if y is None or isinstance(y, str) or sample_weight is not None:
            return
        with suppress(DataError):  # it is raised again when the rows have been looked at
            labels = np.unique(clean_labels(y, type(self).__name__))
            self._expected = labels if len(labels) > 1 else None  # a machine is needed even for one class

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_tournament"):
            self._begin(X)
        self._follow(X, y, self._weights.relative(weight, len(y)))
        self._keep_within_budget()

    def _learn_tray(self) -> None:
        if self._tray is None or not self._tray.count:
            return
        rows, codes = self._tray.contents
        self._follow(rows, self._labels.values[codes], self._weights.relative(None, len(codes)))
        self._derived = {}
        self._tray.count = 0

    def _put_up_tray(self) -> None:
        is_plain = self._kind == "dense" and self._is_linear() and not hasattr(self, "feature_names_in_")
        self._tray = Tray(self.n_features_in_, self._dtype) if is_plain and self.budget is None else None

    def _begin(self, X: Any) -> None:
        self._labels, self._weights, self._record = Labels(), Weights(), Record()
        self._tile = max(1, TILE_NUMBERS // X.shape[1]) if self._kind == "dense" else OTHER_TILE
        self._tournament = self._field(X)
        self._n_first = self._most_first_rows(X)
        self._first = Waiting(X, np.empty(0, np.int64), self._n_first) if self._n_first > 1 else None
        self._put_up_tray()
        if self._expected is not None:
            for label in self._expected:
                self._add_class(label)
            for entrant in self._tournament.entrants:
                entrant.machines.close()

    def _follow(self, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        """Learn rows in their order. What is learned at once ends before a new class, and at a ranking of entrants."""
        start = 0
        while start < len(y):
            codes = self._labels.codes(y[start : start + min(self._tile, self._tournament.rows_to_go)])
            if codes[0] < 0:
                self._add_class(y[start])
                continue
            new = np.flatnonzero(codes < 0)
            stop = start + (int(new[0]) if len(new) else len(codes))
            self._follow_tile(take(X, slice(start, stop)), codes[: stop - start], weight[start:stop])
            start = stop

    def _follow_tile(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        if self._first is not None:
            self._first.append(X, codes, weight, np.zeros(len(codes), np.int64))
        if self.class_weight is not None:
            before = self._record.confusion.sum(axis=1)
            counts = before + np.cumsum(codes[:, None] == np.arange(len(before)), axis=0)
            weight = weight * class_weights(self.class_weight, self._labels, codes, counts)
        decisions = self._tournament.learn(X, codes, weight)
        self._record.add(decisions, codes, self._rng)
        if self._first is not None and self._tournament.has_just_ranked:
            self._begin_anew(self._first)

    def _begin_anew(self, first: Waiting) -> None:
        """Balls should not have to live with how a stream began: as the first rows double, all are learned at once."""
        codes, weight = first.targets, first.weights
        assert codes is not None
        if self.class_weight is not None:  # the mean is between classes then
            counts = self._record.confusion.sum(axis=1)[None]
            weight = weight * class_weights(self.class_weight, self._labels, codes, counts)
        if 2 * len(codes) > self._n_first:
            self._first = None
        for ball in self._kernel_balls():
            ball.limit = sys.maxsize  # the budget is for the ball that comes
        self._tournament.begin_anew(first.rows.values, codes, weight)
        if not self._is_linear():
            self._keep_within_budget()

    def _most_first_rows(self, X: Any) -> int:
        """How many rows to begin with; with a kernel they take up to half of the budget for a while."""
        if self._is_ellipsoid():
            return 0
        if self._is_linear() or self.budget is None:
            return self.start
        what = "StreamSVC with a kernel"
        rows = as_budget(self.budget).rows_within(average_bytes(X) + 24, fixed_bytes=0, at_least=4, what=what)
        return min(self.start, rows // 2)

    def _add_class(self, label: Any) -> None:
        self._labels.add(label)
        for entrant in self._tournament.entrants:
            entrant.machines.add_class()
        self._record.add_class(len(self._tournament.leader.machines.machines))
        if not self._is_linear():
            self._keep_within_budget()  # what there is has to do for more balls

    def _end_of_stream(self) -> None:
        self._learn_tray()
        counts = self._record.confusion.sum(axis=1)
        parts = counts[counts > 0] / counts.sum()
        if self.class_weight is None and len(parts) > 1 and len(parts) * parts.min() < RARE:
            rarest = self._labels.values[np.where(counts > 0, counts, np.inf).argmin()]
            warnings.warn(
                f"StreamSVC: only {parts.min():.1%} of the rows are of class {str(rarest)!r}. Never to choose it may "
                'be how the fewest mistakes are made; class_weight="balanced" counts classes alike.',
                stacklevel=3,
            )

    # ---- candidates ------------------------------------------------------------------------------

    def _field(self, X: Any) -> Tournament:
        """An entrant for each combination that the parameters leave open."""
        inputs, machine = self._preparations(X), self._machine(X)
        entrants = [Entrant(i, C, OneVsRest(machine.copied())) for i in range(len(inputs)) for C in self._costs()]
        return Tournament(inputs, entrants, eliminate=self._eliminate)

    def _costs(self) -> list[float]:
        if isinstance(self.C, str):
            return list(ELLIPSOID_COSTS if self._is_ellipsoid() else BALL_COSTS)
        return np.atleast_1d(np.asarray(self.C, np.float64)).tolist()

    def _preparations(self, X: Any) -> list[Raw]:
        if not self._is_linear():
            if self.center is True or self.scale is True:
                raise ValueError(
                    "StreamSVC: center and scale are for linear machines; a kernel takes rows as they are."
                )
            return [Raw()]
        return [
            Inputs(X.shape[1], center=center, scale=scale, normalize=normalize, constant=self._constant())
            for center, scale in self._steps()
            for normalize in self._lengths(scale)
        ]

    def _constant(self) -> float:
        """The constant column of prepared rows; 0 if there is none."""
        return float(self.fit_intercept and self._is_ellipsoid())

    def _lengths(self, scale: bool) -> list[bool]:
        """Whether to scale rows to unit length: what to try."""
        if self.normalize != "auto":
            return [bool(self.normalize)]
        return [True, False] if scale and self._is_ellipsoid() else [True]

    def _steps(self) -> list[tuple[bool, bool]]:
        """Whether to center rows and whether to scale columns: what to try."""
        if self.scale is True and self.center is False:
            raise ValueError("StreamSVC: scale=True needs center=True: deviations are those from the mean.")
        if self._kind == "sparse":
            if self.center is True or self.scale is True:
                raise DataError(
                    "StreamSVC: sparse rows can't be centered, as no zero would be left. "
                    'Leave center and scale at "auto", or make the rows dense.'
                )
            return [(False, False)]
        centers = [self.center] if self.center != "auto" else [True] if self._is_ellipsoid() else [False, True]
        scales = [self.scale] if self.scale != "auto" else [False, True] if self._is_ellipsoid() else [False]
        return [(bool(center), bool(scale)) for center, scale in product(centers, scales) if center or not scale]

    def _machine(self, X: Any) -> Machine:
        if self._is_ellipsoid():
            width = X.shape[1] + self.fit_intercept
            is_full = width <= WIDEST_FULL if self.ellipsoid == "auto" else self.ellipsoid == "full"
            return Full(width) if is_full else SparseDiagonal(width) if self._kind == "sparse" else Diagonal(width)
        ball: Starter
        if not self._is_linear():
            ball = KernelBall(self._given_kernel(), self.lookahead)
            ball.fit_kernel(X)
        elif self.n_balls == 1:
            ball = Ball(X.shape[1], self.lookahead)
        else:
            ball = Balls(X.shape[1], self.n_balls)
        return WithIntercept(ball) if self.fit_intercept else ball

    def _given_kernel(self) -> Kernel:
        kernel = as_kernel(self.kernel, objects=self._kind == "objects")
        if self._kind == "sparse" and not kernel.takes_sparse:
            raise DataError(f"StreamSVC: the kernel {kernel!r} takes no sparse rows. Make them dense.")
        return Normalized(kernel) if self.normalize is not False and not isinstance(kernel, Stationary) else kernel

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, Linear) or (isinstance(self.kernel, str) and self.kernel == "linear")

    def _is_ellipsoid(self) -> bool:
        return self.ellipsoid is not None and self._is_linear() and self.n_balls == 1

    # ---- budget ----------------------------------------------------------------------------------

    def _keep_within_budget(self) -> None:
        """Core vectors beyond the budget go. Linear machines have a fixed size: it fits or does not."""
        if self.budget is None:
            return
        budget = as_budget(self.budget)
        if not self._is_linear():
            balls = self._kernel_balls()
            if budget.rows is not None:
                self._limit_core((budget.rows - self._n_waiting()) // len(balls))
            else:
                most = max(ball.n_kept for ball in balls)
                assert budget.nbytes is not None
                self._limit_core(max(1, int(most * budget.nbytes / self.nbytes_)))  # more than now, if there is room
                self._hold_budget(most, 1, self._limit_core)
        elif budget.nbytes is not None and self.nbytes_ > budget.nbytes:
            raise BudgetError(
                f"StreamSVC: {len(self._labels)} classes and {self.n_features_in_} columns need a budget of at least "
                f'{format_bytes(self.nbytes_)}; got {budget}. A given C or ellipsoid="diagonal" need less.'
            )

    def _limit_core(self, rows: int) -> None:
        """Let each ball keep so many rows, half of which may wait to be enclosed."""
        if rows < 1:
            n_balls = len(self._kernel_balls())
            raise BudgetError(
                f"StreamSVC: {n_balls} balls, of classes and candidates for C, need a budget of at least {2 * n_balls} "
                f"rows; got {self.budget}."
            )
        for ball in self._kernel_balls():
            ball.lookahead = min(self.lookahead, max(1, rows // 2))
            ball.limit = rows - ball.lookahead + 1
            ball.shrink(ball.limit)

    def _kernel_balls(self) -> list[KernelBall]:
        balls = [machine.ball if isinstance(machine, WithIntercept) else machine for machine in self._all_machines()]
        return [ball for ball in balls if isinstance(ball, KernelBall)]

    def _all_machines(self) -> list[Machine]:
        return [machine for entrant in self._tournament.entrants for machine in entrant.machines.all()]

    def _n_waiting(self) -> int:
        return 0 if self._first is None else len(self._first.ids)

    def _n_retained(self) -> int:
        return self._n_waiting() + sum(machine.n_kept for machine in self._all_machines())

    # ---- merging ---------------------------------------------------------------------------------

    def _merge(self, other: Self) -> None:
        other._learn_tray()
        if (self._is_strict or other._is_strict) and not np.array_equal(self.classes_, other.classes_):
            raise StateError("StreamSVC.merge: classes were announced, and the two sides do not have the same.")
        self._labels.check(other._labels.values)
        self._check_kernels(other)
        if other._first is not None:  # all its rows are at hand
            self._learn_rows_of(other._first, other._labels)
        elif self._first is not None:
            mine, labels = self._first, self._labels
            self._adopt(other)
            self._learn_rows_of(mine, labels)
        else:
            self._merge_machines(other)
        self._weights.merge(other._weights)
        self._keep_within_budget()

    def _check_kernels(self, other: Self) -> None:
        """Widths that the sides have found for themselves may differ a little."""
        if not self._is_linear():
            ours, theirs = self.kernel_, other.kernel_
            if np.abs(ours.log_params - theirs.log_params).max(initial=0.0) > MOST_APART:
                raise StateError(
                    f"StreamSVC.merge: the sides have found different kernels, {ours!r} and {theirs!r}. Give all of "
                    "them the same one, with its width."
                )

    def _learn_rows_of(self, first: Waiting, labels: Labels) -> None:
        self._follow(first.rows.values, labels.values[first.targets], first.weights)

    def _adopt(self, other: Self) -> None:
        for name in ("_labels", "_tournament", "_record", "_first"):
            setattr(self, name, copy.deepcopy(getattr(other, name)))

    def _merge_machines(self, other: Self) -> None:
        self._add_classes(other._labels)
        codes = self._labels.codes(other._labels.values)
        if self._tournament.merge(other._tournament, codes):
            self._record.merge(other._record, codes, self._rng)
            return
        warnings.warn(
            "StreamSVC.merge: the two sides have settled on different preparations of rows, so their machines can't be "
            "merged: that of the longer stream stays. Give center and scale to all sides to avoid this.",
            stacklevel=4,
        )
        if other._tournament.rows > self._tournament.rows:
            labels = self._labels
            self._adopt(other)
            self._add_classes(labels)

    def _add_classes(self, labels: Labels) -> None:
        for label, code in zip(labels.values, self._labels.codes(labels.values), strict=True):
            if code < 0:
                self._add_class(label)

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        self._check_fitted()
        return self._labels.sorted

    @property
    def coef_(self) -> np.ndarray:
        return self._coefficients()[:, : self.n_features_in_]

    @property
    def intercept_(self) -> np.ndarray:
        coefficients = self._coefficients()
        return coefficients[:, -1] if self.fit_intercept else np.zeros(len(coefficients))

    def _coefficients(self) -> np.ndarray:
        """Weights of columns, then of the constant if there is one; a row per class, or a single one for two."""
        self._check_fitted()
        if not self._is_linear():
            raise AttributeError("with a kernel there are no weights of columns.")
        coefficients = np.stack([machine.coef for machine in self._asked()])
        return -coefficients if self._is_turned() else coefficients

    def _asked(self) -> list[Machine]:
        """Machines that answer, in the order of `classes_`; with a single class, the one that stands by."""
        machines = self._tournament.leader.machines
        if len(machines.machines) > 2:
            return [machines.machines[code] for code in self._labels.order]
        return machines.machines or machines.all()

    def _is_turned(self) -> bool:
        """Whether the only machine has the first of `classes_` on its positive side, and not the second."""
        return len(self._labels) == 2 and self._labels.order[1] == 0

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """Settings still in the tournament, the best one first."""
        self._check_fitted()
        return [
            {"C": entrant.C, **self._tournament.inputs[entrant.inputs].settings, "mistakes": entrant.mistakes}
            for entrant in self._tournament.entrants
        ]

    @property
    def radius_(self) -> np.ndarray:
        self._check_fitted()
        return np.array([machine.radius for machine in self._asked() if isinstance(machine, Starter)])

    @property
    def n_core_(self) -> int:
        self._check_fitted()
        return sum(machine.n_core for machine in self._asked())

    @property
    def kernel_(self) -> Kernel:
        self._check_fitted()
        if self._is_linear():
            raise AttributeError("the machines are linear.")
        return self._kernel_balls()[0].kernel

    @property
    def accuracy_(self) -> float:
        self._check_fitted()
        return self._record.accuracy

    @property
    def history_(self) -> dict[str, np.ndarray]:
        self._check_fitted()
        return self._record.curve()

    @property
    def confusion_(self) -> np.ndarray:
        self._check_fitted()
        order = self._labels.order
        return self._record.confusion[np.ix_(order, order)]

    def guarantee(self) -> BallGuarantee:
        """Bounds on the radius of the smallest ball around all rows, and on the margin; with `ellipsoid=None`."""
        self._check_fitted()
        balls = [machine for machine in self._asked() if isinstance(machine, Starter)]
        if not balls:
            raise ValueError("StreamSVC: what is proven is about balls. Learn with ellipsoid=None.")
        leader = self._tournament.leader
        is_even = self.normalize is not False and not self._tournament.inputs[leader.inputs].n_zeros
        return BallGuarantee.of(self._names_of_machines(), balls, 1.0 + 1.0 / leader.C if is_even else np.nan)

    def _names_of_machines(self) -> list[str]:
        labels = [str(label) for label in self._labels.sorted]
        if len(labels) > 2:
            return [f"{label} against the rest" for label in labels]
        return [f"{labels[1]} against {labels[0]}"] if len(labels) == 2 else [f"nothing but {labels[0]}"]

    def prepare(self, X: Any) -> Any:
        """Rows as the machines see them: `decision_function(X)` is `prepare(X) @ coef_.T + intercept_`."""
        X = self._check_input(X)
        Z = self._tournament.prepare(X)
        return Z[:, : self.n_features_in_] if self._is_linear() else Z

    def decision_function(self, X: Any) -> np.ndarray:
        """How far rows are on the side of a class, in margins: shape (n,) for two classes, (n, classes) for more."""
        X = self._check_input(X)
        decisions = np.zeros((n_rows(X), max(1, len(self._tournament.leader.machines.machines))))

        def fill(part: slice) -> None:
            decisions[part] = self._tournament.leader.machines.decide(self._tournament.prepare(take(X, part)))

        if len(self._labels) > 1:
            run_tiles(fill, len(decisions), PREDICT_TILE)
        return self._in_order(decisions)

    def _in_order(self, decisions: np.ndarray) -> np.ndarray:
        """A column per machine as one per class, in the order of `classes_`; a single one for two classes."""
        if len(self._labels) > 2:
            return decisions[:, self._labels.order]
        return -decisions[:, 0] if self._is_turned() else decisions[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        decisions = self.decision_function(X)
        chosen = decisions > 0.0 if decisions.ndim == 1 else decisions.argmax(axis=1)
        return self.classes_[chosen.astype(np.intp)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of classes, as sure as the classes of rows that had not been learned yet allow (guo2017)."""
        decisions = self.decision_function(X)
        if len(self._labels) == 1:
            return np.ones((len(decisions), 1))
        return np.exp(log_probabilities(self._derive("sharpness", self._sharpness) * decisions))

    def _sharpness(self) -> float:
        decisions, codes = self._record.sample
        return likeliest_sharpness(self._in_order(decisions), self._labels.order.argsort()[codes])

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The class of each row and its probability."""
        probability = self.predict_proba(X)
        return {"prediction": self.classes_[probability.argmax(axis=1)], "probability": probability.max(axis=1)}

    # ---- checks ----------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._learn_tray()

    def _fields(self) -> dict[str, Any]:
        self._learn_tray()
        return super()._fields()

    @property
    def nbytes_(self) -> int:
        return super().nbytes_ + (0 if self._tray is None else self._tray.nbytes)

    def _check_target(self, y: Any, count: int) -> np.ndarray:
        self._require_target(y)
        name = type(self).__name__
        y = super()._check_target(clean_labels(y, name), count)
        if self._is_fitted():
            self._labels.check(y)
        if self._is_strict and self._expected is not None:
            strangers = y[~np.isin(y, self._expected)]
            if len(strangers):
                raise DataError(
                    f"{name}: the label {str(strangers[0])!r} is not among the classes that were announced."
                )
        return y

    def _takes_objects(self, X: Any) -> bool:
        return not self._is_linear() and takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return self.budget is not None or (not self._is_linear() and may_fail(self.kernel))

    def _restored(self) -> None:
        if self._is_fitted():
            self._put_up_tray()
            for ball in self._kernel_balls():
                if missing_functions(ball.kernel):  # a file can't hold a function
                    ball.given = ball.kernel = self._given_kernel()

    def _uses_blas(self) -> bool:
        return not self._is_linear()
