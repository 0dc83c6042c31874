"""Four learners on four shards, merged, against one learner that saw everything.

    python benchmarks/papers/gomes2010_merge.py [--quick]

MNIST on 50 principal components as in gomes2010, section 6; K = 100, the origin as phantom, 6,000 validation rows each.
Shards are quarters in file order (easy: similar) and by digit (hard: different digits in each). The
paper has no merge; this is ours, and the bar is our own: test utility within 2% of one learner's.
"""

import sys
from pathlib import Path

import numpy as np

from modicum import ExemplarClustering

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import MIB, Meter, Result, arguments, data_file, mnist_pca, utility, warm_up

COMMAND = "python benchmarks/papers/gomes2010_merge.py"
ORIGIN = np.zeros(50)


def main():
    args = arguments(__doc__)
    n, k, n_validation = (6000, 50, 1000) if args.quick else (60000, 100, 6000)
    result = Result(
        "gomes2010_merge", COMMAND, args, K=k, n_validation=n_validation, phantom="origin", paper="gomes2010, section 6"
    )
    warm_up()
    X, test = mnist_pca(rows=n)
    digits = data_file("mnist.npz")["y_train"][:n]
    shards = {
        "quarters": np.array_split(np.arange(n), 4),
        "by digit": [np.flatnonzero(np.isin(digits, group)) for group in ([0, 1], [2, 3, 4], [5, 6], [7, 8, 9])],
    }

    def learner(rows, seed):
        model = ExemplarClustering(k, n_validation=n_validation, phantom="origin", random_state=seed)
        return model.partial_fit(X[rows], row_ids=rows).refine()

    rows = []

    def add(name, model, meter, **more):
        value = utility(test, model.exemplars_, ORIGIN)
        facts = {"extra_mib": meter.facts()["extra_bytes"] / MIB, "held_mib": model.nbytes_ / MIB, **meter.facts()}
        rows.append(
            {"learner": name, "test": value, "relative": value / rows[0]["test"] if rows else 1.0, **facts, **more}
        )

    with Meter() as meter:
        whole = learner(np.arange(n), args.seed)
    add("one learner, all rows", whole, meter)
    for name, groups in shards.items():
        learners = [learner(group, args.seed + 1 + i) for i, group in enumerate(groups)]
        mean = np.mean([utility(test, model.exemplars_, ORIGIN) for model in learners])
        with Meter() as meter:
            merged = learners[0]
            for other in learners[1:]:
                merged.merge(other)
        assert np.array_equal(X[merged.exemplar_ids_], merged.exemplars_)
        assert merged.n_seen_ == n
        add(f"4 shards, {name}, merged", merged, meter, mean_of_shards=mean)
    columns = [
        ("learner", "learner", ""),
        ("test", "utility, test rows", ".4f"),
        ("relative", "relative", ".3f"),
        ("mean_of_shards", "one shard alone", ".4f"),
        ("seconds", "seconds (merge only)", ".2f"),
        ("extra_mib", "extra MiB", ".1f"),
        ("held_mib", "held MiB", ".1f"),
    ]
    result.table("merge", columns, rows)
    for row in rows[1:]:
        wish = f"{row['learner']}: test utility within 2% of one learner's"
        result.bar(wish, f"{row['relative'] - 1:+.2%}", abs(row["relative"] - 1) <= 0.02)
    result.note(
        "The seconds of the merged learners are those of the three merges, of the first row those of all learning."
    )
    result.write()


if __name__ == "__main__":
    main()
