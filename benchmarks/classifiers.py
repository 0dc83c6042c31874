"""Tasks of rai2009, and one-pass linear learners to compare StreamSVC with.

Parameters are chosen once, on a held-out fifth of the training rows, and are then the same for all orderings. So is
the preparation of rows for peers, with the mean and spread of all training rows known beforehand; StreamSVC prepares
its rows itself, as they come.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.svm import LinearSVC

from modicum import StreamSVC, datasets
from svm_peers import LASVM, Pegasos
from workers import grouped

# ---- tasks: (rows, signs, test rows, test signs) ----------------------------------------------------------


def digit_pair(positive, negative):
    """Pixels from 0 to 1."""
    X, y, X_test, y_test = datasets.mnist()
    parts = []
    for rows, digits in ((X, y), (X_test, y_test)):
        chosen = np.isin(digits, (positive, negative))
        parts += [rows[chosen] / 255, np.where(digits[chosen] == positive, 1, -1)]
    return parts


def ijcnn1():
    X, y, X_test, y_test = datasets.ijcnn1()
    return X[:35000], y[:35000], X_test, y_test


def waveform():
    """The second class against the others: the one on which the batch machine comes nearest to the paper's 89.4."""
    return split(*datasets.waveform(5000), 4000, positive=1)


def gaussians(n_columns):
    return split(*datasets.two_gaussians(40000, n_columns), 20000, positive=1)


def split(X, y, n_train, positive):
    sign = np.where(y == positive, 1, -1)
    return X[:n_train], sign[:n_train], X[n_train:], sign[n_train:]


def ten_digits():
    """All classes of MNIST, in float32."""
    X, y, X_test, y_test = datasets.mnist()
    return X / np.float32(255), y, X_test / np.float32(255), y_test


EIGHT_NINE, TEN_DIGITS = "MNIST 8v9", "MNIST, ten digits"
TASKS = {  # of Table 1
    "MNIST 0v1": partial(digit_pair, 0, 1),
    EIGHT_NINE: partial(digit_pair, 8, 9),
    "IJCNN1": ijcnn1,
    "Waveform": waveform,
    "Synthetic A": partial(gaussians, 2),
    "Synthetic B": partial(gaussians, 3),
    "Synthetic C": partial(gaussians, 5),
}
AS_GIVEN = "as given"
PREPARATIONS = [
    ", ".join(filter(None, parts))
    for parts in itertools.product((AS_GIVEN, "centered", "standardized"), ("", "unit norm"))
]


@lru_cache(maxsize=1)
def task(name):
    return ten_digits() if name == TEN_DIGITS else TASKS[name]()


@lru_cache(maxsize=6)
def prepared_task(name, preparation=AS_GIVEN, held_back=False, most=None):
    """A task with its rows prepared, at most `most` of them.

    With `held_back` a random fifth of the training rows replace the test rows.
    """
    X, y, X_test, y_test = task(name)
    if held_back:
        order = np.random.default_rng(12345).permutation(len(X))
        fifth, rest = np.split(order, [len(X) // 5])
        X, y, X_test, y_test = X[rest], y[rest], X[fifth], y[fifth]
    X, y = X[:most], y[:most]
    return *prepared(X, X_test, preparation), y, y_test


def prepared(X, X_test, preparation):
    """Training and test rows, with the mean and spread of training rows."""
    if not preparation.startswith(AS_GIVEN):
        spread = X.std(axis=0) if preparation.startswith("standardized") else np.ones(X.shape[1])
        mean, spread = X.mean(axis=0), np.where(spread > 0, spread, 1)
        X, X_test = (X - mean) / spread, (X_test - mean) / spread
    if preparation.endswith("unit norm"):
        X, X_test = unit_rows(X), unit_rows(X_test)
    return X, X_test


def unit_rows(X):
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norm > 0, norm, 1)


# ---- contestants --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contestant:
    """A learner, and what is chosen for it on held-out training rows."""

    make: Callable[..., Any]  # (**options) -> an estimator
    grid: tuple[dict[str, Any], ...] = ({},)
    trials: int = 3  # orderings that decide
    most: int | None = None  # rows that decide
    is_prepared: bool = True  # the preparation of rows is chosen, too
    is_batch: bool = False  # the order of rows makes no difference
    is_ours: bool = False


def options(**values):
    """All combinations of the values."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))


def one_epoch(loss="hinge", **more):
    """Stochastic gradient descent over rows in their order."""
    return SGDClassifier(loss=loss, max_iter=1, tol=None, shuffle=False, **more)


def passive_aggressive(C):
    """PA-I; scikit-learn's own class for it is gone after 1.9."""
    return one_epoch(penalty=None, learning_rate="pa1", eta0=C)


def ball(center_and_scale, **more):
    center, scale = center_and_scale
    return StreamSVC(ellipsoid=None, center=center, scale=scale, **more)


def ours(make, grid=({},), **more):
    return Contestant(make, grid, is_prepared=False, is_ours=True, **more)


BATCH, MAJORITY, LA_SVM = "batch LinearSVC", "most frequent class", "LASVM"
ALGORITHM_1, ALGORITHM_2 = "Algorithm 1", "Algorithm 2, L = 10"
INITIALISED_1, INITIALISED_2 = (f"{name}, initialised with the first 512 rows" for name in (ALGORITHM_1, ALGORITHM_2))
AUTO = "auto"
RATES = options(alpha=(1e-6, 1e-5, 1e-4, 1e-3, 1e-2))
PEGASOS = options(regularization=(1e-5, 1e-4, 1e-3, 1e-2), fit_intercept=(False, True))
STEPS = ((False, False), (True, False), (True, True))  # whether to center rows, and whether to scale columns
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
PRINTED = options(C=COSTS, center_and_scale=STEPS, fit_intercept=(False,), n_initial=(1,))  # as rai2009 has it
INITIALISED = options(C=COSTS, center_and_scale=STEPS, fit_intercept=(False, True), n_initial=(512,))
CONTESTANTS = {
    BATCH: Contestant(
        partial(LinearSVC, dual="auto", max_iter=200), options(C=(0.01, 0.1, 1.0, 10.0)), trials=1, is_batch=True
    ),
    MAJORITY: Contestant(partial(DummyClassifier, strategy="most_frequent"), is_prepared=False, is_batch=True),
    "Perceptron": Contestant(partial(Perceptron, max_iter=1, tol=None, shuffle=False)),
    "Pegasos, k = 1": Contestant(partial(Pegasos, 1), PEGASOS),
    "Pegasos, k = 20": Contestant(partial(Pegasos, 20), PEGASOS),
    "passive-aggressive": Contestant(passive_aggressive, options(C=(0.001, 0.01, 0.1, 1.0))),
    "SGD": Contestant(one_epoch, RATES),
    "SGD, averaged": Contestant(partial(one_epoch, average=True), RATES),
    LA_SVM: Contestant(LASVM, options(C=(0.1, 1.0)), trials=1, most=3000),
    ALGORITHM_1: ours(partial(ball, lookahead=1), PRINTED, trials=10),
    ALGORITHM_2: ours(partial(ball, lookahead=10), PRINTED, trials=5),
    "10 balls": ours(partial(ball, n_balls=10), PRINTED, trials=5),
    INITIALISED_1: ours(partial(ball, lookahead=1), INITIALISED, trials=2),
    INITIALISED_2: ours(partial(ball, lookahead=10), INITIALISED, trials=2),
    "diagonal": ours(partial(StreamSVC, ellipsoid="diagonal")),
    "full": ours(partial(StreamSVC, ellipsoid="full")),
    AUTO: ours(StreamSVC),
}


# ---- runs ---------------------------------------------------------------------------------------------------


def run(name, task_name, preparation, chosen, seed, most=None, held_back=False):
    """One pass over one ordering: accuracy in percent, seconds, and bytes that the learner holds afterwards."""
    X, X_test, y, y_test = prepared_task(task_name, preparation, held_back, most)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    model = CONTESTANTS[name].make(**chosen)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    accuracy = 100 * float(np.mean(model.predict(X_test) == y_test))
    return {"accuracy": accuracy, "seconds": seconds, "held_bytes": held_bytes(model, X.shape[1])}


def held_bytes(model, width):
    if isinstance(model, StreamSVC):
        return model.nbytes_
    if isinstance(model, DummyClassifier):
        return 8
    kept = model.n_kept_ if isinstance(model, LASVM) else 0
    return model.coef_.nbytes + 8 + kept * 8 * (width + 2)  # a row, its coefficient and its gradient


def choose(names, task_name, most=None, spread=map):
    """{name: (preparation, options)}: what suited each contestant best on held-out training rows."""
    cases = []
    for name in names:
        found = CONTESTANTS[name]
        preparations = PREPARATIONS if found.is_prepared else [AS_GIVEN]
        choices = list(itertools.product(preparations, found.grid))
        if len(choices) > 1:
            cases += [(name, *choice) for choice in choices]
    jobs = [
        (name, task_name, preparation, chosen, 1000 + trial, smaller(most, CONTESTANTS[name].most), True)
        for name, preparation, chosen in cases
        for trial in range(CONTESTANTS[name].trials)
    ]
    keys = [(name, preparation, tuple(chosen.items())) for name, _, preparation, chosen, *_ in jobs]
    best = {}
    for (name, *choice), runs in grouped(keys, spread(run_job, jobs)).items():
        score = np.mean([run["accuracy"] for run in runs])
        if name not in best or score > best[name][0]:
            best[name] = score, choice
    found = {name: (preparation, dict(items)) for name, (_, (preparation, items)) in best.items()}
    return {name: found.get(name, (AS_GIVEN, {})) for name in names}


def smaller(*limits):
    return min((limit for limit in limits if limit is not None), default=None)


def run_job(job):
    return run(*job)


def measure(names, task_name, orderings, most, spread, choice_rows=None):
    """A row of a table for each contestant, settings chosen before; the batch machine has one ordering."""
    chosen = choose(names, task_name, smaller(most, choice_rows), spread)
    jobs = [
        (name, task_name, *chosen[name], seed, most)
        for name in names
        for seed in range(1 if CONTESTANTS[name].is_batch else orderings)
    ]
    runs = grouped((job[0] for job in jobs), spread(run_job, jobs))
    return [{"learner": name, **summary(runs[name]), **setting(name, *chosen[name])} for name in names]


def summary(runs):
    """Accuracies of several orderings."""
    accuracy = [run["accuracy"] for run in runs]
    return {
        "mean": float(np.mean(accuracy)),
        "deviation": float(np.std(accuracy, ddof=1)) if len(runs) > 1 else None,
        "lowest": min(accuracy),
        "seconds": float(np.median([run["seconds"] for run in runs])),
        "held_kib": float(np.median([run["held_bytes"] for run in runs])) / 1024,
        "orderings": len(runs),
        "accuracies": accuracy,
    }


def setting(name, preparation, chosen):
    return {
        "preparation": preparation if CONTESTANTS[name].is_prepared else "",
        "setting": ", ".join(f"{key} {value}" for key, value in chosen.items()),
    }
