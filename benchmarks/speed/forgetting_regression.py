"""What forgetting is worth to Gaussian process regression: streams that change, with and without a half-life.

    python benchmarks/speed/forgetting_regression.py [--quick] [--seed N]

Rows in chunks of 100, each predicted before it is learned: RMSE over all rows, a mean over two seeds. The noise alone
gives 1, and 0.3 on the stream that turns. The streams:

- still: `friedman(0)`;
- abrupt: `friedman` with a shift of 0, 3 and 5, a third of the rows each;
- gradual: from a shift of 0 to one of 3, within a third of the rows around the middle;
- recurring: shifts of 0 and 3 take turns, twice each;
- turning: `linear(turn=10)`, whose weights turn by 10 degrees per 1,000 rows.

A half-life of 500 rows was chosen on another seed, for all streams alike. River's forest learns every row before it
predicts the next one. The time is that of predicting and learning, on one thread.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import modicum
from common import Result, arguments
from modicum.datasets import Generated, changing, friedman, linear

COMMAND = "python benchmarks/speed/forgetting_regression.py"
ACTIVE, CHUNK, H, SEEDS = 50, 100, 500, 2


def streams(n):
    return {
        "still": friedman(),
        "abrupt": changing([friedman(0), friedman(3), friedman(5)], [n // 3, 2 * n // 3]),
        "gradual": changing([friedman(0), friedman(3)], [n // 2], width=n // 3),
        "recurring": changing([friedman(0), friedman(3)] * 2, [n // 4, n // 2, 3 * n // 4]),
        "turning": linear(turn=10.0),
    }


def gaussian_process(half_life):
    return lambda: modicum.SparseGPRegressor(ACTIVE, half_life=half_life, random_state=0)


def squared_errors(make, X, y):
    """Squared errors of all rows but the first chunk, each predicted before its chunk is learned."""
    model, found = make(), []
    for first in range(0, len(y), CHUNK):
        rows = slice(first, first + CHUNK)
        if first:
            found.append((model.predict(X[rows]) - y[rows]) ** 2)
        model.partial_fit(X[rows], y[rows])
    return np.concatenate(found)


def squared_errors_of_river(make, X, y):
    """The same, row by row."""
    model, found = make(), []
    for row, target in zip([dict(enumerate(row)) for row in X.tolist()], y.tolist(), strict=True):
        found.append((model.predict_one(row) - target) ** 2)
        model.learn_one(row, target)
    return np.array(found[CHUNK:])


def forest():
    from river.forest import ARFRegressor

    return ARFRegressor(seed=1)


LEARNERS = {
    f"SparseGPRegressor({ACTIVE})": (squared_errors, gaussian_process(None)),
    f"SparseGPRegressor({ACTIVE}, half_life={H})": (squared_errors, gaussian_process(H)),
    f'SparseGPRegressor({ACTIVE}, half_life="auto")': (squared_errors, gaussian_process("auto")),
    "River: ARFRegressor": (squared_errors_of_river, forest),
}


def main():
    args = arguments(__doc__)
    warnings.simplefilter("ignore")
    n = 3_000 if args.quick else 12_000
    seeds = [args.seed + 100 + i for i in range(1 if args.quick else SEEDS)]
    result, table = Result("forgetting_regression", COMMAND, args, rows=n), []
    for name, (judge, make) in LEARNERS.items():
        row, seconds = {"learner": f"`{name}`"}, []
        for stream, world in streams(n).items():
            found = []
            for seed in seeds:
                X, y = Generated(world, n, random_state=seed).rows()
                start = time.process_time()
                found.append(float(np.sqrt(judge(make, X, y).mean())))
                seconds.append(time.process_time() - start)
            row[stream] = float(np.mean(found))
        row["speed"] = n / float(np.median(seconds))
        table.append(row)
        print(name, *(f"{row[stream]:.4g}" for stream in streams(n)), f"{row['speed']:,.0f} rows/s", flush=True)
    columns = [
        ("learner", "learner", ""),
        *((name, name, ".3f") for name in streams(n)),
        ("speed", "rows per s", ",.0f"),
    ]
    result.table("errors", columns, table)
    result.write()


if __name__ == "__main__":
    main()
