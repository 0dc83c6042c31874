"""TRAM, the tradeoff navigation algorithm (lucic2015, section 6): how much data, memory and time does a risk take?"""

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from modicum.contract.learner import Learner
from modicum.rules.params import BUDGET, NULL, POSITIVE, RANDOM_STATE, Constraint, Int, Number, Where, check_params
from modicum.state.rng import as_generator
from modicum.tradeoff.rounds import Round, Rounds, size_name
from modicum.tradeoff.statement import statement
from modicum.tradeoff.target import RiskTarget, as_target
from modicum.tradeoff.truncation import Labeled, truncated

# The first round. k centers fitted to m rows lose about k / m of the best risk, those fitted to m points of a summary
# 0.4 to 3 times as much, depending on the data. Rounds that can't succeed cost more than points that are not needed.
POINTS_FOR_EXCESS = 1.0  # per cluster, and per part of the best risk that the wanted one may exceed it by
POINTS_PER_PART = 20  # if the best risk is not known
ROWS_PER_POINT = 16  # to look at a row costs a fraction of what it costs to solve for a point
LEAST_VALIDATION = 1_000  # rows for risks that are not squared distances
MOST_VALIDATION = 100_000  # rows: the mean of so many is known to 1%, be their deviation three times the mean


class Tram(BaseEstimator):
    """Find a solution of a wanted risk with as few rows, as little memory and as little time as that takes.

    Begins with a small part of the rows and a small summary of it, solves, and judges the solution by rows held out;
    then takes twice the rows and half as many points again, until the risk is low enough. So the time depends on what
    is wanted and not on how many rows there are, and `path_` tells what lower risks would take.

    Rows of arrays and data frames are put into random order. Any other source of `modicum.stream` is read in its own
    order, chunk by chunk and from the beginning in every round: it should be well mixed. A source that can be read only
    once is refused.

    Guarantee: for squared distances and with as many rows held out as asked for (`Round.validation_rows` is less than
    that where there are fewer, and never above 100,000), a solution whose risk exceeds 4/3 of the wanted one passes
    for good enough in round i with probability `delta ** i` at most: Chernoff's bound for rows whose squared distance
    from their center is below 2 B^2, where B is the radius of the first rows around their mean.
    Cost: all rounds together learn twice the rows of the last one at most, and solve for three times its summary.

    Parameters
    ----------
    estimator : learner
        One with a `score`, such as `StreamKMeans` or `StreamGaussianMixture`; its risk is minus the score. The size of
        its summary is its parameter `size`, or `budget` if it has no such. It is cloned for every round.
    risk : float or str
        What is wanted on rows held out: a number, or "5% above best" or "1.05x" for a risk relative to that of a
        reference, which is fitted first: the estimator on up to 100,000 rows, with a summary of a fifth of them and at
        least 100 points per cluster. `time_limit` does not count it. Of a negative risk, such as that of densities, 5%
        above means 5% of its size above.
    validation : float, default=0.2
        Part of the rows that is held out.
    delta : float, default=0.1
        See Guarantee. Lower ones take more of the rows that are held out.
    growth_data, growth_summary : float, default=2.0 and 1.5
        From round to round, rows and points grow by so much.
    start : (int, int) or None, default=None
        Rows and points of the first round. By default 20 points per cluster, or k / x of them for k clusters and a
        risk that may exceed the best by the part x of it; and 16 rows per point.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that the estimator may hold. The summary stops to grow there.
    time_limit : float or None, default=None
        Seconds. A round is not begun if it would end later, taking no longer than the one before.
    random_state : int, Generator or None, default=None
        Decides which rows are held out, and takes the place of the estimator's own.

    Attributes
    ----------
    solution_ : learner
        The fitted estimator, of the round with the lowest risk.
    risk_ : float
        Its risk on rows held out.
    target_ : float
        The risk that was wanted.
    reached_ : bool
    stopped_by_ : {"risk", "data", "time", "memory"}
        "risk": it is low enough. "data": all rows were learned, and a larger summary does not help either (the
        data-bounded regime): over two rounds the risk fell by less than is missing, or all rows were in the summary.
        "time" and "memory": `time_limit` or `budget` were in the way.
    path_ : list of Round
        Rows learned, points of the summary, seconds, rows held out that were asked, their risk, and bytes held by the
        learner, for each round.
    seconds_ : float
        What all rounds took.
    reference_ : Round or None
        What "best" means, if the wanted risk is relative to it.
    n_rows_ : int or None
        All rows there are, if that is known.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import StreamKMeans, Tram
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 10.0, 20.0], (100_000, 2)) + rng.normal(size=(100_000, 2))
    >>> tram = Tram(StreamKMeans(9), "10% above best", random_state=0).fit(X)
    >>> tram.stopped_by_, tram.risk_ < 1.1 * tram.reference_.risk, tram.path_[-1].rows < 10_000
    ('risk', True, True)

    References
    ----------
    lucic2015, section 6 and Theorem 2. Departures: `risk` is the threshold itself, 3/2 of the paper's epsilon. The rows
    held out of round i are 16 i b log(1 / delta) / epsilon with b = 2 B^2, where the paper has 4 and epsilon squared:
    as printed their number depends on the unit of the columns. For other risks they are those that go with the rows
    learned, at least 1,000.
    """

    _constraints: ClassVar[Mapping[str, list[Constraint]]] = {
        "estimator": [
            Where(
                lambda value: isinstance(value, Learner) and hasattr(value, "score") and bool(size_name(value)),
                "a learner with a score, and with a parameter size or budget",
            )
        ],
        "validation": [Number(0, 1, open_ends=True)],
        "delta": [Number(0, 1, open_ends=True)],
        "growth_data": [Number(1, open_ends=True)],
        "growth_summary": [Number(1)],
        "start": [
            NULL,
            Where(
                lambda value: isinstance(value, tuple | list) and [*map(Int(1).accepts, value)] == [True] * 2,
                "a pair of positive ints",
            ),
        ],
        "budget": [BUDGET, NULL],
        "time_limit": [POSITIVE, NULL],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        estimator: Learner,
        risk: float | str,
        *,
        validation: float = 0.2,
        delta: float = 0.1,
        growth_data: float = 2.0,
        growth_summary: float = 1.5,
        start: tuple[int, int] | None = None,
        budget: int | str | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.risk = risk
        self.validation = validation
        self.delta = delta
        self.growth_data = growth_data
        self.growth_summary = growth_summary
        self.start = start
        self.budget = budget
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, on_round: Callable[[Self], object] | None = None
    ) -> Self:
        """Search: X is an array, a data frame, or anything else that `modicum.stream` reads more than once.

        `on_round(self)` follows each round; `path_` and `solution_` are as far as it went.
        """
        check_params(self, self.get_params(deep=False), self._constraints)
        target = as_target(self.risk)
        rng = as_generator(self.random_state)
        rows = truncated(X, y, sample_weight, self.validation, rng)
        rounds = Rounds(self.estimator, rows, self.budget, rng)
        self.reference_ = rounds.reference() if target.above_best else None
        self.target_ = target.level(self.reference_ and self.reference_.risk)
        self.path_: list[Round] = []
        self.reached_ = False
        self.n_rows_ = rows.n_rows
        self._search(rounds, *self._first(target, rounds), on_round)
        self.n_rows_ = rows.n_rows  # of some streams it is known at their end
        return self

    @property
    def seconds_(self) -> float:
        """What all rounds took."""
        check_is_fitted(self, "path_")
        return sum(made.seconds for made in self.path_)

    def summary(self) -> str:
        """What was found and what it took, in a sentence or two; how long all rows would take is extrapolated.

        The time for all rows is that of the last round, grown in proportion to the rows: as though the summary were to
        grow along with them.
        """
        check_is_fitted(self, "stopped_by_")
        return statement(self, as_target(self.risk).words(self.target_))

    def predict(self, X: Any) -> np.ndarray:
        """What the solution predicts."""
        check_is_fitted(self, "solution_")
        return self.solution_.predict(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The solution's score: minus its risk."""
        check_is_fitted(self, "solution_")
        return Labeled(X, y, sample_weight).score(self.solution_)

    def _search(self, rounds: Rounds, rows: int, size: int, on_round: Callable[[Self], object] | None) -> None:
        while True:
            learner, made, is_everything = rounds.run(rows, size, self._validation_rows(rounds, rows))
            self.path_.append(made)
            if made.risk <= min(before.risk for before in self.path_):
                self.solution_, self.risk_ = learner, made.risk
            self.reached_ = made.risk <= self.target_
            if on_round is not None:
                on_round(self)
            grown = math.ceil(self.growth_summary * size)
            size, may_grow = (grown, True) if rounds.fits(grown) else (size, False)
            if stopped_by := self._stopped_by(is_everything, may_grow):
                self.stopped_by_ = stopped_by
                return
            rows = made.rows if is_everything else math.ceil(self.growth_data * rows)

    def _stopped_by(self, is_everything: bool, may_grow: bool) -> str | None:
        last = self.path_[-1]
        if self.reached_:
            return "risk"
        if self.time_limit is not None and self.seconds_ + last.seconds > self.time_limit:
            return "time"
        if not is_everything:
            return None
        if last.size >= last.rows:
            return "data"
        if not may_grow:
            return "memory"
        return "data" if self._is_hopeless(last.rows) else None

    def _is_hopeless(self, rows: int) -> bool:
        """Whether the last two rounds with all rows gained less than is missing.

        What a summary loses is about inverse to its size. So all rounds to come gain less than the last two did.
        """
        risks = [made.risk for made in self.path_ if made.rows == rows]
        return len(risks) > 2 and min(risks[:-2]) - min(risks) < min(risks) - self.target_

    def _first(self, target: RiskTarget, rounds: Rounds) -> tuple[int, int]:
        """Rows and points of the first round."""
        if self.start is not None:
            rows, size = self.start
        else:
            per_part = POINTS_FOR_EXCESS / target.value if target.above_best else POINTS_PER_PART
            size = math.ceil(per_part * rounds.n_parts)
            rows = ROWS_PER_POINT * size
        return rows, rounds.within_budget(size)

    def _validation_rows(self, rounds: Rounds, rows: int) -> int:
        """Rows held out that the next round is judged by."""
        if rounds.square_radius is None or self.target_ <= 0:
            wanted = max(LEAST_VALIDATION, rows * self.validation / (1 - self.validation))
        else:
            epsilon = self.target_ / 1.5
            each = 16 * 2 * rounds.square_radius * math.log(1 / self.delta) / epsilon
            wanted = (len(self.path_) + 1) * each
        return max(1, math.ceil(min(wanted, MOST_VALIDATION)))
