"""Unusual input: the classifier gives a sensible answer, or says what is wrong."""

import sys
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modicum import Learner, StreamSVC
from modicum.exceptions import BudgetError, DataError
from modicum.kernels import RBF

KINDS = {
    "full": {},
    "diagonal": {"ellipsoid": "diagonal"},
    "ball": {"C": 1.0, "ellipsoid": None, "n_initial": 64},
    "balls": {"C": 1.0, "n_balls": 3, "n_initial": 64},
    "kernel": {"C": 1.0, "kernel": "rbf", "n_initial": 64},
}
every_kind = pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)


def data(count=400, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4))
    return X, (X[:, 0] + noise * rng.normal(size=count) > 0).astype(int)


# ---- little to learn from -------------------------------------------------------------------------


@every_kind
def test_before_any_row(settings):
    X, _ = data()
    model = StreamSVC(**settings)
    for ask in (model.predict, model.decision_function, model.predict_proba, model.prepare, model.table):
        with pytest.raises(NotFittedError):
            ask(X)
    for name in ("classes_", "coef_", "intercept_", "radius_", "n_core_", "accuracy_", "confusion_", "history_"):
        assert not hasattr(model, name)


@every_kind
def test_an_empty_chunk_first(settings):
    X, y = data()
    model = StreamSVC(**settings, random_state=0).partial_fit(X[:0], y[:0])
    assert model.partial_fit(X, y).to_bytes() == StreamSVC(**settings, random_state=0).partial_fit(X, y).to_bytes()


@every_kind
def test_a_single_class(settings):
    X, _ = data()
    for count in (1, 400):
        model = StreamSVC(**settings).partial_fit(X[:count], np.full(count, 7))
        assert (model.predict(X) == 7).all()
        assert (model.predict_proba(X) == 1.0).all()
        assert not model.decision_function(X).any()
        assert model.classes_.tolist() == [7]
        assert model.accuracy_ == 1.0
        assert model.n_core_ >= 0
        assert len(model.radius_) <= 1
    assert Learner.from_bytes(model.to_bytes()).predict(X[:1]) == [7]


@every_kind
def test_two_rows(settings):
    X, _ = data()
    model = StreamSVC(**settings).partial_fit(X[:2], ["a", "b"])
    probability = model.predict_proba(X)
    assert np.isfinite(probability).all()
    assert set(model.predict(X)) <= {"a", "b"}


@pytest.mark.parametrize("name", ["full", "diagonal"])
def test_a_second_class_after_many_rows_of_the_first(name):
    X, y = data(4000)
    first = np.flatnonzero(y == 0)[:1000]
    order = np.append(first, np.setdiff1d(np.arange(4000), first))
    assert StreamSVC(**KINDS[name]).partial_fit(X[order], y[order]).score(X, y) > 0.85


# ---- strange values -------------------------------------------------------------------------------


@every_kind
def test_rows_of_zeros_and_constant_columns(settings):
    X, y = data()
    X[:, 2] = 3.7
    X[::5] = 0.0
    model = StreamSVC(**settings).partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X[X.any(axis=1)], y[X.any(axis=1)]) > 0.85
    nothing = StreamSVC(**settings).partial_fit(np.zeros((50, 3)), np.arange(50) % 2)
    assert np.isfinite(nothing.predict_proba(np.zeros((2, 3)))).all()


@every_kind
def test_copies_of_one_row(settings):
    X = np.ones((300, 3))
    model = StreamSVC(**settings).partial_fit(X, np.arange(300) % 3 == 0)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("factor", [1e-30, 1e15])
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse float64", "sparse float32"])
def test_any_unit_of_measure(kind, factor):
    X, y = data()
    scaled = (factor * X).astype(kind.split()[-1])
    scaled = sparse.csr_matrix(scaled) if "sparse" in kind else scaled
    assert StreamSVC().partial_fit(scaled, y).score(scaled, y) > 0.9


@pytest.mark.parametrize("factor", [1e-200, 1e45])
@pytest.mark.parametrize("center", [False, True])
def test_tiny_and_huge_numbers(factor, center):
    X, y = data()
    assert StreamSVC(1.0, center=center, scale=False).partial_fit(factor * X, y).score(factor * X, y) > 0.9


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_single_rows_are_refused_as_chunks_are(kind):
    X, y = data()
    X = X.astype(kind)
    model = StreamSVC(1.0, random_state=0).partial_fit(X, y).partial_fit(X[:1], y[:1])
    before = model.to_bytes()
    for value in (1e30 if kind == "float32" else 1e60, np.nan, np.inf):
        bad = X[:1].copy()
        bad[0, 1] = value
        with pytest.raises(ValueError, match="row 0, column 1"):
            model.partial_fit(bad, y[:1])
    assert model.to_bytes() == before


@pytest.mark.parametrize("outlier", [1e15, 1e30, 1e45])
@every_kind
def test_an_outlier_leaves_all_candidates_finite(settings, outlier):
    X, y = data()
    model = StreamSVC(**settings, random_state=0).partial_fit(X, y)
    X[5, 1] = outlier
    for _ in range(3):
        model.partial_fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
    assert Learner.from_bytes(model.to_bytes()).n_seen_ == model.n_seen_


@pytest.mark.parametrize("C", [1e-8, 1e10])
@every_kind
def test_extreme_values_of_C(settings, C):
    X, y = data(2000)
    model = StreamSVC(**{**settings, "C": C}).partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, y) > 0.65


@every_kind
def test_extreme_weights(settings):
    X, y = data()
    for weight in (np.full(400, 1e60), np.full(400, 1e-60), np.append(1e-60, np.full(399, 1e60))):
        model = StreamSVC(**settings).partial_fit(X, y, weight)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.score(X, y) > 0.8


@pytest.mark.parametrize("settings", [KINDS["full"], KINDS["diagonal"]])
def test_rows_of_little_weight_matter_little(settings):
    """Half of the rows have random labels; with very small weights they do hardly any harm."""
    X, y = data(3000)
    rng = np.random.default_rng(1)
    noisy = rng.random(3000) < 0.5
    given = np.where(noisy, rng.integers(0, 2, 3000), y)
    light = StreamSVC(**settings).partial_fit(X, given, np.where(noisy, 1e-3, 1.0))
    absent = StreamSVC(**settings).partial_fit(X, given, np.where(noisy, 0.0, 1.0))
    assert light.score(X, y) > absent.score(X, y) - 0.05


# ---- forms of the same rows -----------------------------------------------------------------------


@every_kind
def test_any_layout_of_memory(settings):
    X, y = data()
    expected = StreamSVC(**settings, random_state=0).partial_fit(X[:9], y[:9]).partial_fit(X[9:], y[9:]).to_bytes()
    read_only = X.copy()
    read_only.flags.writeable = False
    for form in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1], read_only, X.astype(">f8")):
        model = StreamSVC(**settings, random_state=0).partial_fit(form[:9], y[:9]).partial_fit(form[9:], y[9:])
        assert model.to_bytes() == expected


def unsorted(S):
    S = S.copy()
    for start, stop in zip(S.indptr[:-1], S.indptr[1:], strict=True):
        S.indices[start:stop], S.data[start:stop] = S.indices[start:stop][::-1].copy(), S.data[start:stop][::-1].copy()
    S.has_sorted_indices = False
    return S


def wide(S):
    S = S.copy()
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def split(S):
    """Every entry twice, half of it each time."""
    return sparse.csr_matrix((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)


@pytest.mark.parametrize("form", [unsorted, wide, split, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array])
@every_kind
def test_any_sparse_form(settings, form):
    X, y = data()
    X[np.abs(X) < 0.7] = 0.0
    X[5] = 0.0
    S = sparse.csr_matrix(X)
    model = StreamSVC(**settings, random_state=0).partial_fit(S, y)
    other = StreamSVC(**settings, random_state=0).partial_fit(form(S), y)
    np.testing.assert_allclose(other.decision_function(form(S)), model.decision_function(S), atol=1e-12)


def test_frames_and_series():
    pd = pytest.importorskip("pandas")
    X, y = data()
    frame = pd.DataFrame(X, columns=list("wxyz"))
    model = StreamSVC(random_state=0)
    for start in range(0, 400, 50):
        model.partial_fit(frame[start : start + 50], pd.Series(y)[start : start + 50])
    for i in range(5):
        model.partial_fit(frame[i : i + 1], y[i : i + 1])
    assert model.column_names_ == list("wxyz")
    assert model.n_seen_ == 405
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"z": "q"}), y)
    for labels in (pd.Categorical(np.where(y, "p", "q")), pd.array(np.where(y, "p", "q"), dtype="string")):
        assert StreamSVC(1.0).partial_fit(frame, labels).classes_.tolist() == ["p", "q"]


# ---- labels that change ---------------------------------------------------------------------------


def test_labels_of_changing_types():
    X, y = data()
    model = StreamSVC(1.0).partial_fit(X[:200], y[:200].astype(np.int8)).partial_fit(X[200:], y[200:] * 70000)
    assert model.classes_.tolist() == [0, 1, 70000]
    model = StreamSVC(1.0).partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:].astype(float))
    assert model.classes_.tolist() == [0, 1]
    model = (
        StreamSVC(1.0).partial_fit(X[:200], y[:200].astype(str)).partial_fit(X[200:], np.where(y[200:], "1", "long"))
    )
    assert model.classes_.tolist() == ["0", "1", "long"]
    with pytest.raises(DataError, match="booleans here and were numbers before"):
        StreamSVC(1.0).partial_fit(X, y).partial_fit(X, y == 1)


def test_large_labels_of_another_type_are_the_same():
    X, y = data()
    large = np.array([2**60, 2**60 + 1])[y]
    model = StreamSVC(1.0).partial_fit(X[:200], large[:200]).partial_fit(X[200:], large[200:].astype(np.uint64))
    assert model.classes_.tolist() == [2**60, 2**60 + 1]


def test_single_rows_with_labels_of_another_kind_are_refused():
    X, y = data()
    model = StreamSVC(1.0).partial_fit(X, y)
    model.partial_fit(X[:1], y[:1])
    for label in (np.array([True]), np.array(["1"]), np.array([0.5]), np.array([np.nan])):
        with pytest.raises(DataError):
            model.partial_fit(X[:1], label)
    bad = X[:1].copy()
    bad[0, 1] = np.nan
    with pytest.raises(DataError, match="row 0, column 1"):
        model.partial_fit(bad, y[:1])
    assert model.n_seen_ == model.confusion_.sum() == 401


def test_bytes_as_labels_are_saved():
    X, y = data()
    model = StreamSVC(1.0).partial_fit(X, np.where(y, b"p", b"qq"))
    assert Learner.from_bytes(model.to_bytes()).classes_.tolist() == [b"p", b"qq"]


def test_hundreds_of_classes():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(200, 30))
    y = np.concatenate([np.arange(200), rng.integers(0, 200, 2000)])
    X = centers[y] + 0.3 * rng.normal(size=(2200, 30))
    model = StreamSVC(10.0, center=True, scale=False).partial_fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.predict_proba(X[:3]).shape == (3, 200)


# ---- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [np.array([0, 1]), np.array([False, True]), np.array(["a", "b"])])
def test_class_weights_of_any_keys_are_saved_and_merged(labels):
    X, y = data()
    weights = {labels[0].item(): 2.0, labels[1].item(): 1.0}
    settings = {"C": 1.0, "center": True, "scale": False}
    labels = (
        y == 1
        if True in weights and isinstance(next(iter(weights)), bool)
        else np.where(y, "a", "b")
        if "a" in weights
        else y
    )
    sides = [StreamSVC(**settings, class_weight=dict(weights)).partial_fit(X, labels[y]) for _ in range(2)]
    again = Learner.from_bytes(sides[0].to_bytes())
    assert again.class_weight == weights
    assert sides[0].merge(sides[1]).n_seen_ == 800


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf, "heavy"])
def test_class_weights_are_positive_numbers(weight):
    X, y = data()
    with pytest.raises(ValueError, match="class_weight"):
        StreamSVC(class_weight={0: weight}).partial_fit(X, y)


def test_parameters_are_checked_when_they_change():
    X, y = data()
    model = StreamSVC().partial_fit(X, y)
    with pytest.raises(ValueError, match="class_weight must be"):
        model.set_params(class_weight="nonsense").partial_fit(X, y)


@pytest.mark.parametrize("name", ["center", "scale"])
def test_what_a_kernel_can_not_do_is_refused(name):
    X, y = data()
    with pytest.raises(ValueError, match=name):
        StreamSVC(kernel="rbf", **{name: True}).partial_fit(X, y)


@pytest.mark.parametrize(
    "settings", [{"lookahead": 1000}, {"n_initial": 5000}, {"n_initial": 300}, {"n_balls": 4, "n_initial": 100}]
)
def test_longer_than_the_stream(settings):
    X, y = data()
    model = StreamSVC(1.0, ellipsoid=None, **settings).partial_fit(X, y)
    assert model.score(X, y) > 0.8
    assert Learner.from_bytes(model.to_bytes()).partial_fit(X, y).n_seen_ == 800


@pytest.mark.parametrize("budget", [60, 200])
def test_a_budget_keeps_the_ball_in_few_dimensions(budget):
    """Many core vectors in a plane are nearly dependent."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = (X**2).sum(axis=1) > 1.4
    model = StreamSVC(1.0, kernel=RBF(1.0), n_initial=64, budget=budget).partial_fit(X, y)
    assert model.radius_[0] < 3.0
    assert model.score(X, y) > 0.8


def test_a_budget_too_small_for_its_machines():
    X, _ = data()
    with pytest.raises(BudgetError):
        StreamSVC(kernel="rbf", n_initial=32, budget=2).partial_fit(X, np.arange(400) % 5)


def test_core_vectors_come_back_when_there_is_room():
    """Once the first rows are released, core vectors use their share of the budget."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2000) > 0).astype(int)
    model = StreamSVC(1.0, kernel="rbf", budget="64 KiB")
    for start in range(0, 2000, 250):
        model.partial_fit(X[start : start + 250], y[start : start + 250])
        assert model.nbytes_ <= 2**16
    assert max(len(ball.alpha) for ball in model._classifier.kernel_balls) > 30


# ---- with others ----------------------------------------------------------------------------------


def test_it_works_with_scikit_learn_s_tools():
    X, y = data()
    grid = GridSearchCV(StreamSVC(random_state=0), {"C": [1.0, "auto", [1.0, 10.0]], "scale": [False, True]}, cv=2)
    assert grid.fit(X, y).best_score_ > 0.85
    assert cross_val_score(StreamSVC(class_weight={0: 1.0, 1: 2.0}), X, y, cv=3).min() > 0.8
    assert make_pipeline(StandardScaler(), StreamSVC()).fit(X, y).score(X, y) > 0.85
    probability = CalibratedClassifierCV(StreamSVC(), cv=2).fit(X, y).predict_proba(X)
    assert np.mean(probability.argmax(axis=1) == y) > 0.85
    fitted = StreamSVC([1.0, 2.0]).fit(X, y)
    assert clone(fitted).get_params() == fitted.get_params()


@every_kind
def test_fitting_forgets(settings):
    X, y = data()
    model = StreamSVC(**settings, random_state=0).partial_fit(-X, y)
    model.partial_fit(X[:1], y[:1])
    assert model.fit(X, y).to_bytes() == StreamSVC(**settings, random_state=0).fit(X, y).to_bytes()


def test_several_threads_may_ask_while_rows_are_on_the_tray():
    X, y = data(550)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            model = StreamSVC(random_state=0).partial_fit(X[:500], y[:500])
            for i in range(500, 550):
                model.partial_fit(X[i : i + 1], y[i : i + 1])
            expected = StreamSVC(random_state=0).partial_fit(X, y).decision_function(X)
            assert_all_see(model, X, expected)
    finally:
        sys.setswitchinterval(interval)


def assert_all_see(model, X, expected, threads=4):
    answers, together = [], threading.Barrier(threads)

    def ask():
        together.wait()
        answers.append(model.decision_function(X))

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(answers) == threads
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)


@every_kind
def test_what_is_held_is_what_is_said(settings):
    X, y = data(3000)
    model = StreamSVC(**settings, random_state=0)
    sizes = []
    for start in range(0, 3000, 300):
        model.partial_fit(X[start : start + 300], y[start : start + 300])
        sizes.append(model.nbytes_)
    blob = model.to_bytes()
    arrays = len(blob) - 8 - int.from_bytes(blob[:8], "little")
    assert arrays <= model.nbytes_ <= arrays + 2**13  # the tray and single numbers are not in the arrays
    if "kernel" not in settings:
        assert sizes[-1] <= max(sizes[:5])


def test_zero_rows_take_part_in_the_margin():
    """A row of zeros is shorter than others: the bound must not assume unit length."""
    X, _ = data(200)
    X[::4] = 0.0
    y = X[:, 0] > -0.1
    model = StreamSVC(1.0, ellipsoid=None, center=False, n_initial=64).partial_fit(X, y)
    proven = model.guarantee()
    assert np.isnan(proven.margin[0]) or proven.margin[0] <= 0.0


def test_classes_without_weight_are_absent():
    X, y = data()
    weight = np.append(np.zeros(5), np.ones(395))
    assert StreamSVC(1.0).fit(X, np.append(np.full(5, 9), y[5:]), weight).classes_.tolist() == [0, 1]
