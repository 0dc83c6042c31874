"""What is lost by learning in shards: 8 learners on a Dask cluster, merged, against one stream of the same rows.

    python benchmarks/speed/distribute_quality.py [--quick] [--only NAME ...]

Every family of learners on data of its paper, with the settings of the paper's benchmark. Rows are written as 8 files
in a temporary folder. One stream: all of them, shuffled, through one learner on one worker. Alike: the same files
through `distribute.fit` with 8 shards, which row groups are dealt to. Different: a list of 8 files, one for each shard,
each with one eighth of the rows sorted by class, by time, or by a column where there is neither; within a file they
are shuffled, so that only the shards differ. For the classifiers, shards differ in the shares of the classes (sorted by
class plus Gaussian noise): shards of one class are refused. Three seeds for all; the means are shown. Nothing is chosen
by the rows that judge.

A local cluster of 2 processes with one thread each, the same for all. Seconds: from files to a merged learner, with 2
workers; of one stream, that of one of two which run side by side. Compiling is not timed.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import (
    GREY,
    OURS,
    PEER,
    Result,
    arguments,
    data_file,
    figures,
    log_det,
    mnist_pca,
    nearest,
    rbf,
    thread_env,
    unit_range,
    utility,
)

COMMAND = "python benchmarks/speed/distribute_quality.py"
N_SHARDS, SEEDS = 8, 3
QUICK_ROWS = 4000
WIDTH, RIDGE = 0.37, 0.001  # of schlegel2017_telemonitoring.py
K_BIO, K_CUP, CUP_ROWS = 150, 50, 200_000
MIXTURE_ROWS, N_HELD_OUT = 24_000, 5000
COLUMNS = [
    ("learner", "learner", ""),
    ("data", "data", ""),
    ("measure", "measure", ""),
    ("rows", "rows", ",d"),
    ("one", "one stream", ".4g"),
    ("one_deviation", "±", ".2g"),
    ("alike", "8 shards alike", ".4g"),
    ("alike_told", "change", ""),
    ("different", "8 that differ", ".4g"),
    ("different_told", "change", ""),
    ("one_seconds", "one stream, s", ".1f"),
    ("alike_seconds", "alike, s", ".1f"),
    ("different_seconds", "differ, s", ".1f"),
]


# ---- the cluster -------------------------------------------------------------------------------------------


@contextmanager
def two_workers():
    """A client of a local cluster: two processes with one thread each."""
    import os

    from distributed import Client, LocalCluster

    os.environ.update(thread_env(1))  # read by the workers when they import numpy
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 40}
    with LocalCluster(**settings) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def one_stream(state, folder, reading):
    """The state of one learner after all rows of a folder, and seconds; runs on a worker."""
    import modicum

    warnings.simplefilter("ignore")
    start = time.perf_counter()
    learner = modicum.Learner.from_bytes(state).learn(modicum.stream(folder, **reading))
    return learner.to_bytes(), time.perf_counter() - start


def ignore_warnings():
    warnings.simplefilter("ignore")


# ---- tasks: rows, what shards may differ in, and a judge ---------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Rows to learn, a value to sort them by, and the judge of a learner: {measure: value}."""

    X: Any
    sorted_by: np.ndarray
    judge: Callable[[Any], dict[str, float]]
    y: Any = None
    is_shuffled_by_noise: bool = False  # shards differ in shares of classes, and none has one class only


def some(X, n):
    """Numbers of n rows from all over X."""
    return np.linspace(0, X.shape[0] - 1, min(n, X.shape[0])).astype(int)


@cache
def digits(n):
    """MNIST on 50 components, by digit; utility of 10,000 test digits with the origin as phantom, and their loss."""
    X, test = mnist_pca()
    labels = data_file("mnist.npz")["y_train"]
    rows = some(X, n)

    def judge(model):
        loss = nearest(test, model.exemplars_)[0].mean()
        return {"utility, test rows": utility(test, model.exemplars_, np.zeros(50)), "loss, test rows": loss}

    return Task(X[rows], labels[rows], judge)


@cache
def proteins(n):
    """KDD Cup 2004, by the column that varies most; the k-means risk on all rows."""
    from modicum.datasets import kdd04_bio

    X = kdd04_bio()
    rows = some(X, n)
    X = X[rows]
    return Task(X, X[:, X.var(axis=0).argmax()], lambda model: {"risk, all rows": nearest(X, centers(model))[0].mean()})


def centers(model):
    """Centers of a clustering, or of the weighted points of a coreset."""
    from sklearn.cluster import KMeans

    if hasattr(model, "cluster_centers_"):
        return model.cluster_centers_
    found = KMeans(model.n_clusters, n_init=1, random_state=0)
    return found.fit(model.points_, sample_weight=model.point_weights_).cluster_centers_


@cache
def connections(n):
    """Numeric columns of KDD Cup 1999 as in coreset_mixture.py, by time; log-likelihood of 50,000 held-out rows."""
    from modicum.datasets import SYMBOLIC, kdd_cup99

    X, names = kdd_cup99()
    X = np.log1p(X[:, [name not in SYMBOLIC for name in names]], dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    X = (X / X.max(axis=0)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    held_out, rows = X[order[:50_000]], np.sort(order[50_000:][: min(n, CUP_ROWS)])
    return Task(X[rows], rows, lambda model: {"log-likelihood, new rows": model.score(held_out)})


@cache
def patients(n, judge):
    """Telemonitoring, 3,500 rows by patient; the others are test rows."""
    from modicum.datasets import telemonitoring

    X, y = telemonitoring()
    X = unit_range(X)
    order = np.random.default_rng([0, 0]).permutation(len(X))
    rows, test = order[:3500], order[3500:]
    return Task(X[rows], X[rows, 0], partial(judge, X_test=X[test], y_test=y[test]), y[rows])


def true_log_det(model, X_test, y_test):
    return {"log det": log_det(rbf(model.prototypes_, model.prototypes_, WIDTH))}


def test_rmse(model, X_test, y_test):
    return {"RMSE, test rows": float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))}


@cache
def robot_arm(n, judge):
    """KIN40K, by the first column; 30,000 test rows."""
    from modicum.datasets import kin40k

    X, y, X_test, y_test = kin40k()
    rows = some(X, n)
    return Task(X[rows], X[rows, 0], partial(judge, X_test=X_test, y_test=y_test), y[rows])


@cache
def arm_kernel():
    """Kernel and noise of KIN40K, from 1,000 random training rows."""
    from modicum.datasets import kin40k
    from modicum.kernels.marginal_likelihood import fit_hyperparameters

    X, y, *_ = kin40k()
    rows = np.random.default_rng(0).permutation(len(X))[:1000]
    return fit_hyperparameters("rbf-ard", X[rows], y[rows])[:2]


def test_mse(model, X_test, y_test):
    return {"MSE, test rows": float(np.mean((model.predict(X_test) - y_test) ** 2))}


def explained_variance(model, X_test, y_test):
    """The reduction of the variance at test rows by observing the prototypes; from the definition."""
    kernel, noise = arm_kernel()
    chosen = model.prototypes_
    K = kernel(chosen, chosen) + noise * np.eye(len(chosen))
    k = kernel(X_test[:10_000], chosen)
    return {"F_V, test rows": float(np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T).mean())}


@cache
def principal_digits(n):
    """MNIST as in gomes2008_mnist.py, by digit; predictive log-likelihood of 5,000 test digits."""
    from modicum.datasets import mnist_principal

    X, y, X_test, _ = mnist_principal()
    rows = some(X, min(n, MIXTURE_ROWS))
    return Task(X[rows], y[rows], lambda model: {"log-likelihood, new rows": model.score(X_test[:N_HELD_OUT])})


@cache
def clusters_of_digits(n):
    """MNIST as in rim.py, by digit; the adjusted Rand index of all rows."""
    from sklearn.metrics import adjusted_rand_score

    from modicum.datasets import mnist_principal

    X, y, *_ = mnist_principal()
    rows = some(X, n)
    X, y = X[rows], y[rows]
    return Task(X, y, lambda model: {"ARI, all rows": adjusted_rand_score(y, model.predict(X))})


@cache
def newsgroups(n):
    """20 Newsgroups in the order of the file, by newsgroup; completion perplexity of 2,000 test documents."""
    import topics

    train, test = topics.newsgroups()
    train, test = train[some(train, n)], test[some(test, 2000)]

    def judge(model):
        return {"perplexity, new documents": topics.completion_perplexity(model.components_, model.alpha_, test)}

    return Task(train, np.arange(train.shape[0]), judge)


@cache
def classes(n, name):
    """A task of rai2009; accuracy on its test rows in percent."""
    from classifiers import prepared_task

    X, X_test, y, y_test = prepared_task(name)
    rows = some(X, n)

    def judge(model):
        return {"accuracy, test rows": 100 * float(np.mean(model.predict(X_test) == y_test))}

    gap = 1 if name == "IJCNN1" else 2  # deviations of the noise; a tenth of the rows of IJCNN1 are positive
    return Task(X[rows], y[rows] * gap / 2, judge, y[rows], is_shuffled_by_noise=True)


# ---- learners ----------------------------------------------------------------------------------------------


def modicum_learner(name, *args, seeded=True, **options):
    """A function that makes a learner for a seed and a number of rows."""

    def make(seed, n):
        import modicum

        found = {key: value(n) if callable(value) else value for key, value in options.items()}
        return getattr(modicum, name)(*args, **found, **({"random_state": seed} if seeded else {}))

    return make


def rbf_kernel(n):
    from modicum.kernels import RBF

    return RBF(WIDTH)


def variance_objective(n):
    from modicum.select.objectives.variance import VarianceReduction

    return VarianceReduction(*arm_kernel())


def on_prototypes(seed, n):
    from modicum import OnlineGreedy, PrototypeRegressor

    selector = OnlineGreedy(500, kernel=rbf_kernel(n))
    return PrototypeRegressor(selector, regularization=RIDGE, n_points=3500, random_state=seed)


@dataclass(frozen=True)
class Family:
    """A learner on its data, and how much may be lost."""

    data: str
    task: Callable[[int], Task]
    make: Callable[[int, int], Any]  # (seed, number of rows) -> a learner
    unit: str = "%"  # what losses are told in: per cent, or points; nats are told beside per cent
    is_higher_better: bool = True
    most_lost: float | None = None  # with shards alike, in the unit; twice that with shards that differ


telemonitoring = {"kernel": rbf_kernel}
FAMILIES = {
    "ExemplarClustering": Family(
        "MNIST",
        digits,
        modicum_learner("ExemplarClustering", 100, n_validation=6000, phantom="origin"),
        most_lost=2,
    ),
    "StreamKMeans": Family(
        "KDD Cup 2004", proteins, modicum_learner("StreamKMeans", K_BIO), is_higher_better=False, most_lost=2
    ),
    "KMeansCoreset": Family(
        "KDD Cup 2004", proteins, modicum_learner("KMeansCoreset", 5000, K_BIO), is_higher_better=False, most_lost=2
    ),
    "StreamGaussianMixture": Family(
        "KDD Cup 1999",
        connections,
        modicum_learner("StreamGaussianMixture", K_CUP, n_points=10_000, reg_covar=1e-4),
        unit="nats",
        most_lost=2,
    ),
    "MemoryBoundedMixture": Family(
        "MNIST",
        principal_digits,
        modicum_learner("MemoryBoundedMixture", budget=lambda n: n // 10, horizon=lambda n: n, seeded=False),
        unit="nats",
        most_lost=2,
    ),
    "MemoryBoundedTopicModel": Family(
        "20 Newsgroups",
        newsgroups,
        modicum_learner("MemoryBoundedTopicModel", "multinomial", budget=lambda n: n // 10),
        is_higher_better=False,
        most_lost=2,
    ),
    "StreamSVC, MNIST": Family(
        "MNIST, 8 against 9", partial(classes, name="MNIST 8v9"), modicum_learner("StreamSVC"), "points", most_lost=1
    ),
    "StreamSVC, IJCNN1": Family(
        "IJCNN1", partial(classes, name="IJCNN1"), modicum_learner("StreamSVC"), "points", most_lost=1
    ),
    "OnlineGreedy": Family(
        "Telemonitoring",
        partial(patients, judge=true_log_det),
        modicum_learner("OnlineGreedy", 200, seeded=False, **telemonitoring),
        most_lost=2,
    ),
    "BlockGreedy": Family(
        "Telemonitoring",
        partial(patients, judge=true_log_det),
        modicum_learner("BlockGreedy", 200, block_size=5, **telemonitoring),
        most_lost=2,
    ),
    "StreamGreedy, variance": Family(
        "KIN40K",
        partial(robot_arm, judge=explained_variance),
        modicum_learner("StreamGreedy", 200, objective=variance_objective, n_validation=2000),
        most_lost=2,
    ),
    "SparseGPRegressor": Family(
        "KIN40K", partial(robot_arm, judge=test_mse), modicum_learner("SparseGPRegressor", 200), is_higher_better=False
    ),
    "PrototypeRegressor": Family(
        "Telemonitoring", partial(patients, judge=test_rmse), on_prototypes, is_higher_better=False
    ),
    "KRLS": Family(
        "Telemonitoring",
        partial(patients, judge=test_rmse),
        modicum_learner("KRLS", 500, ald_threshold=0.1, regularization=RIDGE, seeded=False, **telemonitoring),
        is_higher_better=False,
    ),
    "RIM": Family("MNIST", clusters_of_digits, modicum_learner("RIM", n_clusters=10)),
}


# ---- files -------------------------------------------------------------------------------------------------


def shards(task, differ, seed):
    """Row numbers of the shards, each in random order."""
    rng = np.random.default_rng([seed, differ])
    order = rng.permutation(len(task.sorted_by))
    if differ:
        noise = rng.normal(size=len(order)) if task.is_shuffled_by_noise else 0
        order = order[np.argsort((task.sorted_by + noise)[order], kind="stable")]
    return [rng.permutation(part) for part in np.array_split(order, N_SHARDS)]


def write_shards(folder, task, parts):
    """A file for each shard: Parquet with several row groups, or of sparse rows npz."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy.sparse import save_npz

    folder.mkdir()
    paths = []
    for number, rows in enumerate(parts):
        if hasattr(task.X, "tocsr"):
            paths.append(folder / f"{number}.npz")
            save_npz(paths[-1], task.X[rows], compressed=False)
            continue
        columns = {f"x{j}": task.X[rows, j] for j in range(task.X.shape[1])}
        if task.y is not None:
            columns["y"] = task.y[rows]
        paths.append(folder / f"{number}.parquet")
        pq.write_table(pa.table(columns), paths[-1], row_group_size=-(-len(rows) // N_SHARDS))
    return [str(path) for path in paths]


# ---- runs --------------------------------------------------------------------------------------------------


def runs_of(family, client, n, seeds):
    """One dict for each seed: {"one": (values, seconds), "alike": ..., "different": ...}."""
    from modicum import Learner, distribute

    task = family.task(n)
    n_rows = task.X.shape[0]
    reading = {} if task.y is None else {"target": "y"}
    runs = []
    with tempfile.TemporaryDirectory() as name:
        sources = {}
        for seed in seeds:
            for differ in (False, True):
                place = Path(name) / f"{seed}-{differ}"
                sources[seed, differ] = str(place), write_shards(place, task, shards(task, differ, seed))
        learners = {seed: family.make(seed, n_rows) for seed in seeds}
        futures = [
            client.submit(one_stream, learners[seed].to_bytes(), sources[seed, False][0], reading, pure=False)
            for seed in seeds
        ]
        for seed, (state, seconds) in zip(seeds, client.gather(futures), strict=True):
            run = {"one": (family_judge(task, Learner.from_bytes(state)), seconds)}
            for kind, source, options in (
                ("alike", sources[seed, False][0], {"n_shards": N_SHARDS}),
                ("different", sources[seed, True][1], {}),
            ):
                start = time.perf_counter()
                made = distribute.fit(learners[seed], source, client, progress=False, **options, **reading)
                seconds = time.perf_counter() - start
                assert made.n_seen_ == n_rows
                run[kind] = family_judge(task, made), seconds
            runs.append(run)
    return runs


def family_judge(task, model):
    return {measure: float(value) for measure, value in task.judge(model).items()}


def summary(name, family, n_rows, runs):
    """A row for each measure: means over seeds, and how much better or worse shards are."""
    rows = []
    for measure in runs[0]["one"][0]:
        row = {"learner": name.split(",")[0], "family": name, "data": family.data, "measure": measure, "rows": n_rows}
        higher = family.is_higher_better and "loss" not in measure
        for kind in ("one", "alike", "different"):
            values = [run[kind][0][measure] for run in runs]
            row |= {kind: float(np.mean(values)), f"all_{kind}": values}
            row[f"{kind}_deviation"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
            row[f"{kind}_seconds"] = float(np.mean([run[kind][1] for run in runs]))
        for kind in ("alike", "different"):
            change = row[kind] - row["one"]
            relative = change if family.unit == "points" else 100 * change / abs(row["one"])
            row[f"{kind}_lost"] = -relative if higher else relative
            row[f"{kind}_told"] = f"{relative:+.2f} points" if family.unit == "points" else f"{relative:+.2f}%"
            if family.unit == "nats":
                row[f"{kind}_told"] += f", {change:+.3f} nats"
        rows.append(row)
    return rows


def bars(result, rows):
    for row in rows:
        family = FAMILIES[row["family"]]
        if family.most_lost is None:
            continue
        unit = " points" if family.unit == "points" else "%"
        for kind, most, words in (("alike", 1, "shards alike"), ("different", 2, "shards that differ")):
            limit = most * family.most_lost
            wish = f"{row['learner']}, {row['data']}, {row['measure']}: {words} lose at most {limit:g}{unit}"
            result.bar(wish, row[f"{kind}_told"], row[f"{kind}_lost"] <= limit)


def plot(result, rows):
    """What shards lose, in per cent or points."""
    plt = figures()
    figure, axes = plt.subplots(figsize=(7.5, 0.3 * len(rows) + 1))
    names = [f"{row['learner']}, {row['data']}: {row['measure'].split(',')[0]}" for row in rows]
    for kind, color, label in (("alike", OURS, "shards alike"), ("different", PEER, "shards that differ")):
        axes.plot([row[f"{kind}_lost"] for row in rows], range(len(rows)), "o", ms=5, color=color, label=label)
    axes.axvline(0, color=GREY, lw=1)
    axes.set_xscale("symlog", linthresh=5)
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.set(title="What 8 shards lose against one stream", xlabel="% (accuracy: points); linear up to 5")
    axes.legend(fontsize=8)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__, only={"nargs": "+", "choices": FAMILIES, "default": list(FAMILIES), "metavar": "NAME"})
    n, count = (QUICK_ROWS, 1) if args.quick else (1 << 30, SEEDS)
    result = Result("distribute_quality", COMMAND, args, shards=N_SHARDS, workers=2, seeds=count)
    seeds = range(args.seed, args.seed + count)
    rows = []
    warnings.simplefilter("ignore")  # of shares of classes, and of EM that is not done
    with two_workers() as client:
        client.run(ignore_warnings)
        for name in args.only:
            family = FAMILIES[name]
            start = time.perf_counter()
            if not args.quick:
                runs_of(family, client, QUICK_ROWS, range(1))  # compiles what is compiled
            found = summary(name, family, family.task(n).X.shape[0], runs_of(family, client, n, seeds))
            rows += found
            for row in found:
                told = f"{row['one']:.4g}; alike {row['alike_told']}, different {row['different_told']}"
                print(f"{name}: {told}; {time.perf_counter() - start:.0f} s in all", file=sys.stderr, flush=True)
    result.table("families", COLUMNS, rows)
    bars(result, rows)
    result.note(
        "Changes are of the means over seeds, against one stream; ± is the deviation of one stream over seeds. "
        "Log-likelihoods have no natural zero, so the nats per row say more than the per cent."
    )
    plot(result, rows)
    result.write()


if __name__ == "__main__":
    main()
