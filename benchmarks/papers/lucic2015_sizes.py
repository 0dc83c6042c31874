"""SYNTHETIC of lucic2015: the risk of k-means through summaries of 1,000 to 20,000 points, three ways to sample.

    python benchmarks/papers/lucic2015_sizes.py [--quick]

100,000 rows of 100 columns, k = 100, summaries by sensitivity (feldman2011), lightweight (bachem2018) and uniform; 20
seeds each, and five of KMeans on all rows, whose mean risk is the unit. The risk is the mean squared distance of all
rows to their nearest center. The paper varies the size of summaries, too (100 to 20,000), but shows only the best
resulting running times: see lucic2015_tradeoffs. Seconds are of one thread, with as many parallel runs as there
are cores.
"""

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, THIRD, Result, arguments, figures, nearest
from modicum import StreamKMeans
from modicum.datasets import lucic_synthetic
from workers import Workers, grouped

COMMAND = "python benchmarks/papers/lucic2015_sizes.py"
SIZES = (1000, 2000, 5000, 10_000, 20_000)
METHODS = {"sensitivity": OURS, "lightweight": THIRD, "uniform": PEER}
K = 100
LOW, HIGH = 0.1, 0.9
COLUMNS = [
    ("method", "summary", ""),
    ("size", "points", ",d"),
    ("median", "risk, times that of all rows", ".4f"),
    ("low", "10th percentile", ".4f"),
    ("high", "90th percentile", ".4f"),
    ("seconds", "seconds", ".2f"),
    ("speed_ratio", "times faster than all rows", ".1f"),
]

rows = lru_cache(maxsize=1)(lambda n, seed: lucic_synthetic(n, seed)[0])


def measure(job):
    """Risk and seconds of one solution; without a method, of KMeans on all rows."""
    n, data_seed, method, size, seed = job
    X = rows(n, data_seed)
    if method:
        model = StreamKMeans(K, n_points=size, method=method, random_state=seed)
        model.fit(X[:600]).predict(X[:1])  # compiles what is compiled
    else:
        model = KMeans(K, n_init=1, random_state=seed)
    start = time.perf_counter()
    centers = model.fit(X).cluster_centers_
    seconds = time.perf_counter() - start
    return {"risk": nearest(X, centers)[0].mean(), "seconds": seconds}


def summary(method, size, runs, whole):
    """A row of the table; `whole` are the runs on all rows."""
    unit = np.mean([run["risk"] for run in whole])
    ratios = [run["risk"] / unit for run in runs]
    seconds, longest = (float(np.median([run["seconds"] for run in some])) for some in (runs, whole))
    low, median, high = np.quantile(ratios, (LOW, 0.5, HIGH)).tolist()
    row = {"method": method, "size": size, "low": low, "median": median, "high": high, "ratios": ratios}
    return {**row, "seconds": seconds, "speed_ratio": longest / seconds}


def bars(result, table):
    found = {(row["method"], row["size"]): row for row in table}
    for size in sorted({row["size"] for row in table}):
        ours, uniform = (found[method, size]["median"] for method in ("sensitivity", "uniform"))
        result.bar(f"{size:,} points: sensitivity below uniform", f"{ours:.4f} and {uniform:.4f}", ours < uniform)
    if ("sensitivity", 5000) in found:
        median = found["sensitivity", 5000]["median"]
        result.bar("5,000 points by sensitivity: within 1.5% of all rows", f"{median - 1:+.2%}", median <= 1.015)


def plot(result, table):
    plt = figures()
    figure, axes = plt.subplots(figsize=(6.5, 4))
    for method, color in METHODS.items():
        some = [row for row in table if row["method"] == method]
        size, low, median, high = (np.array([row[key] for row in some]) for key in ("size", "low", "median", "high"))
        axes.plot(size, 100 * (median - 1), "o-", ms=5, color=color, label=method)
        axes.fill_between(size, 100 * (low - 1), 100 * (high - 1), color=color, alpha=0.15, lw=0)
    axes.set(xscale="log", yscale="log", xlabel="points of the summary", ylabel="risk above that of all rows, %")
    axes.set_xticks(size, [f"{number:,}" for number in size])
    axes.minorticks_off()
    axes.axhline(1.5, color=GREY, ls=":", lw=1)
    axes.set_title("SYNTHETIC: medians, and the middle 80% of seeds")
    axes.legend()
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n, sizes, repeats, whole_repeats = (10_000, (500, 1000), 3, 1) if args.quick else (100_000, SIZES, 20, 5)
    result = Result(
        "lucic2015_sizes", COMMAND, args, n=n, d=100, k=K, repeats=repeats, paper="lucic2015, section 7: SYNTHETIC"
    )
    cases = [(None, n, seed) for seed in range(whole_repeats)]
    cases += [(method, size, seed) for method in METHODS for size in sizes for seed in range(repeats)]
    with Workers() as spread:
        found = spread(measure, [(n, args.seed, *case) for case in cases])
        runs = grouped(((method, size) for method, size, _ in cases), found)
    whole = runs.pop((None, n))
    table = [summary(method, size, found, whole) for (method, size), found in runs.items()]
    result.content["all_rows"] = whole
    result.table("sizes", COLUMNS, table)
    bars(result, table)
    plot(result, table)
    result.write()


if __name__ == "__main__":
    main()
