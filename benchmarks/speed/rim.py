"""RIM of digits: modicum against clusterings of scikit-learn and gemclus, and one pass against all rows at once.

    python benchmarks/speed/rim.py [--quick] [--peer-python gemclus=INTERPRETER]

scikit-learn's digits (1,797 x 64) and MNIST on 50 principal components, 10,000 rows and all 60,000; 10 clusters for
all. Judged by the adjusted Rand index against the digits, which no contestant sees. Ours, with the rows as they are
(linear, one start, from the best of 10 k-means clusterings) or with diffusion features (five starts; the graph has at
most 10,000 rows, sampled at random, and its features are extended to the others). The regularisation is chosen by the
rule for known numbers; the settings of the graph were chosen on MNIST's test digits and on artificial rows. A process
for each run, one thread, three seeds; the median is shown. Timed: from rows in memory to labels, after the loops are
compiled. Not timed: imports, the data.

The stream: MNIST's 60,000 rows in a random order and in chunks of 1,000, as one stream and as four shards that are
merged, against one fit to all rows.
"""

import json
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, Meter, Result, arguments, figures
from peers import PEER_OPTIONS, run_rounds

COMMAND = "python benchmarks/speed/rim.py --peer-python gemclus=INTERPRETER"
K, SEEDS, CHUNK, SHARDS = 10, 3, 1000, 4
STARTS = {"linear": 1, "diffusion": 5}
BUDGETS = {"linear": 20_000, "diffusion": 23_000}  # rows held; of a graph and its sample 10,000 each
PLACES = {"KMeans": ((0, -14), "center"), "modicum, linear": ((7, -3), "left")}  # of names that would overlap others
SIZES = {"digits": 1797, "MNIST, 10,000": 10_000, "MNIST, 60,000": 60_000}


# ---- contestants: (X, seed) -> labels -------------------------------------------------------------------------


def rim(X, seed, features):
    return new_rim(seed, features).fit_predict(X)


def new_rim(seed, features):
    from modicum import RIM

    return RIM(n_clusters=K, features=features, n_init=STARTS[features], budget=BUDGETS[features], random_state=seed)


def streamed(X, seed, features):
    """Labels after one pass in chunks, and of four shards that were merged."""
    order = np.random.default_rng(seed).permutation(len(X))
    learners = [new_rim(seed + i, features) for i in range(SHARDS + 1)]
    for first in range(0, len(X), CHUNK):
        rows = order[first : first + CHUNK]
        learners[0].partial_fit(X[rows])
        learners[1 + first // CHUNK % SHARDS].partial_fit(X[rows])
    one, merged, *others = learners
    for other in others:
        merged.merge(other)
    return one.predict(X), merged.predict(X)


def kmeans(X, seed):
    from sklearn.cluster import KMeans

    return KMeans(K, n_init=10, random_state=seed).fit_predict(X)


def spectral(X, seed):
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(K, affinity="nearest_neighbors", random_state=seed).fit_predict(X)


def gaussian_mixture(X, seed):
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(K, covariance_type="diag", reg_covar=1e-2, random_state=seed).fit_predict(X)


def gemclus_rim(X, seed):
    """lambda = 1 / n, within the range of the thesis, and a step ten times that of its default, which is slow."""
    from gemclus.linear import RIM

    return RIM(n_clusters=K, reg=1 / len(X), max_iter=1000, learning_rate=0.01, random_state=seed).fit_predict(X)


CONTESTANTS = {
    "modicum, linear": (partial(rim, features="linear"), "modicum"),
    "modicum, diffusion": (partial(rim, features="diffusion"), "modicum"),
    "KMeans": (kmeans, "scikit-learn"),
    "SpectralClustering": (spectral, "scikit-learn"),
    "GaussianMixture, diagonal": (gaussian_mixture, "scikit-learn"),
    "gemclus, RIM": (gemclus_rim, "gemclus"),
}
COLUMNS = [
    ("contestant", "contestant", ""),
    ("ari", "adjusted Rand index", ".3f"),
    ("least", "least", ".3f"),
    ("clusters", "clusters", "d"),
    ("seconds", "seconds", ".2f"),
    ("extra_mib", "extra MiB", ".0f"),
    ("status", "", ""),
]


def rows_of(data, n):
    """Rows and their digits."""
    if data == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X[:n] / 16.0, y[:n]
    from modicum.datasets import mnist_principal

    X, y, *_ = mnist_principal()
    return X[:n], y[:n]


def worker(name, data, n, seed):
    """Run one contestant and print one JSON line."""
    from sklearn.metrics import adjusted_rand_score

    run, _ = CONTESTANTS[name]
    X, y = rows_of(data, n)
    warnings.simplefilter("ignore")
    run(X[:500], seed)  # compiles
    with Meter() as meter:
        labels = run(X, seed)
    facts = {"ari": float(adjusted_rand_score(y, labels)), "clusters": len(np.unique(labels))}
    print(json.dumps({**meter.facts(), **facts}))


def stream_table(args):
    """Adjusted Rand index of one fit, of one pass and of merged shards, for each seed and kind of features."""
    from sklearn.metrics import adjusted_rand_score

    X, y = rows_of("MNIST", 3000 if args.quick else 60_000)
    rows = []
    for features in STARTS:
        for seed in range(args.seed, args.seed + args.repeat):
            answers = rim(X, seed, features), *streamed(X, seed, features)
            scores = [float(adjusted_rand_score(y, labels)) for labels in answers]
            rows.append(
                {"features": features, "seed": seed} | dict(zip(("all", "stream", "merged"), scores, strict=True))
            )
    return rows


# ---- the tables -----------------------------------------------------------------------------------------------


def summary(name, runs):
    """Medians over the seeds."""
    row = {"contestant": name, "is_ours": name.startswith("modicum"), "status": ""}
    done = [run for run in runs if run["status"] == "ok"]
    if not done:
        return row | {"status": runs[-1]["status"]}
    scores = [run["ari"] for run in done]
    row |= {"ari": float(np.median(scores)), "least": min(scores), "scores": scores}
    row |= {key: float(np.median([run[key] for run in done])) for key in ("seconds", "extra_bytes")}
    return row | {"clusters": done[-1]["clusters"], "extra_mib": row["extra_bytes"] / MIB}


def bars(result, data, rows):
    found = {row["contestant"]: row for row in rows if not row["status"]}
    least = {"digits": {"linear": 0.70, "diffusion": 0.88}, "MNIST, 10,000": {"diffusion": 0.74}}
    least |= {"MNIST, 60,000": {"linear": 0.42, "diffusion": 0.75}}
    peers = {"linear": ("KMeans", 2 if data == "digits" else 4), "diffusion": ("SpectralClustering", 1)}
    for features, bar in least[data].items():
        ours, (peer, times) = found.get(f"modicum, {features}"), peers[features]
        measured = f"{ours['ari']:.3f}" if ours else "did not run"
        result.bar(f"{data}, {features}: at least {bar:.2f}", measured, ours and ours["ari"] >= bar)
        if ours and peer in found:
            ratio = ours["seconds"] / found[peer]["seconds"]
            wish = f"{data}, {features}: at most {times} times the seconds of {peer}"
            result.bar(wish, f"{ratio:.2f} times", ratio <= times)


def plot(result, tables):
    """Index against seconds, for each data set."""
    plt = figures()
    figure, axes = plt.subplots(1, len(tables), figsize=(4 * len(tables), 3.8), sharey=True, squeeze=False)
    for axis, (data, rows) in zip(axes[0], tables.items(), strict=True):
        for row in rows:
            if not row["status"]:
                place = (row["seconds"], row["ari"])
                axis.plot(*place, "o", ms=6, color=OURS if row["is_ours"] else PEER)
                label = row["contestant"].removesuffix(", diagonal")
                offset, side = PLACES.get(label, ((0, 5), "center"))
                axis.annotate(label, place, offset, textcoords="offset points", color=GREY, ha=side)
        axis.set(title=data, xscale="log", xlabel="seconds")
        axis.margins(x=0.3, y=0.08)
        axis.xaxis.set_major_locator(plt.LogLocator(subs=(1.0, 3.0)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
    axes[0, 0].set_ylabel("adjusted Rand index")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__, **(PEER_OPTIONS | {"limit": {"type": float, "default": 300.0}}))
    args.repeat = 1 if args.quick else SEEDS
    result = Result("rim", COMMAND, args, clusters=K)
    packages = {name: package for name, (_, package) in CONTESTANTS.items()}
    tables = {}
    for data, n in SIZES.items():
        n = min(n, 1500) if args.quick else n
        runs = run_rounds(__file__, packages, lambda turn, data=data, n=n: (data, n, args.seed + turn), args)
        tables[data] = [summary(name, done) for (name, _), done in runs.items()]
        result.table(data, COLUMNS, tables[data])
        bars(result, data, tables[data])
    rows = stream_table(args)
    names = {"all": "one fit", "stream": "one pass", "merged": "four shards, merged"}
    columns = [
        ("features", "features", ""),
        ("seed", "seed", "d"),
        *((key, name, ".3f") for key, name in names.items()),
    ]
    result.table("stream", columns, rows)
    for features in STARTS:
        mean = {key: np.mean([row[key] for row in rows if row["features"] == features]) for key in names}
        for key, bar in (("stream", 0.90), ("merged", 0.95)):
            ratio = mean[key] / mean["all"]
            result.bar(f"{features}, {names[key]}: at least {bar:.2f} of one fit", f"{ratio:.2f}", ratio >= bar)
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
