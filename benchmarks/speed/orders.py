"""SparseGPRegressor on rows in orders that streams come in, and with outliers, beside batch learners.

    python benchmarks/speed/orders.py [--quick]

KIN40K (10,000 training rows), Friedman's first function (10,000 rows, five irrelevant columns) and telemonitoring
(4,375 rows of 42 subjects, 1,500 others to test): rows shuffled, sorted by their first column, sorted by target, by
subject; and shuffled with 0.5% of the training targets moved by 10 to 100 standard deviations, or with noise from
Student's t distribution with 1.5 degrees of freedom and a scale of 0.2. Test targets are clean. 100 active rows,
chunks of 500. Errors are root mean squares over the standard deviation of test targets; coverage is that of 95%
intervals.

"before" are the figures of commit 43bd850, by the same script. Peers see all rows at once, so their order is
irrelevant: ridge regression on 500 Nystroem features (width from the median heuristic), and scikit-learn's
histogram gradient boosting.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from modicum import SparseGPRegressor
from modicum.datasets import kin40k
from modicum.kernels import RBF

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Meter, Result, arguments, data_file

COMMAND = "python benchmarks/speed/orders.py"
CHUNK = 500
ORDERS = ("shuffled", "by column", "by target", "by subject")  # of clean rows
BEFORE = {  # RMSE and coverage
    ("KIN40K", "shuffled"): (0.357, 0.944),
    ("KIN40K", "by column"): (0.372, 0.977),
    ("KIN40K", "by target"): (0.352, 0.986),
    ("KIN40K", "0.5% outliers"): (1.000, 1.000),
    ("KIN40K", "t(1.5) noise"): (0.998, 0.998),
    ("Friedman", "shuffled"): (0.208, 0.947),
    ("Friedman", "by column"): (0.617, 0.701),
    ("Friedman", "by target"): (0.204, 0.986),
    ("Friedman", "0.5% outliers"): (1.370, 0.998),
    ("Friedman", "t(1.5) noise"): (0.223, 1.000),
    ("telemonitoring", "shuffled"): (0.179, 0.950),
    ("telemonitoring", "by column"): (0.171, 0.975),
    ("telemonitoring", "by target"): (0.177, 1.000),
    ("telemonitoring", "by subject"): (0.295, 0.998),
    ("telemonitoring", "0.5% outliers"): (1.180, 0.997),
    ("telemonitoring", "t(1.5) noise"): (1.366, 0.994),
}
COLUMNS = [
    ("data", "data", ""),
    ("order", "rows", ""),
    ("before", "RMSE before", ".3f"),
    ("rmse", "RMSE", ".3f"),
    ("coverage_before", "coverage before", ".3f"),
    ("coverage", "coverage", ".3f"),
    ("seconds", "seconds", ".1f"),
    ("nystroem", "Nystroem + Ridge", ".3f"),
    ("boosting", "boosting", ".3f"),
]


def friedman(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 10))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, f + rng.normal(size=n)


def telemonitoring(seed):
    """Training rows in their order, by subject, then 1,500 random others; total UPDRS."""
    x = data_file("parkinsons_telemonitoring.npz")["x"]
    rows = np.random.default_rng(seed).permutation(len(x))
    X = np.delete(x, [0, 4, 5], axis=1)  # subject and both targets
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    train, test = np.sort(rows[1500:]), rows[:1500]
    return X[train], x[train, 5], X[test], x[test, 5]


def data_sets(seed, n):
    X, y, X_test, y_test = kin40k()
    yield "KIN40K", X[:n], y[:n], X_test, y_test
    X, y = friedman(n + 4000, seed)
    yield "Friedman", X[:n], y[:n], X[n:], y[n:]
    yield "telemonitoring", *telemonitoring(seed)


def orders(name, X, y, seed):
    """(order, rows, targets) for each order and kind of outliers."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(y))
    found = {"shuffled": shuffled, "by column": np.argsort(X[:, 0]), "by target": np.argsort(y)}
    if name == "telemonitoring":
        found["by subject"] = np.arange(len(y))
    for order, rows in found.items():
        yield order, X[rows], y[rows]
    moved = y.copy()
    wrong = rng.choice(len(y), len(y) // 200, replace=False)
    moved[wrong] += rng.choice([-1, 1], len(wrong)) * rng.uniform(10, 100, len(wrong)) * y.std()
    yield "0.5% outliers", X[shuffled], moved[shuffled]
    noisy = y + 0.2 * y.std() * rng.standard_t(1.5, len(y))
    yield "t(1.5) noise", X[shuffled], noisy[shuffled]


def measure(X, y, X_test, y_test, n_active, seed):
    model = SparseGPRegressor(n_active, random_state=seed)
    with Meter() as meter, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in range(0, len(y), CHUNK):
            model.partial_fit(X[first : first + CHUNK], y[first : first + CHUNK])
        model.refine()
    mean, std = model.predict(X_test, return_std=True)
    coverage = float(np.mean(np.abs(y_test - mean) < 1.96 * std))
    return {"rmse": error(mean, y_test), "coverage": coverage, "seconds": meter.cpu_seconds}


def error(mean, y):
    return float(np.sqrt(np.mean((mean - y) ** 2)) / y.std())


def batch_learners(X, seed):
    """Peers for these rows."""
    width = RBF().fitted(X[:2000]).width
    features = Nystroem(gamma=0.5 / width**2, n_components=min(500, len(X)), random_state=seed)
    return {
        "Nystroem + Ridge": make_pipeline(features, Ridge(1e-3)),
        "boosting": HistGradientBoostingRegressor(max_iter=300, random_state=seed),
    }


def peers(X, y, X_test, y_test, seed):
    found = batch_learners(X, seed).values()
    errors = [error(peer.fit(X, y).predict(X_test), y_test) for peer in found]
    return dict(zip(("nystroem", "boosting"), errors, strict=True))


def main():
    args = arguments(__doc__)
    n, n_active = (2000, 30) if args.quick else (10_000, 100)
    result = Result("orders", COMMAND, args, n_active=n_active)
    rows = []
    for name, X, y, X_test, y_test in data_sets(args.seed, n):
        by_peers = peers(X, y, X_test, y_test, args.seed)
        for order, X_o, y_o in orders(name, X, y, args.seed):
            if order not in ORDERS:
                by_peers = peers(X_o, y_o, X_test, y_test, args.seed)
            before = BEFORE.get((name, order), (None, None)) if not args.quick else (None, None)
            found = measure(X_o, y_o, X_test, y_test, n_active, args.seed)
            rows.append(
                {"data": name, "order": order, **found, "before": before[0], "coverage_before": before[1], **by_peers}
            )
            print(rows[-1], file=sys.stderr)
    result.table("orders", COLUMNS, rows)
    bars(result, rows)
    result.write()


def bars(result, rows):
    for row in rows:
        clean = next(r for r in rows if r["data"] == row["data"] and r["order"] == "shuffled")
        wish = f"{row['data']}, {row['order']}: RMSE at most .03 above that of shuffled clean rows"
        result.bar(wish, f"{row['rmse']:.3f} and {clean['rmse']:.3f}", row["rmse"] <= clean["rmse"] + 0.03)
        if row["order"] in ORDERS:
            wish = f"{row['data']}, {row['order']}: coverage between .93 and .96"
            result.bar(wish, f"{row['coverage']:.3f}", 0.93 <= round(row["coverage"], 3) <= 0.96)


if __name__ == "__main__":
    main()
