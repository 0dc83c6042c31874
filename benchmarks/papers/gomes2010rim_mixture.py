"""RIM, a mixture, k-means or exemplars: rows that suit each of them.

    python benchmarks/papers/gomes2010rim_mixture.py [--quick]

The sets are made up, or chosen, so that each method meets rows that suit it and rows that do not; all parameters are
the defaults but for the number of clusters, where a method needs it or may know it. ARI with the true clusters, mean
over three runs with other rows and other random states. The digits are the same rows in all runs; for the mixture they
are projected to 16 principal components, since pixels that hardly vary dominate its densities.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from modicum import RIM, ExemplarClustering, KernelRIM, MemoryBoundedMixture, StreamKMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Meter, Result, arguments

COMMAND = "python benchmarks/papers/gomes2010rim_mixture.py"
SETS = {
    "unequal Gaussians": "4 stretched ones, from 60% to 5%",
    "a large and two small clusters": "90%, 5% and 5%, round",
    "two moons": "",
    "digits": "8 x 8 pixels",
}
METHODS = {
    "mixture": lambda k, sizes, seed: MemoryBoundedMixture(),
    "RIM": lambda k, sizes, seed: RIM(random_state=seed),
    "RIM, number known": lambda k, sizes, seed: RIM(n_clusters=k, random_state=seed),
    "RIM, sizes known": lambda k, sizes, seed: RIM(n_clusters=k, prior=sizes, random_state=seed),
    "RIM, diffusion": lambda k, sizes, seed: RIM(features="diffusion", random_state=seed),
    "RIM, diffusion, number known": lambda k, sizes, seed: RIM(n_clusters=k, features="diffusion", random_state=seed),
    "KernelRIM, number known": lambda k, sizes, seed: KernelRIM(n_clusters=k, n_prototypes=200, random_state=seed),
    "k-means, number known": lambda k, sizes, seed: StreamKMeans(k, random_state=seed),
    "exemplars, number known": lambda k, sizes, seed: ExemplarClustering(k, random_state=seed),
}


def rows_of(name, n, seed):
    """Rows and their clusters."""
    rng = np.random.default_rng(seed)
    if name == "two moons":
        return make_moons(n, noise=0.07, random_state=seed)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:n], y[:n]
    if name == "unequal Gaussians":
        label = rng.choice(4, n, p=[0.6, 0.25, 0.1, 0.05])
        centers = np.array([[0, 0], [0, 5], [9, 2.5], [14, -3]])
        widths = np.array([[4, 0.5], [3, 0.5], [0.5, 2], [1, 1]])
        return centers[label] + widths[label] * rng.normal(size=(n, 2)), label
    label = rng.choice(3, n, p=[0.9, 0.05, 0.05])
    return np.array([[0, 0], [6, 0], [0, 6]])[label] + rng.normal(size=(n, 2)), label


def measured(name, method, n, seed):
    """The ARI of a method, the number of its clusters, and CPU seconds."""
    X, y = rows_of(name, n, seed)
    if name == "digits" and method == "mixture":
        X = PCA(16, random_state=0).fit_transform(X)
    sizes = np.bincount(y) / len(y)
    with Meter() as meter:
        found = METHODS[method](len(sizes), sizes, seed).fit(X).predict(X)
    return adjusted_rand_score(y, found), len(np.unique(found)), meter.cpu_seconds


def main():
    args = arguments(__doc__)
    n, seeds = (300, range(1)) if args.quick else (1800, range(args.seed, args.seed + 3))
    result = Result("gomes2010rim_mixture", COMMAND, args, n_rows=n)
    lines = []
    for method in METHODS:
        line = {"method": method}
        for name in SETS:
            ari, clusters, seconds = np.mean([measured(name, method, n, seed) for seed in seeds], axis=0)
            line |= {name: f"{ari:.2f} ({clusters:.0f})", f"{name}: ARI": ari, f"{name}: CPU seconds": seconds}
        lines.append(line)
    columns = [("method", "method", "")] + [(name, f"{name}, {about}".strip(", "), "") for name, about in SETS.items()]
    result.table("clusters", columns, lines)
    result.note("Adjusted Rand index, and in brackets the number of clusters.")
    result.write()


if __name__ == "__main__":
    main()
