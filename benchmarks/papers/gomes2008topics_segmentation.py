"""Joint segmentation of gomes2008topics (section 3.6.1, Figures 3.2 to 3.5): pixels of many pictures share topics.

    python benchmarks/papers/gomes2008topics_segmentation.py [--quick] [--subsets 3]

The faces of Caltech-101 are not available. Pictures of 64 x 64 pixels in their place: squares of 64 to 427 pixels of
the two photographs that come with scikit-learn, reduced, at random places and of random size, which may overlap; and
CIFAR-10's test pictures of horses, enlarged from 32 x 32 by linear interpolation. Pixels are x, y and CIELAB;
Gaussians with full covariances, under a prior that is the same for all runs, so that free energies can be compared.

1. Subsets of 30 pictures, half of each kind: our own engine with all pixels in memory (batch: nothing is compressed)
   against epochs of five pictures and a memory of clumps; then fewer groups of pictures with 125 clumps. The ratio of
   the paper is 1 - (F_batch - F) / |F_batch|. It depends on the units of x, y and colours, so the difference in
   nats per pixel is given too, and the score of the final topics on all pixels, which no clump constrains. The budget
   is that of clumps with pixels of all pictures, as the paper counts; most have fewer, so more clumps are kept.
2. 420 pictures in epochs of ten: topics and seconds of each round, and bytes. The paper counts pixels and assignment
   distributions in 8 bytes per number: 9.3 GB for batch, 257 MB in bounded memory, 38 times less. There are two counts
   of ours: bytes held between calls, with a full epoch, and those with assignments of everything in memory, as in the
   paper.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PALE, PEER, Meter, Result, arguments, data_file, figures
from modicum import MemoryBoundedTopicModel
from modicum.families import FullGaussian
from modicum.pipeline.pixels import SPAN, pixels
from modicum.plot import segment_images
from modicum.topics.clumped import PARTS

COMMAND = "python benchmarks/papers/gomes2008topics_segmentation.py"
MEGABYTE = 10**6  # of the paper
SIDE, CLASS = 64, "horse"
N_FEATURES, N_STATISTICS = 5, 20  # of a pixel, of a full Gaussian
CLUMPS, USUAL_CLUMPS, STREAM_CLUMPS = (25, 50, 125, 250, 500), 125, 1000
SHARES = (0.1, 0.3, 0.5, 1.0)  # of pictures: how many groups of them there may be
MOST_TOPICS = 1000  # of batch; in bounded memory there are at most as many as the budget has clumps
TOL = 1e-2  # nats per pixel, for all runs: the default
SPREAD = np.array([SPAN / 12**0.5, SPAN / 12**0.5, 25.0, 10.0, 16.0])  # of pixels of photographs
PRIOR = FullGaussian(mean=np.array([0.0, 0.0, 50.0, 0.0, 0.0]), covariance=0.1 * SPREAD**2)
RUNS = [
    ("clumps", "budget in clumps", "d"),
    ("groups", "picture groups", ".0%"),
    ("kept", "most clumps kept", ".0f"),
    ("ratio", "free-energy ratio", ".4f"),
    ("least_ratio", "the least", ".4f"),
    ("loss", "nats per pixel below batch", ".3f"),
    ("score_loss", "score below batch", ".3f"),
    ("topics", "topics", ".1f"),
    ("seconds", "seconds", ".1f"),
    ("speedup", "times faster", ".1f"),
]
ROUNDS = [
    ("documents", "pictures", ",d"),
    ("topics", "topics", "d"),
    ("clumps", "clumps", ",d"),
    ("held_mb", "MB held", ".2f"),
    ("counted_mb", "MB with assignments", ".1f"),
    ("batch_mb", "MB of batch", ",.0f"),
    ("seconds", "seconds of the round", ".1f"),
]


# ---- pictures ----------------------------------------------------------------------------------------------


def crops(n, rng):
    """Random squares of scikit-learn's photographs, reduced."""
    photographs = [Image.fromarray(photograph) for photograph in load_sample_images().images]
    return [crop(photographs[i % len(photographs)], rng) for i in range(n)]


def crop(photograph, rng):
    most = min(photograph.size)
    side = int(SIDE * (most / SIDE) ** rng.random())
    left, top = (int(rng.integers(room - side + 1)) for room in photograph.size)
    square = photograph.crop((left, top, left + side, top + side))
    return np.asarray(square.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


@cache
def of_class():
    """All of CIFAR-10's test pictures of the class, enlarged."""
    data = data_file("cifar10_test.npz")
    own = data["x"][data["y"] == list(data["classes"]).index(CLASS)]
    return [np.asarray(Image.fromarray(small).resize((SIDE, SIDE), Image.Resampling.BILINEAR)) for small in own]


def mixed(n_crops, n_class, seed):
    """Pictures of both kinds in random order."""
    rng = np.random.default_rng(seed)
    found = crops(n_crops, rng)
    found += [of_class()[i] for i in rng.choice(len(of_class()), n_class, replace=False)]
    return [found[i] for i in rng.permutation(len(found))]


# ---- memory ------------------------------------------------------------------------------------------------


def rows_for(clumps, groups, epoch):
    """The budget in rows of an epoch and of clumps: statistics, the count, and a count for each group of pictures.

    Counts that are zero are not stored, so more clumps than these are kept.
    """
    return epoch + int(np.ceil(clumps * (N_STATISTICS + 1 + groups) / N_FEATURES))


def counted_bytes(n_items, n_topics):
    """Items and their assignments as the paper counts them."""
    return 8 * n_items * (N_FEATURES + n_topics)


def topic_model(documents, clumps, groups, epoch):
    n_items = sum(map(len, documents))
    return MemoryBoundedTopicModel(
        PRIOR,
        budget=rows_for(clumps, groups, epoch),
        epoch=epoch,
        max_document_groups=groups,
        horizon_documents=len(documents),
        horizon_items=n_items,
        tol=TOL,
        random_state=0,
    )


# ---- 1. thirty pictures ------------------------------------------------------------------------------------


def fitted(documents, clumps, groups, epoch):
    model = topic_model(documents, clumps, groups, epoch)
    with Meter() as meter:
        model.fit(documents)
    found = {"clumps": clumps, "groups": groups / len(documents), "free_energy": model.free_energy_}
    found["kept"] = int(max(model.history_["clumps"]))
    return model, found | {"topics": model.n_topics_, "score": model.score(documents), **meter.facts()}


def fit_batch(documents):
    """All pixels in one epoch: nothing is ever compressed, and there is room for more topics than are found."""
    model, found = fitted(documents, MOST_TOPICS, len(documents), sum(map(len, documents)) + 1)
    assert found["topics"] < MOST_TOPICS, "batch must not be limited"
    return model, found


def compared(run, batch, n_items):
    loss = batch["free_energy"] - run["free_energy"]
    facts = {"ratio": 1 - loss / abs(batch["free_energy"]), "loss": loss / n_items}
    return run | facts | {"score_loss": batch["score"] - run["score"], "speedup": batch["seconds"] / run["seconds"]}


def subset(pictures, settings, epoch_pictures):
    """A row for batch and for each setting (clumps, share of groups), and segmentations by batch and by one of them."""
    documents = [pixels(picture) for picture in pictures]
    n_items = sum(map(len, documents))
    model, batch = fit_batch(documents)
    segmentations = {"batch": model.predict_items(documents)}
    print(f"batch: {batch['topics']} topics, {batch['seconds']:.0f} s", file=sys.stderr)
    rows = {}
    for clumps, share in settings:
        groups = max(2, round(share * len(documents)))
        model, run = fitted(documents, clumps, groups, epoch_pictures * SIDE**2)
        rows[clumps, share] = compared(run, batch, n_items)
        if clumps == USUAL_CLUMPS and share in (0.3, 1.0):
            segmentations[f"{share:.0%} groups"] = model.predict_items(documents)
        print(f"{clumps} clumps, {groups} groups: ratio {rows[clumps, share]['ratio']:.4f}", file=sys.stderr)
    return batch, rows, segmentations


def averaged(setting, subsets):
    """A row of the table: means over subsets, and the least ratio."""
    rows = [rows[setting] for _, rows, _ in subsets]
    found = {key: float(np.mean([row[key] for row in rows])) for key, _, form in RUNS if key in rows[0]}
    return found | {"clumps": setting[0], "groups": setting[1], "least_ratio": min(row["ratio"] for row in rows)}


def plot_ratios(result, by_clumps, by_groups, subsets):
    """Figure 3.2."""
    plt = figures()
    figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.2))
    titles = ("Free-energy ratio against clumps", "…against groups of pictures", "Seconds against clumps")
    for axes, settings, place, title in zip(panels[:2], (by_clumps, by_groups), (0, 1), titles, strict=False):
        at = [setting[place] for setting in settings]
        for _, rows, _ in subsets:
            axes.plot(at, [rows[setting]["ratio"] for setting in settings], "o-", ms=3, lw=1, color=PALE)
        means = [np.mean([rows[setting]["ratio"] for _, rows, _ in subsets]) for setting in settings]
        axes.plot(at, means, "o-", ms=4, color=OURS)
        axes.axhline(0.99, color=GREY, ls="--", lw=1.2)
        axes.set(title=title)
    for axes in panels[::2]:
        axes.set(xlabel="clumps", xscale="log", xticks=[clumps for clumps, _ in by_clumps])
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.minorticks_off()
    panels[1].set(xlabel=f"groups per picture, {USUAL_CLUMPS} clumps")
    panels[1].xaxis.set_major_formatter("{x:.0%}")
    seconds = [np.mean([rows[setting]["seconds"] for _, rows, _ in subsets]) for setting in by_clumps]
    panels[2].plot([clumps for clumps, _ in by_clumps], seconds, "o-", ms=4, color=OURS, label="memory-bounded")
    panels[2].axhline(np.mean([batch["seconds"] for batch, _, _ in subsets]), color=PEER, label="batch")
    panels[2].set(title=titles[2], ylim=(0, None))
    panels[2].legend()
    result.figure(figure)
    plt.close(figure)


def thirty_pictures(result, sizes, args):
    by_clumps = [(clumps, 1.0) for clumps in sizes["clumps"]]
    by_groups = [(USUAL_CLUMPS, share) for share in sizes["shares"]]
    settings = list(dict.fromkeys(by_clumps + by_groups))
    chosen = [mixed(sizes["half"], sizes["half"], args.seed + 1 + i) for i in range(args.subsets)]
    subsets = [subset(pictures, settings, sizes["epoch"]) for pictures in chosen]
    batch = [batch for batch, _, _ in subsets]
    of_batch = {key: float(np.mean([row[key] for row in batch])) for key in ("topics", "seconds")}
    result.table("clumps", RUNS, [of_batch | {"ratio": 1.0}] + [averaged(setting, subsets) for setting in by_clumps])
    result.table("groups", RUNS, [averaged(setting, subsets) for setting in by_groups])
    result.content["subsets"] = [
        {"batch": batch, "runs": [row | {"groups": setting[1]} for setting, row in rows.items()]}
        for batch, rows, _ in subsets
    ]
    usual = averaged((USUAL_CLUMPS, 1.0), subsets)
    measured = f"{usual['ratio']:.4f}, least of {args.subsets} {usual['least_ratio']:.4f}"
    result.bar(f"{USUAL_CLUMPS} clumps: free-energy ratio at least 0.99", measured, usual["least_ratio"] >= 0.99)
    speedup = of_batch["seconds"] / usual["seconds"]
    measured = f"{speedup:.1f} times: {usual['seconds']:.1f} and {of_batch['seconds']:.1f} s"
    result.bar("at least 3 times faster than batch", measured, speedup >= 3)
    plot_ratios(result, by_clumps, by_groups, subsets)
    segmentations = subsets[0][2]
    shown = slice(0, 12)  # Figure 3.3
    columns = [labels[shown] for labels in segmentations.values()]
    figure = segment_images(chosen[0][shown], *columns, names=list(segmentations))
    result.figure(figure, "gomes2008topics_segments")


# ---- 2. all pictures ---------------------------------------------------------------------------------------


def stream(pictures, clumps, epoch_pictures):
    """The model after one pass, and a row for each round."""
    documents = [pixels(picture) for picture in pictures]
    epoch = epoch_pictures * SIDE**2
    model = topic_model(documents, clumps, len(documents), epoch)
    rounds = []
    for first in range(0, len(documents), epoch_pictures):
        with Meter() as meter:
            model.partial_fit(documents[first : first + epoch_pictures])
        history = {key: column[-1] for key, column in model.history_.items()}
        row = {key: int(history[key]) for key in ("documents", "topics", "clumps", "groups")}
        n_items = row["documents"] * SIDE**2
        held = model.nbytes_ + documents[0].itemsize * N_FEATURES * epoch  # as if the next epoch were waiting
        counted = held + 8 * (2 * PARTS * epoch_pictures + row["clumps"]) * row["topics"]  # parts of pictures, at most
        extra = meter.facts()["extra_bytes"]
        bytes_of = {"held": held, "counted": counted, "batch": counted_bytes(n_items, row["topics"]), "extra": extra}
        rounds.append(row | {f"{key}_mb": value / MEGABYTE for key, value in bytes_of.items()})
        rounds[-1] |= {"n_seen": n_items, "seconds": meter.seconds}
        print(f"{row['documents']} pictures, {row['topics']} topics, {meter.seconds:.1f} s", file=sys.stderr)
    return model, documents, rounds


def plot_rounds(result, rounds):
    """Figure 3.4, and bytes."""
    plt = figures()
    figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.2), sharex=True)
    seen = [row["documents"] for row in rounds]
    for axes, key, title in ((panels[0], "topics", "Topics"), (panels[1], "seconds", "Seconds of each round")):
        axes.plot(seen, [row[key] for row in rounds], "o-", ms=3, color=OURS)
        axes.set(title=title, ylim=(0, None))
    looks = {"batch": PEER, "counted": PALE, "held": OURS}
    labels = {"batch": "batch would need", "counted": "ours, with assignments", "held": "ours, held"}
    for key, colour in looks.items():
        panels[2].plot(seen, [row[f"{key}_mb"] for row in rounds], color=colour, label=labels[key])
    panels[2].set(title="MB", yscale="log")
    panels[2].legend(fontsize=8)
    for axes in panels:
        axes.set_xlabel("pictures seen")
    result.figure(figure, "gomes2008topics_stream")
    plt.close(figure)


def with_most_of_largest_topic(model, documents):
    """Pictures by how much of them is the largest topic, and their segmentations (Figure 3.5)."""
    found = model.predict_items(documents)
    largest = np.bincount(np.concatenate(found)).argmax()
    return np.argsort([-(labels == largest).mean() for labels in found], kind="stable"), found


def all_pictures(result, sizes, args):
    pictures = mixed(*sizes["stream"], args.seed)
    model, documents, rounds = stream(pictures, sizes["stream_clumps"], sizes["stream_epoch"])
    every = max(1, len(rounds) // 8)
    result.table("stream", ROUNDS, rounds[every - 1 :: every])
    result.content["rounds"] = rounds
    last = rounds[-1]
    for key, wish in (("held", "state with a full epoch"), ("counted", "with assignments of what is in memory")):
        most = max(row[f"{key}_mb"] for row in rounds)
        times = last["batch_mb"] / most
        measured = f"{times:.0f} times: {most:.1f} and {last['batch_mb']:,.0f} MB"
        result.bar(f"{wish}: at least 30 times below batch", measured, times >= 30)
    total = sum(row["seconds"] for row in rounds)
    extra = max(row["extra_mb"] for row in rounds)
    result.note(f"{len(pictures)} pictures: {last['topics']} topics, {total:.0f} s; at most {extra:.0f} MB beside.")
    plot_rounds(result, rounds)
    order, found = with_most_of_largest_topic(model, documents)
    shown = [order[i] for i in range(min(20, len(order)))]
    figure = segment_images([pictures[i] for i in shown], [found[i] for i in shown])
    result.figure(figure, "gomes2008topics_stream_segments")


def main():
    args = arguments(__doc__, subsets={"type": int, "default": 3})
    sizes = {"half": 15, "epoch": 5, "clumps": CLUMPS, "shares": SHARES}
    sizes |= {"stream": (120, 300), "stream_epoch": 10, "stream_clumps": STREAM_CLUMPS}
    if args.quick:
        args.subsets = 1
        sizes = {"half": 3, "epoch": 2, "clumps": (25, USUAL_CLUMPS), "shares": (0.3, 1.0)}
        sizes |= {"stream": (6, 12), "stream_epoch": 3, "stream_clumps": 60}
    facts = {"side": SIDE, "d": N_FEATURES, "paper": "gomes2008topics, section 3.6.1"}
    result = Result("gomes2008topics_segmentation", COMMAND, args, **facts)
    thirty_pictures(result, sizes, args)
    all_pictures(result, sizes, args)
    result.write()


if __name__ == "__main__":
    main()
