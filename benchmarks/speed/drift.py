"""Classifiers on streams that change: StreamSVC against River, every row predicted before its label is learned.

    python benchmarks/speed/drift.py --seed 7 [--quick] [--streams NAME ...] [--bagging]

Streams of 10,000 rows: the four concepts of SEA; planes that turn slowly or fast; planes that change at once, gradually
or back and forth; classes in runs; still streams; and every 20th row of KDD Cup 99 in its order, attacks against normal
connections by the numeric columns. Labels are known before the next row (lag 0) or 100 rows later. Two streams at once,
a thread each; contestants in turn. Timed: processor seconds of predicting and learning, from rows in memory (River: as
dicts).

StreamSVC is given chunks. With lag 0 its `accuracy_` is that of each row before it was learned; with lag 100, chunks of
20 rows are predicted, and those learned that came 100 rows before (`lag=120`). River learns row by row with default
settings; linear ones with its StandardScaler. Nothing was tuned on this seed. Leveraging bagging takes most of an hour
for all streams and is left out unless --bagging is given.
"""

import statistics
import sys
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Result, arguments, data_file
from modicum import StreamSVC
from modicum.datasets import Generated, autocorrelated, changing, hyperplane, sea

COMMAND = "python benchmarks/speed/drift.py --seed 7"
NEVER, AUTO = "modicum", 'modicum, half_life="auto"'
LAG, CHUNK, WORKERS = 100, 20, 2
STILL = ("still plane", "still, noisy plane")
CATEGORIES = ("protocol_type", "service", "flag")  # of KDD Cup 99, as codes

# ---- streams --------------------------------------------------------------------------------------------------


def planes(seed, positions, *, width=0, back=False):
    """Planes that change at these rows; `back` and forth between two."""
    worlds = [hyperplane(random_state=100 * seed + (i % 2 if back else i)) for i in range(len(positions) + 1)]
    return changing(worlds, positions, width=width)


def streams(n, seed):
    """X and y by the name of the stream."""
    quarters = [n // 4, n // 2, 3 * n // 4]
    worlds = {
        "SEA": changing([sea(i) for i in range(4)], quarters),
        "plane turns slowly": hyperplane(turn=20, random_state=seed),
        "plane turns fast": hyperplane(turn=100, random_state=seed),
        "planes, at once": planes(seed, quarters),
        "planes, gradually": planes(seed, quarters, width=1500),
        "planes, back and forth": planes(seed, list(range(n // 6, n, n // 6)), back=True),
        "classes in runs": autocorrelated(turn=20, random_state=seed),
        "still plane": hyperplane(noise=0.1, random_state=seed),
        "still, noisy plane": hyperplane(30, noise=0.25, random_state=seed),
    }
    found = {name: Generated(world, n, random_state=seed).rows() for name, world in worlds.items()}
    return found | {"KDD Cup 99": connections(n)}


def connections(n):
    """Rows from all over KDD Cup 99 in their order: numeric columns, and whether it is an attack."""
    found = data_file("kddcup99_10pct.npz")
    rows = np.arange(0, len(found["y"]), max(20, len(found["y"]) // n))[:n]
    is_number = ~np.isin(found["columns"], CATEGORIES)
    normal = list(found["names_label"]).index("normal")
    return found["x"][rows][:, is_number].astype(np.float64), (found["y"][rows] != normal).astype(int)


# ---- contestants ----------------------------------------------------------------------------------------------


def peers(with_bagging):
    from river import ensemble, forest, linear_model, optim, preprocessing, tree

    def scaled(model):
        return preprocessing.StandardScaler() | model

    def bagging():
        return ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), seed=1)

    return ({"River, leveraging bagging": bagging} if with_bagging else {}) | {
        "River, adaptive random forest": lambda: forest.ARFClassifier(seed=1),
        "River, Hoeffding adaptive tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
        "River, logistic regression, step 0.1": lambda: scaled(linear_model.LogisticRegression(optim.SGD(0.1))),
        "River, ALMA": lambda: scaled(linear_model.ALMAClassifier()),
        "River, passive-aggressive": lambda: scaled(linear_model.PAClassifier()),
    }


def ours(half_life, lag, X, y):
    """Accuracy in % and seconds."""
    model = StreamSVC(half_life=half_life, lag=lag + CHUNK if lag else 0, random_state=0)
    start = time.process_time()
    if not lag:
        accuracy = model.partial_fit(X, y).accuracy_
        return 100 * accuracy, time.process_time() - start
    right = scored = 0
    for row in range(0, len(y), CHUNK):
        if row > lag:
            part = slice(row, row + CHUNK)
            right, scored = right + np.count_nonzero(model.predict(X[part]) == y[part]), scored + len(y[part])
        if row >= lag:
            model.partial_fit(X[row - lag : row - lag + CHUNK], y[row - lag : row - lag + CHUNK])
    return 100 * right / scored, time.process_time() - start


def river(make, lag, X, y):
    """Accuracy in % of the rows that can be scored, and seconds."""
    calls = list(zip([dict(enumerate(row)) for row in X.tolist()], y.tolist(), strict=True))
    model, waiting, right = make(), deque(), 0
    start = time.process_time()
    for number, (row, label) in enumerate(calls):
        right += number > lag and int(model.predict_one(row) or 0) == label
        waiting.append((row, bool(label)))
        if len(waiting) > lag:
            model.learn_one(*waiting.popleft())
    return 100 * right / max(1, len(y) - lag - 1), time.process_time() - start


def compile_loops():
    X, y = Generated(sea(0), 2000).rows()
    for half_life in (None, "auto"):
        for lag in (0, LAG):
            ours(half_life, lag, X, y)


def measure(task):
    """Accuracy and seconds of all contestants on a stream."""
    _, lag, X, y, with_bagging = task
    runs = {NEVER: ours(None, lag, X, y), AUTO: ours("auto", lag, X, y)}
    return runs | {peer: river(make, lag, X, y) for peer, make in peers(with_bagging).items()}


# ---- tables ---------------------------------------------------------------------------------------------------


def columns(names):
    return [
        ("contestant", "contestant", ""),
        *((name, name, ".1f") for name in names),
        ("rate", "rows per second", ",.0f"),
    ]


def table(found, lag):
    """A row per contestant: accuracies by stream, and the median of rows per second."""
    rows = []
    for contestant in dict.fromkeys(key[0] for key in found if key[1] == lag):
        runs = {name: run for (who, late, name), run in found.items() if (who, late) == (contestant, lag)}
        rates = {name: run["rows"] / run["seconds"] for name, run in runs.items()}
        accuracies = {name: run["accuracy"] for name, run in runs.items()}
        rows.append({"contestant": contestant, **accuracies, "rate": statistics.median(rates.values()), "rates": rates})
    return rows


def bars(result, rows, names, lag):
    by_name = {row["contestant"]: row for row in rows}
    auto, never = by_name.pop(AUTO), by_name.pop(NEVER)
    for name in names:
        if name in STILL:
            lost = never[name] - auto[name]
            result.bar(f"{name}, lag {lag}: at most 0.2 lost by half_life='auto'", f"{lost:.2f}", lost <= 0.2)
            continue
        best = max(by_name.values(), key=lambda row: row[name])
        short, times = best[name] - auto[name], auto["rates"][name] / best["rates"][name]
        wish = f"{name}, lag {lag}: within 1 point of {best['contestant']}, at 20 times its rows per second"
        result.bar(wish, f"{-short:+.1f}, {times:.0f} times", short <= 1 and times >= 20)


def main():
    args = arguments(__doc__, streams={"nargs": "+", "default": None}, bagging={"action": "store_true"})
    n = 600 if args.quick else 10_000
    data = streams(n, args.seed)
    names = args.streams or list(data)
    result, found = Result("drift", COMMAND, args, n=n, lag=LAG), {}
    tasks = [(name, lag, *data[name], args.bagging) for name in names for lag in (0, LAG)]
    with ProcessPoolExecutor(WORKERS, initializer=compile_loops) as pool:
        for (name, lag, *_), runs in zip(tasks, pool.map(measure, tasks), strict=True):
            for contestant, (accuracy, seconds) in runs.items():
                found[contestant, lag, name] = {"accuracy": accuracy, "seconds": seconds, "rows": n}
            print(f"{name}, lag {lag}: done", file=sys.stderr, flush=True)
    for lag in (0, LAG):
        rows = table(found, lag)
        result.table(f"lag{lag}", columns(names), rows)
        bars(result, rows, names, lag)
    result.write()


if __name__ == "__main__":
    main()
