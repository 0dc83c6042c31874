"""What shards cost: each family of learners on its paper's data, eight shards on a cluster against one stream.

    python benchmarks/speed/distribute_quality.py [--quick] [--only FAMILY ...]

`modicum.distribute.fit` on a local cluster of two processes, eight shards. One stream and "alike" read the same rows in
random order, cut evenly; "differ" reads them sorted, one eighth a shard: by class, by time or by the first principal
component. Classes of the classifier are sorted with noise, as shards of one class are refused. Means over seeds. The
judge is the same for all: rows that were not learned, or all rows where the paper judges by these.
"""

import os
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import modicum
from modicum import distribute
from modicum.kernels import RBF

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from common import Result, arguments, data_file, mnist_pca, nearest, thread_env, unit_range, utility
from topics import completion_perplexity, newsgroups

COMMAND = "python benchmarks/speed/distribute_quality.py"
N_SHARDS = 8


@dataclass
class Task:
    """Rows, a place of each by which they are sorted, targets if there are any, a judge, and how it is compared."""

    X: np.ndarray
    place: np.ndarray
    judge: Any  # of a learner
    y: np.ndarray | None = None
    what: str = ""
    order: str = "by class"
    n_seeds: int = 3
    points: bool = False  # differences in points, not ratios
    lower: bool = False  # better
    bar: float | None = None  # 0.02: within 2%; of points, 1


def principal(X):
    """Places of rows along their first principal component."""
    Z = X - X.mean(axis=0)
    return Z @ np.linalg.eigh(Z.T @ Z)[1][:, -1]


def digits(n, dims=50):
    train, test = mnist_pca(dims)
    y = data_file("mnist.npz")["y_train"]
    rows = np.random.default_rng(0).permutation(len(train))[:n]
    return train[rows], test, y[rows]


# ---- families: a learner of a seed, and a task ---------------------------------------------------------------------


def exemplars(quick):
    X, test, y = digits(6_000 if quick else 60_000)
    origin = np.zeros(X.shape[1])
    task = Task(X, y, lambda model: utility(test, model.exemplars_, origin), what="utility, new digits", bar=0.02)
    return lambda seed: modicum.ExemplarClustering(100, phantom="origin", random_state=seed), task


def bio(quick):
    X = data_file("kdd04_bio.npz")["x"][: 20_000 if quick else None]
    return X, principal(X / np.maximum(X.std(axis=0), 1e-9))


def stream_kmeans(quick):
    X, place = bio(quick)

    def judge(model):
        return float(nearest(X, model.cluster_centers_)[0].mean())

    task = Task(X, place, judge, what="risk, all rows", order="by component", lower=True, bar=0.02)
    return lambda seed: modicum.StreamKMeans(100, random_state=seed), task


def kmeans_coreset(quick):
    X, place = bio(quick)

    def judge(model):
        points, weights = model.as_sample()
        centers = KMeans(100, n_init=3, random_state=0).fit(points, sample_weight=weights).cluster_centers_
        return float(nearest(X, centers)[0].mean())

    task = Task(X, place, judge, what="risk, all rows", order="by component", lower=True, bar=0.02)
    return lambda seed: modicum.KMeansCoreset(10_000, 100, random_state=seed), task


def gaussian_mixture(quick):
    X, test, y = digits(6_000 if quick else 60_000, 20)
    task = Task(X, y, lambda model: float(model.score(test)), what="log-likelihood, new digits", bar=0.02)
    return lambda seed: modicum.StreamGaussianMixture(20, random_state=seed), task


def bounded_mixture(quick):
    X, test, y = digits(4_000 if quick else 24_000, 20)
    task = Task(X, y, lambda model: float(model.score(test)), what="log-likelihood, new digits", n_seeds=1, bar=0.02)
    return lambda seed: modicum.MemoryBoundedMixture("gaussian", budget=4_000), task


def topics(quick):
    train, test = newsgroups()
    rows = np.arange(train.shape[0])[: 2_000 if quick else None]
    place = rows  # the order of the file is by group

    def judge(model):
        return completion_perplexity(np.asarray(model.components_), np.asarray(model.alpha_, float), test[:2000])

    X = train[rows].toarray().astype(np.float32)
    task = Task(X, place, judge, what="completion perplexity", order="of the file", n_seeds=2, lower=True, bar=0.02)
    return lambda seed: modicum.MemoryBoundedTopicModel("multinomial", budget="16 MiB", random_state=seed), task


def classifier(quick):
    raw = data_file("ijcnn1.npz")
    X, y = raw["x_train"][: 8_000 if quick else None], raw["y_train"][: 8_000 if quick else None]
    place = np.random.default_rng(0).normal(size=len(y)) + 2.0 * (y > 0)

    def judge(model):
        return 100 * float(np.mean(model.predict(raw["x_test"]) == raw["y_test"]))

    task = Task(X, place, judge, y, "accuracy, new rows", "by class, with noise", points=True, bar=1.0)
    return lambda seed: modicum.StreamSVC(random_state=seed), task


def telemonitoring():
    raw = data_file("parkinsons_telemonitoring.npz")["x"]
    X = unit_range(np.delete(raw, [0, 4, 5], axis=1)).astype(np.float32)
    return X, raw[:, 0]


def log_det(quick):
    X, subject = telemonitoring()
    task = Task(X, subject, lambda model: model.value_, what="log det", order="by subject", n_seeds=1)
    return lambda seed: modicum.OnlineGreedy(200, kernel=RBF(0.5)), task


def two_rounds(quick):
    return log_det(quick)


def kin40k(quick):
    raw = data_file("kin40k.npz")
    n = 3_000 if quick else None

    def judge(model):
        return float(np.mean((model.predict(raw["x_test"]) - raw["y_test"]) ** 2))

    X, y = raw["x_train"][:n], raw["y_train"][:n]
    return Task(X, y, judge, y, "MSE, new rows", "by target", n_seeds=1, lower=True)


def gaussian_process(quick):
    return lambda seed: modicum.SparseGPRegressor(50 if quick else 100, random_state=seed), kin40k(quick)


def krls(quick):
    return lambda seed: modicum.KRLS(100), kin40k(quick)


FAMILIES = {
    "ExemplarClustering": exemplars,
    "StreamKMeans": stream_kmeans,
    "KMeansCoreset": kmeans_coreset,
    "StreamGaussianMixture": gaussian_mixture,
    "MemoryBoundedMixture": bounded_mixture,
    "MemoryBoundedTopicModel": topics,
    "StreamSVC": classifier,
    "OnlineGreedy": log_det,
    "OnlineGreedy, two rounds": two_rounds,
    "SparseGPRegressor": gaussian_process,
    "KRLS": krls,
}


# ---- runs ----------------------------------------------------------------------------------------------------------


def write(folder, name, task, rows):
    """Rows with their targets as one array file."""
    values = task.X[rows] if task.y is None else np.column_stack([task.X[rows], task.y[rows]])
    path = folder / f"{name}.npy"
    np.save(path, values)
    return str(path)


def measure(name, task, learner, folder, client, seed):
    """Scores of one stream, of shards that are alike, and of shards that differ."""
    rng = np.random.default_rng(seed)
    reading = {} if task.y is None else {"target": task.X.shape[1]}
    shuffled = write(folder, "rows", task, rng.permutation(len(task.X)))
    parts = np.array_split(np.argsort(task.place, kind="stable"), N_SHARDS)
    files = [write(folder, f"part{number}", task, rng.permutation(rows)) for number, rows in enumerate(parts)]
    start = time.perf_counter()
    one = learner(seed).learn(modicum.stream(shuffled, **reading))
    found = {"one": task.judge(one), "seconds_one": time.perf_counter() - start}

    def spread(source):
        if name.endswith("two rounds"):
            return distribute.select(learner(seed), source, client, N_SHARDS, progress=False, **reading).selector
        return distribute.fit(learner(seed), source, client, N_SHARDS, progress=False, **reading)

    start = time.perf_counter()
    alike = spread(shuffled)
    found["seconds"] = time.perf_counter() - start
    return found | {"alike": task.judge(alike), "differ": task.judge(spread(files))}


def loss(task, one, other):
    """By how much the other is worse: relative, or in points. Below zero it is better."""
    gain = (one - other) if task.lower else (other - one)
    return -gain if task.points else -gain / abs(one)


def main():
    args = arguments(__doc__, only={"nargs": "+", "choices": FAMILIES, "default": list(FAMILIES)})
    import distributed

    warnings.filterwarnings("ignore")
    os.environ.update(thread_env(1) | {"PYTHONWARNINGS": "ignore"})  # of the workers
    result = Result("distribute_quality", COMMAND, args, shards=N_SHARDS)
    rows = []
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        for name in args.only:
            learner, task = FAMILIES[name](args.quick)
            seeds = range(1 if args.quick else task.n_seeds)
            with tempfile.TemporaryDirectory() as folder:
                runs = [measure(name, task, learner, Path(folder), client, seed) for seed in seeds]
            row = {"learner": name, "what": task.what, "order": task.order, "n": len(task.X), "seeds": len(runs)}
            row |= {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            row |= {f"loss_{how}": loss(task, row["one"], row[how]) for how in ("alike", "differ")}
            form = "+.2f" if task.points else "+.1%"
            row |= {f"shown_{how}": format(row[f"loss_{how}"], form) for how in ("alike", "differ")}
            rows.append(row | {"runs": runs})
            print({key: value for key, value in row.items() if key != "runs"}, flush=True)
            for how, times in (("alike", 1), ("differ", 2)):
                if task.bar is not None:
                    unit = f"{times * task.bar:g} points" if task.points else f"{times * task.bar:.0%}"
                    wish = f"{name}, shards that {'are alike' if how == 'alike' else how}: at most {unit} lost"
                    result.bar(wish, row[f"shown_{how}"], row[f"loss_{how}"] <= times * task.bar)
    columns = [
        ("learner", "learner", ""),
        ("what", "judged by", ""),
        ("n", "rows", ",d"),
        ("one", "one stream", ".4g"),
        ("alike", "8 shards, alike", ".4g"),
        ("shown_alike", "lost", ""),
        ("differ", "8 shards that differ", ".4g"),
        ("shown_differ", "lost", ""),
        ("order", "sorted", ""),
        ("seconds_one", "seconds, one", ".1f"),
        ("seconds", "8 shards", ".1f"),
    ]
    result.table("quality", columns, rows)
    result.note("Seconds are of two workers on the same cores that one stream has; learners may use all of them.")
    result.write()


if __name__ == "__main__":
    main()
