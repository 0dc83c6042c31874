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
from modicum.tradeoff.comparison import Comparison, compare
from modicum.tradeoff.rounds import SUMMARY_PARAMETERS, Round, Rounds, summary_parameter
from modicum.tradeoff.statement import statement
from modicum.tradeoff.target import RiskTarget, as_target
from modicum.tradeoff.truncation import Labeled, truncated

# The first round. k centers fitted to m rows exceed the best risk by about k / m of it, those fitted to m points of a
# summary by 0.4 to 3 times as much, depending on the data. Rounds that can't succeed cost more than unneeded points.
POINTS_FOR_EXCESS = 1.0  # per cluster, divided by the allowed excess relative to the best risk
POINTS_PER_CLUSTER = 10  # if the best risk is not known: this round and the next tell how many are needed
MARGIN = 1.5  # on that estimate: a round that just fails costs more than one that is too large
MOST_GROWTH = 4  # of the points from one round to the next: two rounds give only a rough estimate
RUNS_GROWTH = 2  # restarts of the model from round to round, up to those of the reference
ROWS_PER_POINT = 16  # learning a row costs a fraction of fitting the model to a point
MIN_VALIDATION = 1_000  # rows, for risks other than squared distances
MAX_VALIDATION = 100_000  # rows: their mean is known to 1%, even if the standard deviation is three times the mean


class Tram(BaseEstimator):
    """Find a solution of a given risk with as few rows, as little memory and as little time as possible.

    Learns a few rows with a small summary, fits the model, and evaluates it on held-out rows; then takes twice the rows
    and 1.5 times the points, or up to 4 times if the last two rounds ask for that, until the risk is low enough. So the
    time depends on the target and not on the number of rows, and `path_` shows the risk against time, rows and points.

    Rows of arrays and data frames are shuffled. Any other source of `modicum.stream` is read in its own order, chunk by
    chunk and from the beginning in every round: it should be well mixed. A source that can be read only once is
    refused.

    Guarantee: for squared distances and with the number of held-out rows that the bound requires (`Round.n_validation`
    is less where there are fewer, and never above 100,000), a solution whose risk exceeds 4/3 of the target is accepted
    in round i with probability at most `(1 - confidence) ** i`: Chernoff's bound for rows whose squared distance from
    their center is below 2 B^2, where B is the radius of the first rows around their mean.
    Cost: all rounds together learn at most twice the rows of the last one, and fit to three times its points.

    Parameters
    ----------
    estimator : learner
        One with a `score`, such as `StreamKMeans` or `StreamGaussianMixture`; its risk is minus the score. The size of
        its summary is set by the first of these parameters that it has: `n_points`, `n_validation`, `n_prototypes`,
        `budget`. The estimator is cloned for every round.
    risk : float or str
        The target risk on held-out rows: a number, or "5% above best" or "1.05x" for a risk relative to that of a
        reference, which is fitted first: the estimator on up to 100,000 rows, with a summary of a fifth of them and at
        least 100 points per cluster, and the best of up to 20 runs on it where they are cheap (the estimator's
        `n_init`). It is the best found here, and not the best possible: better local optima may exist. Rounds then
        double `n_init` too, up to that of the reference. `time_limit` does not include the reference. For a negative
        best risk, such as that of densities, the 5% are relative to its absolute value.
    validation_fraction : float, default=0.2
        Fraction of the rows that is held out.
    confidence : float, default=0.9
        That a bad solution is not accepted (see Guarantee). A higher confidence takes more of the held-out rows.
    growth_rows, growth_points : float, default=2.0 and 1.5
        Factors by which rows and points grow from round to round, at least.
    n_initial : (int, int) or None, default=None
        Rows and points of the first round. By default 10 points per cluster, or k / x points for k clusters and a
        target that exceeds the best risk by the fraction x of it; and 16 rows per point.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that the estimator may hold. The summary stops growing there.
    time_limit : float or None, default=None
        Seconds. No round is started that would exceed it if it took as long as the one before.
    random_state : int, Generator or None, default=None
        Decides which rows are held out, and replaces the estimator's own.

    Attributes
    ----------
    solution_ : learner
        The fitted estimator, of the round with the lowest risk.
    risk_ : float
        Its risk on held-out rows.
    target_ : float
        The target risk as a number.
    reached_ : bool
    stopped_by_ : {"risk", "data", "time", "memory"}
        "risk": the target was reached. "data": all rows were learned, and a larger summary does not help either (the
        data-bounded regime): over two rounds the risk fell by less than the remaining gap, or all rows were in the
        summary. "time" and "memory": `time_limit` or `budget` was reached.
    path_ : list of Round
        For each round: rows learned (`n_rows`), points of the summary (`n_points`), `seconds`, held-out rows evaluated
        (`n_validation`), their `risk`, and bytes held by the learner (`nbytes`).
    seconds_ : float
        Time of all rounds.
    reference_ : Round or None
        The round whose risk is taken for the best, if the target is relative to it.
    comparison_ : Comparison or None
        The risk of the solution relative to that of the reference (`ratio`), both on the same held-out rows
        (`n_validation`, the most that were evaluated), its 95% interval (`low`, `high`) by a bootstrap over these rows,
        and the runs of the reference (`n_runs`); None without a reference.
    n_rows_ : int or None
        The number of rows of the source, if known.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import StreamKMeans, Tram
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 10.0, 20.0], (100_000, 2)) + rng.normal(size=(100_000, 2))
    >>> tram = Tram(StreamKMeans(9), "10% above best", random_state=0).fit(X)
    >>> tram.stopped_by_, tram.risk_ < 1.1 * tram.reference_.risk, tram.path_[-1].n_rows < 10_000
    ('risk', True, True)

    References
    ----------
    lucic2015, section 6 and Theorem 2. Departures: `risk` is the threshold itself, 3/2 of the paper's epsilon. Round i
    is evaluated on 16 i b log(1 / delta) / epsilon held-out rows with b = 2 B^2 and delta = 1 - `confidence`, where the
    paper has 4 and epsilon squared: as printed, their number depends on the unit of the columns. For other risks the
    number of held-out rows is proportional to the rows learned, and at least 1,000. The sizes of the first round, and
    rounds that grow by more than the given factors, are ours.
    """

    _constraints: ClassVar[Mapping[str, list[Constraint]]] = {
        "estimator": [
            Where(
                lambda value: (
                    isinstance(value, Learner) and hasattr(value, "score") and summary_parameter(value) is not None
                ),
                f"a learner with a score, and with one of the parameters {', '.join(SUMMARY_PARAMETERS)}",
            )
        ],
        "validation_fraction": [Number(0, 1, open_ends=True)],
        "confidence": [Number(0, 1, open_ends=True)],
        "growth_rows": [Number(1, open_ends=True)],
        "growth_points": [Number(1)],
        "n_initial": [
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
        validation_fraction: float = 0.2,
        confidence: float = 0.9,
        growth_rows: float = 2.0,
        growth_points: float = 1.5,
        n_initial: tuple[int, int] | None = None,
        budget: int | str | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.risk = risk
        self.validation_fraction = validation_fraction
        self.confidence = confidence
        self.growth_rows = growth_rows
        self.growth_points = growth_points
        self.n_initial = n_initial
        self.budget = budget
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, on_round: Callable[[Self], object] | None = None
    ) -> Self:
        """Search: X is an array, a data frame, or anything else that `modicum.stream` reads more than once.

        `on_round(self)` is called after each round, with `path_` and `solution_` so far.
        """
        check_params(self, self.get_params(deep=False), self._constraints)
        target = as_target(self.risk)
        rng = as_generator(self.random_state)
        rows = truncated(X, y, sample_weight, self.validation_fraction, rng)
        rounds = Rounds(self.estimator, rows, self.budget, rng)
        self.reference_: Round | None = None
        if target.above_best:
            reference, self.reference_ = rounds.reference()
        self.target_ = target.level(self.reference_ and self.reference_.risk)
        self.comparison_: Comparison | None = None
        self.path_: list[Round] = []
        self.reached_ = False
        self.n_rows_ = rows.n_rows
        self._search(rounds, *self._initial_sizes(target, rounds), on_round)
        self.n_rows_ = rows.n_rows  # of some streams it is known only at their end
        if target.above_best:
            self.comparison_ = compare(self.solution_, reference, rounds.n_runs, rounds.held_out, rng)
        return self

    @property
    def seconds_(self) -> float:
        """Time of all rounds."""
        check_is_fitted(self, "path_")
        return sum(done.seconds for done in self.path_)

    def summary(self) -> str:
        """The result in a few sentences: what was reached, measured against what, and the time all rows would take.

        The estimate is the time of the best round times the ratio of rows, as if the summary grew with them.
        """
        check_is_fitted(self, "stopped_by_")
        return statement(self, as_target(self.risk).words(self.target_))

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the solution."""
        check_is_fitted(self, "solution_")
        return self.solution_.predict(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The solution's score: minus its risk."""
        check_is_fitted(self, "solution_")
        return Labeled(X, y, sample_weight).score(self.solution_)

    def _search(self, rounds: Rounds, count: int, n_points: int, on_round: Callable[[Self], object] | None) -> None:
        """Rounds with growing numbers of rows, points and runs, until there is a reason to stop."""
        n_runs = rounds.given_runs
        while True:
            learner, done, is_everything = rounds.run(count, n_points, self._n_validation(rounds, count), n_runs)
            self.path_.append(done)
            if done.risk <= min(before.risk for before in self.path_):
                self.solution_, self.risk_ = learner, done.risk
            self.reached_ = done.risk <= self.target_
            if on_round is not None:
                on_round(self)
            growth = next((by for by in self._growths() if rounds.fits(math.ceil(by * n_points))), 0.0)
            if stopped_by := self._stopped_by(is_everything and n_runs == rounds.n_runs, growth > 0):
                self.stopped_by_ = stopped_by
                return
            n_points = math.ceil(max(growth, 1.0) * n_points)
            n_runs = min(RUNS_GROWTH * n_runs, rounds.n_runs)
            by = self.growth_rows * max(1.0, growth / self.growth_points)  # as many rows per point as without a jump
            count = done.n_rows if is_everything else math.ceil(by * count)

    def _growths(self) -> list[float]:
        """Factors by which the number of points may grow: to what the last two rounds ask for, or as given.

        The excess risk due to a summary of s points is about c / s. So two rounds tell c and the risk of all points,
        and with these the points for the target, unless that is below.
        """
        before, last = self.path_[-2:] if len(self.path_) > 1 else self.path_ * 2
        if before.n_points >= last.n_points or before.risk <= last.risk:
            return [self.growth_points]
        excess = (before.risk - last.risk) / (last.n_points / before.n_points - 1)  # c / s of the last round
        gap = self.target_ - (last.risk - excess)
        needed = MARGIN * excess / gap if gap > 0 else MOST_GROWTH
        return [max(self.growth_points, min(needed, MOST_GROWTH)), self.growth_points]

    def _stopped_by(self, is_everything: bool, may_grow: bool) -> str | None:
        """The reason to stop, if there is one; `is_everything` if there are neither more rows nor more runs to try."""
        last = self.path_[-1]
        if self.reached_:
            return "risk"
        if self.time_limit is not None and self.seconds_ + last.seconds > self.time_limit:
            return "time"
        if not is_everything:
            return None
        if last.n_points >= last.n_rows:
            return "data"
        if not may_grow:
            return "memory"
        return "data" if self._is_hopeless(last.n_rows) else None

    def _is_hopeless(self, count: int) -> bool:
        """Whether the last two rounds with all rows gained less than the remaining gap.

        The excess risk due to a summary is about inverse to its size. So all later rounds together gain less than the
        last two did.
        """
        risks = [done.risk for done in self.path_ if done.n_rows == count]
        return len(risks) > 2 and min(risks[:-2]) - min(risks) < min(risks) - self.target_

    def _initial_sizes(self, target: RiskTarget, rounds: Rounds) -> tuple[int, int]:
        """Rows and points of the first round."""
        if self.n_initial is not None:
            count, n_points = self.n_initial
        else:
            per_cluster = POINTS_FOR_EXCESS / target.value if target.above_best else POINTS_PER_CLUSTER
            n_points = math.ceil(per_cluster * rounds.n_clusters)
            count = ROWS_PER_POINT * n_points
        return count, rounds.within_budget(n_points)

    def _n_validation(self, rounds: Rounds, count: int) -> int:
        """Held-out rows that the next round is evaluated on, if it learns `count` rows."""
        if rounds.square_radius is None or self.target_ <= 0:
            wanted = max(MIN_VALIDATION, count * self.validation_fraction / (1 - self.validation_fraction))
        else:
            epsilon = self.target_ / 1.5
            each = 16 * 2 * rounds.square_radius * math.log(1 / (1 - self.confidence)) / epsilon
            wanted = (len(self.path_) + 1) * each
        if self.reference_ is not None:
            wanted = max(wanted, self.reference_.n_validation)  # both are then evaluated on the same rows
        return max(1, math.ceil(min(wanted, MAX_VALIDATION)))
