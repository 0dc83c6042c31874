"""k-means of 100,000 rows through a coreset of 5,000: modicum against scikit-learn, FAISS, River and other coresets.

    python benchmarks/speed/coreset_kmeans.py [--quick] [--peer-python INTERPRETER]

SYNTHETIC of lucic2015: 100,000 x 100 float32, k = 100. Each contestant runs in a separate process with 1 and with 2
threads, five rounds of other seeds, interleaved (contestants that need more than 10 s once, the yardstick KMeans
always five times); median seconds, mean risk. Timed: from the array in memory to centers. Not timed: imports, the data,
one run on 600 rows that compiles what is compiled. One function in float64 scores all: the risk is the mean squared
distance of all rows to their nearest center. Memory: peak of resident memory during the run minus what was resident
before.

Samples and coresets are all solved in the same way, with one run of KMeans on weighted points. BICO's summary may have
5,000 points, but it stops at far fewer. River sees the first tenth of the rows, which takes it half a minute.

The packages `coresets` and `bico` ask for numpy below 2, but run with numpy 2: install them with
`pip install --no-deps coresets bico`, or into another interpreter, named by --peer-python coresets=INTERPRETER.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, Meter, Result, arguments, figures, nearest
from peers import PEER_OPTIONS, run_rounds

COMMAND = "python benchmarks/speed/coreset_kmeans.py"
CHUNK = 5000
SENSITIVITY, LIGHTWEIGHT, UNIFORM = (f"modicum, {method}" for method in ("sensitivity", "lightweight", "uniform"))
KMEANS, MINI_BATCH = "KMeans", "MiniBatchKMeans"


# ---- contestants: (X, k, size, seed) -> centers ---------------------------------------------------------


def through_coreset(method):
    def run(X, k, size, seed):
        from modicum import StreamKMeans

        return StreamKMeans(k, n_points=size, method=method, random_state=seed).fit(X).cluster_centers_

    return run


def through_tree(X, k, size, seed):
    from modicum import StreamKMeans

    model = StreamKMeans(k, n_points=size, random_state=seed)
    for start in range(0, len(X), CHUNK):
        model.partial_fit(X[start : start + CHUNK])
    return model.cluster_centers_


def kmeans(X, k, size, seed, sample_weight=None):
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=1, random_state=seed).fit(X, sample_weight=sample_weight).cluster_centers_


def mini_batch(X, k, size, seed):
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_


def mini_batch_stream(X, k, size, seed):
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(k, n_init=1, random_state=seed)
    for start in range(0, len(X), CHUNK):
        model.partial_fit(X[start : start + CHUNK])
    return model.cluster_centers_


def faiss_default(X, k, size, seed):
    import faiss

    model = faiss.Kmeans(X.shape[1], k, seed=seed + 1)  # 0 means a random seed
    model.train(X)
    return model.centroids


def faiss_all(X, k, size, seed):
    import faiss
    from sklearn.cluster import kmeans_plusplus

    seeds, _ = kmeans_plusplus(X, k, random_state=seed)
    model = faiss.Kmeans(X.shape[1], k, seed=seed + 1, max_points_per_centroid=len(X))
    model.train(X, init_centroids=np.ascontiguousarray(seeds))
    return model.centroids


def random_rows(X, k, size, seed):
    return kmeans(X[np.random.default_rng(seed).choice(len(X), size, replace=False)], k, size, seed)


def coresets(X, k, size, seed):
    from coresets import KMeansCoreset

    np.random.seed(seed)  # noqa: NPY002  the package draws from numpy's global state
    points, weights = KMeansCoreset(X, n_clusters=k).generate_coreset(size)
    return kmeans(points, k, size, seed, sample_weight=weights)


def bico(X, k, size, seed):
    from bico import BICO
    from sklearn.cluster import KMeans

    solver = KMeans(k, n_init=1, random_state=seed)
    model = BICO(k, summary_size=size, random_state=seed, fit_coreset=True, coreset_estimator=solver)
    return model.partial_fit(X.astype(np.float64)).partial_fit().cluster_centers_  # fit labels all rows, too


def river_stream(X, k, size, seed):
    from river import cluster, stream

    model = cluster.STREAMKMeans(chunk_size=500, n_clusters=k, halflife=0.5, sigma=1.5, seed=seed)
    for row, _ in stream.iter_array(X.astype(np.float64)):
        model.learn_one(row)
    return [[center[column] for column in range(X.shape[1])] for center in model.centers.values()]


CONTESTANTS = {  # name: (function, package, share of the rows that it sees, remark)
    SENSITIVITY: (through_coreset("sensitivity"), "modicum", 1, ""),
    LIGHTWEIGHT: (through_coreset("lightweight"), "modicum", 1, ""),
    UNIFORM: (through_coreset("uniform"), "modicum", 1, ""),
    "modicum, sensitivity, chunks": (through_tree, "modicum", 1, "never holds all rows"),
    KMEANS: (kmeans, "scikit-learn", 1, "all rows"),
    MINI_BATCH: (mini_batch, "scikit-learn", 1, ""),
    "MiniBatchKMeans, chunks": (mini_batch_stream, "scikit-learn", 1, "never holds all rows"),
    "random rows, KMeans": (random_rows, "scikit-learn", 1, ""),
    "FAISS": (faiss_default, "faiss-cpu", 1, "default settings: random seeds, 256 rows per center"),
    "FAISS, all rows": (faiss_all, "faiss-cpu", 1, "with k-means++ seeds"),
    "coresets": (coresets, "coresets", 1, ""),
    "BICO": (bico, "bico", 1, ""),
    "River STREAMKMeans": (river_stream, "river", 0.1, "a tenth of the rows, one at a time"),
}


# ---- one run in a separate process ---------------------------------------------------------------------


def worker(name, path, k, size, seed):
    """Run one contestant on the rows of a file and print one JSON line."""
    from importlib.metadata import version

    run, package, share, _ = CONTESTANTS[name]
    everything = np.load(path)
    X = everything[: int(share * len(everything))]
    run(X[:600], 5, 100, seed)
    with Meter() as meter:
        centers = run(X, k, size, seed)
    facts = {"risk": nearest(everything, centers)[0].mean(), "seen": len(X), "version": f"{package} {version(package)}"}
    print(json.dumps({**meter.facts(), **facts}))


# ---- the table -----------------------------------------------------------------------------------------


COLUMNS = [
    ("contestant", "contestant", ""),
    ("ratio", "risk, times that of KMeans", ".4f"),
    ("worst_ratio", "worst seed", ".4f"),
    ("seconds", "seconds", ".3f"),
    ("speed_ratio", "times faster than KMeans", ".1f"),
    ("per_second", "rows per second", ",.0f"),
    ("extra_mib", "extra MiB", ".1f"),
    ("n_runs", "runs", "d"),
    ("remark", "remark", ""),
]


def summary(name, runs, yardstick):
    """One row of the table, from the runs that went well."""
    good = [run for run in runs if run["status"] == "ok"]
    remark = CONTESTANTS[name][-1]
    row = {"contestant": name, "status": runs[-1]["status"], "remark": remark, "n_runs": len(good)}
    if not good:
        return {**row, "remark": "; ".join(filter(None, [row["status"], remark]))}
    for key in ("seconds", "cpu_seconds", "extra_bytes", "peak_bytes", "bytes_before"):
        row[key] = statistics.median(run[key] for run in good)
    risks = [run["risk"] for run in good]
    row |= {"risk": statistics.mean(risks), "all_risks": risks, "all_seconds": [run["seconds"] for run in good]}
    row |= {"per_second": good[0]["seen"] / row["seconds"], "extra_mib": row["extra_bytes"] / MIB}
    row["version"] = good[0]["version"]
    if yardstick:
        row["ratio"] = row["risk"] / yardstick["risk"]
        row["worst_ratio"] = max(risks) / yardstick["risk"]
        row["speed_ratio"] = row["per_second"] / yardstick["per_second"]
    return row


def bars(result, rows, threads):
    """What we want to clear, with the numbers of this run."""
    found = {row["contestant"]: row for row in rows if "ratio" in row}
    where = f"{threads} thread{'s' if threads > 1 else ''}, sensitivity"
    if not {SENSITIVITY, KMEANS, MINI_BATCH} <= set(found):
        result.bar(f"{where}: all bars against scikit-learn", "one of them did not run", None)
        return
    ours, mini = found[SENSITIVITY], found[MINI_BATCH]
    result.bar(f"{where}: risk within 1.5% of KMeans", f"{ours['ratio'] - 1:+.2%}", ours["ratio"] <= 1.015)
    wish = f"{where}: 20 times faster than KMeans"
    result.bar(wish, f"{ours['speed_ratio']:.1f} times", ours["speed_ratio"] >= 20)
    measured = f"{ours['seconds']:.3f} s against {mini['seconds']:.3f} s"
    result.bar(f"{where}: not slower than MiniBatchKMeans", measured, ours["seconds"] <= mini["seconds"])
    for name in (MINI_BATCH, "coresets", "BICO"):
        if name in found:
            measured = f"{ours['ratio']:.4f} against {found[name]['ratio']:.4f}"
            result.bar(f"{where}: lower risk than {name}", measured, ours["ratio"] < found[name]["ratio"])


def plot(result, tables):
    """Risk, seconds and memory of all contestants; dots for 1 thread, rings for 2."""
    plt = figures()
    figure, panels = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True)
    both = {row["contestant"]: row for row in tables[2]}
    rows = [row for row in tables[1] if "ratio" in row][::-1]
    heads = [("ratio", "risk above that of KMeans, %"), ("seconds", "seconds"), ("extra_mib", "extra memory, MiB")]
    for axes, (key, head) in zip(panels, heads, strict=True):
        for y, row in enumerate(rows):
            color = OURS if row["contestant"].startswith("modicum") else PEER
            for found, style in ((row, {"mfc": color, "ms": 6}), (both[row["contestant"]], {"mfc": "white", "ms": 4})):
                if key in found:
                    x = max(100 * (found[key] - 1), 0.01) if key == "ratio" else found[key]
                    axes.plot(x, y, "o", mec=color, **style)
        axes.set(title=head, xscale="log")
    panels[0].set_yticks(range(len(rows)), [row["contestant"] for row in rows])
    for label in panels[0].get_yticklabels():
        label.set_color(OURS if label.get_text().startswith("modicum") else "black")
    figure.supxlabel("large dots: 1 thread, small rings: 2 threads", fontsize=8, color=GREY)
    result.figure(figure)
    plt.close(figure)


def main():
    from modicum.datasets import lucic_synthetic

    args = arguments(__doc__, repeat={"type": int, "default": 5}, **PEER_OPTIONS)
    n, k, size = (10_000, 100, 2000) if args.quick else (100_000, 100, 5000)
    args.repeat = 1 if args.quick else args.repeat
    result = Result(
        "coreset_kmeans", COMMAND, args, n=n, d=100, k=k, size=size, repeat=args.repeat, limit_seconds=args.limit
    )
    packages = {name: package for name, (_, package, *_) in CONTESTANTS.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, lucic_synthetic(n, args.seed)[0])
        runs = run_rounds(
            __file__, packages, lambda turn: (path, k, size, turn), args, threads=(2, 1), yardstick=KMEANS
        )
    tables = {}
    for threads in (1, 2):
        yardstick = summary(KMEANS, runs[KMEANS, threads], None)
        yardstick = yardstick if "risk" in yardstick else None
        rows = [summary(name, runs[name, threads], yardstick) for name in CONTESTANTS]
        tables[threads] = sorted(rows, key=lambda row: row.get("risk", np.inf))
        result.table("one_thread" if threads == 1 else "two_threads", COLUMNS, tables[threads])
    for threads, rows in tables.items():
        bars(result, rows, threads)
    plot(result, tables)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:4], *map(int, sys.argv[4:]))
    else:
        main()
