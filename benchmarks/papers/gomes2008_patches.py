"""Patches of gomes2008 (section 2.6 and Figure 2.6): 330,000 pieces of photographs in the memory of 30,000.

    python benchmarks/papers/gomes2008_patches.py [--quick]

Patches of 7 x 7 pixels from CIFAR-10, in grey, in place of the Corel images, without those that hardly vary, of unit
norm; Gaussians with diagonal covariances; memory of 30,000 rows, half of it the epoch; the stream's length is given.
Centers are shown after 30,000, 150,000 and 330,000 patches. 10,000 others are held out; against ours, a batch fit
on the first 30,000 patches, which is what that memory holds without clumps.

The paper counts 109 MB for "the best estimate model, the clumps, and the responsibilities", where batch would need 773
MB, and takes two hours per epoch. Ours never holds the responsibilities of all items: they are computed, added up and
dropped for some hundred items at a time. So there are three numbers: bytes held between calls, the peak of what was
resident beyond that while an epoch was learned, and the paper's count with all responsibilities in 8 bytes each.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, Meter, Result, arguments, figures, mosaic
from modicum import DirichletProcessMixture, MemoryBoundedMixture
from modicum.datasets import image_patches

COMMAND = "python benchmarks/papers/gomes2008_patches.py"
SIZE, N_HELD_OUT = 7, 10_000
SHOWN = (30_000, 150_000, 330_000)
TOL = 0.02  # nats per patch, of some hundred: a coarser search than by default, which takes much longer here
MEGABYTE = 10**6  # of the paper
COLUMNS = [
    ("n_seen", "patches", ",d"),
    ("components", "components", "d"),
    ("clumps", "clumps", ",d"),
    ("singlets", "single rows", ",d"),
    ("held_mb", "MB held", ".1f"),
    ("extra_mb", "extra MB at the peak", ".0f"),
    ("counted_mb", "MB with all responsibilities", ".0f"),
    ("score", "log-likelihood, new patches", ".2f"),
    ("seconds", "seconds", ".1f"),
]


def responsibility_bytes(n_items, n_components):
    return 8 * n_items * n_components


def stream(X, new, budget):
    """What the model was like after each epoch."""
    model = MemoryBoundedMixture("diagonal", budget=budget, horizon=len(X), tol=TOL)
    moments, seconds = [], 0.0
    for chunk in np.split(X, len(X) // (budget // 2)):
        with Meter() as meter:
            model.partial_fit(chunk)
        seconds += meter.seconds
        is_clump = model.clumps_["is_clump"]
        clumps, rows = int(is_clump.sum()), int((~is_clump).sum())
        moment = {"n_seen": model.n_seen_, "components": model.n_components_, "clumps": clumps}
        moment |= {"singlets": rows - len(chunk), "seconds": seconds, "score": model.score(new)}
        moment |= {"held_mb": model.nbytes_ / MEGABYTE, "extra_mb": meter.facts()["extra_bytes"] / MEGABYTE}
        counted = model.nbytes_ + responsibility_bytes(clumps + rows, model.n_components_)
        moment["counted_mb"] = counted / MEGABYTE
        if model.n_seen_ in SHOWN or model.n_seen_ == len(X):
            moment["_means"] = model.means_[np.argsort(-model.weights_, kind="stable")]
        moments.append(moment)
        print(f"{model.n_seen_:,} patches, {model.n_components_} components, {seconds:.0f} s", file=sys.stderr)
    return moments


def bars(result, moments, batch_score, budget):
    last = moments[-1]
    held, peak, counted = (
        max(sum(moment[key] for key in keys) for moment in moments)
        for keys in (("held_mb",), ("held_mb", "extra_mb"), ("counted_mb",))
    )
    result.bar("held between calls: below the paper's 109 MB", f"{held:.1f} MB", held < 109)
    result.bar("the same, at the peak while learning", f"{peak:.0f} MB", peak < 109)
    n, d = last["n_seen"], SIZE**2
    batch = (8 * n * d + responsibility_bytes(n, last["components"])) / MEGABYTE
    result.bar("with all responsibilities: below batch", f"{counted:.0f} and {batch:.0f} MB", counted < batch)
    counts = [moment["components"] for moment in moments if "_means" in moment]
    measured = ", ".join(map(str, counts))
    result.bar("components grow with the data", measured, counts == sorted(set(counts)))
    measured = f"{last['score']:.2f} and {batch_score:.2f}"
    result.bar(f"log-likelihood above batch on {budget:,} patches", measured, last["score"] > batch_score)


# ---- figures -----------------------------------------------------------------------------------------------


def as_pictures(rows):
    """Each stretched to the full range: unit norm leaves the level of grey open."""
    patches = rows.reshape(-1, SIZE, SIZE, 1)
    low, high = patches.min(axis=(1, 2), keepdims=True), patches.max(axis=(1, 2), keepdims=True)
    return np.repeat((255 * (patches - low) / (high - low)).astype(np.uint8), 3, axis=3)


def plot_centers(result, moments):
    """Figure 2.6: centers of all components, the largest first."""
    plt = figures()
    shown = [moment for moment in moments if "_means" in moment]
    columns = int(np.ceil(np.sqrt(shown[-1]["components"])))
    figure, panels = plt.subplots(1, len(shown), figsize=(4 * len(shown), 4.2))
    figure.get_layout_engine().set(wspace=0.04)
    sheet = columns * -(-shown[-1]["components"] // columns)
    for axes, moment in zip(np.atleast_1d(panels), shown, strict=True):
        blank = np.full((max(sheet - moment["components"], 0), SIZE, SIZE, 3), 255, np.uint8)  # one scale for all
        mosaic(axes, np.concatenate([as_pictures(moment["_means"]), blank]), columns, gap=1)
        axes.set_title(f"{moment['n_seen']:,} patches: {moment['components']} components")
    result.figure(figure, "gomes2008_patches_centers")
    plt.close(figure)


def plot_growth(result, moments, batch_score, budget):
    plt = figures()
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), sharex=True)
    titles = {"components": "Components", "score": "Log-likelihood of new patches", "held_mb": "Memory, MB"}
    seen = [moment["n_seen"] for moment in moments]
    for axes, (key, title) in zip(panels, titles.items(), strict=True):
        axes.plot(seen, [moment[key] for moment in moments], "o-", ms=3.5, color=OURS, label="held")
        axes.set(title=title, xlabel="patches seen")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.tick_params(axis="x", labelsize=8)
    panels[0].set_ylim(0, None)
    panels[1].axhline(batch_score, color=GREY, ls="--", lw=1.2)
    place = {"xytext": (0, 3), "textcoords": "offset points", "ha": "right"}
    panels[1].annotate(f"batch, {budget:,} patches", (seen[-1], batch_score), color=GREY, fontsize=8, **place)
    peak = [moment["held_mb"] + moment["extra_mb"] for moment in moments]
    panels[2].plot(seen, peak, "o-", ms=3.5, color=PEER, label="at the peak")
    panels[2].axhline(109, color=GREY, ls="--", lw=1.2, label="the paper's 109 MB")
    panels[2].set_ylim(0, None)
    panels[2].legend(fontsize=8)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n, budget = (30_000, 5000) if args.quick else (SHOWN[-1], 30_000)
    result = Result("gomes2008_patches", COMMAND, args, n=n, d=SIZE**2, budget=budget, paper="gomes2008, section 2.6")
    X = image_patches(n + N_HELD_OUT, size=SIZE, random_state=args.seed)
    X, new = X[:n], X[n:]
    moments = stream(X, new, budget)
    with Meter() as meter:
        batch = DirichletProcessMixture("diagonal").fit(X[:budget])
    score = batch.score(new)
    result.content["batch"] = {"n": budget, "score": score, "components": batch.n_components_, **meter.facts()}
    plain = [{key: value for key, value in moment.items() if key[0] != "_"} for moment in moments]
    result.table("patches", COLUMNS, [row for row, moment in zip(plain, moments, strict=True) if "_means" in moment])
    result.content["moments"] = plain
    bars(result, moments, score, budget)
    plot_centers(result, moments)
    plot_growth(result, moments, score, budget)
    measured = f"{batch.n_components_} components, log-likelihood {score:.2f}, {meter.seconds:.0f} s"
    result.note(f"Batch on the first {budget:,} patches: {measured}.")
    result.write()


if __name__ == "__main__":
    main()
