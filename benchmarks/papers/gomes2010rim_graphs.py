"""Clusters of molecular graphs, gomes2010rim, Figure 5.3: ARI against the number of clusters found.

    python benchmarks/run.py --only gomes2010rim_graphs --threads 1 [--quick]

D&D (1,178 proteins, enzymes or not) and NCI109 (4,127 compounds, active or not) by the Weisfeiler-Lehman subtree kernel
of height 1, as it is (the thesis names no normalisation) and normalised. Kernel RIM (exact: all graphs are the basis)
runs from 30 categories over a range of lambda; kernel k-means (k-means on the same features, which are those of the
kernel) and scikit-learn's spectral clustering are given the number of clusters. All from three seeds, 3 starts of
k-means each. The best setting of each method is chosen by the labels, as in the thesis' figure. Seconds are CPU seconds
of one run with one thread, after the kernel matrix, which all of them need.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from modicum.cluster.information.kernel_features import KernelFeatures
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Problem, Settings, maximize
from modicum.cluster.information.start import oversegment
from modicum.kernels import Normalized, Precomputed, WeisfeilerLehman

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, THIRD, Meter, Result, arguments, data_file, figures

COMMAND = "python benchmarks/run.py --only gomes2010rim_graphs --threads 1"
SETS = {"D&D": "dd_graphs.npz", "NCI109": "nci109_graphs.npz"}
KERNELS = {"as it is": WeisfeilerLehman(1), "normalised": Normalized(WeisfeilerLehman(1))}
CATEGORIES, START, N_INIT = 30, 1e-2, 3
LAMBDAS = np.geomspace(3e-5, 3e-2, 16)
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 15)
COLORS = {"kernel RIM": OURS, "kernel k-means": PEER, "spectral": THIRD}


def graphs_of(name, rows):
    """Pairs of edges and node labels, and the classes."""
    data = data_file(SETS[name])
    owner, edges, classes = data["graph_indicator"], data["edges"], data["graph_labels"]
    edges = edges[np.argsort(owner[edges[:, 0]], kind="stable")]
    every = np.arange(len(classes) + 1)
    first, first_edge = np.searchsorted(owner, every), np.searchsorted(owner[edges[:, 0]], every)
    labels = data["node_labels"].tolist()
    graphs = [
        (edges[first_edge[i] : first_edge[i + 1]] - first[i], labels[first[i] : first[i + 1]]) for i in every[:-1]
    ]
    kept = np.random.default_rng(0).permutation(len(graphs))[:rows]
    return [graphs[i] for i in kept], classes[kept]


def runs(K, y, seed):
    """(method, setting, clusters, ARI, CPU seconds) of all methods."""
    numbers, shares, kernel = np.arange(len(K))[:, None], np.full(len(K), 1 / len(K)), Precomputed(K)
    with Meter() as before:
        _, Z = KernelFeatures.with_features(kernel, numbers, numbers, shares)
        problem = Problem(Z, shares)
    with Meter() as first:
        start = oversegment(problem, CATEGORIES, N_INIT, START, np.random.default_rng(seed))
    for lam in LAMBDAS:
        with Meter() as meter:
            model = maximize(problem, Settings(lam, Prior()), start).model
        seconds = before.cpu_seconds + first.cpu_seconds + meter.cpu_seconds
        labels = model.labels(Z)
        yield "kernel RIM", lam, len(model), adjusted_rand_score(y, labels), seconds
    for k in NUMBERS:
        with Meter() as meter:
            labels = KMeans(k, n_init=N_INIT, random_state=seed).fit(Z).labels_
        yield "kernel k-means", k, k, adjusted_rand_score(y, labels), before.cpu_seconds + meter.cpu_seconds
        with Meter() as meter:
            peer = SpectralClustering(k, n_init=N_INIT, affinity="precomputed", random_state=seed)
            labels = peer.fit(K).labels_
        yield "spectral", k, k, adjusted_rand_score(y, labels), meter.cpu_seconds


def summary(name, kernel, found):
    """One line per method: its best setting, by the mean ARI over seeds."""
    lines = []
    for method in COLORS:
        settings = defaultdict(list)
        for one, setting, *rest in found:
            if one == method:
                settings[setting].append(rest)
        means = {setting: np.mean(rest, axis=0) for setting, rest in settings.items()}
        clusters, ari, _ = max(means.values(), key=lambda mean: mean[1])
        line = {"data": name, "kernel": kernel, "method": method, "clusters": clusters, "ari": ari}
        lines.append({**line, "cpu_seconds": np.median([mean[2] for mean in means.values()])})
    return lines


def plot(result, curves):
    plt = figures()
    figure, panels = plt.subplots(2, 2, figsize=(9.5, 6), sharex=True)
    for axes, (title, found) in zip(panels.T.ravel(), curves.items(), strict=True):
        for method, color in COLORS.items():
            by_number = defaultdict(list)
            for one, _, clusters, ari, _ in found:
                if one == method and 2 <= clusters <= max(NUMBERS):
                    by_number[clusters].append(ari)
            x = sorted(by_number)
            axes.plot(x, [np.mean(by_number[k]) for k in x], color=color, label=method, marker=".")
        axes.axhline(0, color=GREY, lw=0.8)
        axes.set_title(title)
    for axes in panels[-1]:
        axes.set_xlabel("clusters")
    for axes in panels[:, 0]:
        axes.set_ylabel("adjusted Rand index")
    panels[0, 0].legend()
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    result = Result("gomes2010rim_graphs", COMMAND, args, categories=CATEGORIES, paper="gomes2010rim, Figure 5.3")
    lines, curves = [], {}
    for name in SETS:
        graphs, y = graphs_of(name, 300 if args.quick else None)
        for title, kernel in KERNELS.items():
            K = kernel(graphs, graphs)
            found = [run for seed in range(1 if args.quick else 3) for run in runs(K, y, args.seed + seed)]
            lines += summary(name, title, found)
            curves[f"{name}, kernel {title}"] = found
    columns = [
        ("data", "data", ""),
        ("kernel", "kernel", ""),
        ("method", "method", ""),
        ("clusters", "clusters at the best", ".1f"),
        ("ari", "best ARI", ".3f"),
        ("cpu_seconds", "CPU seconds", ".2f"),
    ]
    result.table("graphs", columns, lines)
    for rim, kmeans, spectral in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        where, gap = f"{rim['data']}, kernel {rim['kernel']}", rim["ari"] - kmeans["ari"]
        result.bar(f"{where}: ARI within .01 of kernel k-means", f"{gap:+.3f}", gap >= -0.01)
        ratio = rim["cpu_seconds"] / spectral["cpu_seconds"]
        result.bar(f"{where}: a third of spectral clustering's time", f"{ratio:.2f}", ratio <= 1 / 3)
    result.note("Kernels of graphs hardly know these classes: an ARI of 1 would be the classes, one of 0 is chance.")
    result.content["curves"] = curves
    plot(result, curves)
    result.write()


if __name__ == "__main__":
    main()
