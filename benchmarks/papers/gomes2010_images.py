"""Figures 2, 3 and 4 (left) of gomes2010: exemplars of small photographs, with CIFAR-10 in place of Tiny Images.

    python benchmarks/papers/gomes2010_images.py [--quick]

10,000 images as rows of 3,072 numbers, each minus its own mean, of unit norm; K = 200, a random phantom.
Figure 2: exemplars and cluster sizes, validation sample of a fifth (as in the paper) and of all rows, against online
k-means initialised with 200 random images. Figure 3: one cluster. Figure 4: utility on 2,000 held-out rows against run
time, for blocks of 500, 1,000, 2,000 candidates and validation samples of 10, 20, 40%, one swap per block from
the empty set (the paper's Algorithm 1, from the parts in `modicum.select`), against ExemplarClustering.

The paper had 1.5 million images, K = 200 and 600 blocks in Figure 4. Here are 10,000, so the blocks repeat the data,
and to save time K = 100 there with 150 blocks (the first 100 add exemplars). A cluster of
at most one member is called a singleton.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np

from modicum import ExemplarClustering, OnlineKMeans
from modicum.kernels import as_dissimilarity
from modicum.select.objectives.exemplar import ExemplarObjective
from modicum.select.swaps import grow, improve

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import (
    GREY,
    MIB,
    OURS,
    PEER,
    THIRD,
    Meter,
    Result,
    arguments,
    cifar_images,
    figures,
    mosaic,
    nearest,
    snap,
    warm_up,
)
from common import utility as utility_of

COMMAND = "python benchmarks/papers/gomes2010_images.py"


def one_pass(X, k, phantom, n_validation, seed):
    model = ExemplarClustering(k, budget=None, n_validation=n_validation, phantom=phantom, random_state=seed)
    return model.fit(X)


# ---- figure 2: exemplars and cluster sizes ---------------------------------------------------------------


def clusterings(X, k, phantom, seed):
    """Rows of the table; each with its centers and the label of every image."""
    rows = []

    def add(name, centers, meter, **more):
        label = nearest(X, centers)[1]
        sizes = np.bincount(label, minlength=k)
        row = {"method": name, "utility": utility_of(X, centers, phantom), "largest": int(sizes.max())}
        row |= {"singletons": float((sizes <= 1).mean()), "empty": float((sizes == 0).mean())}
        row |= {"extra_mib": meter.facts()["extra_bytes"] / MIB, **meter.facts(), **more, "sizes": sizes}
        rows.append({**row, "_centers": centers, "_label": label})

    for share in (0.2, 1.0):
        with Meter() as meter:
            model = one_pass(X, k, phantom, round(share * len(X)), seed)
        sizes = np.bincount(model.predict(X), minlength=k)
        add(f"StreamGreedy, {share:.0%} validation rows", model.exemplars_, meter, held_bytes=model.nbytes_)
        assert np.abs(np.sort(sizes) - np.sort(rows[-1]["sizes"])).sum() <= 20, "predict and the score differ"
        rows[-1]["_ids"] = model.exemplar_ids_
    first = np.random.default_rng(seed).choice(len(X), k, replace=False)
    rest = np.setdiff1d(np.arange(len(X)), first)
    with Meter() as meter:
        online = OnlineKMeans(k).partial_fit(X[first]).partial_fit(X[rest])
    add("online k-means, from random images", online.cluster_centers_, meter)
    with Meter() as meter:
        online = OnlineKMeans(k).fit(X)
    add("online k-means, from the first images", online.cluster_centers_, meter)
    add("the same, snapped to images", X[snap(X, online.cluster_centers_)], meter)
    return rows


def plot_exemplars(result, rows, pictures):
    plt = figures()
    ours, online = rows[0], rows[2]
    figure = plt.figure(figsize=(11, 6.2))
    panels = figure.subplots(2, 2, height_ratios=[4.2, 1])
    by_size = np.argsort(-ours["sizes"], kind="stable")
    mosaic(panels[0, 0], pictures[ours["_ids"][by_size]], 16)
    panels[0, 0].set_title(f"{len(by_size)} exemplars, largest clusters first")
    order = np.argsort(-online["sizes"], kind="stable")
    order = order[online["sizes"][order] > 1]
    mosaic(panels[0, 1], as_pictures(online["_centers"][order]), 16)
    panels[0, 1].set_title(f"Online k-means: the {len(order)} centers of more than one image")
    top = 1.05 * max(ours["sizes"].max(), online["sizes"].max())
    for axes, row, color in ((panels[1, 0], ours, OURS), (panels[1, 1], online, PEER)):
        axes.bar(range(len(row["sizes"])), np.sort(row["sizes"])[::-1], width=1, color=color)
        axes.set(xlabel="cluster", ylim=(0.7, top), yscale="log", xlim=(-1, len(row["sizes"])))
        axes.text(0.99, 0.9, f"{row['singletons']:.0%} singletons", transform=axes.transAxes, ha="right", color=color)
    panels[1, 0].set_ylabel("images in it")
    result.figure(figure, "gomes2010_images_exemplars")
    plt.close(figure)


def as_pictures(centers):
    """Means of normalised images, each stretched to the full range."""
    centers = np.reshape(centers, (-1, 32, 32, 3))
    low, high = (np.quantile(centers, q, axis=(1, 2, 3), keepdims=True) for q in (0.01, 0.99))
    return (255 * np.clip((centers - low) / (high - low), 0, 1)).astype(np.uint8)


# ---- figure 3: one cluster ---------------------------------------------------------------------------------


def plot_cluster(result, row, X, pictures, seed):
    """100 images nearest to an exemplar, and 100 random ones of its cluster."""
    plt = figures()
    count = min(100, row["sizes"].max())
    enough = [j for j in np.argsort(-row["sizes"], kind="stable") if row["sizes"][j] >= count]
    rank = min(25, len(enough) - 1)  # the paper shows cluster 26 by size; with fewer images few are so large
    j = enough[rank]
    distance = ((X - row["_centers"][j]) ** 2).sum(axis=1)
    members = np.flatnonzero(row["_label"] == j)
    some = np.random.default_rng(seed).choice(members, min(100, len(members)), replace=False)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.6))
    titles = f"The {count} images nearest to exemplar {rank + 1}", f"{len(some)} random images of its {len(members)}"
    for axes, ids, title in zip(panels, (np.argsort(distance)[:count], some), titles, strict=True):
        mosaic(axes, pictures[ids], 10)
        axes.set_title(title)
    result.figure(figure, "gomes2010_images_cluster")
    plt.close(figure)


# ---- figure 4: utility against run time ----------------------------------------------------------------------


def algorithm_1(X, k, phantom, n_validation, block, iterations, seed):
    """The paper's loop: one candidate per block is added or swapped in."""
    rng = np.random.default_rng(seed)
    F = ExemplarObjective(as_dissimilarity("sqeuclidean", objects=False), phantom[None], X, k, n_validation)
    F.put_rows(
        np.arange(n_validation), X[rng.permutation(len(X))[:n_validation]], np.full(n_validation, 1 / n_validation)
    )
    prepared, first = F.prepare(), 0
    for _ in range(iterations):
        looked = F.look(X[(first + np.arange(block)) % len(X)], prepared)
        grow(looked, 1, 0.0) if F.n_chosen < k else improve(looked, 1, 0.0)
        first += block
    return F.chosen.values


def tradeoff(X, test, k, phantom, iterations, seed):
    rows = []

    def add(name, kind, centers, meter, **more):
        row = {"method": name, "kind": kind, "test": utility_of(test, centers, phantom), **more}
        rows.append({**row, "extra_mib": meter.facts()["extra_bytes"] / MIB, **meter.facts()})

    for share, block in product((0.1, 0.2, 0.4), (500, 1000, 2000)):
        with Meter() as meter:
            centers = algorithm_1(X, k, phantom, round(share * len(X)), min(block, len(X)), iterations, seed)
        name = f"Algorithm 1, blocks of {block:,}, {share:.0%}"
        add(name, "one", centers, meter, block=block, share=share)
    for share in (0.1, 0.2, 0.4, 1.0):
        with Meter() as meter:
            model = one_pass(X, k, phantom, round(share * len(X)), seed)
        add(f"ExemplarClustering, one pass, {share:.0%}", "eager", model.exemplars_, meter, share=share)
    with Meter() as meter:
        online = OnlineKMeans(k).fit(X)
    add("online k-means", "online", online.cluster_centers_, meter)
    add("online k-means, snapped to images", "snapped", X[snap(X, online.cluster_centers_)], meter)
    for row in rows:
        same = [other for other in rows if other["kind"] == row["kind"]]
        row["pareto"] = not any(o["seconds"] < row["seconds"] and o["test"] >= row["test"] for o in same)
    return rows


def plot_tradeoff(result, rows):
    plt = figures()
    figure, axes = plt.subplots(figsize=(6.4, 4))
    looks = {
        "one": (THIRD, "Algorithm 1: one swap per block"),
        "eager": (OURS, "ExemplarClustering, one pass"),
        "online": (PEER, "online k-means (centers anywhere)"),
        "snapped": (GREY, "online k-means, snapped to images"),
    }
    for kind, (color, label) in looks.items():
        points = sorted([row for row in rows if row["kind"] == kind], key=lambda row: row["seconds"])
        best = [row for row in points if row["pareto"]]
        axes.plot([r["seconds"] for r in best], [r["test"] for r in best], "o-", color=color, label=label, ms=6)
        rest = [row for row in points if not row["pareto"]]
        axes.scatter([r["seconds"] for r in rest], [r["test"] for r in rest], s=22, color=color, alpha=0.35, lw=0)
        for i, row in enumerate(points if kind == "eager" else best if kind == "one" else []):
            text = f"{row['share']:.0%}" if kind == "eager" else f"{row['block']:,} / {row['share']:.0%}"
            place = {"xytext": (0, -13 if i % 2 else 7), "textcoords": "offset points", "ha": "center"}
            axes.annotate(text, (row["seconds"], row["test"]), fontsize=7, color=color, **place)
    axes.set(xscale="log", xlabel="seconds", ylabel="utility on held-out images", title="What run time buys")
    axes.legend(loc="upper right", fontsize=7.5)
    axes.text(
        0.01, 0.01, "labels: candidates per block / validation rows", transform=axes.transAxes, fontsize=7, color=GREY
    )
    axes.margins(y=0.12)
    result.figure(figure, "gomes2010_images_tradeoff")
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n, k, k_tradeoff = (2000, 40, 20) if args.quick else (10000, 200, 100)
    result = Result("gomes2010_images", COMMAND, args, K=k, n=n, paper="gomes2010, Figures 2, 3, 4 (left)")
    warm_up()
    X, pictures = cifar_images(n)
    spread = np.sqrt(X.var(axis=0).mean())  # as phantom="random" does, but the same vector for all contestants
    phantom = (X.mean(axis=0) + spread * np.random.default_rng(args.seed).standard_normal(X.shape[1])).astype(
        np.float32
    )

    rows = clusterings(X, k, phantom, args.seed)
    columns = [
        ("method", "method", ""),
        ("utility", "utility, all rows", ".4f"),
        ("singletons", "clusters of at most 1", ".1%"),
        ("empty", "empty", ".1%"),
        ("largest", "largest", "d"),
        ("seconds", "seconds", ".2f"),
        ("extra_mib", "extra MiB", ".1f"),
    ]
    plot_exemplars(result, rows, pictures)
    plot_cluster(result, rows[0], X, pictures, args.seed)
    rows = [{key: value for key, value in row.items() if key[0] != "_"} for row in rows]
    result.table("clusters", columns, rows)
    ours, online = rows[0]["singletons"], rows[2]["singletons"]
    result.bar("at most 5% of the exemplars represent one image or none", f"{ours:.1%}", ours <= 0.05)
    result.bar("fewer singletons than online k-means from random images", f"{ours:.1%}, {online:.1%}", ours < online)

    test = X[: n // 5]
    rows = tradeoff(X[n // 5 :], test, k_tradeoff, phantom, k_tradeoff * 3 // 2, args.seed)
    columns = [("method", "method", ""), ("test", "utility, held-out rows", ".4f"), *columns[-2:]]
    result.table("tradeoff", columns, rows)
    plot_tradeoff(result, rows)
    result.note(
        "CIFAR-10 is 150 times smaller than the paper's Tiny Images, so clusters have 50 images on average instead of "
        "7,500 and singletons are more likely. The paper gives no number for them beyond 'many' for online k-means."
    )
    result.note(
        "Algorithm 1 is the paper's: a candidate that is a validation row counts as representing itself. "
        "ExemplarClustering doesn't count that, which is part of the difference between the two."
    )
    result.note("Utilities of k-means centers are for centers anywhere; exemplars must be images.")
    result.write()


if __name__ == "__main__":
    main()
