"""Gaussian mixtures of half a million rows through coresets: modicum against EM on all rows and on random ones.

    python benchmarks/speed/coreset_mixture.py [--quick]

Two sets of rows in float32, k = 50, full covariances: 500,000 x 16 from 50 Gaussians with random covariances and uneven
shares; and the numeric columns of KDD Cup 99 (444,021 x 33: logarithms of one plus the values, divided by the largest;
standardized, a few rows hundreds of deviations away would decide the mean log-likelihood). Each run has a separate
process and one thread; three rounds of other seeds, scikit-learn on all rows once; median seconds, mean log-likelihood
per row on 50,000 held-out rows. All use EM from k-means, with scikit-learn's rules for when to stop. Timed: from rows
in memory to a fitted mixture. Not timed: imports, the data, one run on 2,000 rows that compiles what is compiled.
"""

import json
import statistics
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import MIB, OURS, PEER, Meter, Result, arguments, figures
from peers import PEER_OPTIONS, run_rounds

COMMAND = "python benchmarks/speed/coreset_mixture.py"
K, HELD_OUT = 50, 50_000
SIZES = (10_000, 50_000)
PEER_EM, YARDSTICK = "GaussianMixture, all rows", "modicum, all rows"


# ---- rows ----------------------------------------------------------------------------------------------


def generated(seed):
    """Gaussian clusters with random covariances and Dirichlet shares of parameter 1/5."""
    rng = np.random.default_rng(seed)
    n, d = 500_000 + HELD_OUT, 16
    centers, factors = 2 * rng.normal(size=(K, d)), rng.normal(size=(K, d, d)) / np.sqrt(d)
    label = np.sort(rng.choice(K, n, p=rng.dirichlet(np.full(K, 0.2))))
    X = rng.standard_normal((n, d), np.float32)
    for j, (start, stop) in enumerate(np.searchsorted(label, [[j, j + 1] for j in range(K)])):
        X[start:stop] = X[start:stop] @ factors[j] + centers[j]
    return rng.permutation(X)


def kdd_cup99(seed):
    """The numeric columns that are not constant, in random order."""
    from modicum.datasets import SYMBOLIC, kdd_cup99

    X, names = kdd_cup99()
    X = np.log1p(X[:, [name not in SYMBOLIC for name in names]], dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    X /= X.max(axis=0)
    return np.random.default_rng(seed).permutation(X.astype(np.float32))


DATA = {  # name: (rows, options of all mixtures, the coreset that is to meet the bars)
    "generated": (generated, {}, "modicum, coreset of 50,000"),
    "kdd_cup99": (kdd_cup99, {"reg_covar": 1e-4}, "modicum, coreset of 10,000"),
}


# ---- contestants: (X, k, seed, options) -> a fitted mixture ----------------------------------------------


def sklearn_all(X, k, seed, options):
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(k, random_state=seed, **options).fit(X)


def sklearn_some(size, X, k, seed, options):
    rows = np.random.default_rng(seed).permutation(len(X))[:size]
    return sklearn_all(X[rows], k, seed, options)


def weighted_all(X, k, seed, options):
    from modicum import WeightedGaussianMixture

    return WeightedGaussianMixture(k, random_state=seed, **options).fit(X)


def through_coreset(size, X, k, seed, options):
    from modicum import StreamGaussianMixture

    return StreamGaussianMixture(k, n_points=size, random_state=seed, **options).fit(X).as_mixture()


CONTESTANTS = {  # name: (function, package)
    PEER_EM: (sklearn_all, "scikit-learn"),
    YARDSTICK: (weighted_all, "modicum"),
    **{f"modicum, coreset of {size:,}": (partial(through_coreset, size), "modicum") for size in SIZES},
    **{f"GaussianMixture, {size:,} random rows": (partial(sklearn_some, size), "scikit-learn") for size in SIZES},
}
COLUMNS = [
    ("contestant", "contestant", ""),
    ("score", "log-likelihood, new rows", ".3f"),
    ("worst_score", "worst seed", ".3f"),
    ("median_score", "median row", ".3f"),
    ("seconds", "seconds", ".2f"),
    ("speed_ratio", "times faster than EM", ".1f"),
    ("peer_ratio", "than scikit-learn's", ".0f"),
    ("extra_mib", "extra MiB", ".0f"),
    ("n_runs", "runs", "d"),
    ("status", "", ""),
]


# ---- one run in a separate process ---------------------------------------------------------------------


def worker(name, data, n, data_seed, seed):
    """Run one contestant and print one JSON line."""
    make, options, _ = DATA[data]
    X = make(data_seed)
    held_out, X = X[:HELD_OUT], X[HELD_OUT:][:n]
    run, _ = CONTESTANTS[name]
    warnings.simplefilter("ignore")  # EM that is not done after 100 steps
    run(X[:2000], 5, seed, options)
    with Meter() as meter:
        mixture = run(X, K, seed, options)
    scores = mixture.score_samples(held_out)
    print(json.dumps({**meter.facts(), "score": scores.mean(), "median_score": np.median(scores)}, default=float))


# ---- the table -----------------------------------------------------------------------------------------


def summary(name, runs, yardstick, peer):
    """One row of the table, from the runs that went well."""
    good = [run for run in runs if run["status"] == "ok"]
    row = {"contestant": name, "n_runs": len(good), "status": "" if good else runs[-1]["status"]}
    if not good:
        return row
    for key in ("seconds", "cpu_seconds", "extra_bytes", "peak_bytes", "bytes_before"):
        row[key] = statistics.median(run[key] for run in good)
    scores = [run["score"] for run in good]
    row |= {"score": statistics.mean(scores), "worst_score": min(scores), "all_scores": scores}
    row |= {"median_score": statistics.mean(run["median_score"] for run in good), "extra_mib": row["extra_bytes"] / MIB}
    if yardstick:
        row["speed_ratio"] = yardstick["seconds"] / row["seconds"]
    if peer:
        row["peer_ratio"] = peer["seconds"] / row["seconds"]
    return row


def bars(result, data, rows):
    found = {row["contestant"]: row for row in rows if "speed_ratio" in row}
    coreset = DATA[data][2]
    if coreset not in found:
        result.bar(f"{data}: all bars", "the coreset or EM on all rows did not run", None)
        return
    ours, whole = found[coreset], found[YARDSTICK]
    measured = f"{ours['score']:.3f} against {whole['score']:.3f}"
    met = ours["score"] >= whole["score"] - 0.01 * abs(whole["score"])
    result.bar(f"{data}, {coreset}: log-likelihood within 1% of that of all rows", measured, met)
    for key, whose in (("speed_ratio", "our own EM"), ("peer_ratio", "scikit-learn's EM")):
        if key in ours:
            wish = f"{data}, {coreset}: 10 times faster than {whose} on all rows"
            result.bar(wish, f"{ours[key]:.1f} times", ours[key] >= 10)


def plot(result, tables):
    """What is missing to the best log-likelihood, and seconds; large dots: means, small ones: seeds."""
    plt = figures()
    figure, panels = plt.subplots(1, 2 * len(tables), figsize=(12, 3), sharey=True)
    names = list(CONTESTANTS)[::-1]
    for (losses, seconds), (data, rows) in zip(panels.reshape(-1, 2), tables.items(), strict=True):
        rows = [row for row in rows if "score" in row]
        best = max((score for row in rows for score in row["all_scores"]), default=0)
        for row in rows:
            y, color = names.index(row["contestant"]), OURS if row["contestant"].startswith("modicum") else PEER
            for score in row["all_scores"]:
                losses.plot(max(best - score, 0.01), y, "o", ms=3, color=color, alpha=0.6)
            losses.plot(max(best - row["score"], 0.01), y, "o", color=color)
            seconds.plot(row["seconds"], y, "o", color=color)
        losses.set(xscale="log", title=data, xlabel="log-likelihood below the best")
        seconds.set(xscale="log", xlabel="seconds")
    panels[0].set_yticks(range(len(names)), names)
    result.figure(figure)
    plt.close(figure)


def measured(data, n, args):
    """The table of one set of rows."""
    packages = {name: package for name, (_, package) in CONTESTANTS.items()}
    runs = run_rounds(__file__, packages, lambda turn: (data, n, args.seed, turn), args, yardstick=YARDSTICK)
    whole = [summary(name, runs[name, 1], None, None) for name in (YARDSTICK, PEER_EM)]
    whole = [row if "score" in row else None for row in whole]
    return [summary(name, done, *whole) for (name, _), done in runs.items()]


def main():
    args = arguments(
        __doc__, repeat={"type": int, "default": 3}, **(PEER_OPTIONS | {"limit": {"type": float, "default": 300.0}})
    )
    n, args.repeat = (100_000, 1) if args.quick else (500_000, args.repeat)
    result = Result("coreset_mixture", COMMAND, args, n=n, k=K, repeat=args.repeat, limit_seconds=args.limit)
    tables = {}
    for data in DATA:
        tables[data] = measured(data, n, args)
        result.table(data, COLUMNS, tables[data])
    for data, rows in tables.items():
        bars(result, data, rows)
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:4], *map(int, sys.argv[4:]))
    else:
        main()
