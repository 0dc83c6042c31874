"""What forgetting is worth: clusters of streams that change, with and without a half-life, against peers.

    python benchmarks/speed/forgetting.py [--quick] [--seed N]

Rows of five Gaussian clusters in 5 columns, in chunks of 200. Each chunk is judged before it is learned: the mean
squared distance of rows to the nearest center or exemplar, a mean over five seeds. The streams:

- still: the same clusters all the time;
- abrupt: three times other clusters;
- gradual: every center moves to another place, from the first row to the last;
- recurring: two sets of clusters take turns, four times each.

A half-life of 500 rows was chosen on other seeds, for all learners and streams alike. River's learners take one row at
a time, its k-means with its own half-life of 0.5, and are given what it holds as centers. The time is that of
predicting and learning, on one thread.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import modicum
from common import Result, arguments

COMMAND = "python benchmarks/speed/forgetting.py"
K, COLUMNS, CHUNK, H, SEEDS = 5, 5, 200, 500, 5


def clusters(rng, n, centers):
    """Rows of clusters; `centers` may be of every row."""
    which = rng.integers(K, size=n)
    chosen = centers[which] if centers.ndim == 2 else centers[np.arange(n), which]
    return chosen + rng.normal(size=(n, COLUMNS))


def centers_of(rng):
    return 6 * rng.normal(size=(K, COLUMNS))


def still(rng, n):
    return clusters(rng, n, centers_of(rng))


def abrupt(rng, n):
    return np.concatenate([clusters(rng, n // 4, centers_of(rng)) for _ in range(4)])


def gradual(rng, n):
    way, first, last = np.linspace(0, 1, n)[:, None, None], centers_of(rng), centers_of(rng)
    return clusters(rng, n, (1 - way) * first + way * last)


def recurring(rng, n):
    worlds = [centers_of(rng), centers_of(rng)]
    return np.concatenate([clusters(rng, n // 8, worlds[i % 2]) for i in range(8)])


STREAMS = {"still": still, "abrupt": abrupt, "gradual": gradual, "recurring": recurring}


class OfRiver:
    """A clusterer of River, row by row."""

    def __init__(self, make):
        self.make = make

    def __call__(self, seed):
        from river import cluster

        self.model = self.make(cluster, seed)
        return self

    def partial_fit(self, X):
        for row in X:
            self.model.learn_one(dict(enumerate(row.tolist())))

    @property
    def cluster_centers_(self):
        found = self.model.centers.values()
        return np.array([[center[i] for i in range(COLUMNS)] for center in found])


LEARNERS = {
    "OnlineKMeans(5)": lambda seed: modicum.OnlineKMeans(K),
    "OnlineKMeans(5, half_life=500)": lambda seed: modicum.OnlineKMeans(K, half_life=H),
    'OnlineKMeans(5, half_life="auto")': lambda seed: modicum.OnlineKMeans(K, half_life="auto"),
    "StreamKMeans(5)": lambda seed: modicum.StreamKMeans(K, random_state=seed),
    "StreamKMeans(5, half_life=500)": lambda seed: modicum.StreamKMeans(K, half_life=H, random_state=seed),
    'StreamKMeans(5, half_life="auto")': lambda seed: modicum.StreamKMeans(K, half_life="auto", random_state=seed),
    "ExemplarClustering(5)": lambda seed: modicum.ExemplarClustering(K, n_validation=500, random_state=seed),
    "ExemplarClustering(5, half_life=500)": lambda seed: modicum.ExemplarClustering(
        K, n_validation=500, half_life=H, random_state=seed
    ),
    'ExemplarClustering(5, half_life="auto")': lambda seed: modicum.ExemplarClustering(
        K, n_validation=500, half_life="auto", random_state=seed
    ),
    "River: KMeans": OfRiver(lambda cluster, seed: cluster.KMeans(n_clusters=K, halflife=0.5, seed=seed)),
    "scikit-learn: MiniBatchKMeans": lambda seed: MiniBatchKMeans(K, batch_size=CHUNK, random_state=seed),
}


def centers(learner):
    return learner.exemplars_ if hasattr(learner, "exemplars_") else learner.cluster_centers_


def loss(learner, X):
    """Chunks are judged before they are learned. Returns the mean squared distance and seconds."""
    total, seconds = 0.0, 0.0
    for first in range(0, len(X), CHUNK):
        chunk, start = X[first : first + CHUNK], time.process_time()
        if first:
            total += ((chunk[:, None] - centers(learner)) ** 2).sum(axis=2).min(axis=1).sum()
        learner.partial_fit(chunk)
        seconds += time.process_time() - start
    return total / (len(X) - CHUNK), seconds


def main():
    args = arguments(__doc__)
    warnings.simplefilter("ignore")
    n = 4_000 if args.quick else 20_000
    seeds = [args.seed + 100 + i for i in range(1 if args.quick else SEEDS)]
    result, table = Result("forgetting", COMMAND, args, rows=n), []
    for name, make in LEARNERS.items():
        row, seconds = {"learner": f"`{name}`"}, []
        make(0)  # imports
        for stream, rows in STREAMS.items():
            found = [loss(make(seed), rows(np.random.default_rng(seed), n)) for seed in seeds]
            row[stream] = float(np.mean([one for one, _ in found]))
            seconds += [each for _, each in found]
        row["speed"] = n / float(np.median(seconds))
        table.append(row)
        print(name, *(f"{row[stream]:.4g}" for stream in STREAMS), f"{row['speed']:,.0f} rows/s", flush=True)
    columns = [("learner", "learner", ""), *((name, name, ".4g") for name in STREAMS), ("speed", "rows per s", ",.0f")]
    result.table("clusters", columns, table)
    result.write()


if __name__ == "__main__":
    main()
