"""Balls where a class is rare: first rows wait, classes are initialised with in turn, and every row is enclosed."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from modicum import Learner, StreamSVC
from modicum.svm import candidates
from modicum.svm.ball import Ball
from modicum.svm.ellipsoid import Full
from modicum.svm.enclosing import enclose
from modicum.svm.first_rows import FirstRows, is_rare
from modicum.svm.intercept import EAGERNESS, WithIntercept

PLAIN = {"ellipsoid": None, "center": False, "fit_intercept": False, "n_initial": 8}
KINDS = {
    "ball": {"ellipsoid": None, "n_initial": 8},
    "ball, one C": {"C": 2.0, "ellipsoid": None, "n_initial": 8, "lookahead": 3, "class_weight": "balanced"},
    "balls": {"C": 1.0, "n_balls": 3, "n_initial": 8},
    "kernel": {"C": 10.0, "kernel": "rbf", "n_initial": 8},
    "kernel with a budget": {"C": [1.0, 10.0], "kernel": "rbf", "n_initial": 8, "budget": 200},
}
every_kind = pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)


def data(count=1000, rare=0.03, seed=0, width=6, gap=2.0):
    """Two classes; the positive one is rare, and evenly spread."""
    rng = np.random.default_rng(seed)
    period = round(1 / rare)
    y = (np.arange(count) % period == period - 3).astype(int)
    X = rng.normal(size=(count, width)) + 1.0
    X[:, 0] += gap * y
    X[:, 1] -= gap * y
    return X, y


def held(model):
    return model._learned().n_first_rows


# ---- the first rows ----------------------------------------------------------------------------------


def in_turn(codes, limit):
    """Numbers of the rows that are taken from the classes in turn; among rows of the same turn, the first ones."""
    queues = {code: [i for i in range(len(codes)) if codes[i] == code] for code in set(codes)}
    chosen = []
    while len(chosen) < min(limit, len(codes)):
        turn = sorted(queue.pop(0) for queue in queues.values() if queue)
        chosen += turn[: limit - len(chosen)]
    return sorted(chosen)


@pytest.mark.parametrize("shares", [[0.97, 0.03], [0.5, 0.5], [0.8, 0.1, 0.07, 0.03], [1.0]])
@pytest.mark.parametrize("limit", [2, 10, 64, 300])
def test_rows_are_chosen_from_the_classes_in_turn_and_none_is_lost(shares, limit):
    codes = np.random.default_rng(0).choice(len(shares), size=200, p=shares)
    first = FirstRows(np.zeros((1, 2)), limit, 300)
    first.append(np.zeros((200, 2)), codes, np.ones(200))
    chosen, others = first.split
    assert chosen.tolist() == in_turn(codes.tolist(), limit)
    assert others.tolist() == sorted(set(range(200)) - set(chosen.tolist()))


@pytest.mark.parametrize(("counts", "answer"), [([90, 10], False), ([97, 3], True), ([5, 0], True), ([20] * 9, False)])
def test_a_class_is_rare_below_a_tenth_of_an_even_share(counts, answer):
    assert is_rare(np.array(counts)) is answer


def test_rows_wait_only_for_rare_classes():
    X, y = data(200)
    even = np.arange(200) % 2
    for labels, still in ((even, 0), (y, 100)):
        model = StreamSVC(**PLAIN).partial_fit(X[:100], labels[:100])
        assert held(model) == still
        assert held(model.partial_fit(X[100:], labels[100:])) == 0  # 16 times as many as to initialise with, or nearly


def test_rows_wait_until_the_class_is_not_rare_any_more():
    X, _ = data(64)
    y = np.zeros(64, int)
    y[20:40] = 1
    model = StreamSVC(**PLAIN).partial_fit(X[:31], y[:31])
    assert held(model) == 31
    assert held(model.partial_fit(X[31:32], y[31:32])) == 0


@pytest.mark.parametrize("announces", [False, True])
def test_rows_wait_for_a_second_class(announces):
    X, _ = data(200)
    more = {"classes": [0, 1]} if announces else {}
    model = StreamSVC(**PLAIN).partial_fit(X[:100], np.zeros(100, int), **more)
    assert held(model) == 100
    assert held(model.partial_fit(X[100:], np.zeros(100, int))) == 0


# ---- the same as an obvious twin -----------------------------------------------------------------------


def points(X, y, C):
    """[sign z ; e_n / sqrt(C)] for each row, with z of unit length."""
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    return np.hstack([np.where(y == 1, 1.0, -1.0)[:, None] * Z, np.eye(len(y)) / np.sqrt(C)])


class Explicit:
    """The smallest ball around some points, enlarged point by point: the center in all dimensions."""

    def __init__(self, P, lookahead):
        weights, self.radius = enclose(P @ P.T, np.zeros(len(P)))
        self.center, self.lookahead, self.buffered = weights @ P, lookahead, []

    def learn(self, point):
        if np.linalg.norm(point - self.center) > self.radius:
            self.buffered.append(point)
            if len(self.buffered) == self.lookahead:
                self.enclose()

    def enclose(self):
        P = np.vstack([self.center, *self.buffered])
        weights, self.radius = enclose(P @ P.T, np.append(self.radius, np.zeros(len(self.buffered))))
        self.center, self.buffered = weights @ P, []


def twin_of_the_start(P, codes, count, lookahead, limit=8, room=128):
    """The ball after `count` rows of which one class is rare: initialised at the last power of two up to `room`."""
    start = min(2 ** int(np.log2(count)), room)
    chosen = in_turn(codes[:start].tolist(), limit)
    order = chosen + sorted(set(range(count)) - set(chosen))
    ball = Explicit(P[chosen], lookahead)
    for i in order[len(chosen) :]:
        ball.learn(P[i])
    if ball.buffered:
        ball.enclose()
    return ball


@pytest.mark.parametrize("lookahead", [1, 4])
@pytest.mark.parametrize("order", ["mixed", "sorted"])
@pytest.mark.parametrize("count", [12, 40, 63, 64, 100, 127, 128, 400])
def test_a_balanced_start_is_that_of_balls_in_all_dimensions(order, count, lookahead):
    """Also while rows wait, and with rows buffered: every row is inside, the radius as small as proven."""
    X, y = data(count, seed=1)
    if order == "sorted":
        X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    P = points(X, y, 2.0)
    twin = twin_of_the_start(P, y, count, lookahead)
    model = StreamSVC(2.0, **PLAIN, lookahead=lookahead)
    for start in range(0, count, 7):
        model.partial_fit(X[start : start + 7], y[start : start + 7])
    np.testing.assert_allclose(model.coef_[0], twin.center[:6], atol=1e-8)
    assert model.radius_[0] == pytest.approx(twin.radius, rel=1e-9)
    assert np.linalg.norm(P - twin.center, axis=1).max() <= model.radius_[0] * (1 + 1e-9)
    least = enclose(P @ P.T, np.zeros(count))[1]
    proven = model.guarantee()
    assert proven.least_radius[0] <= least * (1 + 1e-9) <= model.radius_[0] * (1 + 2e-9)
    assert model.radius_[0] <= 1.5 * least or lookahead > 1
    products = P @ np.append(model.coef_[0], twin.center[6:]) / np.linalg.norm(twin.center)
    assert products.min() >= proven.margin[0] - 1e-9


def test_a_line_is_fitted_again_to_all_rows():
    X, y = data(60)
    sign, cost, weight = np.where(y == 1, 1.0, -1.0), np.full(60, 2.0), np.linspace(0.5, 2.0, 60)
    machine, ball, line = WithIntercept(Ball(6, 3)), Ball(6, 3), Full(2)
    machine.learn(-X, sign, cost)  # a line that has to be forgotten
    chosen, others = np.arange(0, 60, 2), np.arange(1, 60, 2)
    for each in (machine, ball):
        each.initialize(X[chosen], sign[chosen], cost[chosen])
        each.replay(X, sign, cost, weight, others)
    bare = ball.decide(X)
    lined = line.learn(np.column_stack([bare, np.ones(60)]), sign, EAGERNESS * cost, weight)
    np.testing.assert_array_equal(machine.line.coef, line.coef)
    wrong = [float(weight @ (decisions * sign <= 0.0)) for decisions in (bare, lined)]
    np.testing.assert_allclose(machine.mistakes, wrong)


# ---- what it is worth ----------------------------------------------------------------------------------


@pytest.fixture
def no_wait(monkeypatch):
    def stop():
        monkeypatch.setattr(candidates, "WAIT", 1)

    return stop


def auc(model, seed=9):
    X, y = data(4000, rare=0.3, seed=seed, width=20, gap=1.0)
    return roc_auc_score(y, model.decision_function(X))


@pytest.mark.parametrize(
    "settings",
    [
        {"ellipsoid": None},
        {"ellipsoid": None, "class_weight": "balanced"},
        {"kernel": "rbf", "class_weight": "balanced"},
    ],
)
@pytest.mark.filterwarnings("ignore:StreamSVC. only 2.0%")
def test_a_rare_class_is_ranked_better_than_without_waiting(settings, no_wait):
    X, y = data(3000, rare=0.02, width=20, gap=1.0)
    waited = auc(StreamSVC(**settings, n_initial=64).fit(X, y))
    no_wait()
    assert waited > auc(StreamSVC(**settings, n_initial=64).fit(X, y)) + 0.03


@pytest.mark.parametrize("settings", [{"ellipsoid": None}, {"kernel": "rbf"}])
def test_weighted_balls_find_a_rare_class(settings):
    X, y = data(5000, rare=0.02)
    model = StreamSVC(**settings, class_weight="balanced").fit(X, y)
    X, y = data(5000, rare=0.02, seed=5)
    assert balanced_accuracy_score(y, model.predict(X)) > 0.85


@every_kind
def test_sorted_rows(settings):
    X, y = data(600, rare=0.05)
    order = np.argsort(y, kind="stable")
    model = StreamSVC(**settings)
    for rows in np.array_split(order, 20):
        model.partial_fit(X[rows], y[rows])
    assert roc_auc_score(y, model.decision_function(X)) > 0.75


@every_kind
@pytest.mark.parametrize(("start", "least"), [(100, 0.75), (140, 0.5)])  # while rows wait, and when balls are large
def test_a_late_rare_class(settings, start, least):
    X, y = data(1000, rare=0.1)
    y = y * 2
    y[:start] = np.arange(start) % 25 == 0  # the rare class from before
    y[y == 1] = np.where(np.arange((y == 1).sum()) % 2, 1, 0)
    model = StreamSVC(**settings)
    for begin in range(0, 1000, 50):
        model.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
    late = model.decision_function(X[start:])[:, list(model.classes_).index(2)]
    assert roc_auc_score(y[start:] == 2, late) > least
    assert (model.guarantee().least_radius <= model.radius_).all()


def test_no_candidate_is_dropped_while_rows_wait():
    X, y = data(4097, rare=0.01)
    model = StreamSVC(ellipsoid=None, n_initial=256, class_weight="balanced").partial_fit(X[:4096], y[:4096])
    assert held(model) == 0
    assert len(model.candidates_) == 6
    assert len(model.partial_fit(X, y).candidates_) == 3


# ---- any chunks, files, merges, budgets ------------------------------------------------------------------


@pytest.mark.parametrize("settings", [KINDS["ball"], KINDS["ball, one C"], KINDS["balls"]])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_any_chunks_give_the_same_bits(settings, kind):
    X, y = data(300)
    if kind is sparse.csr_matrix:
        X[X < 0.5] = 0.0
    weight = np.random.default_rng(0).integers(0, 3, size=300)
    X, whole = kind(X), StreamSVC(**settings).partial_fit(kind(X), y, weight)
    for size in (1, 33, 150):
        model = StreamSVC(**settings)
        for start in range(0, 300, size):
            model.partial_fit(X[start : start + size], y[start : start + size], weight[start : start + size])
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        np.testing.assert_array_equal(model.radius_, whole.radius_)


@every_kind
@pytest.mark.parametrize("stop", [20, 100, 131])
def test_questions_copies_and_files_while_rows_wait_change_nothing(settings, stop):
    X, y = data(400)
    model = StreamSVC(**settings, random_state=0).partial_fit(X[:stop], y[:stop])
    asked = copy.deepcopy(model)
    asked.predict(X)
    loaded, copied = Learner.from_bytes(asked.to_bytes()), copy.deepcopy(asked)
    expected = model.partial_fit(X[stop:], y[stop:]).to_bytes()
    for other in (asked, loaded, copied):
        assert other.partial_fit(X[stop:], y[stop:]).to_bytes() == expected


def test_a_state_from_before_rows_waited_goes_on():
    X, y = data(400)
    model = StreamSVC(**PLAIN).partial_fit(X[:5], y[:5])
    del model._classifier.first.room
    old = Learner.from_bytes(model.to_bytes())
    assert held(old) == 5
    assert held(old.partial_fit(X[5:20], y[5:20])) == 0
    assert old.partial_fit(X[20:], y[20:]).guarantee().radius[0] > 0.0


@every_kind
@pytest.mark.parametrize(("mine", "theirs"), [((0, 400), (400, 460)), ((400, 460), (0, 400)), ((0, 60), (400, 460))])
def test_a_side_whose_rows_wait_is_merged_row_by_row(settings, mine, theirs):
    X, y = data(500)
    sides = [StreamSVC(**settings).partial_fit(X[slice(*part)], y[slice(*part)]) for part in (mine, theirs)]
    assert sum(map(held, sides)) >= 60
    first, then = (mine, theirs) if held(sides[1]) else (theirs, mine)
    expected = StreamSVC(**settings).partial_fit(X[slice(*first)], y[slice(*first)])
    expected.partial_fit(X[slice(*then)], y[slice(*then)])
    merged = sides[0].merge(sides[1])
    np.testing.assert_allclose(merged.decision_function(X), expected.decision_function(X), atol=1e-9)
    assert merged.n_seen_ == expected.n_seen_


@every_kind
def test_waiting_rows_are_planned_for_and_counted(settings):
    X, y = data(400, rare=0.01)
    most = StreamSVC(**settings).plan(6)
    model = StreamSVC(**settings)
    for start in range(0, 400, 20):
        model.partial_fit(X[start : start + 20], y[start : start + 20])
        assert model.nbytes_ <= most.nbytes
        assert held(model) <= model.n_retained_ <= most.rows
    smaller = StreamSVC(**settings).partial_fit(X[:60], y[:60])
    assert smaller.nbytes_ > held(smaller) * X[0].nbytes > 0


def test_linear_balls_with_a_budget_do_not_wait():
    """They have a fixed size, which must fit."""
    X, y = data(100)
    least = StreamSVC(**PLAIN, budget="1 MiB").plan(6).nbytes
    model = StreamSVC(**PLAIN, budget=f"{least} B").partial_fit(X, y)
    assert held(model) == 0
    assert least < StreamSVC(**PLAIN).plan(6).nbytes
