"""Four learners on four shards, merged, against one that saw the whole stream: MNIST, 8 against 9.

    python benchmarks/papers/rai2009_shards.py [--quick]

Shards are random quarters of the training rows (alike), or quarters in which the classes are mixed unevenly, from
about 7% to 93%. Means over random orderings. The balls have the setting that was chosen for the whole stream, on
held-out training rows; the second-order variants choose inside the pass, each shard for itself. The paper has no
merge; the bar is our own.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from classifiers import CONTESTANTS, EIGHT_NINE, choose, prepared_task
from common import Result, arguments
from workers import Workers, grouped

COMMAND = "python benchmarks/papers/rai2009_shards.py"
SLOW = "full"  # left out of quick runs
NEAR = 1.0  # percentage points
COLUMNS = [
    ("learner", "learner", ""),
    ("whole", "one stream, %", ".2f"),
    ("shard", "one random quarter", ".2f"),
    ("alike", "4 random quarters, merged", ".2f"),
    ("alike_deviation", "±", ".2f"),
    ("uneven", "4 uneven quarters, merged", ".2f"),
    ("uneven_deviation", "±", ".2f"),
    ("merge_ms", "3 merges, ms", ".1f"),
]


def quarters(y, uneven, seed):
    """Row numbers of four shards, each in random order."""
    rng = np.random.default_rng(seed)
    place = rng.normal(size=len(y)) + (y if uneven else 0)
    return [rng.permutation(part) for part in np.array_split(np.argsort(place), 4)]


def measure(job):
    """Accuracies of one ordering, in percent."""
    name, options, seed, most = job
    X, X_test, y, y_test = prepared_task(EIGHT_NINE, most=most)
    warnings.filterwarnings("ignore", "StreamSVC: only")  # of the rows of an uneven quarter are of one class

    def learner(rows):
        return CONTESTANTS[name].make(**options).fit(X[rows], y[rows])

    def accuracy(model):
        return 100 * float(np.mean(model.predict(X_test) == y_test))

    alike, uneven = ([learner(rows) for rows in quarters(y, mixed, seed)] for mixed in (False, True))
    found = {"whole": accuracy(learner(np.random.default_rng(seed).permutation(len(y))))}
    found["shard"] = accuracy(alike[0])
    start = time.perf_counter()
    model = merged(alike)
    found["merge_ms"] = 1000 * (time.perf_counter() - start)
    return {**found, "alike": accuracy(model), "uneven": accuracy(merged(uneven))}


def merged(models):
    first, *others = models
    for other in others:
        first.merge(other)
    return first


def summary(name, options, runs):
    row = {"learner": name, "setting": options}
    for key in ("whole", "shard", "alike", "uneven"):
        values = [run[key] for run in runs]
        row |= {key: float(np.mean(values)), f"{key}_deviation": float(np.std(values, ddof=1)), f"all_{key}": values}
    return {**row, "merge_ms": float(np.median([run["merge_ms"] for run in runs]))}


def main():
    args = arguments(__doc__)
    orderings, most = (2, 2000) if args.quick else (10, None)
    result = Result("rai2009_shards", COMMAND, args, orderings=orderings, shards=4, paper="rai2009; the merge is ours")
    learners = [name for name, one in CONTESTANTS.items() if one.is_ours and not (args.quick and name == SLOW)]
    with Workers() as spread:
        chosen = choose(learners, EIGHT_NINE, most, spread)
        jobs = [(name, chosen[name][1], seed, most) for name in learners for seed in range(orderings)]
        runs = grouped((job[0] for job in jobs), spread(measure, jobs))
    rows = [summary(name, chosen[name][1], found) for name, found in runs.items()]
    result.table("merge", COLUMNS, rows)
    for row in rows:
        gap = row["alike"] - row["whole"]
        result.bar(
            f"{row['learner']}: 4 random quarters within {NEAR:g} point of one stream", f"{gap:+.2f}", gap >= -NEAR
        )
    result.write()


if __name__ == "__main__":
    main()
