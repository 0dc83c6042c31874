"""What more active rows buy: seconds and errors of SparseGPRegressor with 50 to 500 of them, beside batch learners.

    python benchmarks/speed/active_rows.py [--quick]

KIN40K (10,000 training rows of 8 columns), Friedman's first function (20,000 rows, 10 columns, five irrelevant) and
telemonitoring (4,375 rows of 19 columns, 1,500 others to test), shuffled. Errors are root mean squares over the
standard deviation of test targets; "coverage" is that of 95% intervals; seconds are those of the processor, for `fit`.
Peers: ridge regression on 500 Nystroem features (width from the median heuristic), and scikit-learn's histogram
gradient boosting with 300 trees.
"""

import sys
import time
from pathlib import Path

import numpy as np

from modicum import SparseGPRegressor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Result, arguments
from orders import batch_learners, data_sets, error

COMMAND = "python benchmarks/speed/active_rows.py"
COLUMNS = [
    ("data", "data", ""),
    ("learner", "learner", ""),
    ("rmse", "RMSE", ".3f"),
    ("coverage", "coverage", ".3f"),
    ("seconds", "seconds", ".1f"),
]


def timed_fit(model, X, y):
    """Seconds of the processor."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def measure(X, y, X_test, y_test, sizes, seed):
    """One row of the table per learner."""
    for n_active in sizes:
        model = SparseGPRegressor(n_active, random_state=seed)
        seconds = timed_fit(model, X, y)
        mean, std = model.predict(X_test, return_std=True)
        coverage = float(np.mean(np.abs(y_test - mean) < 1.96 * std))
        yield {
            "learner": f"{n_active} active rows",
            "rmse": error(mean, y_test),
            "coverage": coverage,
            "seconds": seconds,
        }
    for name, peer in batch_learners(X, seed).items():
        seconds = timed_fit(peer, X, y)
        yield {"learner": name, "rmse": error(peer.predict(X_test), y_test), "seconds": seconds}


def main():
    args = arguments(__doc__)
    n, sizes = ({"KIN40K": 1500, "Friedman": 1500}, (20, 40)) if args.quick else ({}, (50, 100, 200, 500))
    result = Result("active_rows", COMMAND, args)
    rng, rows = np.random.default_rng(args.seed), []
    for name, X, y, X_test, y_test in data_sets(args.seed, 20_000):
        order = rng.permutation(len(y))[: n.get(name)]
        list(measure(X[:700], y[:700], X_test[:9], y_test[:9], (5,), args.seed))  # compiles what is compiled
        for row in measure(X[order], y[order], X_test, y_test, sizes, args.seed):
            rows.append({"data": name, **row})
            print(rows[-1], file=sys.stderr)
    result.table("active_rows", COLUMNS, rows)
    result.write()


if __name__ == "__main__":
    main()
