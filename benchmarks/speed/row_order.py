"""What the order of rows costs: every learner on the same rows in random order, sorted by a column, sorted by class.

    python benchmarks/speed/row_order.py [--quick] [--seed N]

Rows come in chunks of 500. Each learner has defaults but for its size; the number is an error (lower is better) on
5,000 rows that were not learned, the mean of three seeds. Sorted by class is by target for regressors, and by the true
cluster for what learns no targets. The last order is that one, mixed by a shuffle buffer of a tenth of the rows.

- Classes: Breiman's waveforms, 10,000 rows; share of mistakes.
- Targets: KIN40K, 10,000 rows; root mean squared error in deviations of the target.
- Clusters: 15 Gaussian clusters of uneven size in 10 columns, 10,000 rows; mean squared distance to the nearest center
  or pick, or minus the mean log-density for mixtures. Selectors of rows that differ: minus their log-determinant.
  RIM and KernelRIM take minutes, and have 2,500 rows.
- Topics: 2,500 documents of 80 words from 10 topics, sorted by their main topic; perplexity.
"""

import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import modicum
from common import Result, arguments
from modicum import datasets
from modicum.exceptions import OrderWarning
from modicum.kernels import RBF
from modicum.select.objectives import LogDet

COMMAND = "python benchmarks/speed/row_order.py"
SEEDS, CHUNK, TESTS = 3, 500, 5_000
SHUFFLED, BY_COLUMN, BY_CLASS, BUFFERED = ORDERS = ("shuffled", "by_column", "by_class", "buffered")


# ---- rows: X, what they are sorted by, X and y of tests ---------------------------------------------------------


@cache
def waves(n, seed):
    X, y = datasets.waveform(n + TESTS, random_state=seed)
    return X[TESTS:], y[TESTS:], X[:TESTS], y[:TESTS]


@cache
def arm(n, seed):
    X, y, X_test, y_test = datasets.kin40k()
    chosen = np.random.default_rng(seed).permutation(len(X))[:n]
    return X[chosen], y[chosen] / y.std(), X_test[:TESTS], y_test[:TESTS] / y.std()


@cache
def clusters(n, seed):
    rng = np.random.default_rng(seed)
    centers, shares = 4 * rng.normal(size=(15, 10)), rng.dirichlet(np.full(15, 5.0))
    label = rng.choice(15, n + TESTS, p=shares)
    X = centers[label] + rng.normal(size=(n + TESTS, 10))
    return X[TESTS:], label[TESTS:], X[:TESTS], label[:TESTS]


def few_clusters(n, seed):
    """A quarter of the rows, for what takes minutes."""
    return clusters(n // 4, seed)


@cache
def documents(n, seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(200, 0.1), 10)
    n = n // 4
    shares = rng.dirichlet(np.full(10, 0.2), n + 500)
    counts = np.array([rng.multinomial(80, p) for p in shares @ topics]).astype(np.float64)
    return counts[500:], shares[500:].argmax(axis=1), counts[:500], shares[:500].argmax(axis=1)


def ordered(X, y, order, seed):
    """Which rows come first."""
    mixed = np.random.default_rng(seed).permutation(len(X))
    if order == SHUFFLED:
        return mixed
    key = X[:, np.argmax(X.var(axis=0))] if order == BY_COLUMN else y
    return mixed[np.argsort(key[mixed], kind="stable")]


# ---- errors -----------------------------------------------------------------------------------------------------


def mistakes(learner, X, y):
    return float((learner.predict(X) != y).mean())


def rmse(learner, X, y):
    return float(np.sqrt(((learner.predict(X) - y) ** 2).mean()))


def squared_distance(centers, X):
    return float(((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean())


def to_centers(learner, X, y):
    centers = learner.cluster_centers_ if hasattr(learner, "cluster_centers_") else learner.exemplars_
    return squared_distance(centers, X)


def to_picks(learner, X, y):
    return squared_distance(learner.picks().rows, X)


def of_coreset(learner, X, y):
    """k-means of the weighted points."""
    from sklearn.cluster import KMeans

    means = KMeans(15, n_init=5, random_state=0).fit(learner.points_, sample_weight=learner.point_weights_)
    return squared_distance(means.cluster_centers_, X)


def minus_density(learner, X, y):
    return -float(learner.score(X))


def of_mixture_coreset(learner, X, y):
    found = modicum.WeightedGaussianMixture(15, random_state=0).fit(
        learner.points_, sample_weight=learner.point_weights_
    )
    return -float(found.score(X))


def minus_log_det(learner, X, y):
    rows = learner.picks().rows
    return -float(np.linalg.slogdet(np.eye(len(rows)) + RBF(4.0)(rows, rows))[1])


def misplaced(learner, X, y):
    """One minus the adjusted Rand index."""
    from sklearn.metrics import adjusted_rand_score

    return 1 - float(adjusted_rand_score(y, learner.predict(X)))


def perplexity(learner, X, y):
    return float(learner.perplexity(X))


LEARNERS = [  # as text, rows, error
    ("StreamSVC()", waves, mistakes),
    ("StreamSVC(kernel='rbf')", waves, mistakes),
    ("SparseGPRegressor(50)", arm, rmse),
    ("KRLS(100)", arm, rmse),
    ("PrototypeRegressor(OnlineGreedy(50))", arm, rmse),
    ("OnlineKMeans(15)", clusters, to_centers),
    ("StreamKMeans(15)", clusters, to_centers),
    ("ExemplarClustering(15)", clusters, to_centers),
    ("StreamGaussianMixture(15)", clusters, minus_density),
    ("MemoryBoundedMixture()", clusters, minus_density),
    ("RIM()", few_clusters, misplaced),
    ("KernelRIM()", few_clusters, misplaced),
    ("KMeansCoreset(300, n_clusters=15)", clusters, of_coreset),
    ("MixtureCoreset(600, n_components=15)", clusters, of_mixture_coreset),
    ("Reservoir(100)", clusters, to_picks),
    ("BalancedSelection(Reservoir(100))", clusters, to_picks),
    ("StreamGreedy(50)", clusters, to_picks),
    ("SieveStreaming(50, objective=LogDet(RBF(4.0)))", clusters, minus_log_det),
    ("SieveStreamingPlusPlus(50, objective=LogDet(RBF(4.0)))", clusters, minus_log_det),
    ("ThreeSieves(50, objective=LogDet(RBF(4.0)))", clusters, minus_log_det),
    ("OnlineGreedy(50, kernel=RBF(4.0))", clusters, minus_log_det),
    ("BlockGreedy(50, kernel=RBF(4.0))", clusters, minus_log_det),
    ("MemoryBoundedTopicModel('multinomial')", documents, perplexity),
]
NAMES = {
    mistakes: "mistakes",
    rmse: "RMSE",
    to_centers: "squared distance",
    to_picks: "squared distance",
    of_coreset: "squared distance of k-means",
    minus_density: "minus log-density",
    of_mixture_coreset: "minus log-density",
    minus_log_det: "minus log-determinant",
    misplaced: "1 - adjusted Rand index",
    perplexity: "perplexity",
}


def made(text, seed):
    """A learner from its text, seeded."""
    learner = eval(text, vars(modicum) | modicum.load_all_learners() | {"RBF": RBF, "LogDet": LogDet})
    return learner.set_params(random_state=seed) if "random_state" in learner.get_params() else learner


def errors(rows, text, error, order, n, seeds):
    """The error of each seed, and how many of the learners warned."""
    found, n_warned = [], 0
    for seed in seeds:
        X, y, X_test, y_test = rows(n, seed)
        at = ordered(X, y, BY_CLASS if order == BUFFERED else order, seed)
        mixing = {"shuffle_buffer": n // 10, "random_state": seed} if order == BUFFERED else {}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            learner = made(text, seed).fit(modicum.stream(X[at], target=y[at], chunk_size=CHUNK, **mixing))
        found.append(error(learner, X_test, y_test))
        n_warned += any(issubclass(one.category, OrderWarning) for one in told)
    return found, n_warned


def main():
    args = arguments(__doc__)
    n = 2_000 if args.quick else 10_000
    seeds = [args.seed] if args.quick else [args.seed + i for i in range(SEEDS)]
    result = Result("row_order", COMMAND, args, rows=n)
    table = []
    for name, rows, error in LEARNERS:
        start, row = time.perf_counter(), {"learner": f"`{name}`", "error": NAMES[error]}
        for order in ORDERS:
            found, n_warned = errors(rows, name, error, order, n, seeds)
            row |= {order: float(np.mean(found)), f"{order}_each": found, f"{order}_warned": n_warned}
        row["warns"] = "yes" if row[f"{BY_CLASS}_warned"] else ""
        table.append(row)
        print(name, *(f"{row[order]:.4g}" for order in ORDERS), f"{time.perf_counter() - start:.0f} s", flush=True)
    columns = [
        ("learner", "learner", ""),
        ("error", "error", ""),
        (SHUFFLED, "shuffled", ".4g"),
        (BY_COLUMN, "sorted by a column", ".4g"),
        (BY_CLASS, "by class or target", ".4g"),
        (BUFFERED, "the same, mixed in a buffer", ".4g"),
    ]
    result.table("errors", columns, table)
    result.write()


if __name__ == "__main__":
    main()
