"""One pass where a class is rare: StreamSVC beside scikit-learn's passive-aggressive and batch LinearSVC.

    python benchmarks/speed/rare_classes.py [--quick]

IJCNN1 (its rarer class) and MNIST's 8 against 9, with the positive class thinned to 1% and 3% of the training rows;
five samples of it and orders of rows. Scores are the area under the ROC curve and the mean accuracy of both classes, on
all test rows: neither depends on how frequent a class is there. All learners run without class weights and with
class_weight="balanced". Peers choose C, and whether columns are standardized, on a held-out fifth of the training rows,
by the first score without weights and by the second with them; StreamSVC has its defaults.

"before" are the figures of commit 680b720, by the same script: balls did not wait for rare classes then.
"""

import itertools
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.svm import LinearSVC

from modicum import StreamSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from classifiers import AS_GIVEN, EIGHT_NINE, passive_aggressive, prepared, task
from common import Result, arguments

COMMAND = "python benchmarks/speed/rare_classes.py"
SHARES = (0.01, 0.03)
PASSIVE_AGGRESSIVE, LINEAR_SVC = "passive-aggressive", "batch LinearSVC"
BALL, KERNEL_BALL = "StreamSVC, ball", "StreamSVC, ball, kernel"
OURS = {
    "StreamSVC": StreamSVC,
    BALL: partial(StreamSVC, ellipsoid=None),
    KERNEL_BALL: partial(StreamSVC, kernel="rbf"),
}
PEERS = {
    PASSIVE_AGGRESSIVE: (passive_aggressive, (0.001, 0.01, 0.1, 1.0)),
    LINEAR_SVC: (partial(LinearSVC, dual="auto", max_iter=200), (0.01, 0.1, 1.0, 10.0)),
}
BEFORE = {  # AUC, balanced accuracy; then with balanced weights
    ("IJCNN1", 0.01, "StreamSVC"): (92.3, 50.0, 91.1, 84.4),
    ("IJCNN1", 0.01, BALL): (55.6, 50.0, 77.0, 68.2),
    ("IJCNN1", 0.01, KERNEL_BALL): (62.5, 50.0, 61.0, 50.1),
    ("IJCNN1", 0.03, "StreamSVC"): (88.7, 51.9, 91.0, 84.7),
    ("IJCNN1", 0.03, BALL): (59.7, 50.0, 84.4, 76.1),
    ("IJCNN1", 0.03, KERNEL_BALL): (64.3, 50.0, 77.6, 66.4),
    (EIGHT_NINE, 0.01, "StreamSVC"): (99.1, 82.7, 99.2, 94.9),
    (EIGHT_NINE, 0.01, BALL): (96.6, 71.5, 98.5, 92.6),
    (EIGHT_NINE, 0.01, KERNEL_BALL): (98.4, 73.0, 98.4, 87.0),
    (EIGHT_NINE, 0.03, "StreamSVC"): (99.6, 92.4, 99.6, 96.2),
    (EIGHT_NINE, 0.03, BALL): (99.0, 92.2, 99.1, 95.0),
    (EIGHT_NINE, 0.03, KERNEL_BALL): (99.4, 93.9, 99.4, 95.6),
}
COLUMNS = [
    ("data", "data", ""),
    ("share", "rare class", ".0%"),
    ("learner", "learner", ""),
    ("auc_before", "AUC before", ".1f"),
    ("auc", "AUC", ".1f"),
    ("accuracy_before", "balanced accuracy before", ".1f"),
    ("accuracy", "balanced accuracy", ".1f"),
    ("weighted_auc_before", "weighted: AUC before", ".1f"),
    ("weighted_auc", "weighted: AUC", ".1f"),
    ("weighted_accuracy_before", "weighted: balanced accuracy before", ".1f"),
    ("weighted_accuracy", "weighted: balanced accuracy", ".1f"),
]
SCORES = ("auc", "accuracy", "weighted_auc", "weighted_accuracy")


def thinned(X, y, share, seed):
    """Rows in a random order, with so many of the positive class that they are this share."""
    rng = np.random.default_rng(seed)
    rare, others = np.flatnonzero(y == 1), np.flatnonzero(y != 1)
    kept = np.append(others, rng.permutation(rare)[: round(share / (1 - share) * len(others))])
    kept = rng.permutation(kept)
    return X[kept], y[kept]


def scores(model, X, y):
    """Area under the ROC curve, and the mean accuracy of both classes, in percent."""
    return 100 * roc_auc_score(y, model.decision_function(X)), 100 * balanced_accuracy_score(y, model.predict(X))


def chosen(make, costs, X, y, share, weight, seed):
    """(preparation, C) of a peer, by a random fifth of the training rows, which is not thinned."""
    fifth, rest = np.split(np.random.default_rng(12345).permutation(len(X)), [len(X) // 5])
    X_rest, y_rest = thinned(X[rest], y[rest], share, 1000 + seed)
    best = (-np.inf, AS_GIVEN, 1.0)
    for preparation, C in itertools.product((AS_GIVEN, "standardized"), costs):
        rows, held_out = prepared(X_rest, X[fifth], preparation)
        found = scores(make(C=C).set_params(class_weight=weight).fit(rows, y_rest), held_out, y[fifth])
        best = max(best, (found[weight is not None], preparation, C))
    return best[1:]


def peer_scores(name, data, share, weight, seeds):
    X, y, X_test, y_test = data
    make, costs = PEERS[name]
    preparation, C = chosen(make, costs, X, y, share, weight, seeds[0])
    found = []
    for seed in seeds:
        rows, labels = thinned(X, y, share, seed)
        rows, rows_test = prepared(rows, X_test, preparation)
        model = make(C=C).set_params(class_weight=weight).fit(rows, labels)
        found.append(scores(model, rows_test, y_test))
    return found


def our_scores(name, data, share, weight, seeds):
    X, y, X_test, y_test = data
    found = []
    for seed in seeds:
        rows, labels = thinned(X, y, share, seed)
        model = OURS[name](class_weight=weight, random_state=seed).fit(rows, labels)
        found.append(scores(model, X_test, y_test))
    return found


def measure(name, data_name, data, share, seeds):
    """A row of the table."""
    run, columns = our_scores if name in OURS else peer_scores, []
    for weight in (None, "balanced"):
        columns += np.mean(run(name, data, share, weight, seeds), axis=0).tolist()
    before = BEFORE.get((data_name, share, name), [None] * 4)
    return {
        "data": data_name,
        "share": share,
        "learner": name,
        **dict(zip(SCORES, columns, strict=True)),
        **{f"{score}_before": value for score, value in zip(SCORES, before, strict=True)},
    }


def main():
    args = arguments(__doc__)
    warnings.simplefilter("ignore")  # of rare classes, and of LinearSVC's iterations
    result = Result("rare_classes", COMMAND, args)
    seeds = range(args.seed, args.seed + (1 if args.quick else 5))
    most = 4000 if args.quick else None
    rows = []
    for data_name, share in itertools.product(("IJCNN1", EIGHT_NINE), SHARES):
        data = [np.asarray(part[:most], np.float64) for part in task(data_name)]
        for name in (*PEERS, *OURS):
            rows.append(measure(name, data_name, data, share, seeds))
            print(rows[-1], file=sys.stderr)
    result.table("scores", COLUMNS, rows)
    bars(result, rows)
    result.write()


def bars(result, rows):
    """AUC of balls at least that of passive-aggressive."""
    found = {(row["data"], row["share"], row["learner"]): row for row in rows}
    for (data_name, share, name), row in found.items():
        if name not in (BALL, KERNEL_BALL):
            continue
        peer = found[data_name, share, PASSIVE_AGGRESSIVE]
        for kind, score in (("without weights", "auc"), ("balanced", "weighted_auc")):
            wish = f"{data_name}, {share:.0%}, {name}, {kind}: AUC at least that of passive-aggressive"
            result.bar(wish, f"{row[score]:.1f} and {peer[score]:.1f}", row[score] >= peer[score])


if __name__ == "__main__":
    main()
