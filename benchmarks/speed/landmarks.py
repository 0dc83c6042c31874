"""Regression on a fixed number of rows: PrototypeRegressor and KRLS against Nystroem and Ridge of scikit-learn.

    python benchmarks/speed/landmarks.py [--quick]

200 rows are kept to predict with (50 for Boston), by all contestants. RMSE of test rows, over splits; one thread. Ours
learn rows as they come, with their defaults, in one pass. The peer standardizes columns and has all rows in memory;
its width (5 of them) and its penalty (9) are those with the smallest error on a fifth of the training rows. Ours as
before are with the defaults of earlier checkouts: prototypes that differ most, and one width for all columns.
Seconds are those of learning, the peer's choice included. Unscaled: columns times 1 to 1,000, at random.
"""

import os
import statistics
import sys
import warnings
from pathlib import Path

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}  # before numpy is loaded

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Meter, Result, arguments, data_file

COMMAND = "python benchmarks/speed/landmarks.py"
WIDTHS, PENALTIES = (0.25, 0.5, 1.0, 2.0, 4.0), 10.0 ** np.arange(-7, 2)  # widths in units of the square root of d
PEER, PROTOTYPES, KRLS = "scikit-learn Nystroem + Ridge", "modicum PrototypeRegressor", "modicum KRLS"


# ---- data: seed -> all rows and targets, and how many of them are for training and for tests ----------------


def kin40k(rng):
    found = data_file("kin40k.npz")
    return found["x_train"], found["y_train"].ravel(), found["x_test"], found["y_test"].ravel()


def telemonitoring(rng):
    found = data_file("parkinsons_telemonitoring.npz")["x"]  # columns 0, 4 and 5: the subject and both targets
    return split(np.delete(found, [0, 4, 5], axis=1), found[:, 4], 4000, rng)


def boston(rng):
    found = data_file("boston_housing.npz")["x"]
    return split(found[:, :-1], found[:, -1], 400, rng)


def friedman(rng):
    """friedman1991: ten uniform columns, of which five matter."""
    return additive(rng, rng.uniform(size=(13_000, 10)))


def heavy_tails(rng):
    """The same of columns with Student's distribution, 2.5 degrees of freedom."""
    return additive(rng, 0.5 + 0.3 * rng.standard_t(2.5, size=(13_000, 10)))


def additive(rng, X):
    a, b, c, d, e = np.clip(X.T[:5], -3, 4)
    y = 10 * np.sin(np.pi * a * np.clip(b, -2, 3)) + 20 * (np.clip(c, -1, 2) - 0.5) ** 2 + 10 * d + 5 * e
    return split(X, y + rng.normal(size=len(X)), 8000, rng)


def split(X, y, n_train, rng):
    order = rng.permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


DATA = {  # how they are made, and the rows kept to predict with
    "KIN40K": (kin40k, 200),
    "telemonitoring": (telemonitoring, 200),
    "Boston": (boston, 50),
    "Friedman": (friedman, 200),
    "heavy tails": (heavy_tails, 200),
}


def unscaled(X, other, rng):
    scales = 10 ** rng.uniform(0, 3, X.shape[1])
    return X * scales, other * scales


# ---- contestants: (X, y, m, seed) -> predict ----------------------------------------------------------------


def nystroem(X, y, m, seed):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    n_first, found = len(y) - len(y) // 5, (np.inf, None)
    for width in WIDTHS:
        features = make_pipeline(
            StandardScaler(), Nystroem(gamma=1 / (2 * width**2 * X.shape[1]), n_components=m, random_state=seed)
        ).fit(X[:n_first])
        F = features.transform(X)
        for penalty in PENALTIES:
            fitted = Ridge(penalty).fit(F[:n_first], y[:n_first])
            error = np.mean((fitted.predict(F[n_first:]) - y[n_first:]) ** 2)
            found = min(found, (error, (features, penalty)), key=lambda pair: pair[0])
    features, penalty = found[1]
    return make_pipeline(features, Ridge(penalty)).fit(X, y).predict


def prototypes(X, y, m, seed):
    from modicum import PrototypeRegressor

    return PrototypeRegressor(n_prototypes=m, random_state=seed).fit(X, y).predict


def prototypes_before(X, y, m, seed):
    from modicum import BlockGreedy, PrototypeRegressor

    selector = BlockGreedy(m)
    return PrototypeRegressor(selector, regularization=1e-3, n_points=2000, random_state=seed).fit(X, y).predict


def krls(X, y, m, seed):
    from modicum import KRLS

    return KRLS(m).fit(X, y).predict


def krls_before(X, y, m, seed):
    from modicum import KRLS

    return KRLS(m, kernel="rbf", ald_threshold=1e-3, regularization=0.1).fit(X, y).predict


CONTESTANTS = {
    PROTOTYPES: prototypes,
    f"{PROTOTYPES}, before": prototypes_before,
    KRLS: krls,
    f"{KRLS}, before": krls_before,
    PEER: nystroem,
}
COLUMNS = [
    ("data", "data", ""),
    ("contestant", "contestant", ""),
    ("rmse", "test RMSE", ".3f"),
    ("relative", "RMSE / deviation of targets", ".3f"),
    ("seconds", "seconds", ".2f"),
    ("kept", "rows kept", "d"),
    ("n_train", "rows learned", "d"),
]


SUMMARY = [("data", "test RMSE", ""), *((name, name, ".3f") for name in CONTESTANTS)]


def measure(fit, X, y, new, truth, m, seed):
    with Meter() as meter:
        predict = fit(X, y, m, seed)
    return float(np.sqrt(np.mean((predict(new) - truth) ** 2))), meter.cpu_seconds


def rows_of(name, scaled, seeds, quick):
    """A row for each contestant: the means over splits of the data."""
    make, m = DATA[name]
    found = {contestant: [] for contestant in CONTESTANTS}
    for seed in seeds:
        rng = np.random.default_rng([seed, 2024])
        X, y, new, truth = (np.asarray(part, np.float64) for part in make(rng))
        if not scaled:
            X, new = unscaled(X, new, rng)
        if quick:
            X, y, m = X[:600], y[:600], 30
        for contestant, fit in CONTESTANTS.items():
            found[contestant].append((*measure(fit, X, y, new, truth, m, seed), truth.std()))
    for contestant, runs in found.items():
        rmse, seconds, deviation = (statistics.mean(column) for column in zip(*runs, strict=True))
        yield {
            "data": name if scaled else f"{name}, unscaled",
            "contestant": contestant,
            "rmse": rmse,
            "relative": rmse / deviation,
            "seconds": seconds,
            "kept": m,
            "n_train": len(y),
            "all_rmse": [run[0] for run in runs],
        }


def summary(rows):
    """A row for each data set, with the RMSE of all contestants."""
    for name in dict.fromkeys(row["data"] for row in rows):
        yield {"data": name} | {row["contestant"]: row["rmse"] for row in rows if row["data"] == name}


def bars(result, rows):
    errors = {(row["data"], row["contestant"]): row["rmse"] for row in rows}
    for contestant in (PROTOTYPES, KRLS):
        for name in dict.fromkeys(row["data"] for row in rows):
            ours, peer = errors[name, contestant], errors[name, PEER]
            wish = f"{name}: RMSE of {contestant} at most that of Nystroem + Ridge"
            result.bar(wish, f"{ours:.3f} and {peer:.3f}", ours <= peer)


def main():
    args = arguments(__doc__, splits={"type": int, "default": 2})
    splits = 1 if args.quick else args.splits
    result = Result("landmarks", COMMAND, args, splits=splits)
    warnings.simplefilter("ignore")  # of unscaled columns
    for fit in CONTESTANTS.values():  # compiles
        fit(*friedman(np.random.default_rng(0))[:2], 20, 0)
    seeds, rows = range(args.seed, args.seed + splits), []
    for name in ("Boston", "Friedman") if args.quick else DATA:
        for scaled in (True, False):
            rows += rows_of(name, scaled, seeds, args.quick)
    result.table("one_thread", COLUMNS, rows)
    result.table("summary", SUMMARY, list(summary(rows)))
    bars(result, rows)
    result.note("Seconds are processor seconds, as other processes may run. KIN40K has one split, and scales differ.")
    result.write()


if __name__ == "__main__":
    main()
