"""Figure 1 of gomes2010: exemplars of MNIST after one pass, against batch and online k-means.

    python benchmarks/papers/gomes2010_mnist.py [--quick]

60,000 training images minus their mean, of unit norm, on their first 50 principal components; K = 100, the origin
as phantom. Left and center: utility (eq. 3.6) on the training set against candidates seen, all training rows
as validation sample; centers where k-means puts them, and snapped to the nearest training rows. Right: utility on the
10,000 test rows against the size of the validation sample, relative to all rows, for three K (means over seeds).

The paper prints no numbers for this figure; its claims are that one pass is nearly enough, that k-means wins
unconstrained but not when snapped, and that small validation samples are enough, with larger ones for larger K.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from modicum import ExemplarClustering, OnlineKMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, THIRD, Meter, Result, arguments, figures, mnist_pca, snap, utility, warm_up

COMMAND = "python benchmarks/papers/gomes2010_mnist.py"
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
ORIGIN = np.zeros(50)


def exemplars(X, k, n_validation, seed, **options):
    with Meter() as meter:
        model = ExemplarClustering(
            k, budget=None, n_validation=n_validation, phantom="origin", random_state=seed, **options
        ).fit(X)
    return model, meter


def online_kmeans(X, k):
    """Utility along the pass: (rows seen, unconstrained, snapped)."""
    ends = np.unique(np.geomspace(2 * k, len(X), 24).astype(int))
    model, curve, seconds, extra = OnlineKMeans(k), [], 0.0, 0
    for first, end in zip([0, *ends], ends, strict=False):
        with Meter() as meter:
            model.partial_fit(X[first:end])
        seconds, extra = seconds + meter.seconds, max(extra, meter.facts()["extra_bytes"])
        centers = model.cluster_centers_
        curve.append((int(end), utility(X, centers, ORIGIN), utility(X, X[snap(X, centers)], ORIGIN)))
    return model.cluster_centers_, np.array(curve), {"seconds": seconds, "extra_bytes": extra}


def convergence(X, test, k, seed):
    """The left and center panels: table rows and curves."""
    rows, curves = [], {}

    def add(name, centers, facts, **more):
        row = {"method": name, "train": utility(X, centers, ORIGIN), "test": utility(test, centers, ORIGIN)}
        rows.append({**row, "extra_mib": facts["extra_bytes"] / MIB, **facts, **more})
        return rows[-1]

    for name, options in (("StreamGreedy", {}), ("StreamGreedy, one swap per block", {"swaps": "one"})):
        model, meter = exemplars(X, k, len(X), seed, **options)
        history = model.history_
        curves[name] = {"candidates": history["candidates"], "utility": history["utility"]}
        add(name, model.exemplars_, meter.facts(), swaps=model.n_swaps_, held_bytes=model.nbytes_)
    with Meter() as meter:
        batch = KMeans(k, n_init=1, random_state=seed).fit(X)
    add("batch k-means", batch.cluster_centers_, meter.facts(), passes=batch.n_iter_)
    add("batch k-means, snapped", X[snap(X, batch.cluster_centers_)], meter.facts(), passes=batch.n_iter_)
    centers, curve, facts = online_kmeans(X, k)
    curves["online k-means"] = {"candidates": curve[:, 0], "utility": curve[:, 1], "snapped": curve[:, 2]}
    add("online k-means", centers, facts)
    add("online k-means, snapped", X[snap(X, centers)], facts)
    return rows, curves


def validation_sizes(X, test, clusters, seeds):
    """The right panel: test utility for each K and size of the validation sample.

    With all rows as validation sample nothing is random, so one seed; for half of them one seed to save time.
    """
    rows = []
    for k in clusters:
        for share in SHARES:
            if share * len(X) < k:
                continue
            runs = []
            for seed in seeds if share < 0.5 else seeds[:1]:
                model, meter = exemplars(X, k, round(share * len(X)), seed)
                runs.append((utility(test, model.exemplars_, ORIGIN), meter.seconds, meter.facts()["extra_bytes"]))
            value, seconds, extra = np.mean(runs, axis=0)
            row = {"K": k, "share": share, "test": value, "seconds": seconds, "extra_mib": extra / MIB}
            rows.append({**row, "runs": len(runs)})
        for row in rows:
            if row["K"] == k:
                row["relative"] = row["test"] / value  # of the last share, all rows
    return rows


def plot(result, rows, curves, sizes):
    plt = figures()
    figure, (left, center, right) = plt.subplots(1, 3, figsize=(12, 4))
    train = {row["method"]: row["train"] for row in rows}
    for axes, suffix, key in ((left, "", "utility"), (center, ", snapped", "snapped")):
        for name, color, style in (("StreamGreedy", OURS, "-"), ("StreamGreedy, one swap per block", OURS, ":")):
            axes.plot(curves[name]["candidates"], curves[name]["utility"], color=color, ls=style, label=name)
        online = curves["online k-means"]
        axes.plot(online["candidates"], online[key], color=PEER, label="online k-means")
        batch = f"batch k-means{suffix}"
        axes.axhline(train[batch], color=GREY, ls="--", lw=1.2, label="batch k-means")
        values = [train["StreamGreedy"], train["batch k-means"], online["utility"].min(), online["snapped"].min()]
        axes.set(xscale="log", xlabel="rows seen", ylim=(min(values) - 0.02, max(values) + 0.01))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=8.5)
    left.set(ylabel="utility on the training rows", title="Centers anywhere")
    center.set_title("Centers snapped to rows")
    for k, color in zip(sorted({row["K"] for row in sizes}), (THIRD, OURS, PEER), strict=False):
        line = [(100 * row["share"], row["relative"]) for row in sizes if row["K"] == k]
        right.plot(*zip(*line, strict=True), "o-", ms=4, color=color, label=f"K = {k}")
    right.axhline(1, color=GREY, lw=0.8)
    ticks = [100 * share for share in SHARES]
    right.set(
        xscale="log",
        xlabel="validation rows, % of all",
        ylabel="test utility, relative",
        title="Size of the validation sample",
    )
    right.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.legend(loc="lower right")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n, k, clusters, seeds = (6000, 50, (20, 50), 1) if args.quick else (60000, 100, (50, 100, 200), 2)
    result = Result("gomes2010_mnist", COMMAND, args, K=k, phantom="origin", paper="gomes2010, Figure 1 and section 6")
    warm_up()
    X, test = mnist_pca(rows=n)
    rows, curves = convergence(X, test, k, args.seed)
    numbers = [("seconds", "seconds", ".2f"), ("extra_mib", "extra MiB", ".1f")]
    columns = [
        ("method", "method", ""),
        ("train", "utility, training rows", ".4f"),
        ("test", "utility, test rows", ".4f"),
    ]
    result.table("one_pass", columns + numbers, rows)
    sizes = validation_sizes(X, test, clusters, range(args.seed, args.seed + seeds))
    columns = [("K", "K", "d"), ("share", "validation rows", ".0%"), ("test", "utility, test rows", ".4f")]
    result.table("validation_size", [*columns, ("relative", "relative to all", ".3f"), *numbers], sizes)
    result.content["curves"] = curves
    train = {row["method"]: row["train"] for row in rows}
    ours, snapped = train["StreamGreedy"], train["batch k-means, snapped"]
    result.bar(
        "utility after one pass at least that of snapped k-means", f"{ours:.4f} against {snapped:.4f}", ours >= snapped
    )
    history = curves["StreamGreedy"]
    half = np.interp(len(X) / 2, history["candidates"], history["utility"])
    result.bar(
        "near the final value within a single pass", f"{half / ours:.1%} of it after half a pass", half >= 0.98 * ours
    )
    tenth = next(row["relative"] for row in sizes if row["K"] == k and row["share"] == 0.1)
    result.bar(f"10% validation rows keep 97% of the test utility, K = {k}", f"{tenth:.1%}", tenth >= 0.97)
    result.note(
        "The paper shows curves, not numbers; the order of the methods is what can be compared. Unsnapped k-means wins "
        "there too. Our curve starts higher because the first block adds all K exemplars, by lazy greedy."
    )
    plot(result, rows, curves, sizes)
    result.write()


if __name__ == "__main__":
    main()
