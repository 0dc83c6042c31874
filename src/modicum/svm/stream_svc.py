"""One-pass support vector machines (rai2009): the maximum margin of a stream, by a ball or by an ellipsoid."""

import warnings
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from modicum.contract.labels import clean_labels
from modicum.contract.learner import Learner, Traits
from modicum.drift import Change
from modicum.exceptions import DataError, StateError
from modicum.kernels import KERNEL, Kernel, may_fail, takes_objects
from modicum.rows import average_bytes
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import ABSENT, Array, Is, Whole
from modicum.rules.params import BUDGET, NULL, POSITIVE, RANDOM_STATE, TRUTH, Int, OneOf, Where
from modicum.state.packing import held_bytes, missing_functions
from modicum.svm.candidates import LOOKAHEAD, N_INITIAL, Candidates, is_linear
from modicum.svm.classifier import Classifier, Terms
from modicum.svm.core_limits import CoreLimits
from modicum.svm.first_rows import FirstRows, is_rare
from modicum.svm.guarantee import BallGuarantee
from modicum.svm.planning import Shape, check_fits, plan_classifier, shape_of
from modicum.svm.record import log_probabilities
from modicum.svm.tray import Tray

TILE_NUMBERS = 2**19  # of prepared rows at a time
OTHER_TILE = 4096  # rows at a time, if they are sparse or objects
MOST_APART = 0.2  # difference of the logarithms of kernel widths up to which sides are merged
FEWEST_ROWS = 4096  # of a stream without an end: until then, a class may be rare because it is new


def _is_grid(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and len(value) > 0 and all(map(POSITIVE.accepts, value))


def _are_weights(value: Any) -> bool:
    return isinstance(value, dict) and all(map(POSITIVE.accepts, value.values()))


class StreamSVC(ClassifierMixin, Learner):
    """A maximum-margin classifier from a single pass, in bounded memory.

    Two kinds of machines minimise |w|^2 + C sum_n xi_n^2 over weights w, where xi_n is the margin violation of row n,
    y_n w.x_n >= 1 - xi_n:

    - an ellipsoid, the default: mean and covariance of w are updated by every row that violates the margin. It is
      accurate and fast, and has no guarantee.
    - a ball (`ellipsoid=None`): with a separate coordinate for each row's slack, the center of the smallest ball
      around all rows y_n x_n is the solution. A ball that is enlarged by rows outside approximates it, certifies a
      margin, and works with any kernel.

    Rows are prepared inside the pass: centered, columns scaled, each row of unit length, as balls require. Settings are
    also chosen inside the pass: all candidates for C and for these steps learn the same rows, every row is classified
    before it is learned, and half of the candidates are dropped each time the number of rows has doubled, from 1,024
    rows on. More than two classes are learned one against the rest. A class that appears late is learned as if it had
    been announced: a machine for unseen classes has learned all rows as negative. (`fit` knows all labels and needs
    no such machine; a class that appears after it gets a blank one.)

    Guarantee: for balls, the radius is at most 3/2 of the smallest (see `guarantee`). The linear model is the same to
    the bit however the stream is split into chunks.
    Cost: O(d) or O(non-zeros) time per row, class and candidate, O(d^2) with a full ellipsoid; one vector per class
    and candidate (a full ellipsoid: d + 1; balls: and `lookahead` rows), the first `n_initial` rows for balls (16
    times as many while a class is rare), 64 single rows, and 1,000 decision values per class. With a kernel: O(m d)
    time per row and class, and m core vectors.

    Parameters
    ----------
    C : float, "auto" or list of floats, default="auto"
        Weight of margin violations, or a list to choose from. "auto": 10, and 0.3 and 1 with only those learned that
        the machine is not certain of (balls: 0.1, 1, 10).
    ellipsoid : "auto", "diagonal", "full" or None, default="auto"
        Shape of the covariance; "auto" is full up to 63 columns. None, a kernel or `n_balls` selects a ball.
    lookahead : int, default=10
        For a ball: rows outside that are buffered and then enclosed together, the paper's L. 1 is its Algorithm 1.
    n_balls : int, default=1
        More than one: several balls, without lookahead, whose common ball is the answer (section 4.3 of the paper).
    n_initial : int, default=512
        For balls: rows to initialise with (a power of two, or the next one below). The ball is then the smallest around
        them, and they give the mean to center by and the width of a kernel. 1 is the paper's algorithm. While a class
        has less than a tenth of an even share, up to 16 times as many rows are held first, or what half of a budget
        allows (not for linear machines with a budget). All of them are learned, those to initialise with taken from the
        classes in turn.
    kernel : str, Kernel or callable, default="linear"
        With any other than "linear", the machine is a ball in the kernel's space.
    budget : int, str or None, default=None
        A bound on all rows held, or a size such as "4 MiB" for everything held. With a kernel, the least important core
        vectors are dropped; None allows 1,000 per class and candidate. Linear machines have a fixed size, which must
        fit: each weight vector, and each row of a covariance matrix, counts as a row.
    fit_intercept : bool, default=True
        Whether the decision has a constant term.
    center : "auto", True or False, default="auto"
        Whether to subtract the mean of the rows so far. "auto": ellipsoids do, balls try both. Not for sparse rows.
    scale : "auto", True or False, default="auto"
        Whether to divide columns by their deviation so far. "auto": ellipsoids try both, balls do not. It includes
        centering, and is not for sparse rows.
    normalize : "auto", True or False, default="auto"
        Whether to scale rows to unit length. "auto": balls do, as only then they maximise the margin; ellipsoids do,
        and with scaled columns also try without.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class. "balanced": all classes have the same total weight, by their numbers of rows so far.
        Duplicate rows do not affect a ball: there, weights only affect the intercept and the choice of settings.
    half_life : int, "auto" or None, default=None
        Rows after which the weight of what was learned has halved, or None to forget nothing. "auto": None, 64, 256,
        1,024 and passive-aggressive machines, which follow the latest rows, learn side by side; the one with the fewest
        recent mistakes answers. Not for balls.
    lag : int, default=0
        For `half_life="auto"`: rows that are predicted before the label of the first one is learned, the size of
        chunks included. Candidates are judged accordingly; a short memory is of no use where labels come late.
    random_state : int, Generator or None, default=None
        For the sample of decision values that probabilities are calibrated on.

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
        Rows that changed a machine, summed over machines.
    kernel_ : Kernel
        The kernel in use, with its estimated parameters; not for linear machines.
    accuracy_ : float
        Share of all rows that were classified correctly before they were learned.
    confusion_ : ndarray of shape (n_classes, n_classes)
        The same as counts, by true class and by class chosen.
    history_ : dict of arrays
        The same over the stream: `n_seen`, and the `accuracy` since the point before.
    changes_ : list of Change
        Where mistakes became more frequent: the `row` at which that was certain, and `since`, about where it began.
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
    rai2009, Algorithms 1 and 2, sections 4.2, 4.3, 6.2. crammer2009 and dredze2008 for ellipsoids, guo2017
    for probabilities.
    Departures: the slack of a row is 1 / C where the paper prints 1; balls are initialised with the exact ball of the
    first rows (`n_initial`); the intercept, the tournament, late classes and `merge` are ours.
    """

    _minds_order = True
    _constraints = {
        "C": [POSITIVE, OneOf("auto"), Where(_is_grid, "a list of such numbers to choose from")],
        "ellipsoid": [NULL, OneOf("auto", "diagonal", "full")],
        "lookahead": [Int(1)],
        "n_balls": [Int(1)],
        "n_initial": [Int(1)],
        "kernel": [KERNEL],
        "budget": [NULL, BUDGET],
        "fit_intercept": [TRUTH],
        "center": [OneOf("auto"), TRUTH],
        "scale": [OneOf("auto"), TRUTH],
        "normalize": [OneOf("auto"), TRUTH],
        "class_weight": [NULL, OneOf("balanced"), Where(_are_weights, "a dict of positive weights")],
        "half_life": [NULL, OneOf("auto"), Int(1)],
        "lag": [Int(0)],
        "random_state": [RANDOM_STATE],
    }
    _invariants = {
        "_classifier": Is(
            Classifier,
            n_classes="n_classes",
            constant=lambda its: Candidates.of(its.owner).constant,
            width=lambda its: its["n_features"] + (Candidates.of(its.owner).constant > 0.0),
        ),
        "_tray": [NULL, Is(Tray, n_classes="n_classes")],
        "_expected": [ABSENT, NULL, Array(None, None)],
        "_is_strict": [ABSENT, TRUTH],
        "_eliminate": [ABSENT, TRUTH],
        "_late": [ABSENT, Whole()],
    }
    _late = 0  # the lag that an evaluation has
    _unsaved = (*Learner._unsaved, "_told")  # whether the user has been warned of a rare class
    _told: bool
    _eliminate = True  # whether candidates are dropped
    _expected: np.ndarray | None = None  # classes
    _is_strict = False  # whether no others are allowed
    _tray: Tray | None = None
    _classifier: Classifier

    def __init__(
        self,
        C: float | str | Iterable[float] = "auto",
        *,
        ellipsoid: str | None = "auto",
        lookahead: int = LOOKAHEAD,
        n_balls: int = 1,
        n_initial: int = N_INITIAL,
        kernel: Any = "linear",
        budget: int | str | None = None,
        fit_intercept: bool = True,
        center: bool | str = "auto",
        scale: bool | str = "auto",
        normalize: bool | str = "auto",
        class_weight: str | dict[Any, float] | None = None,
        half_life: int | str | None = None,
        lag: int = 0,
        random_state: Any = None,
    ):
        self.C = C
        self.ellipsoid = ellipsoid
        self.lookahead = lookahead
        self.n_balls = n_balls
        self.n_initial = n_initial
        self.kernel = kernel
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.center = center
        self.scale = scale
        self.normalize = normalize
        self.class_weight = class_weight
        self.half_life = half_life
        self.lag = lag
        self.random_state = random_state

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """With a kernel chunks matter: kernel values of rows computed together may differ in their last bits."""
        return Traits(chunk_exact=is_linear(self.kernel), merge="approximate", weights=True, sparse=True, objects=True)

    # ---- learning --------------------------------------------------------------------------------

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, row_ids: Any = None, *, classes: Any = None
    ) -> Self:
        """Learn one chunk.

        Parameters
        ----------
        X : array, sparse matrix or dataframe (with a custom kernel, a list of objects), one row each
        y : labels: numbers, booleans or strings
        sample_weight : non-negative weights of rows, relative to the mean of all weights so far
        row_ids : ints that name the rows; checked, but not kept here
        classes : all labels that will occur, given with the first chunk. It is optional: a class that appears late is
            learned as if it had been announced. Announcing classes saves the machine for unseen ones.
        """
        if classes is not None:
            self._announce(classes)
        if sample_weight is row_ids is None and self._put_on_tray(X, y):
            return self
        if self._is_fitted():
            self._check_whole()
            self._learn_tray()
        before = self.n_seen_ if self._is_fitted() else 0
        try:
            super().partial_fit(X, y, sample_weight, row_ids)
        finally:
            if not self._is_fitted():
                self._forget()
        if self._is_fitted():
            self._look_at_classes(self.n_seen_ - before)
        return self

    def _announce(self, classes: Any) -> None:
        """Expect these classes and no others, from the first chunk on; later, they must be known."""
        if not self._is_fitted():
            self._expect(classes)
            self._is_strict = self._expected is not None
            return
        announced = self._expected if self._is_strict else None
        known = self._classifier.labels.values if announced is None else announced
        unknown = np.setdiff1d(clean_labels(classes, "StreamSVC"), known)
        if len(unknown):
            raise ValueError(f"StreamSVC: class {str(unknown[0])!r} must be announced with the first chunk.")

    def _expect_lag(self, rows: int) -> None:
        self._late = rows

    def _expect(self, y: Any, sample_weight: Any = None) -> None:
        """Expect the classes of the labels given to `fit`."""
        if y is None or isinstance(y, str) or sample_weight is not None:
            return
        with suppress(DataError):  # it is raised again when the rows are checked
            labels = np.unique(clean_labels(y, type(self).__name__))
            self._expected = labels if len(labels) > 1 else None  # a machine is needed even for one class

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_classifier"):
            self._initialize(X)
        terms = self._terms()
        self._classifier.learn(X, y, self._classifier.weights.relative(weight, len(y)), terms)
        self._hold_budget_of_machines(terms)

    def _initialize(self, X: Any) -> None:
        """A classifier for rows like these, without any learned."""
        candidates = Candidates.of(self)
        tournament = candidates.tournament(X, self._kind, eliminate=self._eliminate)
        limits = self._limits()
        room = candidates.room if limits is None else self._most_first_rows(limits, average_bytes(X))
        n_first = min(self.n_initial, room)
        first = FirstRows(X, n_first, room) if n_first > 1 and not candidates.is_ellipsoid else None
        tile = max(1, TILE_NUMBERS // X.shape[1]) if self._kind == "dense" else OTHER_TILE
        self._classifier = Classifier(tournament, first, tile)
        is_plain = self._kind == "dense" and not hasattr(self, "feature_names_in_")
        has_tray = is_plain and candidates.is_linear and self.budget is None  # a budget would count the buffered rows
        self._tray = Tray(self.n_features_in_, self._dtype) if has_tray else None
        if self._expected is not None:
            self._classifier.expect(self._expected, self._terms())

    def _terms(self) -> Terms:
        lag = max(self.lag, self._late) if self.half_life == "auto" else 0
        return Terms(self.class_weight, self._rng, self._limits(), Candidates.of(self).record_memory, lag)

    def _limits(self) -> CoreLimits | None:
        """Limits on core vectors; None for linear machines."""
        if is_linear(self.kernel):
            return None
        budget = as_budget(self.budget)
        if budget.nbytes is None:
            return CoreLimits(budget, self.lookahead)
        beside = {name: value for name, value in self._fields().items() if name != "_classifier"}
        return CoreLimits(budget, self.lookahead, held_bytes(beside))

    def _most_first_rows(self, limits: CoreLimits, row_bytes: int) -> int:
        """First rows to hold for kernel balls; a `BudgetError` if the budget is too small for the balls.

        What is held beside rows is planned for dense ones; sparse rows and objects differ in size.
        """
        n_classes, fixed_bytes = 2 if self._expected is None else len(self._expected), 0
        if self._kind == "dense" and limits.budget.nbytes is not None:
            plan = self.plan(self.n_features_in_, self._dtype, n_classes)
            fixed_bytes = plan.nbytes - plan.sizes["core vectors"]
        n_balls = shape_of(Candidates.of(self), self.n_features_in_, 8, n_classes).n_machines
        return limits.most_first_rows(Candidates.of(self).room, row_bytes, fixed_bytes, n_balls)

    def _end_of_stream(self) -> None:
        self._learned()
        self._warn_of_rare_classes()

    def _look_at_classes(self, count: int) -> None:
        """Look for rare classes whenever the rows of a stream without an end have doubled, as the last `count` did."""
        if self.n_seen_ >= FEWEST_ROWS and (self.n_seen_ - count).bit_length() < self.n_seen_.bit_length():
            self._warn_of_rare_classes()

    def _warn_of_rare_classes(self) -> None:
        """Warn of them once."""
        classifier = self._classifier
        counts = classifier.record.confusion.sum(axis=1)
        seen = counts[counts > 0]
        is_told = "_told" in vars(self) or self.class_weight is not None
        if not is_told and len(seen) > 1 and is_rare(seen):
            self._told = True
            rarest = classifier.labels.values[np.where(counts > 0, counts, np.inf).argmin()]
            share = seen.min() / seen.sum()
            warnings.warn(
                f"StreamSVC: only {share:.1%} of the rows are of class {str(rarest)!r}. A model that never "
                'predicts it may make the fewest mistakes; class_weight="balanced" gives all classes the same weight.',
                stacklevel=3,
            )

    # ---- single rows -----------------------------------------------------------------------------

    def _put_on_tray(self, X: Any, y: Any) -> bool:
        """Buffer a single row that needs no conversion; False if it has to be checked and learned as a chunk."""
        tray, state = self._tray, self.__dict__
        if tray is None or "_torn" in state or "_reset" in state or not tray.put(X, y, self._classifier.labels):
            return False
        self.n_seen_ += 1
        self._position += 1
        if tray.is_full:
            self._learn_tray()
        return True

    def _learn_tray(self) -> None:
        """Learn the buffered single rows as a chunk: a failure marks the learner as torn."""
        if self._tray is None or not self._tray.count:
            return
        rows, codes = self._tray.empty()
        self.n_seen_ -= len(codes)  # they are counted again as they are learned
        labels = self._classifier.labels.values[codes]
        self._learn_or_undo(rows, labels, None, codes)
        self._look_at_order(rows, labels)
        self._look_at_classes(len(codes))

    def _learned(self) -> Classifier:
        """The classifier with all rows learned. All public answers use it, so that none depends on the tray."""
        self._check_fitted()
        self._learn_tray()
        return self._classifier

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; rows given before are learned with the old ones."""
        if self._is_fitted():
            self._learned()
        return super().set_params(**params)

    def to_bytes(self) -> bytes:
        """The exact state as bytes."""
        if self._is_fitted():
            self._learned()
        return super().to_bytes()

    @property
    def nbytes_(self) -> int:
        """Bytes held now, all state together."""
        self._learned()
        return super().nbytes_

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64, n_classes: int = 2) -> Plan:
        """The most that will be held, by purpose, for dense rows of `n_features` columns and `n_classes` classes.

        Labels count as 32 characters each.
        """
        self._check_params()
        itemsize, budget = np.dtype(dtype).itemsize, as_budget(self.budget)
        return plan_classifier(Candidates.of(self), budget, n_features, itemsize, n_classes)

    def _hold_budget_of_machines(self, terms: Terms) -> None:
        """Remove core vectors beyond the budget. Linear machines have a fixed size, which must fit."""
        self._classifier.hold_limits(terms)
        if self.budget is None or not is_linear(self.kernel):
            return
        shape = Shape.of(self._classifier, self.n_features_in_, np.dtype(self._dtype).itemsize)
        check_fits(as_budget(self.budget), shape, Candidates.of(self), held_bytes(self._fields()))

    # ---- merging ---------------------------------------------------------------------------------

    def _merge(self, other: Self) -> None:
        mine, theirs = self._learned(), other._learned()
        if (self._is_strict or other._is_strict) and not np.array_equal(self.classes_, other.classes_):
            raise StateError("StreamSVC.merge: classes were announced, and those of the two sides differ.")
        mine.labels.check(theirs.labels.values)
        self._check_kernels(other)
        if theirs.first is not None:  # all its rows are held
            mine.learn_first_rows_of(theirs, self._terms())
        elif mine.first is not None:
            self._continue_from(other)
            self._classifier.learn_first_rows_of(mine, self._terms())
        elif not mine.merge(theirs, self._terms()):
            self._keep_longer(other)
        self._hold_budget_of_machines(self._terms())

    def _continue_from(self, other: Self) -> None:
        """Adopt the state of the other side, but for the classes that were announced here."""
        announced = {name: value for name, value in vars(self).items() if name in ("_expected", "_is_strict")}
        self._adopt(other)
        self.__dict__.update(announced)

    def _check_kernels(self, other: Self) -> None:
        """Widths that the sides have estimated may differ a little."""
        if not is_linear(self.kernel):
            ours, theirs = self.kernel_, other.kernel_
            if np.abs(ours.log_params - theirs.log_params).max(initial=0.0) > MOST_APART:
                raise StateError(
                    f"StreamSVC.merge: the sides have estimated different kernels, {ours!r} and {theirs!r}. Give all "
                    "of them the same one, with its width."
                )

    def _keep_longer(self, other: Self) -> None:
        """Keep the machines of the longer stream, and the classes and weights of both."""
        warnings.warn(
            "StreamSVC.merge: the two sides have chosen different preparations of rows, so their machines can't be "
            "merged: that of the longer stream is kept. Give center and scale to all sides to avoid this.",
            stacklevel=4,
        )
        mine, theirs = self._classifier, other._classifier
        if theirs.tournament.rows > mine.tournament.rows:
            self._continue_from(other)
            self._classifier.add_classes(mine.labels, self._terms())
            theirs = mine
        self._classifier.weights.merge(theirs.weights)

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        return self._classifier.labels.sorted

    @property
    def coef_(self) -> np.ndarray:
        return self._coefficients()[:, : self.n_features_in_]

    @property
    def intercept_(self) -> np.ndarray:
        coefficients = self._coefficients()
        return coefficients[:, -1] if self.fit_intercept else np.zeros(len(coefficients))

    def _coefficients(self) -> np.ndarray:
        if not is_linear(self.kernel):
            raise AttributeError("with a kernel there are no weights of columns.")
        return self._learned().coefficients

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """Settings still in the tournament, the best one first."""
        return self._learned().settings

    @property
    def radius_(self) -> np.ndarray:
        return np.array([ball.radius for ball in self._learned().balls])

    @property
    def n_core_(self) -> int:
        return sum(machine.n_core for machine in self._learned().answering)

    @property
    def kernel_(self) -> Kernel:
        if is_linear(self.kernel):
            raise AttributeError("the machines are linear.")
        return self._learned().kernel_balls[0].kernel

    @property
    def accuracy_(self) -> float:
        return self._learned().record.accuracy

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self._learned().record.curve()

    @property
    def changes_(self) -> list[Change]:
        changes = getattr(self._learned(), "changes", None)  # an older state has none
        return [] if changes is None else changes.as_list()

    @property
    def confusion_(self) -> np.ndarray:
        return self._learned().confusion

    def guarantee(self) -> BallGuarantee:
        """Bounds on the radius of the smallest ball around all rows, and on the margin; with `ellipsoid=None`."""
        classifier = self._learned()
        if not classifier.balls:
            raise ValueError("StreamSVC: guarantees are about balls. Learn with ellipsoid=None.")
        leader, inputs = classifier.tournament.leader, classifier.tournament.inputs
        is_even = self.normalize is not False and not inputs[leader.inputs].n_zeros
        return BallGuarantee.of(classifier.problems, classifier.balls, 1.0 + 1.0 / leader.C if is_even else np.nan)

    def prepare(self, X: Any) -> Any:
        """Rows as the machines see them: `decision_function(X)` is `prepare(X) @ coef_.T + intercept_`."""
        X = self._check_input(X)
        Z = self._learned().tournament.prepare(X)
        return Z[:, : self.n_features_in_] if is_linear(self.kernel) else Z

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distances from the border of a class, in margins: shape (n,) for two classes, else (n, classes)."""
        X = self._check_input(X)
        return self._learned().decide(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        decisions = self.decision_function(X)
        chosen = decisions > 0.0 if decisions.ndim == 1 else decisions.argmax(axis=1)
        return self.classes_[chosen.astype(np.intp)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of classes, calibrated on rows that had not been learned yet (guo2017).

        They are those of the stream. With `class_weight`, `predict` may choose a class that is not the most likely one.
        """
        decisions = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.ones((len(decisions), 1))
        is_weighted = self.class_weight is not None
        factor, offset = self._derive("calibration", lambda: self._classifier.calibration(is_weighted=is_weighted))
        return np.exp(log_probabilities(factor * decisions + offset))

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The class of each row and its probability."""
        predicted, probability = self.predict(X), self.predict_proba(X)
        chosen = self.classes_.searchsorted(predicted)
        return {"prediction": predicted, "probability": probability[np.arange(len(chosen)), chosen]}

    # ---- contract --------------------------------------------------------------------------------

    def _check_params(self) -> None:
        super()._check_params()
        Candidates.of(self).check()

    def _check_target(self, y: Any, count: int) -> np.ndarray:
        self._require_target(y)
        name = type(self).__name__
        y = super()._check_target(clean_labels(y, name), count)
        if self._is_fitted():
            self._classifier.labels.check(y)
        if self._is_strict and self._expected is not None:
            unknown = y[~np.isin(y, self._expected)]
            if len(unknown):
                raise DataError(f"{name}: the label {str(unknown[0])!r} is not among the announced classes.")
        return y

    def _n_retained(self) -> int:
        return self._learned().n_kept

    def _takes_objects(self, X: Any) -> bool:
        return not is_linear(self.kernel) and takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return self.budget is not None or (not is_linear(self.kernel) and may_fail(self.kernel))

    def _restored(self) -> None:
        if not self._is_fitted():
            return
        if self._tray is not None:
            self._tray.allocate()
        for ball in self._classifier.kernel_balls:
            if missing_functions(ball.kernel):  # a file can't hold a function
                ball.given = ball.kernel = Candidates.of(self).given_kernel(self._kind)

    def _uses_blas(self) -> bool:
        return not is_linear(self.kernel) or self.half_life is not None
