"""What makes a coreset one (lucic2015, footnote 1): the cost of any centers on it is nearly that on all rows.

    python benchmarks/papers/lucic2015_estimate.py [--quick]

SYNTHETIC of lucic2015: 100,000 rows of 100 columns. For 1,000 sets of centers of five kinds, `KMeansCoreset.cost` of
ten coresets of 5,000 points each against the sum over all rows: relative errors, the error bound that `cost` states for
a confidence of 90%, and how often it holds. All sets are drawn without looking at the coresets. The paper's property
holds for all centers simultaneously, with a larger error; ours is for each set separately.
"""

import sys
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PALE, PEER, THIRD, Result, arguments, figures, nearest
from modicum import KMeansCoreset
from modicum.datasets import lucic_synthetic
from workers import Workers

COMMAND = "python benchmarks/papers/lucic2015_estimate.py"
K = 100
CONFIDENCE = 0.9
ROUNDING = 1e-6  # points are float32, and centers that divide no cell have an exact cost otherwise
METHODS = ("sensitivity", "lightweight", "uniform")
KINDS = {
    "random rows": "black",
    "2 to 20 random rows": GREY,
    "k-means++ seeds": THIRD,
    "true centers, moved": PEER,
    "k-means of 5,000 rows": OURS,
}
COLUMNS = [
    ("method", "coreset", ""),
    ("kind", "centers", ""),
    ("bias", "mean error", "+.3%"),
    ("error", "mean absolute error", ".2%"),
    ("high", "90th percentile", ".2%"),
    ("bound", "mean error bound", ".2%"),
    ("coverage", "bounds that hold", ".1%"),
]


@lru_cache(maxsize=1)
def data(n, seed):
    return lucic_synthetic(n, seed)


@lru_cache(maxsize=1)
def coresets(n, size, seed, count):
    """{method: some coresets of the same rows}."""
    X, _ = data(n, seed)
    return {
        method: [KMeansCoreset(size, K, method=method, random_state=turn).fit(X) for turn in range(count)]
        for method in METHODS
    }


def draw(kind, X, true_centers, rng):
    """A set of centers."""
    if kind == "true centers, moved":
        return true_centers + 10 ** rng.uniform(0, 2) * rng.normal(size=true_centers.shape)
    if kind == "2 to 20 random rows":
        return X[rng.choice(len(X), rng.integers(2, 21), replace=False)]
    rows = X[rng.choice(len(X), K if kind == "random rows" else 5000, replace=False)]
    seed = int(rng.integers(2**31))
    if kind == "k-means++ seeds":
        return kmeans_plusplus(rows, K, random_state=seed)[0]
    if kind == "k-means of 5,000 rows":
        return KMeans(K, n_init=1, random_state=seed).fit(rows).cluster_centers_
    return rows


def measure(job):
    """The true cost of one set of centers, and {method: [(estimate, bound) of each coreset]}."""
    n, size, seed, count, kind, number = job
    X, true_centers = data(n, seed)
    centers = draw(kind, X, true_centers, np.random.default_rng([seed, number, len(kind)]))
    estimates = {
        method: [coreset.cost(centers, confidence=CONFIDENCE) for coreset in some]
        for method, some in coresets(n, size, seed, count).items()
    }
    return {"kind": kind, "cost": nearest(X, centers)[0].sum(), **estimates}


def errors(runs, method):
    """Relative errors and relative bounds, of all sets and all coresets (sets, coresets)."""
    costs = np.array([run["cost"] for run in runs])[:, None]
    estimates, bounds = np.moveaxis([run[method] for run in runs], -1, 0)
    return estimates / costs - 1, bounds / costs + ROUNDING


def summary(method, kind, runs):
    error, bound = errors([run for run in runs if run["kind"] == kind], method)
    row = {"method": method, "kind": kind, "bias": error.mean()}
    error = np.abs(error)
    row |= {"error": error.mean(), "high": np.quantile(error, 0.9)}
    return {**row, "bound": bound.mean(), "coverage": np.mean(error <= bound)}


def plot(result, runs):
    plt = figures()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for kind, color in KINDS.items():
        some = [run for run in runs if run["kind"] == kind]
        error, _ = errors(some, "sensitivity")
        costs = [run["cost"] for run in some]
        left.plot(costs, 100 * error[:, 0], ".", ms=4, color=color, alpha=0.6, label=kind)
    left.set(xscale="log", xlabel="true cost", ylabel="error of one coreset's estimate, %")
    left.set_title("Estimates of one coreset, by sensitivity")
    left.legend(fontsize=8, markerscale=2)
    stated = np.linspace(0.02, 0.995, 100)
    wider = np.array([NormalDist().inv_cdf((1 + level) / 2) for level in (*stated, CONFIDENCE)])
    for method, color in zip(METHODS, (OURS, THIRD, PEER), strict=True):
        error, bound = errors(runs, method)
        found = [np.mean(np.abs(error) <= bound * factor) for factor in wider[:-1] / wider[-1]]
        right.plot(100 * stated, 100 * np.array(found), color=color, label=method)
    right.plot([0, 100], [0, 100], color=PALE, ls=":", lw=1)
    right.set(xlabel="confidence asked for, %", ylabel="bounds that hold, %", title="All coresets, all sets of centers")
    right.legend()
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n, size, count, sets = (10_000, 1000, 2, 50) if args.quick else (100_000, 5000, 10, 1000)
    result = Result(
        "lucic2015_estimate",
        COMMAND,
        args,
        n=n,
        d=100,
        k=K,
        size=size,
        coresets=count,
        sets=sets,
        confidence=CONFIDENCE,
        paper="lucic2015, footnote 1",
    )
    cases = [(kind, number) for number in range(sets // len(KINDS)) for kind in KINDS]
    with Workers() as spread:
        runs = list(spread(measure, [(n, size, args.seed, count, *case) for case in cases]))
    table = [summary(method, kind, runs) for method in METHODS for kind in KINDS]
    result.table("estimate", COLUMNS, table)
    for method in METHODS:
        error, bound = errors(runs, method)
        coverage = np.mean(np.abs(error) <= bound)
        result.bar(f"{method}: bounds of 90% confidence hold in 90% of all cases", f"{coverage:.1%}", coverage >= 0.9)
    plot(result, runs)
    result.write()


if __name__ == "__main__":
    main()
