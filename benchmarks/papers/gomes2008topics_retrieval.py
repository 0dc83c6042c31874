"""Retrieval of gomes2008topics (section 3.6.2, Figures 3.6 and 3.7): classes of pictures by their nearest neighbour.

    python benchmarks/papers/gomes2008topics_retrieval.py [--quick]

CIFAR-10's test pictures in place of Caltech-101: 3,000 for training and 1,000 others as queries. A picture is a
document of 100 descriptors of patches at random places and of random size (30 numbers, `local_descriptors`), in place
of 500 SIFT descriptors. Gaussians with diagonal covariances under a prior that is the same for all runs, so that free
energies can be compared; epochs of 60 pictures. A query gets the class of the training picture with the highest score
(eq. 3.28), against the memory beside the epoch, in rows, and against the share of document groups.

Beside it, what others reach with the same pictures: nearest neighbours by raw pixels, by the mean descriptor, and by
the cosine of counts of visual words (k-means of the same descriptors, as many words as topics; with square roots of
counts too). Chance is 10%.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import normalize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PALE, Meter, Result, arguments, data_file, figures
from modicum import MemoryBoundedTopicModel
from modicum.families import DiagonalGaussian
from modicum.pipeline.pixels import local_descriptors

COMMAND = "python benchmarks/papers/gomes2008topics_retrieval.py"
EPOCH_PICTURES = 60
BOUNDS, USUAL_BOUND = (2500, 10_000, 40_000), 10_000  # rows beside the epoch
SHARES = (0.1, 0.3, 1.0)  # of training pictures: how many groups of them there may be
TOL = 0.02  # nats per descriptor: a coarser search than by default, which takes much longer here
RUNS = [
    ("bound", "memory in rows", ",d"),
    ("share", "document groups", ".0%"),
    ("accuracy", "1-NN accuracy", ".1%"),
    ("by_proportions", "by topic proportions", ".1%"),
    ("free_energy_per_item", "free energy per descriptor", ".3f"),
    ("topics", "topics", "d"),
    ("clumps", "clumps", ",d"),
    ("held_mb", "MB held", ".1f"),
    ("seconds", "seconds", ".1f"),
    ("query_seconds", "seconds of queries", ".1f"),
]


# ---- data --------------------------------------------------------------------------------------------------


def pictures(n_train, n_test, seed):
    """Pictures in random order and their classes, training first."""
    data = data_file("cifar10_test.npz")
    order = np.random.default_rng(seed).permutation(len(data["x"]))[: n_train + n_test]
    return data["x"][order], data["y"][order]


def described(images, n_patches):
    """Documents of descriptors, (n, patches, 30)."""
    return np.stack([local_descriptors(image, n_patches, random_state=i) for i, image in enumerate(images)])


def prior_of(documents):
    """Topics are expected to have a tenth of the variance of each column in the first epoch."""
    first = np.concatenate(documents[:EPOCH_PICTURES]).astype(np.float64)
    return DiagonalGaussian(mean=first.mean(axis=0), covariance=0.1 * first.var(axis=0))


# ---- ours --------------------------------------------------------------------------------------------------


def run(train, test, y, prior, bound, share):
    """A row of the table: train on one pass, index the training pictures, and classify the others."""
    epoch = EPOCH_PICTURES * train.shape[1]
    model = MemoryBoundedTopicModel(
        prior,
        budget=epoch + bound,
        epoch=epoch,
        max_document_groups=max(2, round(share * len(train))),
        horizon_documents=len(train),
        horizon_items=train.shape[0] * train.shape[1],
        tol=TOL,
        random_state=0,
    )
    with Meter() as meter:
        model.fit(list(train))
    with Meter() as query_meter:
        nearest = model.retrieve(list(test), 1, index=model.index(list(train)))[0][:, 0]
    row = {"bound": bound, "share": share, "accuracy": accuracy(nearest, y, len(train))}
    row["by_proportions"] = accuracy(by_cosine(*map(model.transform, (list(train), list(test)))), y, len(train))
    row |= {"free_energy_per_item": model.free_energy_ / (train.shape[0] * train.shape[1]), "topics": model.n_topics_}
    row |= {"clumps": int(model.history_["clumps"][-1]), "held_mb": model.nbytes_ / 1e6, **meter.facts()}
    print(f"{bound:,} rows, {share:.0%}: {row['topics']} topics, {row['accuracy']:.1%}", file=sys.stderr)
    return row | {"query_seconds": query_meter.seconds}


def accuracy(nearest, y, n_train):
    return float((y[:n_train][nearest] == y[n_train:]).mean())


# ---- others ------------------------------------------------------------------------------------------------


def by_cosine(train, test):
    """The training row nearest to each test row."""
    return (normalize(test) @ normalize(train).T).argmax(axis=1)


def by_distance(train, test):
    train, test = train.astype(np.float64), test.astype(np.float64)
    return ((train**2).sum(axis=1) - 2 * test @ train.T).argmin(axis=1)


def visual_words(train, test, n_words, seed):
    """Counts of the words that the descriptors are nearest to."""
    words = MiniBatchKMeans(n_words, n_init=1, batch_size=4096, random_state=seed).fit(np.concatenate(train))
    found = [words.predict(np.concatenate(part)).reshape(part.shape[:2]) for part in (train, test)]
    return [np.stack([np.bincount(row, minlength=n_words) for row in rows]).astype(np.float64) for rows in found]


def peers(images, train, test, y, n_words, seed):
    """Accuracy of nearest neighbours on other features."""
    raw = images.reshape(len(images), -1)
    means = [part.mean(axis=1) for part in (train, test)]
    scale = means[0].std(axis=0)
    counts = visual_words(train, test, n_words, seed)
    found = {
        "raw pixels": by_distance(raw[: len(train)], raw[len(train) :]),
        "mean descriptor, standardized": by_distance(means[0] / scale, means[1] / scale),
        f"{n_words} visual words, cosine": by_cosine(*counts),
        f"{n_words} visual words, cosine of square roots": by_cosine(*map(np.sqrt, counts)),
    }
    return [{"features": name, "accuracy": accuracy(nearest, y, len(train))} for name, nearest in found.items()]


# ---- figures -----------------------------------------------------------------------------------------------


def plot(result, by_bound, by_share, others):
    """Figures 3.6 (upper row) and 3.7 (lower row)."""
    plt = figures()
    figure, panels = plt.subplots(2, 2, figsize=(8.5, 5.6), sharey="col")
    titles = {"free_energy_per_item": "Free energy per descriptor", "accuracy": "1-NN accuracy"}
    for line, rows, key in zip(panels, (by_bound, by_share), ("bound", "share"), strict=True):
        for axes, (measure, title) in zip(line, titles.items(), strict=True):
            axes.plot([row[key] for row in rows], [row[measure] for row in rows], "o-", ms=4, color=OURS)
            axes.set(title=title, xlabel={"bound": "memory in rows", "share": "document groups per picture"}[key])
            axes.xaxis.set_major_formatter({"bound": "{x:,.0f}", "share": "{x:.0%}"}[key])
        line[1].yaxis.set_major_formatter("{x:.0%}")
        for other, colour in ((others[0], PALE), (others[3], GREY)):
            line[1].axhline(other["accuracy"], color=colour, ls="--", lw=1.2, label=other["features"])
    panels[0, 1].legend(fontsize=8)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n_train, n_test, n_patches = (240, 100, 30) if args.quick else (3000, 1000, 100)
    bounds, usual, shares = ((500, 2000), 2000, (0.1, 1.0)) if args.quick else (BOUNDS, USUAL_BOUND, SHARES)
    facts = {"n": n_train, "n_test": n_test, "n_patches": n_patches, "paper": "gomes2008topics, section 3.6.2"}
    result = Result("gomes2008topics_retrieval", COMMAND, args, **facts)
    images, y = pictures(n_train, n_test, args.seed)
    documents = described(images, n_patches)
    train, test, prior = documents[:n_train], documents[n_train:], prior_of(documents)
    settings = list(dict.fromkeys([(bound, 1.0) for bound in bounds] + [(usual, share) for share in shares]))
    rows = {setting: run(train, test, y, prior, *setting) for setting in settings}
    by_bound = [rows[bound, 1.0] for bound in bounds]
    by_share = [rows[usual, share] for share in shares]
    others = peers(images, train, test, y, rows[usual, 1.0]["topics"], args.seed)
    result.table("memory", RUNS, by_bound)
    result.table("groups", RUNS, by_share)
    result.table("others", [("features", "features", ""), ("accuracy", "1-NN accuracy", ".1%")], others)
    ours = rows[usual, 1.0]["accuracy"]
    for other in others:
        measured = f"{ours:.1%} and {other['accuracy']:.1%}"
        result.bar(f"accuracy in {usual:,} rows above {other['features']}", measured, ours > other["accuracy"])
    plot(result, by_bound, by_share, others)
    result.write()


if __name__ == "__main__":
    main()
