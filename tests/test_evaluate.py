"""Prequential evaluation: scores compared with those of all predictions together."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error

import modicum
from modicum.evaluate import METRICS, Prequential, prequential
from modicum.exceptions import DataError
from modicum.regress import KRLS
from modicum.regress.base import Regressor
from modicum.rules.invariants import Array

CHUNK = 50


class MeanSoFar(RegressorMixin, BaseEstimator):
    """Predicts the mean target, and keeps its predictions."""

    def fit(self, X, y):
        raise AssertionError("fit must not be called")

    def partial_fit(self, X, y, sample_weight=None):
        self.targets_ = np.append(getattr(self, "targets_", []), y)
        self.predictions_ = getattr(self, "predictions_", [])
        return self

    def predict(self, X, return_std=False):
        mean = np.full(len(X), self.targets_.mean())
        self.predictions_.append(mean)
        return (mean, np.full(len(X), self.targets_.std())) if return_std else mean


class ShareSoFar(ClassifierMixin, BaseEstimator):
    """Predicts the classes seen so far by their shares."""

    fit = MeanSoFar.fit

    def partial_fit(self, X, y):
        self.seen_ = np.append(getattr(self, "seen_", np.empty(0, int)), y)
        self.classes_, self.counts_ = np.unique(self.seen_, return_counts=True)
        self.predictions_ = getattr(self, "predictions_", [])
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        self.predictions_.append(np.tile(self.counts_ / self.counts_.sum(), (len(X), 1)))
        return self.predictions_[-1]


def data(count=500):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, 2)), np.cumsum(rng.normal(size=count))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("rmse", lambda y, predicted: np.sqrt(mean_squared_error(y, predicted))),
        ("mae", mean_absolute_error),
        ("nmse", lambda y, predicted: mean_squared_error(y, predicted) / y.var()),
        (None, lambda y, predicted: np.sqrt(mean_squared_error(y, predicted))),
        (mean_absolute_error, mean_absolute_error),
    ],
)
def test_scores_of_a_regressor(metric, expected):
    X, y = data()
    learner = MeanSoFar()
    result = prequential(learner, X, metric, target=y, chunk_size=CHUNK)
    predicted = np.concatenate(learner.predictions_)
    np.testing.assert_array_equal(result.n_seen, np.arange(2 * CHUNK, 501, CHUNK))  # the first chunk is not scored
    ends = (result.n_seen - CHUNK).astype(int)
    np.testing.assert_allclose(result.overall, [expected(y[CHUNK:][:end], predicted[:end]) for end in ends])
    assert result.score == result.overall[-1]
    assert result.metric in {*METRICS, "mean_absolute_error"}


def test_the_recent_score_fades():
    X, y = data()
    learner = MeanSoFar()
    result = prequential(learner, X, "mae", target=y, chunk_size=CHUNK, window=70)
    errors = np.abs(np.concatenate(learner.predictions_) - y[CHUNK:])
    weight = np.exp(-np.arange(len(errors))[::-1] / 70)
    assert result.recent[-1] == pytest.approx(np.average(errors, weights=weight))


def test_coverage_counts_targets_within_the_intervals():
    rng = np.random.default_rng(0)
    X, y = np.zeros((20_000, 1)), rng.normal(size=20_000)
    result = prequential(MeanSoFar(), X, "coverage", target=y, chunk_size=1000)
    assert result.score == pytest.approx(0.95, abs=0.01)


def test_scores_of_a_classifier():
    X = np.zeros((400, 1))
    y = np.random.default_rng(0).integers(2, size=400)
    learner = ShareSoFar()
    result = prequential(learner, X, "log_loss", target=y, chunk_size=100)
    assert result.score == pytest.approx(log_loss(y[100:], np.concatenate(learner.predictions_)))
    default = prequential(ShareSoFar(), X, target=y, chunk_size=100)
    assert default.metric == "accuracy"
    assert 0.3 < default.score < 0.7


def test_an_unseen_class_has_the_least_probability():
    y = np.repeat([0, 1, 2], 10)
    result = prequential(ShareSoFar(), np.zeros((30, 1)), "log_loss", target=y, chunk_size=10)
    assert result.overall[0] == pytest.approx(-np.log(1e-15))


@pytest.mark.parametrize("learner", [modicum.OnlineKMeans(3), modicum.ExemplarClustering(3, random_state=0)])
def test_clusterers_are_scored_by_their_loss(learner):
    X = np.random.default_rng(0).normal(size=(600, 2))
    distances = []
    result = prequential(
        learner, X, chunk_size=200, on_chunk=lambda learner: distances.append(learner.transform(X).min(axis=1))
    )
    assert result.metric == "loss"
    assert result.score == pytest.approx((distances[0][200:400].mean() + distances[1][400:].mean()) / 2)
    assert len(result.n_seen) == 2
    assert (result.nbytes > 0).all()


def test_weights_count():
    X, y = data(200)
    twice = np.where(np.arange(200) % 2, 2.0, 1.0)
    result = prequential(MeanSoFar(), modicum.stream(X, target=y, weight=twice, chunk_size=CHUNK), "mae")
    learner = MeanSoFar()
    prequential(learner, X, "mae", target=y, chunk_size=CHUNK)
    errors = np.abs(np.concatenate(learner.predictions_) - y[CHUNK:])
    assert result.score == pytest.approx(np.average(errors, weights=twice[CHUNK:]))


def test_a_learner_that_knows_something_is_scored_from_the_first_chunk():
    X, y = data()
    learner = KRLS(10).fit(X, y)
    result = prequential(learner, X, "nmse", target=y, chunk_size=100)
    np.testing.assert_array_equal(result.n_seen, np.arange(100, 501, 100))
    assert learner.n_seen_ == 1000
    assert (np.diff(result.seconds) > 0).all()


def test_streams_generators_and_other_estimators_are_accepted():
    X, y = data()
    chunks = ((X[i : i + CHUNK], y[i : i + CHUNK]) for i in range(0, 500, CHUNK))
    seen = []
    result = prequential(SGDRegressor(random_state=0), chunks, chunk_size=CHUNK, on_chunk=seen.append)
    assert len(seen) == 10
    assert len(result.n_seen) == 9
    assert np.isnan(result.nbytes).all()
    assert "rmse" in str(result)


def test_the_record_of_a_long_stream_has_bounded_size():
    X, y = np.zeros((3000, 1)), np.ones(3000)
    result = prequential(MeanSoFar(), X, target=y, chunk_size=1)
    assert 256 <= len(result.n_seen) <= 512
    assert result.n_seen[-1] == 3000


class KeepsTargets(Regressor):
    """Keeps all targets, and counts how often it is asked for its size."""

    _invariants = {"_kept": Array("float64", "n")}

    def _learn(self, X, y, weight, row_ids):
        self._kept = np.append(getattr(self, "_kept", np.zeros(0)), y)

    def predict(self, X):
        return np.zeros(len(X))

    @property
    def nbytes_(self):
        self._asked = getattr(self, "_asked", 0) + 1
        return self._kept.nbytes


@pytest.mark.parametrize("lag", [0, 30])
def test_bytes_are_those_after_each_chunk_and_seldom_added_up(lag):
    X, after = np.zeros((3000, 1)), [np.nan]
    learner = KeepsTargets()
    result = prequential(
        learner,
        X,
        target=X[:, 0],
        chunk_size=2,
        lag=lag,
        on_chunk=lambda it: after.append(8 * vars(it).get("n_seen_", 0)),
    )
    assert len(result.nbytes) > 300
    np.testing.assert_array_equal(result.nbytes, np.array(after)[result.n_seen.astype(int) // 2])
    assert learner._asked < 1000


def test_a_result_without_scores_says_so():
    result = prequential(KRLS(5), np.zeros((10, 1)), target=np.ones(10))
    assert isinstance(result, Prequential)
    assert np.isnan(result.score)
    assert "no rows were scored" in str(result)


def test_errors_say_what_is_missing():
    X, y = data(100)
    with pytest.raises(ValueError, match="one of rmse, mae, nmse"):
        prequential(KRLS(5), X, "mse", target=y)
    with pytest.raises(ValueError, match="got None"):
        prequential(modicum.Reservoir(5), X)
    with pytest.raises(ValueError, match="window"):
        prequential(KRLS(5), X, window=0, target=y)
    with pytest.raises(DataError, match="target"):
        prequential(KRLS(5).fit(X, y), X)


# ---- targets that come later, and changes --------------------------------------------------------------------------


class Journal(RegressorMixin, BaseEstimator):
    """Predicts 0, and notes how many rows it had learned when it predicted."""

    fit = MeanSoFar.fit

    def partial_fit(self, X, y):
        self.learned_ = [*getattr(self, "learned_", []), *X[:, 0]]
        self.at_ = getattr(self, "at_", [])
        return self

    def predict(self, X):
        self.at_ += [(int(x), len(self.learned_)) for x in X[:, 0]]
        return np.zeros(len(X))


@pytest.mark.parametrize(("lag", "chunk_size"), [(0, 10), (1, 10), (10, 10), (25, 10), (7, 3), (100, 32)])
def test_rows_are_learned_when_their_targets_are_known(lag, chunk_size):
    X = np.arange(200.0)[:, None]
    journal = Journal()
    prequential(journal, X, "mae", target=np.ones(200), chunk_size=chunk_size, lag=lag)
    assert journal.learned_ == X[:, 0].tolist()  # all rows, once, in order
    scored = dict(journal.at_)
    for row, known in scored.items():
        start = row - row % chunk_size
        assert known == max(0, start - lag)
    assert min(scored) == chunk_size * (1 + lag // chunk_size) if lag % chunk_size else chunk_size + lag


def test_a_rise_of_errors_is_found_where_it_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(0, 0.3, 6000)
    y[3500:] += 4 * X[3500:, 0]
    for metric in ("rmse", "mae", "nmse"):
        found = prequential(KRLS(30, kernel="linear"), X, metric, target=y, chunk_size=50).changes
        assert len(found) == 1
        assert 3400 < found[0].since <= 3700
        assert 3500 < found[0].row < 3800
    y[3500:] -= 4 * X[3500:, 0]
    still = prequential(KRLS(30, kernel="linear"), X, "rmse", target=y, chunk_size=50)
    assert still.changes == []
    assert "rose" not in str(still)


def test_a_rise_of_mistakes_is_told():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 2))
    y = (X[:, 0] > 0) ^ (np.arange(6000) >= 3000)
    found = prequential(modicum.StreamSVC(random_state=0), X, target=y.astype(int), chunk_size=50)
    assert [2900 < change.since < 3100 for change in found.changes] == [True]
    assert f"the error rose at about row {found.changes[0].since:,}" in str(found)


@pytest.mark.parametrize("lag", [-1, 1.5])
def test_lag_is_checked(lag):
    with pytest.raises(ValueError, match="lag must be"):
        prequential(KRLS(5), np.zeros((5, 1)), target=np.zeros(5), lag=lag)


@pytest.mark.parametrize("seed", range(3))
def test_errors_that_fall_and_stay_have_not_risen(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (6000, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_t(3, 6000)
    assert prequential(KRLS(60), X, "rmse", target=y, chunk_size=50).changes == []
