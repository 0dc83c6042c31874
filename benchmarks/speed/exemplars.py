"""Exemplars of 20,000 rows: modicum against k-medoids, facility location and k-means packages.

    python benchmarks/speed/exemplars.py [--quick] [--peer-python INTERPRETER]

20,000 x 50 float32, 300 overlapping Gaussians, k = 100, squared Euclidean. Each contestant runs in a separate process
with 1 and with 2 threads, interleaved, three times (contestants that need more than 10 s once, the yardstick
fasterpam always three times); medians. Timed: from the array in memory to k row numbers, matrices of dissimilarities
included. Not timed: imports, the data, one run on 600 rows that compiles what is compiled. One function
in float64 scores all: mean squared distance of all rows to their nearest exemplar. Memory: peak of resident
memory during the run minus what was resident before.

A package that is not installed, fails or needs more than the time limit stays in the table with that as its
result. Peers may run in a separate interpreter: --peer-python, or MODICUM_PEER_PYTHON; --peer-python
apricot=INTERPRETER for one package.
"""

import json
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import (
    GREY,
    MIB,
    OURS,
    PEER,
    Meter,
    Result,
    arguments,
    figures,
    nearest,
    overlapping_gaussians,
    snap,
)
from peers import PEER_OPTIONS, run_rounds

COMMAND = "python benchmarks/speed/exemplars.py"
YARDSTICK = "kmedoids fasterpam"


# ---- contestants: (X, k, seed) -> row numbers ----------------------------------------------------------


def modicum_sample(X, k, seed):
    from modicum import ExemplarClustering

    return ExemplarClustering(k, n_validation=min(5000, len(X)), random_state=seed).fit(X).exemplar_ids_


def modicum_all(X, k, seed):
    from modicum import ExemplarClustering

    return ExemplarClustering(k, budget=None, n_validation=len(X), random_state=seed).fit(X).exemplar_ids_


def modicum_stream(X, k, seed):
    from modicum import ExemplarClustering

    model = ExemplarClustering(k, n_validation=min(5000, len(X)), random_state=seed)
    for start in range(0, len(X), 1000):
        model.partial_fit(X[start : start + 1000])
    return model.refine().exemplar_ids_


def random_rows(X, k, seed):
    return np.random.default_rng(seed).choice(len(X), k, replace=False)


def all_dissimilarities(X):
    D, squares = np.empty((len(X), len(X)), np.float32), np.einsum("ij,ij->i", X, X)
    for start in range(0, len(X), 2048):
        part = D[start : start + 2048]
        np.matmul(X[start : start + 2048], -2 * X.T, out=part)
        part += squares[start : start + 2048, None]
        part += squares
        np.maximum(part, 0, out=part)
    np.fill_diagonal(D, 0)
    return D


def fasterpam(X, k, seed):
    import kmedoids

    return kmedoids.fasterpam(all_dissimilarities(X), k, init="random", random_state=seed).medoids


def one_batch_pam(X, k, seed):
    from onebatch import OneBatchPAM

    return OneBatchPAM(n_medoids=k, distance="sqeuclidean", random_state=seed).fit(X).medoid_indices_


def bandit_pam(X, k, seed):
    from banditpam import KMedoids

    model = KMedoids(n_medoids=k, algorithm="BanditPAM")
    model.seed = seed
    model.fit(X, "L2")
    return model.medoids


def _apricot(X, k, seed, optimizer, **options):
    from apricot import FacilityLocationSelection

    model = FacilityLocationSelection(
        k, metric="euclidean", optimizer=optimizer, optimizer_kwds=options, random_state=seed
    )
    return model.fit(X).ranking


def apricot_lazy(X, k, seed):
    return _apricot(X, k, seed, "lazy")


def apricot_approximate(X, k, seed):
    return _apricot(X, k, seed, "approximate-lazy", beta=0.9)


def apricot_stochastic(X, k, seed):
    return _apricot(X, k, seed, "stochastic", epsilon=0.9)


def apricot_sieve(X, k, seed):
    from apricot import FacilityLocationSelection

    model = FacilityLocationSelection(
        k, metric="euclidean", max_reservoir_size=1000, optimizer_kwds={"epsilon": 0.1}, random_state=seed
    )
    for start in range(0, len(X), 2000):
        model.partial_fit(X[start : start + 2000].astype(np.float64))
    return model.ranking


def submodlib_lazy(X, k, seed):
    from submodlib import FacilityLocationFunction

    D = all_dissimilarities(X)
    np.subtract(D.max(), D, out=D)
    F = FacilityLocationFunction(n=len(X), mode="dense", sijs=D, separate_rep=False)
    return [row for row, _ in F.maximize(budget=k, optimizer="LazyGreedy", show_progress=False)]


def faiss_kmeans(X, k, seed):
    import faiss

    model = faiss.Kmeans(X.shape[1], k, niter=20, seed=seed + 1, max_points_per_centroid=len(X))
    model.train(X)
    return snap(X, model.centroids)


def minibatch_kmeans(X, k, seed):
    from sklearn.cluster import MiniBatchKMeans

    return snap(X, MiniBatchKMeans(k, batch_size=2048, n_init=1, random_state=seed).fit(X).cluster_centers_)


def kmeans(X, k, seed):
    from sklearn.cluster import KMeans

    return snap(X, KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_)


CONTESTANTS = {  # name: (function, package, remark)
    "modicum, 5,000 validation rows": (modicum_sample, "modicum", ""),
    "modicum, all rows": (modicum_all, "modicum", ""),
    "modicum, chunks of 1,000": (modicum_stream, "modicum", "never holds all rows"),
    "random rows": (random_rows, "numpy", ""),
    YARDSTICK: (fasterpam, "kmedoids", "full matrix"),
    "OneBatchPAM": (one_batch_pam, "onebatch", "its own batch size"),
    "BanditPAM": (bandit_pam, "banditpam", "its loss is the distance, not its square"),
    "apricot lazy": (apricot_lazy, "apricot-select", "full matrix in float64; compiles at each fit"),
    "apricot approximate-lazy": (apricot_approximate, "apricot-select", "full matrix in float64; compiles at each fit"),
    "apricot stochastic": (apricot_stochastic, "apricot-select", "full matrix in float64; compiles at each fit"),
    "apricot sieve": (apricot_sieve, "apricot-select", "chunks of 2,000, reservoir of 1,000; compiles at each fit"),
    "submodlib lazy": (submodlib_lazy, "submodlib-py", "full matrix"),
    "FAISS k-means, snapped": (faiss_kmeans, "faiss-cpu", ""),
    "MiniBatchKMeans, snapped": (minibatch_kmeans, "scikit-learn", ""),
    "KMeans, snapped": (kmeans, "scikit-learn", ""),
}


# ---- one run in a separate process ---------------------------------------------------------------------


def worker(name, n, k, seed):
    """Run one contestant and print one JSON line."""
    from importlib.metadata import version

    run, package, _ = CONTESTANTS[name]
    X = overlapping_gaussians(n, 50, seed)
    run(X[:600], 5, seed)
    with Meter() as meter:
        chosen = run(X, k, seed)
    chosen = np.unique(np.asarray(chosen, int))
    facts = {"chosen": len(chosen), "loss": nearest(X, X[chosen])[0].mean(), "version": f"{package} {version(package)}"}
    print(json.dumps({**meter.facts(), **facts}))


# ---- the table -----------------------------------------------------------------------------------------


def summary(name, runs, yardstick):
    """One row of the table: medians over the runs that went well."""
    good = [run for run in runs if run["status"] == "ok"]
    row = {"contestant": name, "status": runs[-1]["status"], "remark": CONTESTANTS[name][2], "n_runs": len(good)}
    if not good:
        return {**row, "remark": "; ".join(filter(None, [row["status"], row["remark"]]))}
    for key in ("seconds", "cpu_seconds", "extra_bytes", "peak_bytes", "bytes_before", "loss", "chosen"):
        row[key] = statistics.median(run[key] for run in good)
    row |= {"extra_mib": row["extra_bytes"] / MIB, "peak_mib": row["peak_bytes"] / MIB, "version": good[0]["version"]}
    row["all_seconds"] = [run["seconds"] for run in good]
    if yardstick:
        row["loss_ratio"] = row["loss"] / yardstick["loss"]
        row["speed_ratio"] = yardstick["seconds"] / row["seconds"] if row["seconds"] else None
        row["memory_ratio"] = yardstick["extra_bytes"] / max(row["extra_bytes"], 1)
    return row


COLUMNS = [
    ("contestant", "contestant", ""),
    ("loss", "mean squared distance", ".2f"),
    ("loss_ratio", "vs fasterpam", ".3f"),
    ("seconds", "seconds", ".3f"),
    ("speed_ratio", "times faster", ".1f"),
    ("extra_mib", "extra MiB", ".1f"),
    ("peak_mib", "peak MiB of the process", ".0f"),
    ("n_runs", "runs", "d"),
    ("remark", "remark", ""),
]


def bars(result, rows, threads):
    """What we want to clear, with the numbers of this run."""
    by_name = {row["contestant"]: row for row in rows if "loss" in row}
    sample, everything = by_name["modicum, 5,000 validation rows"], by_name["modicum, all rows"]
    means, where = by_name["KMeans, snapped"], f"{threads} thread{'s' if threads > 1 else ''}"
    if "loss_ratio" in sample:
        for row, what, loss, speed in (
            (sample, "5,000 validation rows", 1.02, 20),
            (everything, "all rows", 1.005, 10),
        ):
            wish = f"{where}, {what}: loss within {loss - 1:.1%} of fasterpam's"
            result.bar(wish, f"{row['loss_ratio'] - 1:+.2%}", row["loss_ratio"] <= loss)
            wish = f"{where}, {what}: {speed} times faster than fasterpam"
            result.bar(wish, f"{row['speed_ratio']:.1f} times", row["speed_ratio"] >= speed)
        wish = f"{where}, 5,000 validation rows: 20 times less extra memory than fasterpam"
        result.bar(wish, f"{sample['memory_ratio']:.0f} times", sample["memory_ratio"] >= 20)
    else:
        result.bar(f"{where}: all bars against fasterpam", "fasterpam did not run", None)
    better = sample["loss"] < means["loss"] and sample["seconds"] <= means["seconds"]
    wish = f"{where}, 5,000 validation rows: lower loss than KMeans snapped, in at most its time"
    result.bar(
        wish,
        f"{sample['loss']:.2f} in {sample['seconds']:.2f} s against {means['loss']:.2f} in {means['seconds']:.2f} s",
        better,
    )


def plot(result, tables):
    """Loss, seconds and memory of all contestants; dots for 1 thread, rings for 2."""
    plt = figures()
    rows = [row for row in tables[1] if row["contestant"] != "random rows"][::-1]
    figure, panels = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True)
    both = {row["contestant"]: row for row in tables[2]}
    heads = [("loss_ratio", "loss above fasterpam's, %"), ("seconds", "seconds"), ("extra_mib", "extra memory, MiB")]
    for axes, (key, head) in zip(panels, heads, strict=True):
        for y, row in enumerate(rows):
            color = OURS if row["contestant"].startswith("modicum") else PEER
            for found, style in ((row, {"mfc": color}), (both[row["contestant"]], {"mfc": "white"})):
                if key in found:
                    x = 100 * (found[key] - 1) if key == "loss_ratio" else max(found[key], 0.1 if "mib" in key else 0)
                    axes.plot(x, y, "o", mec=color, ms=6 if found is row else 4, **style)
            if key not in row and key == "seconds":
                axes.text(
                    0.5, y, row["status"], transform=axes.get_yaxis_transform(), color=GREY, fontsize=7.5, va="center"
                )
        axes.set(title=head, xscale="linear" if key == "loss_ratio" else "log")
    panels[0].set_yticks(range(len(rows)), [row["contestant"] for row in rows])
    for label in panels[0].get_yticklabels():
        label.set_color(OURS if label.get_text().startswith("modicum") else "black")
    figure.supxlabel("large dots: 1 thread, small rings: 2 threads", fontsize=8, color=GREY)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(
        __doc__,
        repeat={"type": int, "default": 3},
        **PEER_OPTIONS,
    )
    n, k = (2000, 20) if args.quick else (20000, 100)
    if args.quick:
        args.repeat = 1
    result = Result("exemplars", COMMAND, args, n=n, d=50, k=k, repeat=args.repeat, limit_seconds=args.limit)
    packages = {name: package for name, (_, package, _) in CONTESTANTS.items()}
    sizes = (n, k, args.seed)
    runs = run_rounds(__file__, packages, lambda _: sizes, args, threads=(2, 1), yardstick=YARDSTICK)
    tables = {}
    for threads in (1, 2):
        yardstick = summary(YARDSTICK, runs[YARDSTICK, threads], None)
        yardstick = yardstick if "loss" in yardstick else None
        rows = [summary(name, runs[name, threads], yardstick) for name in CONTESTANTS]
        tables[threads] = sorted(rows, key=lambda row: row.get("loss", np.inf))
        result.table("one_thread" if threads == 1 else "two_threads", COLUMNS, tables[threads])
    for threads, rows in tables.items():
        bars(result, rows, threads)
    result.note(
        "One seed for the data and the contestants; PAM and FAISS start from random rows, scikit-learn from k-means++."
    )
    result.note("Snapped means are not meant to be good exemplars; they are what one gets cheaply.")
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
