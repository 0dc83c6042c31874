"""One pass of linear classifiers: StreamSVC against scikit-learn and River, in rows per second.

    python benchmarks/speed/linear.py [--quick] [--peer-python INTERPRETER]

Passes: 1,000,000 rows of 100 columns in float32, and 1,000,000 sparse rows with 100 of 100,000 columns. One thread; all
contestants in one process, in turn, three rounds, ratios of medians. Timed: from rows in memory to the model, after a
pass over 2,000 rows that compiles what is compiled. Accuracy is that on 50,000 further rows; nothing was tuned.
SGDClassifier has default settings, one epoch in its own order; "rows in their order" is the same without that shuffle.

Single rows: `partial_fit` (River: `learn_one`) of one row at a time of MNIST, 8 against 9: 784 pixels of unit norm, cut
out beforehand (River: as dicts), and one prediction at the end. A process for each contestant, the fastest of three
rounds. Those with `partial_fit` have seen 16,384 rows by then, so that the C of the default learner is chosen.

Chunks: bytes of the state after the same rows in chunks of 1, of 100 and of all rows.
"""

import itertools
import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, Meter, Result, arguments, data_file, figures
from peers import PEER_OPTIONS, interpreters, run_worker

COMMAND = "python benchmarks/speed/linear.py"
DEFAULT, DIAGONAL, BALL = "modicum default", "modicum diagonal, C given", "modicum ball, L = 10"
SGD = "SGDClassifier"
WIDTH, USED = 100_000, 100  # columns of sparse rows, and how many of them a row has
TESTS = 50_000
HEAD = 16_384  # rows before single ones; the last candidate for C is alone from 8,192 on
KINDS = ("dense", "sparse")


# ---- rows ---------------------------------------------------------------------------------------------------


def dense_rows(n, seed):
    """Normal rows, and the sign of a noisy linear function of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, USED), np.float32)
    value = X @ rng.standard_normal(USED, np.float32) + 4 * rng.standard_normal(n, np.float32)
    return X, np.where(value > 0, 1, -1)


def sparse_rows(n, seed):
    """Like dense_rows; the columns of a row are random, one of each thousand."""
    from scipy import sparse

    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(WIDTH, np.float32)
    block = WIDTH // USED
    columns = rng.integers(block, size=(n, USED), dtype=np.int32) + np.arange(0, WIDTH, block, dtype=np.int32)
    values = rng.uniform(0.2, 1, size=(n, USED)).astype(np.float32)
    total = np.einsum("ij,ij->i", values, weights[columns]) + rng.standard_normal(n, np.float32)
    ends = np.arange(0, n * USED + 1, USED, dtype=np.int32)
    X = sparse.csr_matrix((values.ravel(), columns.ravel(), ends), shape=(n, WIDTH))
    return X, np.where(total > 0, 1, -1)


def digit_rows(count, dtype):
    """8 against 9, of unit norm, in random order, again and again up to `count` rows."""
    found = data_file("mnist.npz")
    chosen = np.flatnonzero(np.isin(found["y_train"], (8, 9)))
    chosen = np.resize(np.random.default_rng(0).permutation(chosen), count)
    X = found["x_train"].reshape(-1, 784)[chosen].astype(dtype)
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.where(found["y_train"][chosen] == 8, 1, -1)


# ---- contestants: name -> estimator ---------------------------------------------------------------------------


def pass_contestants():
    from sklearn.linear_model import Perceptron, SGDClassifier

    from classifiers import ball, one_epoch, passive_aggressive
    from modicum import StreamSVC

    plain = (False, False)
    return {
        "modicum ball, L = 1": lambda: ball(plain, C=1.0, lookahead=1),
        BALL: lambda: ball(plain, C=1.0, lookahead=10),
        DIAGONAL: lambda: StreamSVC(1.0, ellipsoid="diagonal", center=False, scale=False),
        "modicum diagonal": lambda: StreamSVC(ellipsoid="diagonal"),
        DEFAULT: StreamSVC,
        SGD: lambda: SGDClassifier(max_iter=1, tol=None),
        "SGDClassifier, rows in their order": one_epoch,
        "SGDClassifier, averaged": lambda: one_epoch(average=True),
        "SGDClassifier, passive-aggressive": lambda: passive_aggressive(1.0),
        "Perceptron": lambda: Perceptron(max_iter=1, tol=None, shuffle=False),
    }


def river_learner(name):
    from river import linear_model, optim

    if name == "LogisticRegression":
        return linear_model.LogisticRegression(optimizer=optim.SGD(0.1))
    return getattr(linear_model, name)()


# ---- workers: each prints one line of JSON ------------------------------------------------------------------------


def passes(kind, n, rounds, seed):
    """All contestants in turn; {contestant: runs}."""
    X, y = (dense_rows if kind == "dense" else sparse_rows)(n + TESTS, seed)
    X, y, X_test, y_test = X[:n], y[:n], X[n:], y[n:]
    runs = {}
    contestants = pass_contestants()
    for make in contestants.values():
        make().fit(X[:2000], y[:2000])
    for turn in range(rounds):
        for name, make in contestants.items():
            model = make()
            with Meter() as meter:
                model.fit(X, y)
            facts = {**meter.facts(), "accuracy": 100 * float(np.mean(model.predict(X_test) == y_test))}
            runs.setdefault(name, []).append({**facts, "held_bytes": getattr(model, "nbytes_", None)})
            print(f"{kind}, round {turn + 1}, {name}: {meter.seconds:.2f} s", file=sys.stderr, flush=True)
    return runs


def fastest(make, learn, calls, predict, rounds):
    """Seconds for all calls of learn(model, *call) and one prediction: the fastest of some rounds with fresh models."""
    seconds = []
    for _ in range(rounds):
        model = make()
        start = time.perf_counter()
        for call in calls:
            learn(model, *call)
        predict(model, calls[0][0])  # whatever was deferred must be done now
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def estimator_single(name, dtype, n, rounds):
    """Single rows for a learner with partial_fit."""
    X, y = digit_rows(HEAD + n, dtype)
    calls = [(X[i : i + 1], y[i : i + 1]) for i in range(HEAD, HEAD + n)]

    def warmed_up():
        model = pass_contestants()[name]()
        return model.partial_fit(X[:HEAD], y[:HEAD], classes=np.array([-1, 1]))

    kind = type(warmed_up())
    for some, times in ((calls[:50], 1), (calls, rounds)):  # the first ones warm up
        seconds = fastest(warmed_up, kind.partial_fit, some, kind.predict, times)
    return seconds


def river_single(name, n, rounds):
    X, y = digit_rows(n, np.float64)
    calls = [(dict(enumerate(row)), bool(sign > 0)) for row, sign in zip(X.tolist(), y, strict=True)]
    kind = type(river_learner(name))
    return fastest(partial(river_learner, name), kind.learn_one, calls, kind.predict_one, rounds)


def river_many(n, rounds):
    """Frames of 256 rows, made beforehand."""
    import pandas as pd

    X, y = digit_rows(n, np.float64)
    parts = [slice(start, start + 256) for start in range(0, n, 256)]
    calls = [(pd.DataFrame(X[part]).rename(columns=str), pd.Series(y[part] > 0)) for part in parts]
    make = partial(river_learner, "LogisticRegression")
    kind = type(make())
    return fastest(make, kind.learn_many, calls, kind.predict_many, rounds)


SINGLE = {  # name: (package, function of (rows, rounds), share of the rows)
    f"{name}, {dtype}": (package, partial(estimator_single, name, dtype), part)
    for name, package, part in (
        (DEFAULT, "modicum", 1),
        (DIAGONAL, "modicum", 1),
        (BALL, "modicum", 1),
        (SGD, "scikit-learn", 10),
    )
    for dtype in ("float64", "float32")
} | {
    "River LogisticRegression": ("river", partial(river_single, "LogisticRegression"), 4),
    "River PAClassifier": ("river", partial(river_single, "PAClassifier"), 4),
    "River ALMAClassifier": ("river", partial(river_single, "ALMAClassifier"), 4),
    "River LogisticRegression, learn_many of 256": ("river", river_many, 1),
}


def chunks(n, seed):
    """{contestant, kind: whether chunks of 1, 100 and all rows give the same bytes}."""
    found = {}
    for kind, make_rows in zip(KINDS, (dense_rows, sparse_rows), strict=True):
        X, y = make_rows(n, seed)
        for name, make in pass_contestants().items():
            if name.startswith("modicum"):
                states = {in_chunks(make().set_params(random_state=seed), X, y, size) for size in (1, 100, n)}
                found[f"{name}, {kind}"] = len(states) == 1
    return found


def in_chunks(model, X, y, size):
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size])
    return model.to_bytes()


def worker(name, n, rounds, seed):
    if name in KINDS:
        answer = {"runs": passes(name, n, rounds, seed)}
    elif name == "chunks":
        answer = {"same": chunks(n, seed)}
    else:
        n //= SINGLE[name][2]
        answer = {"rows": n, "seconds": SINGLE[name][1](n, rounds)}
    print(json.dumps(answer))


# ---- tables ---------------------------------------------------------------------------------------------------


PASS_COLUMNS = [
    ("contestant", "contestant", ""),
    ("seconds", "seconds", ".2f"),
    ("per_second", "rows per second", ",.0f"),
    ("ratio", "times as fast as SGDClassifier", ".2f"),
    ("accuracy", "accuracy, %", ".2f"),
    ("extra_mib", "extra MiB", ".0f"),
    ("held_kib", "holds, KiB", ".1f"),
]
SINGLE_COLUMNS = [
    ("contestant", "contestant", ""),
    ("per_second", "rows per second", ",.0f"),
    ("micros", "µs per row", ".1f"),
    ("status", "", ""),
]


def pass_table(n, runs):
    rows = []
    for name, found in runs.items():
        row = {"contestant": name, "all_seconds": [run["seconds"] for run in found]}
        row |= {key: statistics.median(run[key] for run in found) for key in ("seconds", "cpu_seconds", "extra_bytes")}
        held = found[0]["held_bytes"]
        row |= {"accuracy": found[0]["accuracy"], "held_kib": held and held / 1024}
        rows.append({**row, "per_second": n / row["seconds"], "extra_mib": row["extra_bytes"] / MIB})
    yardstick = next(row["seconds"] for row in rows if row["contestant"] == SGD)
    return [{**row, "ratio": yardstick / row["seconds"]} for row in rows]


def single_row(name, run):
    if run["status"] != "ok":
        return {"contestant": name, "status": run["status"]}
    rate = run["rows"] / run["seconds"]
    return {
        "contestant": name,
        "per_second": rate,
        "micros": 1e6 / rate,
        "rows": run["rows"],
        "seconds": run["seconds"],
    }


def pass_bars(result, kind, rows):
    for row in rows:
        if row["contestant"].startswith("modicum"):
            wish = f"{kind}, {row['contestant']}: at least as fast as one epoch of {SGD}"
            result.bar(wish, f"{row['ratio']:.2f} times", row["ratio"] >= 1)
    if kind == "dense":
        rate = next(row["per_second"] for row in rows if row["contestant"] == DEFAULT)
        result.bar("dense, modicum default: at least 300,000 rows per second", f"{rate:,.0f}", rate >= 300_000)


def single_bars(result, rows):
    for name, dtype in itertools.product((DEFAULT, DIAGONAL), ("float64", "float32")):
        rate = next(row.get("per_second") for row in rows if row["contestant"] == f"{name}, {dtype}")
        wish = f"single rows, {name}, {dtype}: at least 50,000 per second"
        result.bar(wish, "did not run" if rate is None else f"{rate:,.0f}", rate and rate >= 50_000)


def plot(result, tables):
    plt = figures()
    figure, panels = plt.subplots(1, len(tables), figsize=(4.6 * len(tables), 3.8))
    for axes, (title, rows) in zip(panels, tables.items(), strict=True):
        rows = [row for row in rows if "per_second" in row][::-1]
        colors = [OURS if row["contestant"].startswith("modicum") else PEER for row in rows]
        thousands = [row["per_second"] / 1000 for row in rows]
        axes.barh([row["contestant"] for row in rows], thousands, color=colors, height=0.6)
        axes.set(title=title, xlabel="thousand rows per second")
        axes.tick_params(axis="y", labelsize=7.5)
    figure.supxlabel("blue: modicum, red: peers; one thread", fontsize=8, color=GREY)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(
        __doc__, repeat={"type": int, "default": 3}, **(PEER_OPTIONS | {"limit": {"type": float, "default": 600.0}})
    )
    n, single, in_pieces = (20_000, 2000, 300) if args.quick else (1_000_000, 20_000, 10_000)
    args.repeat = 1 if args.quick else args.repeat
    result = Result("linear", COMMAND, args, n=n, single_rows=single, repeat=args.repeat, limit_seconds=args.limit)
    pythons, tables = interpreters(args.peer_python), {}

    def ask(name, package, rows):
        sizes = (rows, args.repeat, args.seed)
        run = run_worker(__file__, name, package, sizes, threads=1, limit=args.limit, pythons=pythons)
        print(f"{name}: {run['status']}", file=sys.stderr, flush=True)
        return run

    for kind in KINDS:
        run = ask(kind, "modicum", n)
        if run["status"] != "ok":
            sys.exit(f"{kind}: {run['status']}")
        tables[kind] = pass_table(n, run["runs"])
        result.table(kind, PASS_COLUMNS, tables[kind])
        pass_bars(result, kind, tables[kind])
    tables["single rows"] = [single_row(name, ask(name, package, single)) for name, (package, *_) in SINGLE.items()]
    result.table("single", SINGLE_COLUMNS, tables["single rows"])
    single_bars(result, tables["single rows"])
    run = ask("chunks", "modicum", in_pieces)
    for name, same in run.get("same", {"any": None}).items():
        result.bar(f"{name}: same bytes for chunks of 1, 100 and all rows", "same" if same else "other", same)
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
